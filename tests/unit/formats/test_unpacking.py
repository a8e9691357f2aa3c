"""`pipelines/formats/unpacking.py`: how large a Parquet file becomes, told without making it so large."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.formats.unpacking import Unpacked, UnpackingError, measure
from tests.faults.hostile_files import dictionary_bomb, page_bomb
from tests.hub_files import hub_review, hub_row, hub_schema, write_hub_file

MB = 10**6


def measured(path: Path, *, max_bytes: int = 100 * MB, max_batch_bytes: int = 10 * MB) -> Unpacked:
    with duckdb.connect(config={"memory_limit": "200MB", "threads": 1}) as connection:
        return measure(path, connection, max_bytes=max_bytes, max_batch_bytes=max_batch_bytes)


_TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]) | st.just("\0"), max_size=30)
_ROW = st.fixed_dictionaries(
    {
        "title": _TEXT,
        "abstract": _TEXT,
        "authors": st.none() | st.lists(_TEXT, max_size=3),
        "reviews": st.none() | st.lists(st.none() | _TEXT.map(lambda text: hub_review("r", summary=text)), max_size=3),
    }
)


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in items for text in texts(item)]


@given(st.lists(_ROW, max_size=5))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_bytes_and_texts_with_nul_are_counted(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows = [hub_row(number, **row) for number, row in enumerate(rows)]
    written = [text for row in rows for text in texts(row)]
    assert measured(write_hub_file(tmp_path / "a.parquet", rows)) == Unpacked(
        len(rows), sum(len(text.encode()) for text in written), sum("\0" in text for text in written)
    )


def test_a_dictionary_bomb_is_told_by_the_lengths_of_its_texts(tmp_path: Path) -> None:
    """Its footer speaks of a few megabytes; nothing of the hundred gigabytes is ever made."""
    path = tmp_path / "a.parquet"
    path.write_bytes(dictionary_bomb(is_nested=False))
    assert path.stat().st_size < 100_000
    with pytest.raises(UnpackingError, match=r"unpacks to 1000\d{8} bytes of text, more than MAX_UNPACKED_BYTES"):
        measured(path)


def test_a_nested_dictionary_bomb_stops_at_the_memory_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(dictionary_bomb(is_nested=True))
    with pytest.raises(UnpackingError, match="needs more memory than DUCKDB_MEMORY_LIMIT allows"):
        measured(path)


def test_a_page_bomb_is_told_by_the_footer(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(page_bomb())
    with pytest.raises(UnpackingError, match=r"unpacks to \d{9} bytes, more than MAX_UNPACKED_BYTES=50000000"):
        measured(path, max_bytes=50 * MB)


def test_nulls_that_cost_nothing_in_a_file_count(tmp_path: Path) -> None:
    table = pa.table({"title": pa.nulls(3_000_000, pa.string())})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UnpackingError, match=r"unpacks to 48\d{6} bytes, more than"):
        measured(tmp_path / "a.parquet", max_bytes=40 * MB)


def test_names_of_columns_are_no_sql(tmp_path: Path) -> None:
    names = ['a"b', "'; drop table x; --", "{{ x }}", "a.b", " "]
    table = pa.table({name: ["x"] for name in names})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert measured(tmp_path / "a.parquet") == Unpacked(1, 5, 0)


def test_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    raw = pa.array([b"\xff\xfe"], pa.binary())
    table = pa.table({"title": pa.StringArray.from_buffers(1, raw.buffers()[1], raw.buffers()[2])})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UnpackingError, match=r"is a damaged Parquet file: .*not valid UTF8"):
        measured(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["file_row_number", "File_Row_Number"])
def test_a_column_with_the_name_of_duckdbs_row_numbers(tmp_path: Path, name: str) -> None:
    table = pa.table({name: [7] * 5_000, "title": ["abc"] * 5_000})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert measured(tmp_path / "a.parquet") == Unpacked(5_000, 15_000, 0)
    # 2,048 rows of three bytes are in memory at once, as in any other file.
    with pytest.raises(UnpackingError, match=r"holds 6144 bytes of text in 2048 rows"):
        measured(tmp_path / "a.parquet", max_batch_bytes=6_143)


def test_the_real_schema_reads(tmp_path: Path) -> None:
    assert measured(write_hub_file(tmp_path / "a.parquet", [hub_row(1)], hub_schema())).rows == 1
