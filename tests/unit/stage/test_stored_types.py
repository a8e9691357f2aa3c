"""`pipelines/stage/column_types.py`: what each storage type of a Parquet file comes out as, by column and nesting.

The matrix is made of storage types and of the places where a value of that kind stands; every cell is a real file that
is landed and staged. What marts make of some of them is in `tests/integration/test_stored_types.py`.
"""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from pipelines.config.editions import Edition
from pipelines.stage.checks import check_files
from pipelines.stage.column_types import Kind, read
from pipelines.stage.contracts import HUB_DATASET, ContractError
from pipelines.stage.staging import Staged, stage
from pipelines.warehouse import Warehouse
from tests.conftest import Land
from tests.hub_files import (
    editions_of,
    files_edition,
    hub_review,
    hub_row,
    hub_schema,
    review_type,
    schema_with,
    write_hub_file,
)

Query = Callable[[str], list[tuple[Any, ...]]]
_KEY_OF_WORDS = pa.dictionary(pa.int8(), pa.string())

# Where a value of each kind stands: a column, or a field of the reviews.
PLACES = {
    "score": ["reviews.rating", "reviews.confidence"],
    "count": ["year", "num_reviews"],
    "time": ["reviews.date"],
    "text": ["title", "venue_type", "reviews.review_id", "reviews.summary"],
}

# Storage type, the value as it is stored, and what it comes out as.
SCORES = [
    (pa.null(), None, None),
    *((kind, 6, "6") for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())),
    (pa.uint64(), 2**64 - 1, "18446744073709551615"),
    (pa.dictionary(pa.int8(), pa.int64()), 6, "6"),
    *((kind, 6.5, "6.5") for kind in (pa.float16(), pa.float32(), pa.float64())),
    *((kind, 6.0, "6") for kind in (pa.float16(), pa.float32(), pa.float64())),
    (pa.float32(), 6.1, "6.1"),
    (pa.float64(), float("nan"), None),
    (pa.float64(), -1.0, "-1"),
    *((kind, Decimal("6.50"), "6.5") for kind in (pa.decimal32(5, 2), pa.decimal128(5, 2), pa.decimal256(50, 2))),
    (pa.decimal128(5, 2), Decimal("60.00"), "60"),
    *((kind, "8: accept, good paper", "8: accept, good paper") for kind in (pa.string(), pa.large_string())),
    (_KEY_OF_WORDS, "8: accept, good paper", "8: accept, good paper"),
    (pa.string(), " \n", None),
    (pa.string(), "6.0", "6.0"),
]
COUNTS = [
    (pa.null(), None, None),
    *(
        (kind, 26, 26)
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    ),
    (pa.dictionary(pa.int8(), pa.int64()), 2026, 2026),
    *((kind, 26.0, 26) for kind in (pa.float16(), pa.float32(), pa.float64())),
    (pa.float64(), float("nan"), None),
    *((kind, Decimal("26.00"), 26) for kind in (pa.decimal32(5, 2), pa.decimal128(5, 2), pa.decimal256(50, 2))),
    *((kind, " 2026\n", 2026) for kind in (pa.string(), pa.large_string(), _KEY_OF_WORDS)),
    (pa.string(), "2026.0", 2026),
    (pa.string(), "", None),
]
_MOMENT = datetime(2025, 11, 1, 12, 0, 0, 500_000, UTC).replace(tzinfo=None)
_MS = 1_761_998_400_500
_TOKYO = datetime(2025, 11, 1, 21, 0, 0, 500_000, timezone(timedelta(hours=9)))
TIMES = [
    *COUNTS,
    (pa.float64(), float(_MS), _MS),
    *((pa.timestamp(unit), _MOMENT, _MS) for unit in ("ms", "us", "ns")),
    (pa.timestamp("s"), _MOMENT.replace(microsecond=0), _MS - 500),
    *((pa.timestamp(unit, "Asia/Tokyo"), _TOKYO, _MS) for unit in ("ms", "us", "ns")),
    (pa.date32(), date(2025, 11, 1), _MS - 500 - 12 * 3_600_000),
    (pa.date64(), date(2025, 11, 1), _MS - 500 - 12 * 3_600_000),
    (pa.string(), "2025-11-01T12:00:00.5Z", _MS),
    (pa.large_string(), "2025-11-01T21:00:00.5+09:00", _MS),
    (_KEY_OF_WORDS, " 2025-11-01 12:00:00.5\n", _MS),
    (pa.string(), "2025-11-01", _MS - 500 - 12 * 3_600_000),
    (pa.string(), str(_MS), _MS),
]
TEXTS = [
    (pa.null(), None, None),
    *((kind, "a\0b", "a\ufffdb") for kind in (pa.string(), pa.large_string(), _KEY_OF_WORDS)),
    (_KEY_OF_WORDS, "words", "words"),
    *((kind, 26, "26") for kind in (pa.int8(), pa.int32(), pa.int64(), pa.uint64())),
    (pa.dictionary(pa.int8(), pa.int64()), -26, "-26"),
    *((kind, Decimal("26.50"), "26.50") for kind in (pa.decimal32(5, 2), pa.decimal128(5, 2))),
    (pa.decimal128(38, 0), Decimal(10**30), str(10**30)),
    (pa.uuid(), UUID(int=26).bytes, str(UUID(int=26))),
    *((kind, "Größe\0".encode(), "Größe\ufffd") for kind in (pa.binary(), pa.large_binary())),
    (pa.binary(4), b"Gr\xc3\xb6", "Grö"),
    (pa.dictionary(pa.int8(), pa.binary()), b"words", "words"),
    (pa.binary(), b"", ""),
]
Cell = tuple[pa.DataType, Any, Any]
# One file for a line of all tables: staging costs more than a column does.
LINES = [
    pytest.param(
        {
            place: cell
            for cell, name in zip(cells, ("score", "count", "time", "text"), strict=True)
            if cell is not None
            for place in PLACES[name]
        },
        id=", ".join(f"{cell[0]}-{cell[1]!r}" for cell in cells if cell is not None),
    )
    for cells in zip_longest(SCORES, COUNTS, TIMES, TEXTS)
]

# What would lose something: the type, the values, and how the reason quotes them.
LOSSES = [
    (pa.float64(), 2.5, "2.5"),
    (pa.float32(), 2.5, "2.5"),
    (pa.float64(), float("inf"), "inf"),
    (pa.float64(), float("-inf"), "-inf"),
    (pa.float64(), 1e300, "1e+300"),
    (pa.decimal128(5, 2), Decimal("2.50"), "2.50"),
    (pa.uint64(), 2**63, str(2**63)),
    (pa.string(), "three", "three"),
    (pa.large_string(), "2.5", "2.5"),
    (_KEY_OF_WORDS, "three", "three"),
    (pa.string(), "9" * 400, "9" * 100),
    (pa.string(), "ask ada@example.org", "ask <e-mail address removed>"),
]
NUMBERS = {"year": "a whole number", "num_reviews": "a whole number", "reviews.date": "a time"}
WORDS = dict.fromkeys(["title", "venue_type", "reviews.review_id", "reviews.summary"], "text")
LOST = [
    *((NUMBERS, kind, value, shown) for kind, value, shown in LOSSES),
    *(({"reviews.date": "a time"}, kind, value, shown) for kind, value, shown in [
        (pa.string(), "2025-11-31T10:00:00Z", "2025-11-31T10:00:00Z"),
        (pa.timestamp("us"), 2**63 - 1, "infinity"),
        (pa.timestamp("us", "UTC"), 2**63 - 1, "infinity"),
    ]),
    *((WORDS, kind, b"Gr\xf6\xdfe", r"Gr\xF6\xDFe") for kind in (pa.binary(), pa.large_binary(), pa.binary(5))),
]  # fmt: skip


@pytest.fixture
def edition(tmp_path: Path) -> Edition:
    return files_edition(tmp_path / "upstream" / "*.parquet")


@pytest.fixture
def staged(warehouse: Warehouse, land: Land, edition: Edition) -> Callable[[], Staged]:
    def run() -> Staged:
        land(edition)
        return stage(edition, editions_of(edition), warehouse=warehouse, log=print)

    return run


@pytest.fixture
def query(warehouse: Warehouse) -> Query:
    def run(sql: str) -> list[tuple[Any, ...]]:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return connection.execute(sql).fetchall()

    return run


def write(folder: Path, place: str, kind: pa.DataType, value: Any, name: str = "a.parquet") -> None:
    """A file of two rows, the first of which has the value at the place; the column has the type in the whole file."""
    write_lines(folder, {place: kind}, [{place: value}, {}], name)


def write_lines(
    folder: Path, kinds: dict[str, pa.DataType], lines: list[dict[str, Any]], name: str = "a.parquet"
) -> None:
    """A file of a row for each line, with its values at their places, and else NULL at the places that have a kind.

    The first row has a second review, which is NULL.
    """
    fields = {place.partition(".")[2]: kind for place, kind in kinds.items() if "." in place}
    columns = {place: kind for place, kind in kinds.items() if "." not in place}
    schema = schema_with(reviews=review_type(**fields), **columns)
    rows = []
    for number, line in enumerate(lines, start=1):
        row = hub_row(number, reviews=[hub_review(f"r{number}"), *([None] if number == 1 else [])])
        for place in kinds:
            column, _, field = place.partition(".")
            if field:
                row[column][0][field] = line.get(place)
            else:
                row[column] = line.get(place)
        rows.append(row)
    folder.mkdir(exist_ok=True)
    arrays = {field.name: _array([row[field.name] for row in rows], field.type) for field in schema}
    pa.parquet.write_table(pa.table(arrays, schema=schema), folder / name)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """As `pa.array`, also of dictionaries inside structs, which it does not make of Python values."""
    if pa.types.is_list(kind) and None not in values:
        items = [item for value in values for item in value]
        offsets = [0]
        for value in values:
            offsets.append(offsets[-1] + len(value))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _array(items, kind.value_type))
    if pa.types.is_struct(kind):
        fields = [_array([item and item[field.name] for item in values], field.type) for field in kind]
        mask = pa.array([item is None for item in values])
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


@pytest.mark.parametrize("line", LINES)
def test_what_reads_without_loss_is_read(
    staged: Callable[[], Staged], query: Query, tmp_path: Path, line: dict[str, Cell]
) -> None:
    kinds = {place: kind for place, (kind, _, _) in line.items()}
    write_lines(tmp_path / "upstream", kinds, [{place: value for place, (_, value, _) in line.items()}, {}])
    staged()
    assert query("select problem from raw.hub_rows") == [(None,), (None,)]
    for place, (_, value, expected) in line.items():
        column, _, field = place.partition(".")
        path = f"{column}[1].{field}" if field else column
        if column in HUB_DATASET.rows and (not field or field in HUB_DATASET.rows[column]):
            found = query(f"select {path} from raw.hub_rows order by row_number")
            assert found == [(expected,), (None,)], place
        # The view over the file shows a score or a count as it stands there.
        stands = value if place in PLACES["score"] + PLACES["count"] else expected
        ((shown,), (absent,)) = query(f"select to_json({path}) from raw.hub_dataset order by row_number")
        assert absent is None, place
        assert (shown and json.loads(shown)) == _as_json(stands), place
    # A list and a null in it stay what they are.
    assert query("select len(reviews), reviews[2] from raw.hub_dataset order by row_number") == [(2, None), (1, None)]


def _as_json(value: Any) -> Any:
    if isinstance(value, int | float | Decimal):
        return pytest.approx(float(value)) if value == value else None
    return value


@pytest.mark.parametrize(("places", "kind", "value", "shown"), LOST)
def test_what_would_lose_something_sets_its_row_aside(
    staged: Callable[[], Staged],
    query: Query,
    tmp_path: Path,
    places: dict[str, str],
    kind: pa.DataType,
    value: Any,
    shown: str,
) -> None:
    lines = [*({place: value} for place in places), {}]
    write_lines(tmp_path / "upstream", dict.fromkeys(places, kind), lines)
    staged()
    assert query("select problem from raw.hub_rows order by row_number") == [
        *(
            (f"the column {place.replace('.', '[1].')} holds '{shown}', which cannot be read as {wanted}",)
            for place, wanted in places.items()
        ),
        (None,),
    ]


@pytest.mark.parametrize("kind", [pa.bool_(), pa.list_(pa.int64()), pa.time64("us"), pa.date32()], ids=str)
@pytest.mark.parametrize("place", ["year", "reviews.rating", "title", "reviews.summary"])
def test_a_type_that_nobody_can_read_fails(
    staged: Callable[[], Staged], tmp_path: Path, place: str, kind: pa.DataType
) -> None:
    write(tmp_path / "upstream", place, kind, None)
    with pytest.raises(ContractError, match=rf"a\.parquet: column '{place}' has another type; expected .*, found .*"):
        staged()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.null(), None, None),
        (pa.list_(pa.null()), [None, None], [None, None]),
        (pa.list_(pa.null()), [], []),
        (pa.large_list(pa.large_string()), ["Ada", None], ["Ada", None]),
        (pa.list_(_KEY_OF_WORDS), ["Ada", "Bo"], ["Ada", "Bo"]),
        (pa.list_(pa.string(), 2), ["Ada", "Bo"], ["Ada", "Bo"]),
        (pa.list_view(pa.string()), ["Ada"], ["Ada"]),
        (pa.list_(pa.binary()), ["Zoë".encode(), None], ["Zoë", None]),
        (pa.list_(pa.int64()), [26, None], ["26", None]),
    ],
    ids=str,
)
def test_lists_of_texts(
    staged: Callable[[], Staged], query: Query, tmp_path: Path, kind: pa.DataType, value: Any, expected: Any
) -> None:
    folder = tmp_path / "upstream"
    folder.mkdir()
    table = pa.Table.from_pylist([hub_row(1)], schema=hub_schema())
    is_coded = kind == pa.list_(_KEY_OF_WORDS)
    array = pa.array([value], pa.list_(pa.string())).cast(kind) if is_coded else pa.array([value], kind)
    table = table.set_column(table.schema.get_field_index("authors"), pa.field("authors", kind), array)
    pa.parquet.write_table(table, folder / "a.parquet")
    staged()
    for name in ("hub_dataset", "hub_rows"):
        assert query(f"select authors from raw.{name}") == [(expected,)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-11-01 12:00:00.5", _MS),
        ("2025-11-01T12:00:00.5Z", _MS),
        ("2025-11-01T21:00:00.5+09:00", _MS),
        ("2025-11-01T21:00:00.5 Asia/Tokyo", _MS),
        ("2025-11-01", _MS - 500 - 12 * 3_600_000),
    ],
)
def test_a_time_without_a_zone_is_utc_wherever_this_runs(text: str, expected: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'America/New_York'")
        (stored,) = connection.sql("select ''").types
        reading = read(Kind.TIME, "given", stored, is_sound=True)
        assert reading is not None
        assert connection.execute(f"select {reading.value} from (select ? as given)", [text]).fetchall() == [
            (expected,)
        ]


def test_a_list_with_bytes_that_are_no_text_sets_its_row_aside(
    staged: Callable[[], Staged], query: Query, tmp_path: Path
) -> None:
    rows = [hub_row(1, authors=[b"Ada", None, b"Zo\xeb"]), hub_row(2, authors=[b"Ada", None])]
    write_hub_file(tmp_path / "upstream" / "a.parquet", rows, schema_with(authors=pa.list_(pa.binary())))
    staged()
    assert query("select authors, problem from raw.hub_rows order by row_number") == [
        (["Ada", None, None], r"the column authors holds 'Zo\xEB', which cannot be read as text"),
        (["Ada", None], None),
    ]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [(pa.null(), None, None), (pa.list_(pa.null()), [None, None], [None, None]), (pa.list_(pa.null()), [], [])],
    ids=str,
)
def test_a_file_without_any_review(
    staged: Callable[[], Staged], query: Query, tmp_path: Path, kind: pa.DataType, value: Any, expected: Any
) -> None:
    folder = tmp_path / "upstream"
    folder.mkdir()
    pa.parquet.write_table(
        pa.Table.from_pylist([hub_row(1, reviews=value)], schema=schema_with(reviews=kind)), folder / "a.parquet"
    )
    staged()
    for name in ("hub_dataset", "hub_rows"):
        assert query(f"select reviews from raw.{name}") == [(expected,)]


def test_the_types_mix_among_the_files_of_a_source(staged: Callable[[], Staged], query: Query, tmp_path: Path) -> None:
    folder = tmp_path / "upstream"
    for number, (kind, value) in enumerate(
        [(pa.int64(), 6), (pa.float64(), 6.5), (pa.null(), None), (pa.string(), "8: accept"), (pa.int32(), 4)]
    ):
        write(folder, "reviews.rating", kind, value, f"{number}.parquet")
    staged()
    ratings = "select reviews[1].rating from raw.{} where (row_number - 1) % 2 = 0 order by row_number"
    assert query(ratings.format("hub_rows")) == [("6",), ("6.5",), (None,), ("8: accept",), ("4",)]
    # The whole view shows them as they stand, once one of them is no integer.
    assert query(ratings.format("hub_dataset")) == [("6",), ("6.5",), (None,), ('"8: accept"',), ("4",)]
    (tmp_path / "upstream" / "1.parquet").unlink()
    (tmp_path / "upstream" / "3.parquet").unlink()
    staged()
    assert query(ratings.format("hub_dataset")) == [(6,), (None,), (4,)]


NAMES = [
    "file_row_number", "File_Row_Number", "FILE_ROW_NUMBER", "edition_id", "Edition_Id", "snapshot_id", "row_number",
    "Row_Number", "source", "file_number", "problem", "Problem", "place", "number", "item", "text", "said", "narrow",
    "reviews.rating", "year.x", "hub_rows", "Title", "YEAR", "Reviews",
]  # fmt: skip


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("name", NAMES)
def test_a_column_with_any_name_of_ours_is_kept_out_and_reported(
    staged: Callable[[], Staged], query: Query, tmp_path: Path, name: str, is_first: bool
) -> None:
    """Also one that differs from a column of the contract in case only: the exact name is the contract's."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    rows = [hub_row(number) for number in range(1, 6)]
    table = pa.Table.from_pylist(rows, schema=hub_schema())
    extra = pa.array([f"<{number}>" for number in range(5)])
    table = table.add_column(0 if is_first else table.num_columns, name, extra)
    pa.parquet.write_table(table, folder / "a.parquet", row_group_size=2)
    assert staged().unknown_columns == [f"a.parquet: {name}"]
    expected = [(number, number - 1, row["title"], row["year"]) for number, row in enumerate(rows, start=1)]
    for table_name in ("hub_dataset", "hub_rows"):
        found = query(f"select row_number, file_row_number, title, year from raw.{table_name} order by row_number")
        assert found == expected
    assert query("select reviews from raw.hub_dataset order by row_number") == [(row["reviews"],) for row in rows]


def test_row_numbers_hold_beside_a_column_of_their_name(
    staged: Callable[[], Staged], query: Query, tmp_path: Path
) -> None:
    folder = tmp_path / "upstream"
    folder.mkdir()
    rows = [hub_row(number, reviews=[], abstract="", _bibtex="") for number in range(45_000)]
    table = pa.Table.from_pylist(rows, schema=hub_schema())
    table = table.append_column("File_Row_Number", pa.array([7] * len(rows)))
    pa.parquet.write_table(table, folder / "a.parquet", row_group_size=7_000)
    staged()
    assert query("""
        select count(*), count(*) filter (narrow.url = wide.url), min(row_number), max(row_number)
        from raw.hub_rows as narrow full join raw.hub_dataset as wide using (row_number, file_number, file_row_number)
    """) == [(45_000, 45_000, 1, 45_000)]


def test_a_path_that_looks_like_a_partition_is_only_a_path(warehouse: Warehouse, tmp_path: Path) -> None:
    """DuckDB would read `year=1999` in a path as the column `year`."""
    path = write_hub_file(tmp_path / "year=1999" / "a.parquet", [hub_row(1)])
    (checked,) = check_files([path], HUB_DATASET, warehouse)
    assert checked.unknown == []
    with warehouse.memory(path.parent) as connection:
        assert connection.execute(f"select year from {checked.relation}").fetchall() == [(2026,)]
