"""`diff.py`: what changed between two releases, on small ones whose every change is planted."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.config.settings import Settings
from pipelines.publish import ReleaseError
from pipelines.publish.diff import Comparison, Example, MartComparison, compare
from pipelines.warehouse import Warehouse, sha256

REVIEWS = "review_id varchar primary key, edition_id varchar, rating double, summary varchar, row_number bigint"
Rows = list[tuple[Any, ...]]
BEFORE: Rows = [
    ("a", "x-2025", 6.0, "Good.", 1),
    ("b", "x-2026", 3.0, "Weak.", 1),
    ("c", "x-2026", 5.0, None, 2),
    ("d", "x-2026", 8.0, "Fine.", 3),
]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(Settings(warehouse_dir=tmp_path / "warehouse"))


def plant(warehouse: Warehouse, release_id: str, rows: Rows, columns: str = REVIEWS, mart: str = "reviews") -> None:
    """A release of one mart, in the form of real ones, that is the current one."""
    folder = warehouse.releases / release_id
    (folder / mart).mkdir(parents=True)
    files = []
    with duckdb.connect(folder / "peer_reviews.duckdb") as connection:
        connection.execute(f"create table {mart} ({columns})")
        connection.executemany(f"insert into {mart} values ({', '.join('?' * len(rows[0]))})", rows)
        for (edition_id,) in connection.execute(f"select distinct edition_id from {mart} order by 1").fetchall():
            path = f"{mart}/{edition_id}.parquet"
            connection.execute(
                f"copy (from {mart} where edition_id = '{edition_id}') to '{folder / path}' (format parquet)"
            )
            count = len([row for row in rows if row[1] == edition_id])
            files.append({"path": path, "sha256": sha256(folder / path), "rows": count})
        types = connection.execute(f"select column_name, lower(column_type) from (describe {mart})").fetchall()
    described = {mart: {"columns": [{"name": name, "type": kind} for name, kind in types]}}
    (folder / "manifest.json").write_text(json.dumps({"marts": described, "files": files}))
    warehouse.current.unlink(missing_ok=True)
    warehouse.current.symlink_to(folder)


def reviews(comparison: Comparison) -> MartComparison:
    (found,) = comparison.marts
    return found


def test_each_planted_change_is_named_and_nothing_else(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    plant(
        warehouse,
        "2",
        [
            BEFORE[0],
            ("c", "x-2026", 5.0, "Late.", 1),  # has come to the place of the one that went
            ("d", "x-2026", 6.0, "Fine.", 2),
            ("e", "x-2026", 1.0, "New.", 3),
        ],
    )
    found = compare(warehouse, "previous", "current")
    assert (found.before, found.after) == ("1", "2")
    assert reviews(found) == MartComparison(
        "reviews",
        added=1,
        removed=1,
        changed=2,
        changed_columns={"rating": 1, "summary": 1},
        added_keys=[{"review_id": "e"}],
        removed_keys=[{"review_id": "b"}],
        examples=[
            Example({"review_id": "c"}, {"summary": (None, "Late.")}),
            Example({"review_id": "d"}, {"rating": ("8.0", "6.0")}),
        ],
    )


def test_a_row_that_only_moved_is_not_changed(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    plant(warehouse, "2", [(*row[:4], row[4] + 7) for row in BEFORE])
    found = reviews(compare(warehouse, "1", "2"))
    assert found.is_equal
    assert found.moved == 4
    assert list(compare(warehouse, "1", "2").as_lines())[1] == "reviews: equal (4 rows moved within their file)"


def test_a_release_equals_itself_and_is_not_read(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    for file in (warehouse.releases / "1" / "reviews").iterdir():
        file.write_bytes(b"not Parquet any more")
    assert reviews(compare(warehouse, "current", "current")) == MartComparison("reviews")


def test_an_edition_that_came_or_went_is_so_many_rows(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    plant(warehouse, "2", BEFORE[1:])
    found = reviews(compare(warehouse, "1", "2"))
    assert (found.removed, found.removed_keys, found.changed) == (1, [{"review_id": "a"}], 0)
    assert reviews(compare(warehouse, "2", "1")).added == 1


def test_columns_that_one_release_lacks_are_named_and_the_others_compared(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    other = "review_id varchar primary key, edition_id varchar, rating double, summary integer, is_late boolean"
    plant(warehouse, "2", [(*row[:2], 1.0, None, True) for row in BEFORE], other)
    found = reviews(compare(warehouse, "1", "2"))
    assert found.changed_columns == {"rating": 4}
    assert found.not_compared == [
        "column is_late: only the later release has it",
        "column row_number: only the earlier release has it",
        "column summary: was varchar, is integer",
    ]


def test_a_mart_that_one_release_lacks_is_named(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    plant(warehouse, "2", BEFORE, mart="scores")
    assert compare(warehouse, "1", "2").marts == [
        MartComparison("reviews", removed=4, not_compared=["only the earlier release has this mart"]),
        MartComparison("scores", added=4, not_compared=["only the later release has this mart"]),
    ]


def test_rows_without_a_key_are_not_compared_and_it_says_so(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE, REVIEWS.replace(" primary key", ""))
    plant(warehouse, "2", BEFORE)
    assert reviews(compare(warehouse, "1", "2")).not_compared == ["the primary key was none and is review_id"]


def test_examples_are_as_many_as_asked_and_long_values_are_cut(warehouse: Warehouse) -> None:
    plant(warehouse, "1", BEFORE)
    plant(warehouse, "2", [(*row[:3], "x" * 1000, row[4]) for row in BEFORE])
    found = reviews(compare(warehouse, "1", "2", examples=2))
    assert (found.changed, len(found.examples)) == (4, 2)
    assert found.examples[0].columns["summary"] == ("Good.", "x" * 200 + "...")
    text = json.dumps(compare(warehouse, "1", "2", examples=0).as_dict())
    assert '"examples": []' in text


def test_there_is_no_such_release(warehouse: Warehouse) -> None:
    with pytest.raises(ReleaseError, match="There is no release 'current'; there are: none"):
        compare(warehouse, "current", "current")
    plant(warehouse, "1", BEFORE)
    with pytest.raises(ReleaseError, match="There is no release before 1"):
        compare(warehouse, "previous", "current")
    with pytest.raises(ReleaseError, match="There is no release '2'; there are: 1"):
        compare(warehouse, "1", "2")
