"""`python -m pipelines run --edition all` with the shipped editions: every one of them, from servers on 127.0.0.1.

The servers hold a few papers for each source that an edition is configured with; base addresses are replaced, and
nothing else. The second run, in which sources are missing, has one edition of each shape: what more of a shape would
cost is time.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from pipelines import publish as releases
from pipelines.config.editions import Edition, Editions, load_editions
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.warehouse import Warehouse
from tests.hub_files import hub_review, hub_row, write_hub_file
from tests.openreview_server import Note, OpenReviewServer, note_v1, note_v2, reply_v1, review_v2
from tests.upstream_servers import FileServer, HubServer

pytestmark = pytest.mark.slow

SHIPPED = PROJECT_DIR / "pipelines" / "config" / "editions.yaml"
TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"
PARTIAL = ("iclr-2026", "iclr-2023", "iclr-2019", "iclr-2017", "neurips-2025", "colm-2024", "icml-2025", "3dv-2025")


def forum_id(edition: Edition, letter: str) -> str:
    return f"{edition.venue}{edition.year}_{letter}"


def kinds(edition: Edition) -> set[str]:
    return {source.kind for source in edition.sources}


def scales() -> dict[tuple[str, int], list[int]]:
    with (PROJECT_DIR / "dbt_project" / "seeds" / "rating_scales.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["venue"], year): [int(rating) for rating in row["allowed_ratings"].split()]
            for row in csv.DictReader(file)
            for year in range(int(row["first_year"]), int(row["last_year"]) + 1)
        }


SCALES = scales()


def ratings(edition: Edition) -> tuple[int, int]:
    """Two ratings that the edition's scale offers."""
    *_, low, high = SCALES.get((edition.venue, edition.year), [6, 8])
    return low, high


# --- what the servers hold --------------------------------------------------------------------------------------------


def notes(edition: Edition, submissions: str, api: str) -> list[Note]:
    """One paper with two reviews under an invitation, or one without reviews that was withdrawn or desk rejected."""
    kind = submissions.rpartition("/")[2]
    is_regular = kind in ("Submission", "submission", "Blind_Submission")
    id = forum_id(edition, "a" if is_regular else kind[0])
    name = f"{edition.venue} {edition.year}"
    if api == "v2":
        paper = note_v2(1, id=id, venue_id=edition.venue_id, venue=f"{name} Poster", hidden=())
        return [paper, *(review_v2(paper, at, rating=given) for at, given in enumerate(ratings(edition), start=1))]
    number = 1 if is_regular else ord(kind[0])
    paper = note_v1(number, id=id, venue_id=edition.venue_id, invitation=submissions, original="original01")
    if not is_regular:
        return [paper]
    field = "recommendation" if edition.venue == "ICLR" and edition.year in (2022, 2023) else "rating"
    return [paper] + [
        reply_v1(
            paper,
            "Official_Review",
            f"AnonReviewer{at}",
            {field: f"{given}: as the form words it", "review": "It counts.", "confidence": "4: confident"},
            venue_id=edition.venue_id,
            label=at,
        )
        for at, given in enumerate(ratings(edition), start=1)
    ]


def archive_file(edition: Edition) -> bytes:
    common = {"track": "main", "abstract": "We show something, at some length.", "author": "Ada Example"}
    given = ";".join(str(rating) for rating in ratings(edition))
    records = [
        {"id": forum_id(edition, "a"), "title": "In all sources", "status": "Poster", "rating": given, **common},
        {"id": forum_id(edition, "p"), "title": "In the archive", "status": "Reject", "rating": given, **common},
        {"id": forum_id(edition, "w"), "title": "Of a workshop", "rating": given, **common, "track": "workshop"},
    ]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def site_files(edition: Edition, has_sidecar: bool) -> tuple[bytes, bytes]:
    """The list of events and the sidecar with its abstracts."""
    abstract = "We show something at the site, at some length."
    events = [
        {
            "id": number,
            "uid": f"uid{number}",
            "name": f"Event {number}",
            "authors": [{"id": number, "fullname": "Ada Example", "institution": "University of A"}],
            "abstract": None if has_sidecar else abstract,
            "decision": "Accept (Poster)",
            "sourceurl": f"https://openreview.net/group?id={edition.venue_id}",
            "paper_url": f"https://openreview.net/forum?id={forum_id(edition, letter)}",
            "visible": True,
        }
        for number, letter in enumerate("as", start=1)
    ]
    listed = {"count": len(events), "next": None, "previous": None, "results": events}
    return json.dumps(listed).encode(), json.dumps({str(event["id"]): abstract for event in events}).encode()


def hub_file(edition: Edition, folder: Path) -> bytes:
    name = f"{edition.venue} {edition.year}"
    rows = [
        hub_row(
            number,
            url=f"https://openreview.net/forum?id={forum_id(edition, letter)}",
            venue=f"{name} Conference Submission",
            invitation=repr([f"{edition.venue_id}/-/Submission", f"{edition.venue_id}/Submission{number}/-/Edit"]),
            reviews=[
                hub_review(f"{forum_id(edition, letter)}{at}", rating=rating, reviewer=f"Reviewer_{letter}{at}")
                for at, rating in enumerate(ratings(edition))
            ],
        )
        for number, letter in enumerate("ah", start=1)
    ]
    return write_hub_file(folder / f"{edition.id}.parquet", rows).read_bytes()


# --- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """The shipped editions, and the servers that stand for their upstreams."""

    folder: Path
    editions: Editions
    v1: OpenReviewServer
    v2: OpenReviewServer
    hub: HubServer
    web: FileServer

    def real_editions(self, *, partial: bool = False) -> list[Edition]:
        return [
            edition
            for edition in self.editions.editions
            if not edition.is_synthetic and (edition.id in PARTIAL or not partial)
        ]

    def write_editions_file(self, *, partial: bool) -> Path:
        """The shipped editions with other base addresses."""
        file = self.folder / "editions.yaml"
        editions = [edition for edition in self.editions.editions if edition.is_synthetic or edition.id in PARTIAL]
        given = [edition.model_dump(mode="json") for edition in (editions if partial else self.editions.editions)]
        for edition in given:
            for source in edition["sources"]:
                if source["kind"] == "openreview":
                    source["base_url"] = (self.v1 if source["api"] == "v1" else self.v2).url("")
                elif source["kind"] == "hugging_face":
                    source["base_url"] = self.hub.url("")
                elif source["kind"] != "sample":
                    source["base_url"] = self.web.url(f"/{source['kind']}/{edition['id']}")
        file.write_text(yaml.safe_dump({"editions": given}), encoding="utf-8")
        return file

    def run(self, warehouse: str, *, partial: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "WAREHOUSE_DIR": str(self.folder / warehouse),
            "EDITIONS_FILE": str(self.write_editions_file(partial=partial)),
            "DAGSTER_HOME": str(self.folder / f"{warehouse}-dagster"),
            "HOME": str(self.folder),
            "NO_PROXY": "*",
            "HTTP_ATTEMPTS": "2",
        }
        command = [sys.executable, "-m", "pipelines", "run", "--edition", "all"]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | variables | environment,
            capture_output=True,
            text=True,
            timeout=900,
        )

    def query(self, warehouse: str, sql: str) -> list[tuple[Any, ...]]:
        database = self.folder / warehouse / "peer_reviews.duckdb"
        with duckdb.connect(database, read_only=True) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("every edition")
    editions = load_editions(SHIPPED)
    with ExitStack() as stack:
        v1 = stack.enter_context(OpenReviewServer(api="v1"))
        v2 = stack.enter_context(OpenReviewServer())
        hub = stack.enter_context(HubServer())
        web = stack.enter_context(FileServer())
        v1.tokens.add(TOKEN)
        v2.tokens.add(TOKEN)
        world = World(folder, editions, v1, v2, hub, web)
        files: dict[str, bytes] = {}
        for edition in editions.editions:
            for source in edition.sources:
                place = f"/{source.kind}/{edition.id}"
                if source.kind == "openreview":
                    (v1 if source.api == "v1" else v2).put(*notes(edition, source.submissions, source.api))
                elif source.kind == "hugging_face":
                    hub.publish(source.dataset, {"data/main-00000-of-00001.parquet": hub_file(edition, folder)})
                elif source.kind == "paper_copilot":
                    files[f"{place}/{source.file}"] = archive_file(edition)
                elif source.kind == "conference_site":
                    listed, abstracts = site_files(edition, bool(source.abstracts_file))
                    files[f"{place}/{source.file}"] = listed
                    if source.abstracts_file:
                        files[f"{place}/{source.abstracts_file}"] = abstracts
        web.files = FileServer(files).files
        yield world


@pytest.fixture(scope="module")
def complete(world: World) -> subprocess.CompletedProcess[str]:
    """The run in which every source answers."""
    done = world.run("complete", OPENREVIEW_TOKEN=TOKEN)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done


@pytest.fixture(scope="module")
def partial(world: World) -> subprocess.CompletedProcess[str]:
    """The run without an account at OpenReview, and with one archive file and one site that are not there."""
    kept = dict(world.web.files)
    for path in kept:
        if path.startswith(("/paper_copilot/colm-2024/", "/conference_site/iclr-2019/")):
            del world.web.files[path]
    try:
        return world.run("partial", partial=True)
    finally:
        world.web.files.update(kept)


def released(world: World, warehouse: str) -> list[str]:
    return releases.release_ids(Warehouse(Settings(warehouse_dir=world.folder / warehouse)))


def test_one_run_ends_with_one_release(world: World, complete: subprocess.CompletedProcess[str]) -> None:
    (release_id,) = released(world, "complete")
    assert f"Release {release_id} (new)" in complete.stdout
    assert (world.folder / "complete" / "current").resolve().name == release_id


def test_every_edition_is_present_and_no_synthetic_one(
    world: World, complete: subprocess.CompletedProcess[str]
) -> None:
    found = world.query("complete", "select edition_id, venue, year, venue_id from editions order by 1")
    expected = [(edition.id, edition.venue, edition.year, edition.venue_id) for edition in world.real_editions()]
    assert found == sorted(expected)
    assert len(found) >= 40
    folder = world.folder / "complete" / "current" / "papers"
    assert {path.stem for path in folder.glob("*.parquet")} == {edition.id for edition in world.real_editions()}
    assert "Synthetic editions stay out of releases" in complete.stdout + complete.stderr


def test_every_source_contributed(world: World, complete: subprocess.CompletedProcess[str]) -> None:
    sources = dict(world.query("complete", "select edition_id, sources from editions"))
    of_papers = dict(
        world.query(
            "complete", "select edition_id, list_sort(list_distinct(flatten(list(sources)))) from papers group by 1"
        )
    )
    for edition in world.real_editions():
        schemas = sorted({source.dataset_schema for source in edition.sources})
        assert sources[edition.id] == schemas, edition.id
        assert of_papers[edition.id] == schemas, edition.id


def test_every_edition_has_the_papers_and_reviews_of_its_sources(
    world: World, complete: subprocess.CompletedProcess[str]
) -> None:
    found = {
        (edition_id, paper_id): row
        for edition_id, paper_id, *row in world.query(
            "complete", "select edition_id, paper_id, status, rating_mean, review_count from papers"
        )
    }
    for edition in world.real_editions():
        mean = sum(ratings(edition)) / 2
        names = {source.name for source in edition.sources}
        # OpenReview's or the archive's two reviews, and those of the Hub that are others.
        reviews = 4 if "hugging_face" in kinds(edition) else 2
        expected = {"a": ["accepted", mean, reviews]}
        if "hugging_face" in kinds(edition):
            expected["h"] = ["under_review", mean, 2]
        if "paper_copilot" in kinds(edition):
            expected["p"] = ["rejected", mean, 2]
        if "conference_site" in kinds(edition):
            expected["s"] = ["accepted", None, 0]
        if "openreview_withdrawn" in names:
            expected["W"] = ["withdrawn", None, 0]
        if "openreview_desk_rejected" in names:
            expected["D"] = ["desk_rejected", None, 0]
        mine = {paper_id: row for (edition_id, paper_id), row in found.items() if edition_id == edition.id}
        assert mine == {forum_id(edition, letter): row for letter, row in expected.items()}, edition.id


def test_only_the_workshop_was_set_aside(world: World, complete: subprocess.CompletedProcess[str]) -> None:
    """And with it more of so small an edition than the gate would let pass, were it the edition's own."""
    reason = "the row is of another track: workshop"
    of_items = f"its paper was set aside: {reason}"
    assert world.query(
        "complete", "select edition_id, source, row_kind, reason from quarantined_rows order by all"
    ) == [
        (edition_id, "paper_copilot", *found)
        for edition_id in sorted(edition.id for edition in world.real_editions() if "paper_copilot" in kinds(edition))
        for found in (("author", of_items), ("paper", reason), ("review", of_items), ("review", of_items))
    ]


def test_a_run_succeeds_without_the_sources_that_it_cannot_have(
    world: World, partial: subprocess.CompletedProcess[str]
) -> None:
    assert partial.returncode == 0, partial.stdout[-3000:] + partial.stderr[-6000:]
    assert len(released(world, "partial")) == 1
    text = partial.stdout + partial.stderr
    for edition in world.real_editions(partial=True):
        for source in edition.sources:
            place = f"{edition.id}/{source.name}"
            is_absent = place in ("colm-2024/paper_copilot", "iclr-2019/conference_site")
            is_skipped = source.kind == "openreview" or is_absent
            assert (f"{place} is skipped:" in text) == is_skipped, place
    assert "OPENREVIEW_USERNAME" in text
    assert "there is no such file upstream" in text


def test_an_edition_shows_what_it_has_without_the_skipped_sources(
    world: World, partial: subprocess.CompletedProcess[str]
) -> None:
    sources = dict(world.query("partial", "select edition_id, sources from editions"))
    for edition in world.real_editions(partial=True):
        here = {
            source.dataset_schema
            for source in edition.sources
            if source.kind != "openreview"
            and (edition.id, source.kind) not in {("colm-2024", "paper_copilot"), ("iclr-2019", "conference_site")}
        }
        # An edition of which nothing landed is left out, and said to be.
        assert sources.get(edition.id) == (sorted(here) or None), edition.id
    assert "colm-2024" not in sources
    assert "Nothing has landed for colm-2024" in partial.stdout + partial.stderr
