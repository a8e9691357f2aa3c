"""The whole graph on real input, as people start it: `python -m pipelines run` and `dagster asset materialize`.

A full run costs many seconds, so the tests of one warehouse tell one story in order: a release, nothing new, one
changed rating, a synthetic edition beside it, a failure at the gate. Each chapter is a fixture that runs once.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import publish as releases
from pipelines.config.settings import Settings
from pipelines.publish import Candidate
from pipelines.sources.fetched import Log
from pipelines.warehouse import Warehouse, sha256
from tests.hub_files import VENUE_ID, ten_papers, write_hub_file
from tests.upstream_servers import HubServer

pytestmark = pytest.mark.slow

EDITIONS = f"""\
editions:
  - id: test-2026
    venue: TEST
    year: 2026
    venue_id: {VENUE_ID}
    sources: [{{kind: files, path: papers.parquet}}]
  - id: sample
    venue: Synthetic
    year: 2026
    venue_id: Synthetic.example/2026/Conference
    sources: [{{kind: sample}}]
"""


@dataclass(frozen=True)
class Place:
    """A folder with an editions file, a warehouse, a Dagster home, and another folder to run from."""

    folder: Path

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(Settings(warehouse_dir=self.folder / "warehouse", lock_wait_seconds=5))

    @property
    def papers(self) -> Path:
        return self.folder / "papers.parquet"

    def run(self, edition: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self._process([sys.executable, "-m", "pipelines", "run", "--edition", edition], environment)

    def dagster(self, *selection: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`dagster asset materialize` with these arguments; unlike our launcher, it wants a home that exists."""
        (self.folder / "dagster").mkdir(exist_ok=True)
        command = [str(Path(sys.executable).parent / "dagster"), "asset", "materialize"]
        return self._process([*command, "-m", "pipelines.definitions", *selection], environment)

    def _process(self, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        mine = {
            "WAREHOUSE_DIR": str(self.folder / "warehouse"),
            "EDITIONS_FILE": str(self.folder / "editions.yaml"),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "HOME": str(self.folder),
            "LOCK_WAIT_SECONDS": "20",
        }
        return subprocess.run(
            command, cwd=elsewhere, env=os.environ | mine | environment, capture_output=True, text=True, timeout=600
        )

    def current(self) -> str | None:
        return releases.current_id(self.warehouse)

    def state(self) -> dict[str, Any]:
        """Hash and time of every file of the warehouse, and where every link leads."""
        root = self.warehouse.root
        return {
            str(path.relative_to(root)): str(path.readlink())
            if path.is_symlink()
            else (sha256(path), path.stat().st_mtime_ns)
            for path in sorted(root.rglob("*"))
            if path.is_symlink() or path.is_file()
        }

    def published(self) -> dict[str, Any]:
        """What a reader sees of it."""
        visible = ("current", "peer_reviews.duckdb", "releases/")
        return {path: state for path, state in self.state().items() if path.startswith(visible)}

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(self.warehouse.database, read_only=True) as connection:
            return connection.execute(sql).fetchall()


@dataclass(frozen=True)
class Chapter:
    """One run: what it printed, and the release and the warehouse after it."""

    done: subprocess.CompletedProcess[str]
    release_id: str | None
    state: dict[str, Any]

    @property
    def text(self) -> str:
        return self.done.stdout + self.done.stderr

    @property
    def errors(self) -> list[str]:
        return [line for line in self.done.stderr.splitlines() if line.startswith("Error: ")]


def chapter(place: Place, done: subprocess.CompletedProcess[str]) -> Chapter:
    return Chapter(done, place.current(), place.state())


def succeeded(place: Place, done: subprocess.CompletedProcess[str]) -> Chapter:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return chapter(place, done)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("main job"))
    (place.folder / "editions.yaml").write_text(EDITIONS)
    write_hub_file(place.papers, ten_papers())
    return place


@pytest.fixture(scope="module")
def first(place: Place) -> Chapter:
    return succeeded(place, place.run("test-2026"))


@pytest.fixture(scope="module")
def second(place: Place, first: Chapter) -> Chapter:
    return succeeded(place, place.run("test-2026"))


@pytest.fixture(scope="module")
def changed(place: Place, second: Chapter) -> Chapter:
    """One rating of one review of the fourth paper is another one."""
    papers = ten_papers()
    papers[3]["reviews"][0]["rating"] = 10
    write_hub_file(place.papers, papers)
    return succeeded(place, place.dagster("--select", "*", "--partition", "test-2026"))


@pytest.fixture(scope="module")
def planted(place: Place, changed: Chapter, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A copy of the warehouse after the changed rating, in which that release was never made."""
    copy = Place(tmp_path_factory.mktemp("planted"))
    shutil.copytree(place.folder, copy.folder, symlinks=True, dirs_exist_ok=True)
    newest = releases.release_ids(copy.warehouse)[-1]
    releases.roll_back(copy.warehouse)
    shutil.rmtree(copy.warehouse.releases / newest)
    return copy


@pytest.fixture(scope="module")
def synthetic(place: Place, planted: Place) -> Chapter:
    return succeeded(place, place.run("sample"))


@pytest.fixture(scope="module")
def refused(place: Place, synthetic: Chapter) -> Chapter:
    """One rating of the upstream is 99."""
    papers = ten_papers()
    papers[3]["reviews"][0]["rating"] = 99
    write_hub_file(place.papers, papers)
    return chapter(place, place.run("test-2026"))


# --- the story --------------------------------------------------------------------------------------------------------


def test_the_first_run_makes_a_release_and_shows_it(place: Place, first: Chapter) -> None:
    shown = first.done.stdout[first.done.stdout.index("\nRelease ") :]
    assert f"Release {first.release_id} (new)" in shown
    for mart, rows in (("papers", 10), ("reviews", 20), ("authors", 3), ("paper_authors", 4), ("editions", 1)):
        assert re.search(rf"^ +{mart} +{rows} rows$", shown, re.MULTILINE), mart
    assert "Gate: passed" in shown
    assert f"Parquet:  {place.warehouse.releases / str(first.release_id)}" in shown
    assert f"DuckDB:   {place.warehouse.database}" in shown
    assert "from papers" in shown
    assert re.search(r"test-2026 +│ under_review +│ +8 ", shown)
    assert "SYNTHETIC" not in shown
    assert first.state["current"] == f"releases/{first.release_id}"


def test_the_release_is_whole_and_described(place: Place, first: Chapter) -> None:
    folder = place.warehouse.releases / str(first.release_id)
    releases.verify(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["gate"]["passed"] is True
    assert {"editions.parquet", "authors.parquet", "papers/test-2026.parquet", "peer_reviews.duckdb"} <= {
        file["path"] for file in manifest["files"]
    }
    for mart, described in manifest["marts"].items():
        assert described["description"], mart
        for column in described["columns"]:
            assert column["description"], f"{mart}.{column['name']}"
    for kept in manifest["conservation"]:
        assert kept["rows_in"] == kept["rows_in_marts"] + kept["rows_merged"] + kept["rows_quarantined"]
    assert {kept["row_kind"]: kept["rows_in"] for kept in manifest["conservation"]} == {
        "paper": 10,
        "review": 20,
        "author": 4,
    }
    (snapshot,) = manifest["snapshots"]
    assert snapshot["url"] == place.papers.as_uri()


def test_the_run_left_nothing_in_the_current_folder_and_history_in_its_home(place: Place, first: Chapter) -> None:
    assert list((place.folder / "elsewhere").iterdir()) == []
    assert (place.folder / "dagster" / "dagster.yaml").is_file()
    assert (place.folder / "dagster" / "history").is_dir()


def test_a_second_run_changes_no_file_and_makes_no_release(first: Chapter, second: Chapter) -> None:
    assert second.release_id == first.release_id
    assert second.state == first.state
    assert f"Release {first.release_id} (as before, nothing is new)" in second.done.stdout


def difference(before: Path, after: Path, mart: str) -> list[dict[str, Any]]:
    """Rows of a mart that only the one database has, then those that only the other has."""
    with duckdb.connect() as connection:
        connection.execute(f"attach '{before}' as a (read_only)")
        connection.execute(f"attach '{after}' as b (read_only)")
        names = [name for name, *_ in connection.execute(f"describe a.{mart}").fetchall()]
        found = []
        for these, those in (("a", "b"), ("b", "a")):
            columns = ", ".join(names)
            query = f"select {columns} from {these}.{mart} except all select {columns} from {those}.{mart}"
            found += connection.execute(query).fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


def test_one_changed_rating_makes_a_release_that_differs_in_that_row_only(
    place: Place, first: Chapter, changed: Chapter
) -> None:
    assert changed.release_id != first.release_id
    before, after = (place.warehouse.releases / str(run.release_id) for run in (first, changed))
    assert set(releases.read_manifest(before)["marts"]) == set(releases.read_manifest(after)["marts"])
    differing = {
        mart: found
        for mart in releases.read_manifest(after)["marts"]
        if (found := difference(before / releases.DATABASE, after / releases.DATABASE, mart))
    }
    (old, new) = differing["reviews"]
    assert {column for column in new if old[column] != new[column]} == {"rating", "rating_text"}
    assert (old["review_id"], old["rating"], new["rating"]) == ("rev00004aaAA", 4, 10)
    (old, new) = differing["papers"]
    assert old["paper_id"] == "Forum00004"
    assert {column for column in new if old[column] != new[column]} <= {
        *("rating_mean", "rating_stddev", "rating_min", "rating_max"),
    }
    (old, new) = differing["editions"]
    assert {column for column in new if old[column] != new[column]} == {"rating_mean"}
    # The changed file is another snapshot with the same number, and so no other row names another one.
    (old, new) = differing["snapshots"]
    assert {column for column in new if old[column] != new[column]} == {"snapshot_id"}
    # Whatever else differs (a history) is about that paper.
    for mart, found in differing.items():
        if mart not in ("editions", "edition_figures", "snapshots"):
            assert {row["paper_id"] for row in found} == {"Forum00004"}, mart


def test_unchanged_files_are_shared_between_the_releases(place: Place, first: Chapter, changed: Chapter) -> None:
    before, after = (place.warehouse.releases / str(run.release_id) for run in (first, changed))
    for unchanged in ("authors", "paper_authors/test-2026", "row_conservation/test-2026"):
        assert (before / f"{unchanged}.parquet").samefile(after / f"{unchanged}.parquet"), unchanged
    assert not (before / "reviews" / "test-2026.parquet").samefile(after / "reviews" / "test-2026.parquet")


def test_a_synthetic_edition_stays_out_beside_a_real_one_and_the_run_says_so(
    place: Place, changed: Chapter, synthetic: Chapter
) -> None:
    assert "Synthetic editions stay out of releases now that real ones are staged: sample." in synthetic.text
    assert synthetic.release_id == changed.release_id
    assert place.query("select edition_id, is_synthetic from editions") == [("test-2026", False)]
    with place.warehouse.connect(place.warehouse.working_database, read_only=True) as connection:
        assert connection.execute("select edition_id from raw.editions order by 1").fetchall() == [
            ("sample",),
            ("test-2026",),
        ]


def test_a_rating_of_99_is_not_published(place: Place, synthetic: Chapter, refused: Chapter) -> None:
    assert refused.done.returncode == 1
    assert refused.release_id == synthetic.release_id
    assert f"The run failed; the current release is still {synthetic.release_id}." in refused.done.stderr
    (line,) = (line for line in refused.errors if "reviews: rating " in line)
    assert "review_id=rev00004aaAA" in line
    assert "99" in line
    # Each failure is one line; Dagster's own words are not the message.
    assert not any("DagsterAssetCheckFailedError" in line for line in refused.errors)
    unpublished = {path: state for path, state in refused.state.items() if path.startswith("releases/")}
    assert unpublished == {path: state for path, state in synthetic.state.items() if path.startswith("releases/")}


def test_published_alone_still_refuses(place: Place, refused: Chapter) -> None:
    before = place.published()
    done = place.dagster("--select", "published")
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert "did not pass the gate and is not published" in text
    assert "review_id=rev00004aaAA" in text
    assert place.published() == before


def test_a_duplicated_review_id_in_the_candidate_is_not_published(planted: Place) -> None:
    import dagster as dg

    from pipelines.definitions import build_definitions

    def duplicate_a_review(warehouse: Warehouse, log: Log) -> Candidate | None:
        candidate = releases.build_candidate(warehouse, log)
        assert candidate is not None
        file = candidate.release / "reviews" / "test-2026.parquet"
        with duckdb.connect() as connection:
            connection.execute(f"create table reviews as from read_parquet('{file}')")
            connection.execute("insert into reviews from reviews where review_id = 'rev00007bbBB'")
            file.unlink()
            connection.execute(f"copy reviews to '{file}' (format parquet)")
        return candidate

    settings = Settings(
        warehouse_dir=planted.warehouse.root, editions_file=planted.folder / "editions.yaml", lock_wait_seconds=5
    )
    before = planted.published()
    job = build_definitions(settings=settings, build_candidate=duplicate_a_review)
    result = job.resolve_implicit_global_asset_job_def().execute_in_process(
        asset_selection=[dg.AssetKey("candidate"), dg.AssetKey("published")], raise_on_error=False
    )
    assert not result.success
    failed = [check for check in result.get_asset_check_evaluations() if not check.passed]
    (keys,) = (check for check in failed if check.check_name == "reviews")
    assert keys.severity == dg.AssetCheckSeverity.ERROR
    assert keys.description is not None
    assert re.search(r"reviews: .*review_id.*rev00007bbBB", keys.description)
    with pytest.raises(releases.ReleaseError, match=r"did not pass the gate.*review_id.*rev00007bbBB"):
        releases.promote(planted.warehouse, lambda message: None)
    assert planted.published() == before


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path: Path) -> Place:
    (tmp_path / "editions.yaml").write_text(EDITIONS)
    return Place(tmp_path)


def test_an_unknown_edition_is_one_sentence(fresh: Place) -> None:
    done = fresh.run("nope")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: There is no edition 'nope'; the editions file has: test-2026, sample.\n"
    assert not fresh.warehouse.root.exists()


def test_an_unknown_partition_names_itself_last(fresh: Place) -> None:
    """Dagster's own check and words, which a traceback precedes."""
    done = fresh.dagster("--select", "*", "--partition", "nope")
    assert done.returncode != 0
    assert "passed partition key `nope`" in done.stderr.splitlines()[-1]


def test_a_broken_editions_file_is_one_sentence_either_way(fresh: Place) -> None:
    (fresh.folder / "editions.yaml").write_text(EDITIONS.replace("kind: files", "kind: pigeon"))
    for done in (fresh.run("test-2026"), fresh.dagster("--select", "*", "--partition", "test-2026")):
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        said = done.stderr.splitlines()[-1]
        place = f"{fresh.folder / 'editions.yaml'}: edition 'test-2026', source number 1"
        assert said.startswith(f"Error: {place}: kind 'pigeon' does not exist")
        assert "allowed: 'hugging_face', 'files', 'sample'" in said


def test_an_upstream_that_is_not_there_is_one_sentence(fresh: Place) -> None:
    done = fresh.run("test-2026")
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"Error: landed: test-2026/files: {fresh.papers}: no file matches")


# --- the real preview -------------------------------------------------------------------------------------------------

PREVIEW = """\
editions:
  - id: iclr-2026
    venue: ICLR
    year: 2026
    venue_id: ICLR.cc/2026/Conference
    sources:
      - {{{source}, as_of: 2025-11-21}}
"""


@pytest.fixture(scope="module")
def preview(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Chapter]:
    place = Place(tmp_path_factory.mktemp("preview"))
    source = f"kind: files, path: {shared_data / 'iclr2026_preview.parquet'}"
    (place.folder / "editions.yaml").write_text(PREVIEW.format(source=source))
    return place, succeeded(place, place.run("iclr-2026"))


def test_the_preview_has_the_figures_that_are_known(preview: tuple[Place, Chapter]) -> None:
    place, _ = preview
    counts = {mart: place.query(f"select count(*) from {mart}")[0][0] for mart in ("papers", "reviews")}
    counts |= {mart: place.query(f"select count(*) from {mart}")[0][0] for mart in ("authors", "paper_authors")}
    assert counts == {"papers": 14, "reviews": 55, "authors": 15, "paper_authors": 15}
    columns = "status, submission_number, is_blind, is_placeholder_abstract, rating_mean"
    paper = f"select {columns} from papers where paper_id = "
    assert place.query(f"{paper} 'zyq1JIuIhL'") == [("withdrawn", 13342, False, True, 3.5)]
    assert place.query(f"{paper} 'zzo3Sy3NSX'") == [("under_review", 4956, True, False, 4.5)]
    assert place.query("select count(*) from paper_authors where paper_id = 'zyq1JIuIhL'") == [(6,)]
    assert place.query("select link_type from paper_links where paper_id = 'zzo3Sy3NSX'") == [("anonymous_code",)]
    assert place.query("select count(*) from quarantined_rows") == [(0,)]


def test_no_review_of_the_preview_has_an_invented_date_or_an_empty_text(preview: tuple[Place, Chapter]) -> None:
    place, _ = preview
    types = dict(
        place.query("select column_name, data_type from duckdb_columns() where table_name = 'reviews' and not internal")
    )
    for column, kind in types.items():
        if kind.startswith(("TIMESTAMP", "DATE")):
            assert place.query(f"select count({column}) from reviews") == [(0,)], column
        elif kind == "VARCHAR":
            assert place.query(f"select count(*) from reviews where trim({column}) = ''") == [(0,)], column


def test_the_preview_through_the_hub_is_the_same_release(
    preview: tuple[Place, Chapter], shared_data: Path, tmp_path: Path
) -> None:
    """Byte for byte, in a warehouse of its own that has seen nothing else."""
    place = Place(tmp_path)
    body = (shared_data / "iclr2026_preview.parquet").read_bytes()
    with HubServer() as hub:
        hub.publish("davidheineman/iclr-2026", {"data/main-00000-of-00001.parquet": body})
        source = f"kind: hugging_face, dataset: davidheineman/iclr-2026, base_url: '{hub.url('')}'"
        (place.folder / "editions.yaml").write_text(PREVIEW.format(source=source))
        through_hub = succeeded(place, place.run("iclr-2026"))
    other, through_files = preview
    manifests = [
        releases.read_manifest(where.warehouse.releases / str(run.release_id))
        for where, run in ((place, through_hub), (other, through_files))
    ]
    parquet = [
        {file["path"]: file["sha256"] for file in manifest["files"] if file["path"].endswith(".parquet")}
        for manifest in manifests
    ]
    assert parquet[0] == parquet[1]
    assert manifests[0]["content_sha256"] == manifests[1]["content_sha256"]
    assert [manifest["snapshots"][0]["kind"] for manifest in manifests] == ["hugging_face", "files"]
