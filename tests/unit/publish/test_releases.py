"""`pipelines/releases.py`, on small marts made by hand: nothing here needs dbt, Dagster or Great Expectations."""

import html
import json
import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import publish as releases
from pipelines.config.settings import Settings
from pipelines.land.landing import current_snapshot
from pipelines.publish import Candidate, ReleaseError, promotion
from pipelines.publish import candidate as candidates
from pipelines.releases import main
from pipelines.stage.staging import stage
from pipelines.warehouse import Warehouse, sha256
from tests.conftest import Land
from tests.hub_files import editions_of, files_edition, hub_row, write_hub_file

PASSED: dict[str, Any] = {"passed": True, "messages": []}
FAILED: dict[str, Any] = {"passed": False, "messages": ["reviews: rating must be in 0..10 (review r1 has 99)"]}

Ratings = dict[str, list[int]]
FIRST: Ratings = {"test-2025": [4, 8], "test-2026": [6, 6, 2]}
SECOND: Ratings = {"test-2025": [4, 8], "test-2026": [6, 6, 10]}
THIRD: Ratings = {"test-2025": [4, 8], "test-2026": [6, 6, 0]}


class IsDatetime(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is a second later than the one before: releases of one test have their own ids."""
    ticks = (datetime(2026, 11, 30, 12, tzinfo=UTC) + timedelta(seconds=second) for second in range(100_000))

    class Clock(metaclass=IsDatetime):
        @staticmethod
        def now(zone: tzinfo) -> datetime:
            return next(ticks)

        strptime = datetime.strptime

    monkeypatch.setattr(candidates, "datetime", Clock)


@pytest.fixture(autouse=True)
def staged(warehouse: Warehouse, land: Land, tmp_path: Path) -> None:
    """Both editions, really landed and staged."""
    editions = [
        files_edition(write_hub_file(tmp_path / f"{year}.parquet", [hub_row(year)]), f"test-{year}", year=year)
        for year in (2025, 2026)
    ]
    for edition in editions:
        land(edition)
        stage(edition, editions_of(*editions), warehouse=warehouse, log=lambda message: None)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def build(warehouse: Warehouse, said: list[str]) -> Callable[[Ratings], Candidate | None]:
    """Make the marts anew with these ratings, and a candidate of them."""

    def make(ratings: Ratings) -> Candidate | None:
        make_marts(warehouse, ratings)
        return releases.build_candidate(warehouse, said.append)

    return make


@pytest.fixture
def publish(
    warehouse: Warehouse, build: Callable[[Ratings], Candidate | None], said: list[str]
) -> Callable[[Ratings], str]:
    """Make, judge and promote a release with these ratings; returns its id."""

    def make(ratings: Ratings) -> str:
        candidate = build(ratings)
        assert candidate is not None
        releases.seal(candidate, PASSED)
        release_id = releases.promote(warehouse, said.append)
        assert release_id == candidate.release_id
        return release_id

    return make


Build = Callable[[Ratings], Candidate | None]
Publish = Callable[[Ratings], str]


def make_marts(warehouse: Warehouse, ratings: Ratings, *, is_synthetic: bool = False) -> None:
    warehouse.new_database(warehouse.marts_database)
    with warehouse.connect(warehouse.marts_database) as connection:
        connection.execute(
            """
            create table editions (
                edition_id varchar, submission_count integer, review_count integer, rating_mean double,
                as_of_at timestamp, is_synthetic boolean
            );
            create table reviews (review_id varchar primary key, edition_id varchar not null, rating double);
            create table authors (author_id varchar, display_name varchar);
            create table edition_figures (
                edition_id varchar, figure varchar, value double, published_low double, published_high double,
                is_in_agreement boolean, published_by varchar, published_on varchar
            );
            insert into edition_figures values
                ('test-2026', 'review_count', 5, 5, 5, true, 'the chairs', '2026-03-31'),
                ('test-2026', 'accepted_count', null, 10, 12, false, 'the chairs', '2026-03-31');
            create table snapshots (edition_id varchar, snapshot_number integer, snapshot_id varchar);
            create table row_conservation (
                edition_id varchar, snapshot_number integer, row_kind varchar, source varchar, rows_in bigint,
                rows_in_marts bigint, rows_merged bigint, rows_quarantined bigint
            );
            insert into authors values ('ada', 'Ada Example');
            comment on table editions is 'One venue-year.';
            comment on table reviews is 'One official review; it''s anonymous.';
            comment on column reviews.rating is 'Rating as a number.';
            comment on table authors is 'One identity.';
            """
        )
        for edition_id, given in ratings.items():
            mean = sum(given) / len(given) if given else None
            connection.execute(
                "insert into editions values (?, 1, ?, ?, '2025-11-21 10:00:00', ?)",
                [edition_id, len(given), mean, is_synthetic],
            )
            snapshot = current_snapshot(warehouse, edition_id, "files")
            assert snapshot is not None
            connection.execute("insert into snapshots values (?, 1, ?)", [edition_id, snapshot.record.snapshot_id])
            connection.execute(
                "insert into row_conservation values (?, 1, 'paper', 'hub_dataset', 1, 1, 0, 0)", [edition_id]
            )
            for number, rating in enumerate(given):
                connection.execute(
                    "insert into reviews values (?, ?, ?)", [f"{edition_id}-r{number}", edition_id, rating]
                )
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute(
            """
            create schema if not exists raw;
            create table if not exists raw.released_editions (edition_id varchar, fingerprint varchar);
            create schema if not exists intermediate;
            create or replace table intermediate.int_edition_fingerprints (
                edition_id varchar, fingerprint varchar, is_released boolean
            )
            """
        )
        for edition_id, given in ratings.items():
            connection.execute(
                """
                insert into intermediate.int_edition_fingerprints
                select $id, $print, ($id, $print) in (select (edition_id, fingerprint) from raw.released_editions)
                """,
                {"id": edition_id, "print": repr((given, is_synthetic))},
            )
    releases.finish_build(warehouse, f"fingerprint of {sorted(ratings.items())}", releases.code_fingerprint())


def everything(folder: Path) -> dict[str, tuple[str, int]]:
    """Content and time of every file, and where every link leads."""
    return {
        str(path.relative_to(folder)): (str(path.readlink()), 0)
        if path.is_symlink()
        else (sha256(path), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def published(warehouse: Warehouse) -> dict[str, tuple[str, int]]:
    """`releases/` and the links, which are what a reader sees."""
    return {
        path: state
        for path, state in everything(warehouse.root).items()
        if path.startswith("releases/") or path in ("current", "peer_reviews.duckdb")
    }


def rows(path: Path, query: str = "select edition_id, rating from {}") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(query.format(f"read_parquet('{path}')")).fetchall()


# --- candidate --------------------------------------------------------------------------------------------------------


def test_a_candidate_holds_one_file_per_mart_or_edition_and_publishes_nothing(
    warehouse: Warehouse, build: Build
) -> None:
    candidate = build(FIRST)
    assert candidate is not None
    assert re.fullmatch(r"20261130T1200\d\dZ-[0-9a-f]{8}", candidate.release_id)
    assert candidate.folder == warehouse.candidates / candidate.release_id
    assert sorted(str(path.relative_to(candidate.release)) for path in candidate.release.rglob("*.*")) == [
        "authors.parquet",
        "edition_figures/test-2025.parquet",
        "edition_figures/test-2026.parquet",
        "editions.parquet",
        "peer_reviews.duckdb",
        "reviews/test-2025.parquet",
        "reviews/test-2026.parquet",
        "row_conservation/test-2025.parquet",
        "row_conservation/test-2026.parquet",
        "snapshots/test-2025.parquet",
        "snapshots/test-2026.parquet",
    ]
    assert rows(candidate.release / "reviews" / "test-2025.parquet") == [("test-2025", 4.0), ("test-2025", 8.0)]
    assert releases.newest_candidate(warehouse) == candidate
    assert releases.current_id(warehouse) is None
    assert releases.release_ids(warehouse) == []
    assert not warehouse.database.is_symlink()


def test_parquet_is_zstd_and_says_what_it_is(build: Build) -> None:
    candidate = build(FIRST)
    assert candidate is not None
    file = candidate.release / "reviews" / "test-2026.parquet"
    with duckdb.connect() as connection:
        found = connection.execute(
            f"select decode(key), decode(value) from parquet_kv_metadata('{file}') where decode(key) != 'ARROW:schema'"
        ).fetchall()
        codecs = connection.execute(f"select distinct compression from parquet_metadata('{file}')").fetchall()
    assert dict(found) == {
        "title": "peer-review-warehouse: reviews",
        "description": "One official review; it's anonymous.",
        "contract_version": "1",
    }
    assert codecs == [("ZSTD",)]


def test_the_database_is_closed_plain_and_says_which_release_it_is(warehouse: Warehouse, build: Build) -> None:
    candidate = build(FIRST)
    assert candidate is not None
    database = candidate.release / "peer_reviews.duckdb"
    assert [path.name for path in candidate.release.glob("*duckdb*")] == ["peer_reviews.duckdb"]
    with warehouse.connect(database, read_only=True) as connection:
        tables = connection.execute("select table_name, comment from duckdb_tables() order by 1").fetchall()
        assert connection.execute("select count(*) from duckdb_views() where not internal").fetchall() == [(0,)]
        undescribed = "select column_name from duckdb_columns() where table_name = 'publication' and comment is null"
        assert connection.execute(undescribed).fetchall() == []
        assert connection.execute("select release_id, is_synthetic, contract_version from publication").fetchall() == [
            (candidate.release_id, False, 1)
        ]
        ((storage,),) = connection.execute(
            "select tags['storage_version'] from duckdb_databases() where database_name = current_database()"
        ).fetchall()
    assert dict(tables) == {
        "authors": "One identity.",
        "edition_figures": None,
        "editions": "One venue-year.",
        "publication": "One release: which one this database is.",
        "reviews": "One official review; it's anonymous.",
        "row_conservation": None,
        "snapshots": None,
    }
    assert storage == "v1.0.0+"


def test_the_same_marts_give_byte_identical_parquet(warehouse: Warehouse, build: Build) -> None:
    def hashes() -> dict[str, str]:
        candidate = build(FIRST)
        assert candidate is not None
        release = candidate.release
        found = {str(path.relative_to(release)): sha256(path) for path in release.rglob("*.parquet")}
        shutil.rmtree(warehouse.candidates)
        return found

    first = hashes()
    assert len(first) == 10
    assert hashes() == first


def test_a_mart_without_rows_in_an_edition_still_has_its_file(build: Build) -> None:
    candidate = build({"test-2025": [], "test-2026": [6]})
    assert candidate is not None
    assert rows(candidate.release / "reviews" / "test-2025.parquet") == []


@pytest.mark.parametrize("state", ["no database", "no build", "some models only"])
def test_marts_that_are_not_complete_make_no_candidate(
    warehouse: Warehouse, build: Build, said: list[str], state: str
) -> None:
    if state == "no build":
        warehouse.new_database(warehouse.marts_database)
    elif state == "some models only":
        make_marts(warehouse, FIRST)
        with warehouse.writing("build some"):
            releases.begin_build(warehouse, whole=False)
    with pytest.raises(ReleaseError, match=r"marts\.duckdb holds no complete build; materialise the dbt models first"):
        releases.build_candidate(warehouse, said.append)
    assert not warehouse.candidates.exists()


def test_a_whole_build_begins_with_an_empty_database(warehouse: Warehouse) -> None:
    make_marts(warehouse, FIRST)
    with warehouse.writing("build all"):
        releases.begin_build(warehouse, whole=True)
    with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
        assert connection.execute("from duckdb_tables()").fetchall() == []
    assert releases.row_counts(warehouse) == {}


def test_row_counts_are_those_of_the_marts(warehouse: Warehouse) -> None:
    make_marts(warehouse, FIRST)
    assert releases.row_counts(warehouse) == {
        "authors": 1,
        "edition_figures": 2,
        "editions": 2,
        "reviews": 5,
        "row_conservation": 2,
        "snapshots": 2,
    }


def test_what_a_crash_left_of_a_candidate_is_cleared(warehouse: Warehouse, build: Build) -> None:
    left = warehouse.candidates / ".building" / "release" / "reviews"
    left.mkdir(parents=True)
    (left / "test-2019.parquet").write_bytes(b"half")
    candidate = build(FIRST)
    assert candidate is not None
    assert not (candidate.release / "reviews" / "test-2019.parquet").exists()
    assert [path.name for path in warehouse.candidates.iterdir()] == [candidate.release_id]


# --- verdict and promotion --------------------------------------------------------------------------------------------


def test_promotion_switches_everything_at_once(warehouse: Warehouse, publish: Publish) -> None:
    release_id = publish(FIRST)
    folder = warehouse.releases / release_id
    assert warehouse.current.readlink() == Path("releases") / release_id
    assert warehouse.database.readlink() == Path("current") / "peer_reviews.duckdb"
    assert releases.current_id(warehouse) == release_id
    assert releases.verify(folder) == 12
    assert all(path.stat().st_mode & 0o222 == 0 for path in folder.rglob("*") if path.is_file())
    assert list(warehouse.candidates.iterdir()) == []
    with duckdb.connect(warehouse.database, read_only=True) as connection:
        assert connection.execute("select release_id from publication").fetchall() == [(release_id,)]
    second = publish(SECOND)
    with duckdb.connect(warehouse.database, read_only=True) as connection:
        assert connection.execute("select release_id from publication").fetchall() == [(second,)]
    assert releases.release_ids(warehouse) == [release_id, second]


def test_a_warehouse_that_was_moved_still_reads(warehouse: Warehouse, publish: Publish) -> None:
    release_id = publish(FIRST)
    moved = warehouse.root.rename(warehouse.root.with_name("moved"))
    with duckdb.connect(moved / "peer_reviews.duckdb", read_only=True) as connection:
        assert connection.execute("select release_id from publication").fetchall() == [(release_id,)]


def test_the_manifest_says_what_the_release_is_and_was_made_from(warehouse: Warehouse, publish: Publish) -> None:
    first = publish(FIRST)
    second = publish(SECOND)
    folder = warehouse.releases / second
    manifest = releases.read_manifest(folder)
    files = {file["path"]: file for file in manifest["files"]}
    assert {path: file["rows"] for path, file in files.items()} == {
        "README.md": None,
        "authors.parquet": 1,
        "edition_figures/test-2025.parquet": 0,
        "edition_figures/test-2026.parquet": 2,
        "editions.parquet": 2,
        "peer_reviews.duckdb": None,
        "reviews/test-2025.parquet": 2,
        "reviews/test-2026.parquet": 3,
        "row_conservation/test-2025.parquet": 1,
        "row_conservation/test-2026.parquet": 1,
        "snapshots/test-2025.parquet": 1,
        "snapshots/test-2026.parquet": 1,
    }
    for path, file in files.items():
        assert (file["bytes"], file["sha256"]) == ((folder / path).stat().st_size, sha256(folder / path))
    assert (manifest["release_id"], manifest["previous_release_id"]) == (second, first)
    assert manifest["is_synthetic"] is False
    assert manifest["marts"]["reviews"] == {
        "description": "One official review; it's anonymous.",
        "rows": 5,
        "columns": [
            {"name": "review_id", "type": "varchar", "description": None},
            {"name": "edition_id", "type": "varchar", "description": None},
            {"name": "rating", "type": "double", "description": "Rating as a number."},
        ],
    }
    assert [(edition["edition_id"], edition["as_of_at"]) for edition in manifest["editions"]] == [
        ("test-2025", "2025-11-21T10:00:00"),
        ("test-2026", "2025-11-21T10:00:00"),
    ]
    assert [(snapshot["edition_id"], snapshot["source"]) for snapshot in manifest["snapshots"]] == [
        ("test-2025", "files"),
        ("test-2026", "files"),
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", snapshot["sha256"]) for snapshot in manifest["snapshots"])
    assert [(c["edition_id"], c["rows_in"], c["rows_quarantined"]) for c in manifest["conservation"]] == [
        ("test-2025", 1, 0),
        ("test-2026", 1, 0),
    ]
    assert manifest["gate"] == PASSED
    assert [(figure["figure"], figure["value"]) for figure in manifest["figures"]] == [
        ("accepted_count", None),
        ("review_count", 5.0),
    ]
    assert {"peer-review-warehouse", "dbt-core", "duckdb", "great-expectations"} <= manifest["versions"].keys()
    readme = (folder / "README.md").read_text()
    for words in (
        second,
        "| test-2025 | 1 | 2 | 6.000 |",
        "| reviews | 5 |",
        "quarantined rows",
        "| review_count | 5 | 5 | yes | the chairs, 2026",
    ):
        assert words in readme
    assert "synthetic" not in readme.lower()


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script> & <b>",
        "[a](javascript:alert(1)) ![b](http://127.0.0.1/p.png) <http://127.0.0.1>",
        "`c` **d** _e_ ~~f~~ | g |\n# h\n---\n1. i",
    ],
)
def test_a_message_is_shown_letter_by_letter(warehouse: Warehouse, said: list[str], evil: str) -> None:
    """Messages of the gate quote values from outside, and many programs show README.md as a page."""
    from markdown_it import MarkdownIt

    make_marts(warehouse, {"test-2026": [6]})
    candidate = releases.build_candidate(warehouse, said.append)
    assert candidate is not None
    releases.seal(candidate, PASSED | {"messages": [evil]})
    releases.promote(warehouse, said.append)
    readme = (warehouse.releases / candidate.release_id / "README.md").read_text()
    page = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .render(readme[readme.index("Warnings of the gate") :])
    )
    (item,) = re.findall(r"<li>(.*?)</li>", page, re.DOTALL)
    assert "<" not in item
    assert html.unescape(item) == " ".join(evil.split())


def test_a_synthetic_release_says_so(warehouse: Warehouse, said: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    make_marts(warehouse, {"test-2026": [6]}, is_synthetic=True)
    candidate = releases.build_candidate(warehouse, said.append)
    assert candidate is not None
    releases.seal(candidate, PASSED)
    releases.promote(warehouse, said.append)
    folder = warehouse.releases / candidate.release_id
    assert releases.read_manifest(folder)["is_synthetic"] is True
    assert "This release is synthetic" in (folder / "README.md").read_text()
    with duckdb.connect(warehouse.database, read_only=True) as connection:
        assert connection.execute("select is_synthetic from publication").fetchall() == [(True,)]
    assert main(["list"]) == 0
    assert "synthetic" in capsys.readouterr().out


def refusal(warehouse: Warehouse) -> str:
    """Why the newest candidate is not published; neither releases nor links change."""
    before = published(warehouse)
    with pytest.raises(ReleaseError) as caught:
        releases.promote(warehouse, lambda message: None)
    assert published(warehouse) == before
    return str(caught.value)


def test_a_candidate_without_a_verdict_is_refused(warehouse: Warehouse, publish: Publish, build: Build) -> None:
    publish(FIRST)
    candidate = build(SECOND)
    assert candidate is not None
    assert refusal(warehouse) == (
        f"Candidate {candidate.release_id} has no verdict; materialise 'candidate' to have it checked."
    )
    candidate.verdict_file.write_text('{"verdict": {"pass')
    assert "has no verdict" in refusal(warehouse)


def test_a_candidate_that_did_not_pass_is_refused_however_often(
    warehouse: Warehouse, publish: Publish, build: Build
) -> None:
    publish(FIRST)
    candidate = build(SECOND)
    assert candidate is not None
    releases.seal(candidate, FAILED)
    for _ in range(2):
        said = refusal(warehouse)
        assert f"Candidate {candidate.release_id} did not pass the gate and is not published" in said
        assert FAILED["messages"][0] in said
        assert str(candidate.data_docs) in said


@pytest.mark.parametrize("at_the_gate", [False, True])
@pytest.mark.parametrize("change", ["altered", "cut", "missing", "added", "swapped"])
def test_a_candidate_that_changed_since_it_was_made_is_refused(
    warehouse: Warehouse, build: Build, change: str, at_the_gate: bool
) -> None:
    candidate = build(FIRST)
    assert candidate is not None
    if not at_the_gate:
        releases.seal(candidate, PASSED)
    name = "reviews/test-2026.parquet"
    file = candidate.release / name
    data = bytearray(file.read_bytes())
    if change == "altered":
        data[20] ^= 1
        file.write_bytes(data)
    elif change == "cut":
        file.write_bytes(data[:-8])
    elif change == "missing":
        file.unlink()
    elif change == "added":
        name = "reviews/test-2027.parquet"
        (candidate.release / name).write_bytes(data)
    else:
        shutil.copyfile(candidate.release / "reviews" / "test-2025.parquet", file)
    if at_the_gate:
        releases.seal(candidate, PASSED)
    said = refusal(warehouse)
    assert said == (
        f"Candidate {candidate.release_id} changed after it was judged ({name}); materialise 'candidate' again."
    )


def test_marts_that_another_run_built_meanwhile_hold_up_no_candidate(
    warehouse: Warehouse, publish: Publish, build: Build, said: list[str]
) -> None:
    """Its verdict is about its files. The other run's build is not settled by it, and is published next."""
    publish(FIRST)
    candidate = build(SECOND)
    assert candidate is not None
    releases.seal(candidate, PASSED)
    make_marts(warehouse, THIRD)
    assert releases.promote(warehouse, said.append) == candidate.release_id
    manifest = releases.read_manifest(warehouse.releases / candidate.release_id)
    assert manifest["build"]["inputs_sha256"] == f"fingerprint of {sorted(SECOND.items())}"
    assert not releases.is_settled(warehouse, f"fingerprint of {sorted(THIRD.items())}")
    third = releases.build_candidate(warehouse, said.append)
    assert third is not None
    releases.seal(third, PASSED)
    assert releases.promote(warehouse, said.append) == third.release_id
    assert releases.is_settled(warehouse, f"fingerprint of {sorted(THIRD.items())}")


def test_a_candidate_that_another_run_overtook_is_dropped(
    warehouse: Warehouse, publish: Publish, build: Build, said: list[str]
) -> None:
    """The other run's release was built from all that was staged, this one's data among it."""
    early = build(FIRST)
    late = build(SECOND)
    assert early is not None
    assert late is not None
    releases.seal(early, PASSED)
    releases.seal(late, PASSED)
    assert releases.promote(warehouse, said.append) == late.release_id
    before = published(warehouse)
    assert releases.promote(warehouse, said.append) == late.release_id
    assert said[-1] == (
        f"Release {late.release_id} was built after candidate {early.release_id} and stands instead of it."
    )
    assert published(warehouse) == before
    assert not early.folder.exists()


def test_without_a_candidate_the_current_release_stays(warehouse: Warehouse, publish: Publish, said: list[str]) -> None:
    release_id = publish(FIRST)
    before = published(warehouse)
    assert releases.promote(warehouse, said.append) is None
    assert said[-1] == f"There is no candidate; the current release stays {release_id}."
    assert published(warehouse) == before


# --- the same content, and going back ---------------------------------------------------------------------------------


def test_unchanged_content_makes_no_release(
    warehouse: Warehouse, publish: Publish, build: Build, said: list[str]
) -> None:
    release_id = publish(FIRST)
    before = published(warehouse)
    assert build(FIRST) is None
    assert said[-1] == f"The content is that of the current release {release_id}; nothing to publish."
    assert published(warehouse) == before
    assert list(warehouse.candidates.iterdir()) == []


def test_a_published_build_is_settled_until_the_inputs_change(warehouse: Warehouse, publish: Publish) -> None:
    make_marts(warehouse, FIRST)
    fingerprint = f"fingerprint of {sorted(FIRST.items())}"
    assert not releases.is_settled(warehouse, fingerprint)
    release_id = publish(FIRST)
    assert releases.is_settled(warehouse, fingerprint)
    assert not releases.is_settled(warehouse, "another")
    shutil.rmtree(warehouse.releases / release_id)
    assert not releases.is_settled(warehouse, fingerprint)


def test_nothing_is_settled_where_nothing_is_built(warehouse: Warehouse) -> None:
    assert not releases.is_settled(warehouse, "any")


def test_an_upstream_that_goes_back_makes_the_old_release_current_again(
    warehouse: Warehouse, publish: Publish, build: Build, said: list[str]
) -> None:
    first, second = publish(FIRST), publish(SECOND)
    assert build(FIRST) is None
    assert said[-1] == f"The content is that of release {first}, which is the current one again."
    assert releases.current_id(warehouse) == first
    assert releases.release_ids(warehouse) == [first, second]
    assert releases.is_settled(warehouse, f"fingerprint of {sorted(FIRST.items())}")


def test_a_damaged_old_release_does_not_become_current_again_and_is_in_nobodys_way(
    warehouse: Warehouse, publish: Publish, said: list[str]
) -> None:
    first, second = publish(FIRST), publish(SECOND)
    (warehouse.releases / first / "authors.parquet").unlink()
    third = publish(FIRST)
    assert third not in (first, second)
    assert releases.current_id(warehouse) == third
    releases.verify(warehouse.releases / third)
    assert any("authors.parquet is missing" in sentence and "published anew" in sentence for sentence in said)


def test_a_damaged_current_release_is_replaced_by_the_next_run_that_builds(
    warehouse: Warehouse, publish: Publish
) -> None:
    first = publish(FIRST)
    file = warehouse.releases / first / "authors.parquet"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1])
    second = publish(FIRST)
    assert releases.current_id(warehouse) == second != first
    releases.verify(warehouse.releases / second)


def test_unchanged_files_share_their_bytes_with_the_release_before(warehouse: Warehouse, publish: Publish) -> None:
    first, second = publish(FIRST), publish(SECOND)

    def is_shared(path: str) -> bool:
        return (warehouse.releases / first / path).samefile(warehouse.releases / second / path)

    assert is_shared("reviews/test-2025.parquet")
    assert is_shared("authors.parquet")
    assert not is_shared("reviews/test-2026.parquet")
    assert not is_shared("editions.parquet")
    assert not is_shared("peer_reviews.duckdb")
    assert rows(warehouse.releases / first / "reviews" / "test-2026.parquet")[-1] == ("test-2026", 2.0)
    assert rows(warehouse.releases / second / "reviews" / "test-2026.parquet")[-1] == ("test-2026", 10.0)


@pytest.mark.parametrize("point", ["point_current", "settle_build"])
def test_a_promotion_that_died_half_way_is_completed_by_the_next_run(
    warehouse: Warehouse, publish: Publish, build: Build, said: list[str], monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    publish(FIRST)
    candidate = build(SECOND)
    assert candidate is not None
    releases.seal(candidate, PASSED)
    with monkeypatch.context() as patch:
        patch.setattr(promotion, point, die)
        with pytest.raises(KeyboardInterrupt):
            releases.promote(warehouse, said.append)
    assert (warehouse.releases / candidate.release_id / "manifest.json").is_file()
    assert build(SECOND) is None
    assert releases.current_id(warehouse) == candidate.release_id
    assert releases.is_settled(warehouse, f"fingerprint of {sorted(SECOND.items())}")
    # What is left of the candidate is no candidate.
    assert releases.promote(warehouse, said.append) is None


def die(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("owner", "point"), [(Path, "rename"), (promotion, "verify")])
def test_a_promotion_that_died_before_the_rename_is_done_again(
    warehouse: Warehouse, build: Build, said: list[str], monkeypatch: pytest.MonkeyPatch, owner: object, point: str
) -> None:
    candidate = build(FIRST)
    assert candidate is not None
    releases.seal(candidate, PASSED)
    with monkeypatch.context() as patch:
        patch.setattr(owner, point, die)
        with pytest.raises(KeyboardInterrupt):
            releases.promote(warehouse, said.append)
    assert releases.current_id(warehouse) is None
    assert releases.promote(warehouse, said.append) == candidate.release_id
    releases.verify(warehouse.releases / candidate.release_id)


# --- looking after releases -------------------------------------------------------------------------------------------


def test_verify_names_every_file_that_is_not_as_published(warehouse: Warehouse, publish: Publish) -> None:
    folder = warehouse.releases / publish(FIRST)
    assert releases.verify(folder) == 12
    for file in folder.rglob("*.parquet"):
        file.chmod(0o644)
    (folder / "reviews" / "test-2025.parquet").unlink()
    cut = folder / "reviews" / "test-2026.parquet"
    cut.write_bytes(cut.read_bytes()[:-1])
    altered = bytearray((folder / "authors.parquet").read_bytes())
    altered[10] ^= 1
    (folder / "authors.parquet").write_bytes(altered)
    (folder / "reviews" / "stray.parquet").write_bytes(b"PAR1")
    with pytest.raises(ReleaseError) as caught:
        releases.verify(folder)
    assert str(caught.value) == (
        f"{folder} is damaged: authors.parquet differs, reviews/test-2025.parquet is missing, "
        "reviews/test-2026.parquet differs, reviews/stray.parquet does not belong. Roll back to another release."
    )


@pytest.mark.parametrize("content", [None, "{"])
def test_a_manifest_that_cannot_be_read_is_named(warehouse: Warehouse, publish: Publish, content: str | None) -> None:
    folder = warehouse.releases / publish(FIRST)
    (folder / "manifest.json").unlink()
    if content:
        (folder / "manifest.json").write_text(content)
    with pytest.raises(ReleaseError, match=r"manifest\.json cannot be read"):
        releases.verify(folder)


def test_roll_back_and_forward_again(warehouse: Warehouse, publish: Publish, build: Build, said: list[str]) -> None:
    first, second, third = publish(FIRST), publish(SECOND), publish(THIRD)
    assert releases.roll_back(warehouse) == second
    assert releases.current_id(warehouse) == second
    assert releases.roll_back(warehouse) == first
    # The marts still hold the third release's content: a run does not publish again what someone took back.
    assert build(THIRD) is None
    assert said[-1] == (
        f"The content is that of release {third}, which was rolled back; it is not published again. "
        f"To publish it after all: python -m pipelines.releases rollback --to {third}"
    )
    assert releases.current_id(warehouse) == first
    assert releases.roll_back(warehouse, third) == third
    assert releases.current_id(warehouse) == third
    # Going forward took nothing back: an upstream that returns to the first content is followed.
    assert build(FIRST) is None
    assert releases.current_id(warehouse) == first
    # The second one stays taken back.
    assert build(SECOND) is None
    assert releases.current_id(warehouse) == first


def test_new_content_is_published_after_a_roll_back(warehouse: Warehouse, publish: Publish) -> None:
    first, _ = publish(FIRST), publish(SECOND)
    releases.roll_back(warehouse)
    third = publish(THIRD)
    assert releases.current_id(warehouse) == third
    assert releases.read_manifest(warehouse.releases / third)["previous_release_id"] == first


def test_roll_back_refuses_what_cannot_be_current(warehouse: Warehouse, publish: Publish) -> None:
    with pytest.raises(ReleaseError, match="There is no release before None"):
        releases.roll_back(warehouse)
    first = publish(FIRST)
    with pytest.raises(ReleaseError, match=f"There is no release before {first}"):
        releases.roll_back(warehouse)
    with pytest.raises(ReleaseError, match=f"There is no release 'nope'; there are: {first}"):
        releases.roll_back(warehouse, "nope")
    second = publish(SECOND)
    (warehouse.releases / first / "authors.parquet").unlink()
    with pytest.raises(ReleaseError, match=r"is damaged: authors\.parquet is missing"):
        releases.roll_back(warehouse)
    assert releases.current_id(warehouse) == second


def test_prune_keeps_the_newest_and_never_loses_the_current(
    warehouse: Warehouse, publish: Publish, said: list[str]
) -> None:
    first, second, third = publish(FIRST), publish(SECOND), publish(THIRD)
    releases.roll_back(warehouse, first)
    assert releases.prune(warehouse, 1, said.append) == [second]
    assert releases.release_ids(warehouse) == [first, third]
    assert said[-1] == f"Release {second} is older than the 1 that are kept and was deleted."
    assert releases.prune(warehouse, 0, said.append) == []
    # What was shared with a deleted release is still whole.
    for release_id in (first, third):
        releases.verify(warehouse.releases / release_id)
    assert releases.current_id(warehouse) == first


def test_prune_grants_the_readers_of_a_release_time(warehouse: Warehouse, publish: Publish, said: list[str]) -> None:
    object.__setattr__(warehouse.settings, "releases_grace_minutes", 10)
    first, second, third = publish(FIRST), publish(SECOND), publish(THIRD)
    now = datetime.now(UTC).timestamp()
    assert releases.prune(warehouse, 1, said.append, now=now + 500) == []
    # The second has been replaced an hour ago, and so the first even earlier.
    manifest = warehouse.releases / third / "manifest.json"
    os.utime(manifest, (now - 3600, now - 3600))
    assert releases.prune(warehouse, 1, said.append, now=now + 500) == [second]
    assert releases.prune(warehouse, 1, said.append, now=now + 700) == [first]
    assert releases.release_ids(warehouse) == [third]


def test_prune_keeps_three_candidates_for_a_look(warehouse: Warehouse, build: Build, said: list[str]) -> None:
    made = [build({"test-2026": [rating]}) for rating in range(5)]
    releases.prune(warehouse, 10, said.append)
    assert sorted(path.name for path in warehouse.candidates.iterdir()) == [
        candidate.release_id for candidate in made[2:] if candidate
    ]


def test_promotion_prunes_as_the_settings_say(warehouse: Warehouse, publish: Publish) -> None:
    object.__setattr__(warehouse.settings, "releases_kept", 2)
    _, second, third = publish(FIRST), publish(SECOND), publish(THIRD)
    assert releases.release_ids(warehouse) == [second, third]


def test_previous_rows_are_those_of_the_current_release(warehouse: Warehouse, publish: Publish) -> None:
    assert releases.previous_rows(warehouse, ["test-2025", "test-2026"]) is None
    publish(FIRST)
    taken_out = releases.previous_rows(warehouse, ["test-2026"])
    assert taken_out is not None
    assert taken_out["reviews"] == {"test-2026": 3}
    assert releases.previous_rows(warehouse, ["test-2025", "test-2026"]) == {
        "authors": {"*": 1},
        "edition_figures": {"test-2025": 0, "test-2026": 2},
        "editions": {"*": 2},
        "reviews": {"test-2025": 2, "test-2026": 3},
        "row_conservation": {"test-2025": 1, "test-2026": 1},
        "snapshots": {"test-2025": 1, "test-2026": 1},
    }


def test_the_inputs_are_what_is_staged_and_the_code(warehouse: Warehouse, land: Land, tmp_path: Path) -> None:
    before = releases.inputs_fingerprint(warehouse)
    assert releases.inputs_fingerprint(warehouse) == before
    edition = files_edition(write_hub_file(tmp_path / "2026.parquet", [hub_row(7)]), "test-2026")
    land(edition)
    stage(edition, editions_of(edition), warehouse=warehouse, log=lambda message: None)
    assert releases.inputs_fingerprint(warehouse) != before


def test_writers_of_releases_wait_for_each_other(warehouse: Warehouse, publish: Publish) -> None:
    from pipelines.warehouse import WarehouseError

    publish(FIRST)
    with warehouse.writing("hold the lock"):
        for write in (releases.build_candidate, releases.promote):
            with pytest.raises(WarehouseError, match=r"holds .*writer\.lock"):
                write(warehouse, lambda message: None)
        with pytest.raises(WarehouseError, match=r"holds .*writer\.lock"):
            releases.roll_back(warehouse)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `python -m pipelines.releases` in this process; returns exit code, output and error output."""
    assert Settings().warehouse_dir == warehouse.root

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


Command = Callable[..., tuple[int, str, str]]


def test_list(command: Command, publish: Publish) -> None:
    assert command("list") == (0, "", "")
    first, second = publish(FIRST), publish(SECOND)
    rows = "1 authors, 2 edition_figures, 2 editions, 5 reviews, 2 row_conservation, 2 snapshots"
    expected = f"  {first}  {rows}\n* {second}  {rows}\n"
    assert command("list") == (0, expected, "")


def test_verify_command(command: Command, publish: Publish, warehouse: Warehouse) -> None:
    first, second = publish(FIRST), publish(SECOND)
    as_published = [f"{release_id}: 12 files are as published\n" for release_id in (first, second)]
    assert command("verify") == (0, "".join(as_published), "")
    assert command("verify", second) == (0, as_published[1], "")
    (warehouse.releases / second / "editions.parquet").unlink()
    code, out, error = command("verify")
    assert (code, out) == (1, as_published[0])
    assert error.startswith(f"Error: {warehouse.releases / second} is damaged: editions.parquet is missing.")
    code, out, error = command("verify", "nope")
    assert (code, out) == (1, "")
    assert "nope" in error


def test_rollback_command(command: Command, publish: Publish, warehouse: Warehouse) -> None:
    first, second = publish(FIRST), publish(SECOND)
    assert command("rollback") == (0, f"The current release is {first}.\n", "")
    assert command("rollback", "--to", second) == (0, f"The current release is {second}.\n", "")
    code, out, error = command("rollback", "--to", "nope")
    assert (code, out) == (1, "")
    assert error == f"Error: There is no release 'nope'; there are: {first}, {second}.\n"
    assert releases.current_id(warehouse) == second


def test_prune_command(
    command: Command, publish: Publish, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = publish(FIRST), publish(SECOND)
    assert command("prune") == (0, "0 releases were deleted.\n", "")
    code, out, _ = command("prune", "--keep", "1")
    assert out == (
        f"Release {first} was current until a few minutes ago and stays for those who read it "
        "(RELEASES_GRACE_MINUTES=5).\n0 releases were deleted.\n"
    )
    monkeypatch.setenv("RELEASES_GRACE_MINUTES", "0")
    code, out, _ = command("prune", "--keep", "1")
    assert code == 0
    assert out.endswith("1 releases were deleted.\n")
    assert first in out
    assert releases.release_ids(warehouse) == [second]


def test_the_command_says_what_changed(publish: Publish, command: Command) -> None:
    publish(FIRST)
    publish(SECOND)
    code, out, _ = command("diff")
    assert code == 0
    assert "\nreviews: " in out
    assert "\nauthors: " in out
    code, out, _ = command("diff", "current", "current", "--format", "json")
    assert {mart["changed"] for mart in json.loads(out)["marts"]} == {0}
    code, _, said = command("diff", "previous", "nonsense")
    assert code == 1
    assert "There is no release 'nonsense'" in said


def test_a_command_needs_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "list" in capsys.readouterr().err
