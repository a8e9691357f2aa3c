"""Accepting a shrink that the gate refused, in whole runs: 20 papers are published, then the upstream has 10.

The two runs cost many seconds and happen once; each test works on a copy of what they left. Which findings can be
accepted, and every refusal of `accept`, is the business of the unit tests.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from pipelines import publish as releases
from pipelines.publish import Candidate, ReleaseError
from tests.hub_files import VENUE_ID, hub_row, write_hub_file
from tests.integration.test_main_job import Place

pytestmark = pytest.mark.slow

EDITIONS = f"""\
editions:
  - id: test-2026
    venue: TEST
    year: 2026
    venue_id: {VENUE_ID}
    sources: [{{kind: files, path: papers.parquet}}]
"""
REASON = "The venue took ten papers back"
OPERATOR = "Ada Operator"
PAPERS = "papers/test-2026.parquet"


@dataclass(frozen=True)
class Refusal:
    """A warehouse with a release and a newer candidate that was refused, and what the run said of it."""

    place: Place
    first: str
    released: dict[str, object]
    said: subprocess.CompletedProcess[str]

    @property
    def candidate(self) -> Candidate:
        return releases.find_candidate(self.place.warehouse, "newest")

    @property
    def finding_ids(self) -> list[str]:
        """As `findings newest` lists those that block."""
        return re.findall(r"^  (\S+)  \(blocks\)$", self.command("findings", "newest").stdout, re.MULTILINE)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`python -m pipelines.releases` with these arguments."""
        return subprocess.run(
            [sys.executable, "-m", "pipelines.releases", *arguments],
            cwd=self.place.folder,
            env=os.environ | {"WAREHOUSE_DIR": str(self.place.warehouse.root), "LOCK_WAIT_SECONDS": "20"},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def accept(self, ids: list[str], *more: str) -> subprocess.CompletedProcess[str]:
        findings = [word for id_ in ids for word in ("--finding", id_)]
        return self.command("accept", "newest", *findings, "--reason", REASON, "--by", OPERATOR, *more)

    def change_a_byte(self) -> None:
        """In a new file: one that did not change may be a hard link to the release's own."""
        file = self.candidate.release / PAPERS
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.unlink()
        file.write_bytes(data)

    def assert_nothing_was_published(self) -> None:
        assert self.place.current() == self.first
        assert released(self.place) == self.released


def released(place: Place) -> dict[str, object]:
    """`current` and every file of the releases."""
    return {path: state for path, state in place.state().items() if path.startswith(("current", "releases/"))}


@pytest.fixture(scope="module")
def shrunk(tmp_path_factory: pytest.TempPathFactory) -> Refusal:
    place = Place(tmp_path_factory.mktemp("shrunk"))
    (place.folder / "editions.yaml").write_text(EDITIONS)
    write_hub_file(place.papers, [hub_row(number) for number in range(1, 21)])
    done = place.run("test-2026")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    first, before = place.current(), released(place)
    assert first is not None
    write_hub_file(place.papers, [hub_row(number) for number in range(1, 11)])
    return Refusal(place, first, before, place.run("test-2026"))


@pytest.fixture
def refusal(shrunk: Refusal, tmp_path: Path) -> Refusal:
    """A copy of its own; the copy's `released` has its own times."""
    copy = Place(tmp_path / "copy")
    shutil.copytree(shrunk.place.folder, copy.folder, symlinks=True)
    return Refusal(copy, shrunk.first, released(copy), shrunk.said)


def test_the_run_is_refused_and_says_what_to_type(shrunk: Refusal) -> None:
    assert shrunk.said.returncode == 1, shrunk.said.stderr[-3000:]
    shrunk.assert_nothing_was_published()
    assert f"The run failed; the current release is still {shrunk.first}." in shrunk.said.stderr
    ids = shrunk.finding_ids
    assert [id_.rsplit("-", 1)[0] for id_ in ids] == [
        "papers.volume.share_of_previous",
        "reviews.volume.share_of_previous",
    ]
    errors = [line for line in shrunk.said.stderr.splitlines() if line.startswith("Error: ")]
    for id_ in ids:
        mart = id_.split(".")[0]
        assert any(
            f"{mart}: rows as a share of the previous release's must be at least 0.9: "
            f"edition_id=test-2026 (share_of_previous 0.5) [{id_}]" in line
            for line in errors
        ), errors
    (told,) = (line.partition("accept it: ")[2] for line in errors if "accept it: " in line)
    findings = [word for id_ in ids for word in ("--finding", id_)]
    command = ["python", "-m", "pipelines.releases", "accept", shrunk.candidate.release_id, *findings]
    assert shlex.split(told) == [*command, "--reason", "..."]


def test_what_was_accepted_is_published_and_says_who_when_and_why(refusal: Refusal) -> None:
    candidate, ids = refusal.candidate.release_id, refusal.finding_ids

    done = refusal.accept(ids, "--publish")

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"The current release is {candidate}.\n")
    assert refusal.place.current() == candidate != refusal.first
    folder = refusal.place.warehouse.root / "current"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["release_id"], manifest["previous_release_id"]) == (candidate, refusal.first)
    assert manifest["marts"]["papers"]["rows"] == 10
    assert manifest["gate"]["passed"] is False
    accepted = manifest["gate"]["acceptances"]
    assert [(one["finding"], one["by"], one["reason"]) for one in accepted] == [(id_, OPERATOR, REASON) for id_ in ids]
    assert all(datetime.fromisoformat(one["at"]).tzinfo for one in accepted)
    readme = (folder / "README.md").read_text()
    _, _, shown = readme.partition("What the gate refused and an operator accepted:\n\n")
    for line, one in zip(shown.splitlines()[: len(accepted)], accepted, strict=True):
        assert line.startswith(f"* {one['finding'].split('.')[0]}: rows as a share of the previous release's"), line
        assert line.endswith(f"Accepted by {OPERATOR} on {one['at']}: {REASON}"), line
    releases.verify(refusal.place.warehouse.releases / candidate)
    assert refusal.place.query("select count(*) from papers") == [(10,)]


def test_a_byte_that_changed_before_the_acceptance_voids_it(refusal: Refusal) -> None:
    ids = refusal.finding_ids
    refusal.change_a_byte()

    done = refusal.accept(ids, "--publish")

    assert (done.returncode, done.stdout) == (1, "")
    said = f"Error: Candidate {refusal.candidate.release_id} changed after it was judged ({PAPERS})"
    assert done.stderr.startswith(said), done.stderr
    assert not refusal.candidate.acceptances_file.exists()
    refusal.assert_nothing_was_published()


def test_a_byte_that_changed_after_the_acceptance_keeps_it_unpublished(refusal: Refusal) -> None:
    done = refusal.accept(refusal.finding_ids)
    assert done.returncode == 0, done.stderr
    assert "Nothing blocks the candidate now" in done.stdout
    refusal.assert_nothing_was_published()
    refusal.change_a_byte()

    with pytest.raises(ReleaseError, match=rf"changed after it was judged \({re.escape(PAPERS)}\)"):
        releases.promote(refusal.place.warehouse, lambda message: None)

    refusal.assert_nothing_was_published()
