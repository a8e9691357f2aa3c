"""Only changed editions are modelled and exported again, and that gives what a full rebuild gives.

The editions are small `files` sources that are edited at random between releases: rows come, go and change, papers and
reviews move from one edition to another. One build in a new warehouse says what must have come of it.
"""

import copy
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines import publish as releases
from tests.hub_files import VENUE_ID, Row, files_edition, hub_review, hub_row, withdrawn_row, write_hub_file
from tests.model_runs import ModelRun

pytestmark = pytest.mark.slow

EDITS = 20
RELEASES = 4
SEED = int(os.environ.get("GROWTH_SEED", "20261130"))
YEARS = (2021, 2022, 2023, 2024, 2025)
PASSED = {"passed": True, "messages": [], "results": []}


class Venues:
    """Five editions of one venue as rows in memory, and as files that `files` sources read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = random.Random(SEED)
        self.next_number = 1
        self.rows: dict[int, list[Row]] = {}
        for year in YEARS:
            self.rows[year] = []
            for _ in range(12):
                self.add(year)
            self.write(year)

    def add(self, year: int) -> None:
        number = self.next_number
        self.next_number += 1
        row = withdrawn_row(number, ["Ada Example", f"Bo Sample {number % 5}"]) if number % 4 == 0 else hub_row(number)
        row["abstract"] += rf" See https://github.com/a/b{number}; $\mathcal{{O}}(n^{number})$."
        row["venue"] = row["venue"].replace("2026", str(year))
        row["invitation"] = row["invitation"].replace(VENUE_ID, venue_id(year))
        self.rows[year].append(row)

    def write(self, year: int) -> None:
        write_hub_file(self.folder / f"{year}.parquet", self.rows[year])

    def edit(self) -> int:
        """One random change; returns the year that it was in."""
        year = self.random.choice(YEARS[:-1])
        rows = self.rows[year]
        row = self.random.choice(rows)
        kind = self.random.choice(["rating", "abstract", "add", "remove", "claim paper", "claim review", "twice"])
        other = self.random.choice(self.rows[self.random.choice(YEARS)])
        if kind == "rating" and row["reviews"]:
            row["reviews"][0]["rating"] = self.random.randint(1, 10)
        elif kind == "abstract":
            row["abstract"] += f" It was revised {self.random.randint(1, 99)} times."
        elif kind == "add":
            self.add(year)
        elif kind == "remove" and len(rows) > 4:
            rows.remove(row)
        elif kind == "claim paper":
            row["url"] = other["url"]
        elif kind == "claim review" and other["reviews"]:
            row["reviews"].append(hub_review(other["reviews"][0]["review_id"], summary="Claimed."))
        elif kind == "twice":
            rows.append(copy.deepcopy(row))
        row["num_reviews"] = len(row["reviews"])
        self.write(year)
        return year

    def editions(self) -> Iterator[object]:
        for year in YEARS:
            path = self.folder / f"{year}.parquet"
            yield files_edition(path, f"test-{year}", year=year, venue_id=venue_id(year))


def venue_id(year: int) -> str:
    return VENUE_ID.replace("2026", str(year))


def publish(run: ModelRun, venues: Venues) -> Path:
    run.stage(*venues.editions())
    run.build()
    candidate = releases.build_candidate(run.warehouse, print)
    if candidate is not None:
        releases.seal(candidate, PASSED)
        releases.promote(run.warehouse, print)
    return run.warehouse.current.resolve()


def contents(run: ModelRun, release: Path) -> dict[str, str]:
    """A fingerprint of each Parquet file and of each table of the database, which no order of rows changes.

    Not the files' hashes: a dictionary page also holds what happens to stand where a value is NULL.
    """
    sources = {str(path.relative_to(release)): f"read_parquet('{path}')" for path in release.rglob("*.parquet")}
    with run.warehouse.connect(release / releases.DATABASE, read_only=True) as connection:
        marts = connection.execute("select table_name from duckdb_tables() where not internal").fetchall()
        sources |= {mart: mart for (mart,) in marts if mart != "publication"}
        return {
            name: str(connection.execute(f"select count(*), sum(hash(t)::hugeint) from {source} as t").fetchall())
            for name, source in sources.items()
        }


@dataclass(frozen=True)
class Step:
    """A release, the one that was current before, and the years that were edited since that one was made."""

    before: Path
    after: Path
    edited: set[int]


Grown = tuple[ModelRun, Venues, list[Step]]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A warehouse after a first release and several rounds of random edits, rolled back to the first half way."""
    folder = tmp_path_factory.mktemp("growth")
    venues = Venues(folder)
    run = ModelRun(folder)
    first = current = publish(run, venues)
    steps: list[Step] = []
    for number in range(RELEASES):
        edited = {venues.edit() for _ in range(EDITS // RELEASES)}
        if number == RELEASES // 2:
            releases.roll_back(run.warehouse, first.name)
            edited |= {year for step in steps for year in step.edited}
            current = first
        steps.append(Step(current, publish(run, venues), edited))
        current = steps[-1].after
    return run, venues, steps


def test_twenty_random_edits_give_what_a_full_rebuild_gives(grown: Grown, tmp_path: Path) -> None:
    run, venues, steps = grown
    assert len({step.after for step in steps}) == RELEASES, f"seed {SEED}: some edits changed nothing"
    rebuilt = ModelRun(tmp_path)

    assert contents(rebuilt, publish(rebuilt, venues)) == contents(run, steps[-1].after), f"seed {SEED}"


def test_editions_that_did_not_change_share_their_files_with_the_release_before(grown: Grown) -> None:
    _, _, steps = grown
    ever_kept = False
    for step in steps:
        # Nobody edits the last year, but its papers can be claimed by earlier ones.
        before, after = (releases.read_manifest(release)["build"]["editions"] for release in (step.before, step.after))
        kept = {edition for edition, found in after.items() if before[edition] == found}
        ever_kept |= bool(kept)
        assert not kept & {f"test-{year}" for year in step.edited}
        for edition in kept:
            for mart in ("papers", "reviews"):
                name = f"{mart}/{edition}.parquet"
                assert (step.after / name).samefile(step.before / name)
    assert ever_kept, "some edition must stay as it is, or this test shows nothing"


def test_text_of_unchanged_editions_is_not_read_again(grown: Grown) -> None:
    """The compiled models name the editions that they read text of."""
    run, _, steps = grown
    last = steps[-1]
    before, after = (releases.read_manifest(release)["build"]["editions"] for release in (last.before, last.after))
    changed = sorted(edition for edition, found in after.items() if before[edition] != found)
    compiled = (run.target / "compiled/peer_reviews/models/marts/reviews.sql").read_text(encoding="utf-8")

    literals = "', '".join(changed)
    assert f"where edition_id in ('{literals}')" in compiled
    assert "union all\n    select released.*" in compiled
