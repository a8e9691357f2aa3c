"""Accepting what the gate found: which findings, of which bytes, where it is told. The verdicts are made up."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from pipelines import publish as releases
from pipelines.assets.parts import Parts
from pipelines.config.settings import PROJECT_DIR
from pipelines.operate.accept_job import accept_job
from pipelines.publish import Candidate, ReleaseError
from pipelines.releases import main
from pipelines.warehouse import Warehouse
from tests.hub_files import editions_of, files_edition

# `seconds` and `staged` are fixtures that every test here uses.
from tests.unit.publish.test_releases import PASSED, make_marts, seconds, staged

__all__ = ["seconds", "staged"]

BEFORE = {"test-2025": [4, 8, 6], "test-2026": [6, 6, 2, 8]}
SHRUNK = {"test-2025": [4, 8, 6], "test-2026": [6, 6]}
OTHER = {"test-2025": [4, 8, 6], "test-2026": [6, 2]}

SHARE = "reviews.volume.share_of_previous-0000000a"
AUTHORS = "authors.volume.share_of_previous-0000000b"
KEYS = "reviews.keys.review_id-0000000c"
WARNING = "papers.distributions.rating_mean-0000000d"


def finding(id_: str, *, blocks: bool = True, is_acceptable: bool = True) -> dict[str, Any]:
    message = f"{id_.split('.')[0]}: it is *odd* ({id_[-1]})"
    return {"id": id_, "message": message, "blocks": blocks, "is_acceptable": is_acceptable}


def refused(*findings: dict[str, Any]) -> dict[str, Any]:
    messages = [f"{one['message']} [{one['id']}]" if one["is_acceptable"] else one["message"] for one in findings]
    return {"passed": False, "messages": messages, "findings": list(findings)}


SHRINK = refused(finding(SHARE), finding(WARNING, blocks=False, is_acceptable=False))

Build = Callable[..., Candidate]


@pytest.fixture
def build(warehouse: Warehouse) -> Build:
    """A candidate with these ratings, judged like this, after a release that had more."""
    make_marts(warehouse, BEFORE)
    first = releases.build_candidate(warehouse, print)
    assert first is not None
    releases.seal(first, PASSED)
    assert releases.promote(warehouse, print) == first.release_id

    def make(ratings: dict[str, list[int]], verdict: dict[str, Any] = SHRINK) -> Candidate:
        make_marts(warehouse, ratings)
        candidate = releases.build_candidate(warehouse, print)
        assert candidate is not None
        releases.seal(candidate, verdict)
        return candidate

    return make


def accept(warehouse: Warehouse, *ids: str, candidate: str = "newest") -> list[dict[str, Any]]:
    return releases.accept(warehouse, candidate, ids or [SHARE], reason="The venue <withdrew> two", by="Ada")


def test_an_accepted_candidate_is_published_and_says_who_when_and_why(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK)
    with pytest.raises(ReleaseError, match=rf"accept {candidate.release_id} --finding {SHARE} --reason"):
        releases.promote(warehouse, print)

    assert accept(warehouse) == []

    (told,) = releases.read_verdict(candidate)["verdict"]["acceptances"]
    assert {name: told[name] for name in ("finding", "by", "reason")} == {
        "finding": SHARE,
        "by": "Ada",
        "reason": "The venue <withdrew> two",
    }
    assert told["at"].endswith("+00:00")
    assert releases.promote(warehouse, print) == candidate.release_id
    folder = warehouse.releases / candidate.release_id
    manifest = releases.read_manifest(folder)
    assert manifest["gate"]["acceptances"] == [told]
    assert manifest["gate"]["passed"] is False
    readme = (folder / "README.md").read_text()
    assert (
        "What the gate refused and an operator accepted:\n\n"
        rf"* reviews: it is \*odd\* \(a\). Accepted by Ada on {told['at']}: The venue \<withdrew\> two"
    ) in readme
    assert readme.endswith("Warnings of the gate:\n\n* papers: it is \\*odd\\* \\(d\\)\n")
    releases.verify(folder)


def test_every_blocking_finding_has_to_be_accepted(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK, refused(finding(SHARE), finding(AUTHORS)))

    assert [one["id"] for one in accept(warehouse, SHARE)] == [AUTHORS]
    with pytest.raises(ReleaseError, match="is not published: authors: it is"):
        releases.promote(warehouse, print)
    assert accept(warehouse, AUTHORS) == []
    assert releases.promote(warehouse, print) == candidate.release_id


def test_an_acceptance_is_void_for_other_bytes(warehouse: Warehouse, build: Build) -> None:
    first = build(SHRUNK)
    accept(warehouse)
    other = build(OTHER)
    shutil.copyfile(first.acceptances_file, other.acceptances_file)
    shutil.rmtree(first.folder)

    with pytest.raises(ReleaseError, match="did not pass the gate and is not published"):
        releases.promote(warehouse, print)


def test_bytes_that_change_after_the_acceptance_are_refused(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK)
    accept(warehouse)
    file = candidate.release / "reviews" / "test-2026.parquet"
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    file.write_bytes(data)

    for attempt in (lambda: releases.promote(warehouse, print), lambda: accept(warehouse)):
        with pytest.raises(ReleaseError, match=r"changed after it was judged \(reviews/test-2026\.parquet\)"):
            attempt()


def test_an_acceptance_is_void_for_another_finding(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK)
    accept(warehouse)
    releases.seal(candidate, refused(finding(AUTHORS)))

    assert releases.note_acceptances(candidate) == []
    with pytest.raises(ReleaseError, match="did not pass the gate"):
        releases.promote(warehouse, print)


@pytest.mark.parametrize(
    ("verdict", "ids", "reason", "words"),
    [
        (refused(finding(KEYS, is_acceptable=False)), [KEYS], "r", f"Finding {KEYS} cannot be accepted"),
        (refused(finding(SHARE), finding(KEYS, is_acceptable=False)), [SHARE], "r", "not published whatever is"),
        (SHRINK, [WARNING], "r", "is a warning and needs no acceptance"),
        (SHRINK, [KEYS], "r", f"has no finding '{KEYS}'"),
        (SHRINK, [SHARE], " \n", "needs a reason"),
        (SHRINK, [], "r", "Name at least one finding"),
        (PASSED, [SHARE], "r", "passed the gate; there is nothing to accept"),
    ],
)
def test_what_cannot_be_accepted(
    warehouse: Warehouse, build: Build, verdict: dict[str, Any], ids: list[str], reason: str, words: str
) -> None:
    candidate = build(SHRUNK, verdict)

    with pytest.raises(ReleaseError, match=words):
        releases.accept(warehouse, candidate.release_id, ids, reason=reason, by="Ada")
    assert not candidate.acceptances_file.exists()


def test_the_same_content_built_again_is_the_same_candidate_and_stays_accepted(
    warehouse: Warehouse, build: Build
) -> None:
    candidate = build(SHRUNK)
    accept(warehouse)

    again = build(SHRUNK)

    assert again == candidate
    assert [one["finding"] for one in releases.note_acceptances(again)] == [SHARE]
    assert releases.promote(warehouse, print) == candidate.release_id


def test_a_candidate_that_another_run_may_publish_is_not_taken(warehouse: Warehouse, build: Build) -> None:
    assert build(SHRUNK, PASSED) != build(SHRUNK, PASSED)


def test_a_later_candidate_that_is_refused_does_not_undo_the_yes(warehouse: Warehouse, build: Build) -> None:
    accepted = build(SHRUNK)
    accept(warehouse)
    build(OTHER)
    for rating in range(3):
        build({"test-2026": [rating]})
    releases.prune(warehouse, 10, print)

    assert releases.promote(warehouse, print) == accepted.release_id


# --- the command and the job ------------------------------------------------------------------------------------------


def test_the_command_lists_accepts_and_publishes(
    warehouse: Warehouse, build: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = build(SHRUNK)
    name = candidate.release_id

    assert main(["candidates"]) == 0
    assert capsys.readouterr().out == f"{name}  refused: 1 finding(s) block it\n"
    assert main(["findings"]) == 0
    listed = capsys.readouterr().out
    assert f"  {SHARE}  (blocks)\n    reviews: it is *odd* (a)\n" in listed
    assert listed.endswith(f'python -m pipelines.releases accept {name} --finding {SHARE} --reason "..."\n')
    assert main(["accept", name, "--finding", SHARE, "--reason", "right", "--by", "Ada"]) == 0
    assert "Nothing blocks the candidate now" in capsys.readouterr().out
    assert main(["candidates"]) == 0
    assert capsys.readouterr().out == f"{name}  accepted\n"
    assert main(["accept", name, "--finding", SHARE, "--reason", "right", "--publish"]) == 0
    assert capsys.readouterr().out.endswith(f"The current release is {name}.\n")
    assert main(["accept", "newest", "--finding", SHARE, "--reason", "right"]) == 1
    assert "There is no candidate 'newest'; there are: none." in capsys.readouterr().err


def test_the_command_as_a_process(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK)
    command = [sys.executable, "-m", "pipelines.releases", "accept", "newest", "--finding", SHARE]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], cwd=PROJECT_DIR, capture_output=True, text=True)

    assert run().returncode == 2
    done = run("--reason", "")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: An acceptance needs a reason: readers of the release will see it.\n"
    assert run("--reason", "right", "--by", "Ada", "--publish").returncode == 0
    assert releases.current_id(warehouse) == candidate.release_id


def test_the_job_accepts_too(warehouse: Warehouse, build: Build) -> None:
    candidate = build(SHRUNK)
    job = accept_job(Parts(settings=warehouse.settings, editions=editions_of(files_edition("x.parquet"))))

    def run(reason: str) -> dg.ExecuteInProcessResult:
        given = {"candidate": "newest", "findings": [SHARE], "reason": reason, "by": "Ada"}
        return job.execute_in_process(run_config={"ops": {"accept": {"config": given}}}, raise_on_error=False)

    assert not run(" ").success
    assert run("The venue withdrew two").success
    written = json.loads(candidate.acceptances_file.read_text())
    assert [(one["finding"], one["by"]) for one in written["acceptances"]] == [(SHARE, "Ada")]
    assert written["files"].keys() >= {"peer_reviews.duckdb", "reviews/test-2026.parquet"}
    assert releases.promote(warehouse, print) == candidate.release_id
