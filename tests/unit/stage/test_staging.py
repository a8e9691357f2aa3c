"""`pipelines/stage/staging.py`: what stands in schema `raw` after real files were landed and staged."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from pipelines.config.editions import Edition
from pipelines.sources.fetched import LandingError
from pipelines.stage import raw as raw_schema
from pipelines.stage import staging
from pipelines.stage.contracts import HUB_DATASET, Contract, ContractError
from pipelines.stage.staging import Staged, stage
from pipelines.warehouse import Warehouse, WarehouseError, sha256
from tests.conftest import Land
from tests.hub_files import (
    editions_of,
    files_edition,
    hub_review,
    hub_row,
    hub_schema,
    review_type,
    schema_with,
    ten_papers,
    write_hub_file,
)

Stage = Callable[..., Staged]
Rows = list[tuple[Any, ...]]


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    return write_hub_file(tmp_path / "upstream" / "papers.parquet", [hub_row(1), hub_row(2)])


@pytest.fixture
def edition(upstream: Path) -> Edition:
    return files_edition(upstream)


@pytest.fixture
def landed_and_staged(warehouse: Warehouse, land: Land) -> Stage:
    """Land an edition and stage it, among the editions given."""

    def run(edition: Edition, *others: Edition, log: Callable[[str], None] = lambda message: None) -> Staged:
        land(edition)
        return stage(edition, editions_of(edition, *others), warehouse=warehouse, log=log)

    return run


def raw(warehouse: Warehouse, query: str) -> Rows:
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        return connection.execute(query).fetchall()


def columns(warehouse: Warehouse, table: str) -> list[str]:
    return [name for name, *_ in raw(warehouse, f"describe raw.{table}")]


# --- the contract in use ----------------------------------------------------------------------------------------------


def test_a_broken_contract_stages_nothing(warehouse: Warehouse, landed_and_staged: Stage, upstream: Path) -> None:
    landed_and_staged(files_edition(upstream))
    before = sha256(warehouse.working_database)
    write_hub_file(upstream, [{**hub_row(), "year": True}], schema_with(year=pa.bool_()))
    with pytest.raises(ContractError, match="column 'year'"):
        landed_and_staged(files_edition(upstream))
    assert sha256(warehouse.working_database) == before


def test_unknown_columns_and_fields_are_kept_out_and_reported(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    schema = schema_with(soundness=pa.int64(), reviews=review_type(questions=pa.string(), author=pa.string()))
    reviews = [hub_review("rev1", questions="Why?", author="~Some_One1"), None]
    write_hub_file(upstream, [{**hub_row(1, reviews=reviews), "soundness": 3}, hub_row(2, reviews=None)], schema)
    staged = landed_and_staged(edition)
    assert staged.unknown_columns == [
        "papers.parquet: soundness",
        "papers.parquet: reviews.questions",
        "papers.parquet: reviews.author",
    ]
    assert columns(warehouse, "hub_dataset") == [
        "edition_id",
        "source",
        "snapshot_id",
        "row_number",
        "file_number",
        "file_row_number",
        *HUB_DATASET.columns,
    ]
    ((kind, first, second),) = raw(
        warehouse,
        "select any_value(typeof(reviews)), list(reviews) filter (row_number = 1), "
        "list(reviews) filter (row_number = 2) from raw.hub_dataset",
    )
    assert kind == HUB_DATASET.sql_type("reviews").replace('"', "")
    # A null item stays a null item and a null list a null list, though the structs were packed anew.
    assert first == [[hub_review("rev1"), None]]
    assert second == [None]


def test_reordered_columns_and_fields_read_by_name(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    fields = list(hub_schema().field("reviews").type.value_type)
    turned = pa.list_(pa.struct(fields[::-1]))
    schema = pa.schema([field.with_type(turned) if field.name == "reviews" else field for field in hub_schema()][::-1])
    write_hub_file(upstream, [hub_row(1)], schema)
    assert landed_and_staged(edition).unknown_columns == []
    ((title, reviews),) = raw(warehouse, "select title, reviews from raw.hub_dataset")
    assert (title, reviews) == (hub_row(1)["title"], hub_row(1)["reviews"])
    ((title, narrow),) = raw(warehouse, "select title, reviews from raw.hub_rows")
    assert title == hub_row(1)["title"]
    assert [(item["review_id"], item["rating"]) for item in narrow] == [("rev00001aaAA", "4"), ("rev00001bbBB", "8")]


@pytest.mark.parametrize("column", sorted(HUB_DATASET.columns.keys() - HUB_DATASET.required))
def test_an_optional_column_that_is_missing_reads_as_null(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path, column: str
) -> None:
    row = {name: value for name, value in hub_row(1).items() if name != column}
    write_hub_file(upstream, [row], schema_with(**{column: None}))
    assert landed_and_staged(edition).unknown_columns == []
    tables = ["hub_dataset", "hub_rows"] if column in columns(warehouse, "hub_rows") else ["hub_dataset"]
    for table in tables:
        assert raw(warehouse, f'select "{column}", typeof("{column}"), title from raw.{table}') == [
            (None, HUB_DATASET.sql_type(column), row["title"])
        ]


# --- rows -------------------------------------------------------------------------------------------------------------


def test_every_row_says_edition_snapshot_and_row_number(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, tmp_path: Path
) -> None:
    folder = tmp_path / "several"
    write_hub_file(folder / "a.parquet", [hub_row(1), hub_row(2), hub_row(3)])
    write_hub_file(folder / "b.parquet", [])
    write_hub_file(folder / "c.parquet", [hub_row(4), hub_row(5)])
    edition = files_edition(folder / "*.parquet")
    snapshot_id = land(edition).record.snapshot_id
    staged = landed_and_staged(edition)
    assert staged == Staged("test-2026", True, {"files": 5}, {"files": snapshot_id}, [], [])
    expected = [
        ("test-2026", "files", snapshot_id, number, file, place, f"https://openreview.net/forum?id=Forum{number:05d}")
        for number, file, place in ((1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 3, 0), (5, 3, 1))
    ]
    for table in ("hub_dataset", "hub_rows"):
        selected = "edition_id, source, snapshot_id, row_number, file_number, file_row_number, url"
        assert raw(warehouse, f"select {selected} from raw.{table} order by row_number") == expected
    assert raw(warehouse, "select file_number, first_row, row_count from raw.files order by 1") == [
        (1, 1, 3),
        (2, 4, 0),
        (3, 4, 2),
    ]


def test_row_numbers_agree_over_many_batches_and_row_groups(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    rows = [hub_row(number, reviews=[], abstract="", _bibtex="") for number in range(45_000)]
    pa.parquet.write_table(pa.Table.from_pylist(rows, schema=hub_schema()), upstream, row_group_size=7_000)
    landed_and_staged(edition)
    query = """
        select count(*), count(*) filter (narrow.url = wide.url), min(row_number), max(row_number)
        from raw.hub_rows as narrow full join raw.hub_dataset as wide using (row_number, file_number, file_row_number)
    """
    assert raw(warehouse, query) == [(45_000, 45_000, 1, 45_000)]


def test_null_items_null_lists_and_null_columns_stay_what_they_are(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    rows = [
        hub_row(1, reviews=[None, hub_review("rev1", rating=None, reviewer=None)], authors=[None, "", "Ada"]),
        hub_row(2, reviews=None, authors=None),
        hub_row(3, reviews=[], authors=[]),
        dict.fromkeys(hub_row(4)),
    ]
    write_hub_file(upstream, rows)
    landed_and_staged(edition)
    narrow = raw(warehouse, "select authors, reviews, title from raw.hub_rows order by row_number")
    item = {"confidence": "3", "rating": None, "review_id": "rev1", "reviewer": None}
    assert narrow == [
        ([None, "", "Ada"], [None, item], rows[0]["title"]),
        (None, None, rows[1]["title"]),
        ([], [], rows[2]["title"]),
        (None, None, None),
    ]
    wide = raw(warehouse, f"select {', '.join(HUB_DATASET.columns)} from raw.hub_dataset order by row_number")
    assert wide == [tuple(row[column] for column in HUB_DATASET.columns) for row in rows]


def test_a_file_without_rows_stages(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    write_hub_file(upstream, [])
    assert landed_and_staged(edition).rows == {"files": 0}
    assert raw(warehouse, "select * from raw.hub_dataset") == raw(warehouse, "select * from raw.hub_rows") == []


def test_editions_and_snapshots_say_what_is_staged(
    warehouse: Warehouse, landed_and_staged: Stage, upstream: Path
) -> None:
    source = {"kind": "files", "path": str(upstream), "as_of": "2025-11-21T12:00:00+02:00"}
    staged = landed_and_staged(files_edition(upstream, sources=[source]))
    assert raw(warehouse, "select * from raw.editions") == [
        ("test-2026", "TEST", 2026, "TEST.cc/2026/Conference", False, [])
    ]
    ((*known, as_of, rows),) = raw(
        warehouse,
        "select edition_id, source, dataset_schema, snapshot_id, as_of_at::varchar, row_count from raw.snapshots",
    )
    assert known == ["test-2026", "files", "hub_dataset", staged.snapshot_ids["files"]]
    assert (as_of, rows) == ("2025-11-21 10:00:00", 2)


# --- staging again ----------------------------------------------------------------------------------------------------


def test_unchanged_staging_writes_nothing(warehouse: Warehouse, landed_and_staged: Stage, edition: Edition) -> None:
    first = landed_and_staged(edition)
    before = (sha256(warehouse.working_database), warehouse.working_database.stat().st_mtime_ns)
    second = landed_and_staged(edition)
    assert (second.has_changed, second.rows, second.snapshot_ids) == (False, first.rows, first.snapshot_ids)
    assert (sha256(warehouse.working_database), warehouse.working_database.stat().st_mtime_ns) == before


def test_a_changed_editions_file_is_staged_again(
    warehouse: Warehouse, landed_and_staged: Stage, upstream: Path
) -> None:
    landed_and_staged(files_edition(upstream))
    assert landed_and_staged(files_edition(upstream, year=2025)).has_changed
    assert raw(warehouse, "select edition_id, year from raw.editions") == [("test-2026", 2025)]


def test_the_view_reads_after_another_snapshot_was_staged(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, edition: Edition, upstream: Path, tmp_path: Path
) -> None:
    first = land(edition)
    landed_and_staged(edition)
    write_hub_file(upstream, [hub_row(1, title="Another Title"), hub_row(2), hub_row(3)])
    second = landed_and_staged(edition)
    assert second.has_changed
    # Not one column of the old snapshot is read any more.
    first.folder.chmod(0o755)
    first.folder.rename(tmp_path / "gone")
    for table in ("hub_dataset", "hub_rows"):
        titles = raw(warehouse, f"select title, snapshot_id from raw.{table} order by row_number")
        assert titles == [
            (title, second.snapshot_ids["files"])
            for title in ("Another Title", hub_row(2)["title"], hub_row(3)["title"])
        ]


def test_two_editions_stand_side_by_side(warehouse: Warehouse, landed_and_staged: Stage, tmp_path: Path) -> None:
    paths = [write_hub_file(tmp_path / f"{name}.parquet", ten_papers()[:count]) for name, count in (("a", 3), ("b", 5))]
    first, second = (files_edition(path, f"{path.stem}-2026") for path in paths)
    landed_and_staged(first, second)
    landed_and_staged(second, first)
    landed_and_staged(first, second)
    for table in ("hub_dataset", "hub_rows"):
        counts = raw(warehouse, f"select edition_id, count(*), max(row_number) from raw.{table} group by 1 order by 1")
        assert counts == [("a-2026", 3, 3), ("b-2026", 5, 5)]


@pytest.mark.parametrize("loss", ["deleted", "damaged"])
def test_a_rebuilt_working_database_holds_every_landed_edition(
    warehouse: Warehouse, landed_and_staged: Stage, tmp_path: Path, loss: str
) -> None:
    paths = [write_hub_file(tmp_path / f"{name}.parquet", ten_papers()) for name in "abc"]
    first, second, third = (files_edition(path, f"{path.stem}-2026") for path in paths)
    landed_and_staged(first, second, third)
    landed_and_staged(second, first, third)
    if loss == "deleted":
        warehouse.working_database.unlink()
    else:
        warehouse.working_database.write_bytes(b"garbage")
    said: list[str] = []
    assert landed_and_staged(second, first, third, log=said.append).has_changed
    # `c-2026` never landed, and stays out.
    assert raw(warehouse, "select edition_id, count(*) from raw.hub_dataset group by 1 order by 1") == [
        ("a-2026", 10),
        ("b-2026", 10),
    ]
    assert said[-1] == "The working database is new: staging a-2026 from landing as well."
    assert any(".damaged-" in line for line in said) is (loss == "damaged")


def test_a_warehouse_that_moved_is_staged_again_from_where_it_is(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, tmp_path: Path
) -> None:
    landed_and_staged(edition)
    moved = Warehouse(warehouse.settings.model_copy(update={"warehouse_dir": tmp_path / "moved"}))
    warehouse.root.rename(moved.root)
    assert stage(edition, editions_of(edition), warehouse=moved, log=print).has_changed
    assert raw(moved, "select count(*) from raw.hub_dataset") == [(2,)]
    assert not stage(edition, editions_of(edition), warehouse=moved, log=print).has_changed


def test_an_edition_that_cannot_be_staged_again_holds_up_no_other(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, tmp_path: Path
) -> None:
    """The gate then keeps a release without it from being published; it comes back once it can be staged."""
    paths = [write_hub_file(tmp_path / f"{name}.parquet", ten_papers()) for name in "abc"]
    first, second, third = (files_edition(path, f"{path.stem}-2026") for path in paths)
    landed_and_staged(first)
    landed_and_staged(second, first)
    landed_and_staged(third, first, second)
    warehouse.working_database.unlink()
    (file,) = land(second).paths()
    whole = file.read_bytes()
    file.chmod(0o644)
    os.truncate(file, 100)
    (lost,) = landed_and_staged(third, first, second).lost_editions
    assert lost.startswith("b-2026: ")
    assert "is not the file that landed" in lost
    assert raw(warehouse, "select edition_id from raw.editions order by 1") == [("a-2026",), ("c-2026",)]
    file.write_bytes(whole)
    landed_and_staged(second, first, third)
    assert raw(warehouse, "select count(*) from raw.editions") == [(3,)]


@pytest.mark.parametrize("which", ["staged", "other"])
def test_after_a_loss_the_last_snapshot_that_obeys_its_contract_is_staged(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, tmp_path: Path, which: str
) -> None:
    """As before the loss: a snapshot that broke the contract never got in, and what stood there comes back."""
    paths = [write_hub_file(tmp_path / f"{name}.parquet", ten_papers()) for name in "ab"]
    first, second = (files_edition(path, f"{path.stem}-2026") for path in paths)
    landed_and_staged(first, second)
    landed_and_staged(second, first)
    write_hub_file(paths[0], [{**hub_row(), "year": True}], schema_with(year=pa.bool_()))
    land(first)
    warehouse.working_database.unlink()
    if which == "staged":
        with pytest.raises(ContractError, match="column 'year'"):
            stage(first, editions_of(first, second), warehouse=warehouse, log=print)
    else:
        assert stage(second, editions_of(first, second), warehouse=warehouse, log=print).lost_editions == []
    query = "select edition_id, count(*) from raw.hub_dataset group by 1 order by 1"
    assert raw(warehouse, query) == [("a-2026", 10), ("b-2026", 10)]


def test_nul_is_replaced_wherever_the_texts_are_read(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    review = hub_review("rev1", summary="a\0b", reviewer="x\0y")
    write_hub_file(
        upstream, [hub_row(1, title="t\0u", abstract="v\0w", authors=["A\0da", None], reviews=[review, None])]
    )
    landed_and_staged(edition)
    (row,) = raw(warehouse, "select title, abstract, authors, reviews[1].summary, reviews[2] from raw.hub_dataset")
    assert row == ("t\ufffdu", "v\ufffdw", ["A\ufffdda", None], "a\ufffdb", None)
    (row,) = raw(warehouse, "select title, authors, reviews[1].reviewer from raw.hub_rows")
    assert row == ("t\ufffdu", ["A\ufffdda", None], "x\ufffdy")


def test_a_failure_while_writing_leaves_what_was_staged(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = landed_and_staged(edition)
    write_hub_file(upstream, [hub_row(3)])

    def fail(connection: duckdb.DuckDBPyConnection, contract: Contract) -> None:
        # Everything else is written by now.
        assert connection.execute("select count(*) from raw.hub_rows").fetchall() == [(1,)]
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(staging, "replace_view", fail)
        with pytest.raises(WarehouseError, match=r"Could not stage test-2026: .*No space left on device; make room"):
            landed_and_staged(edition)
    for table in ("snapshots", "files", "hub_rows", "hub_dataset"):
        assert set(raw(warehouse, f"select distinct snapshot_id from raw.{table}")) == {(first.snapshot_ids["files"],)}
    assert landed_and_staged(edition).has_changed


def test_nothing_landed_names_the_asset_to_run(warehouse: Warehouse, edition: Edition) -> None:
    with pytest.raises(LandingError, match=r"Nothing has landed for test-2026; materialise .* asset 'landed'"):
        stage(edition, editions_of(edition), warehouse=warehouse, log=pytest.fail)


def test_an_altered_snapshot_is_not_staged(warehouse: Warehouse, land: Land, edition: Edition) -> None:
    (file,) = land(edition).paths()
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.seek(50)
        opened.write(b"\x00\x01\x02")
    with pytest.raises(LandingError, match="is not the file that landed"):
        stage(edition, editions_of(edition), warehouse=warehouse, log=pytest.fail)
    assert not warehouse.working_database.exists()


def test_a_raised_limit_brings_back_what_was_too_long(warehouse: Warehouse, tmp_path: Path, land: Land) -> None:
    lines = [
        {"id": f"paper{number:05d}", "title": "t" * length, "status": "Poster"} for number, length in ((1, 9), (2, 900))
    ]
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    edition = files_edition("unused", sources=[{"kind": "paper_copilot", "path": str(tmp_path / "papers.jsonl")}])
    land(edition)

    def staged(max_batch_bytes: int) -> tuple[bool, list[bool], str]:
        limited = Warehouse(warehouse.settings.model_copy(update={"max_batch_bytes": max_batch_bytes}))
        has_changed = stage(edition, editions_of(edition), warehouse=limited, log=print).has_changed
        sound = raw(warehouse, "select problem is null from raw.json_records order by row_number")
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return has_changed, [is_sound for (is_sound,) in sound], raw_schema.staged_fingerprint(connection)

    has_changed, sound, first = staged(500)
    assert (has_changed, sound) == (True, [True, False])
    assert staged(500) == (False, sound, first)
    has_changed, sound, second = staged(5_000)
    assert (has_changed, sound) == (True, [True, True])
    assert second != first
    # The limit no longer matters.
    assert staged(50_000) == (False, sound, second)


def test_snapshots_are_numbered_as_they_were_pulled(warehouse: Warehouse, land: Land, tmp_path: Path) -> None:
    paths = {name: write_hub_file(tmp_path / f"{name}.parquet", [hub_row(number)]) for number, name in enumerate("abc")}
    sources = [{"kind": "files", "name": name, "path": str(path)} for name, path in paths.items()]
    edition = files_edition("unused", sources=sources)

    def pull(name: str) -> None:
        land(edition.model_copy(update={"sources": [source for source in edition.sources if source.name == name]}))

    def numbers() -> Rows:
        stage(edition, editions_of(edition), warehouse=warehouse, log=print)
        return raw(warehouse, "select source, landed_number from raw.snapshots order by landed_number")

    for name in "cab":
        pull(name)
    assert numbers() == [("c", 1), ("a", 2), ("b", 3)]
    write_hub_file(paths["c"], [hub_row(9)])
    pull("c")
    assert numbers() == [("a", 1), ("b", 2), ("c", 3)]
    # A pull that shows nothing new changes nothing.
    pull("a")
    assert not stage(edition, editions_of(edition), warehouse=warehouse, log=print).has_changed
    assert columns(warehouse, "snapshots")[-1] == "landed_number"


# --- what others ask --------------------------------------------------------------------------------------------------


def test_the_fingerprint_follows_content_and_not_places(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition, upstream: Path
) -> None:
    def fingerprint() -> str:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return raw_schema.staged_fingerprint(connection)

    landed_and_staged(edition)
    first = fingerprint()
    warehouse.working_database.unlink()
    landed_and_staged(edition)
    assert fingerprint() == first
    write_hub_file(upstream, [hub_row(3)])
    landed_and_staged(edition)
    assert fingerprint() != first


def test_a_synthetic_edition_beside_a_real_one_is_said(
    warehouse: Warehouse, landed_and_staged: Stage, edition: Edition
) -> None:
    synthetic = files_edition("unused", "sample", sources=[{"kind": "sample"}])
    landed_and_staged(synthetic)
    assert raw_schema.synthetic_notice(warehouse) is None
    landed_and_staged(edition, synthetic)
    assert raw_schema.synthetic_notice(warehouse) == (
        "Synthetic editions stay out of releases now that real ones are staged: sample."
    )


def test_real_editions_alone_need_no_notice(warehouse: Warehouse, landed_and_staged: Stage, edition: Edition) -> None:
    landed_and_staged(edition)
    assert raw_schema.synthetic_notice(warehouse) is None


def test_staged_files_are_verified_before_models_read_them(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, edition: Edition
) -> None:
    landed_and_staged(edition)
    (file,) = land(edition).paths()

    def verify() -> None:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            raw_schema.verify_staged_files(connection, warehouse)

    verify()
    landed_at = file.stat().st_mtime_ns
    # Another time alone is no damage (a copied warehouse); other bytes are, and so is a file that is gone.
    os.utime(file, (1, 1))
    verify()
    file.chmod(0o644)
    changed = bytearray(file.read_bytes())
    changed[60] ^= 1
    file.write_bytes(changed)
    # As rot does it: size and time are those of before.
    os.utime(file, ns=(landed_at, landed_at))
    with pytest.raises(LandingError, match="is not the file that landed"):
        verify()
    file.parent.chmod(0o755)
    file.unlink()
    with pytest.raises(LandingError, match="is not the file that landed"):
        verify()


def test_an_altered_file_is_seen_beside_the_same_bytes_under_a_former_name(
    warehouse: Warehouse, land: Land, landed_and_staged: Stage, edition: Edition
) -> None:
    source = edition.sources[0]
    land(edition.model_copy(update={"sources": [source.model_copy(update={"name": "a_former_name"})]}))
    landed_and_staged(edition)
    (file,) = land(edition).paths()
    file.chmod(0o644)
    changed = bytearray(file.read_bytes())
    changed[60] ^= 1
    file.write_bytes(changed)
    with (
        warehouse.connect(warehouse.working_database, read_only=True) as connection,
        pytest.raises(LandingError, match="is not the file that landed"),
    ):
        raw_schema.verify_staged_files(connection, warehouse)


def test_the_same_bytes_cannot_be_two_sources(edition: Edition, land: Land, warehouse: Warehouse) -> None:
    source = edition.sources[0]
    twice = edition.model_copy(update={"sources": [source, source.model_copy(update={"name": "again"})]})
    land(edition)
    land(edition.model_copy(update={"sources": [twice.sources[1]]}))
    with pytest.raises(ContractError, match="'files' and 'again' are the same bytes"):
        stage(twice, editions_of(twice), warehouse=warehouse, log=print)
