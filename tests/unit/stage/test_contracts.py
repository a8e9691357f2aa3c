"""`contracts.py`: what a landed Hub file must look like, on files that a test breaks in one place each."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from pipelines.stage.checks import check_files
from pipelines.stage.contracts import HUB_DATASET, ContractError
from pipelines.warehouse import Warehouse
from tests.hub_files import hub_review, hub_row, hub_schema, review_type, schema_with, write_hub_file


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    return write_hub_file(tmp_path / "upstream" / "papers.parquet", [hub_row(1)])


def broken(warehouse: Warehouse, path: Path, schema: pa.Schema, **changes: Any) -> str:
    row = {name: value for name, value in hub_row(**changes).items() if name in schema.names}
    write_hub_file(path, [row], schema)
    with pytest.raises(ContractError) as caught:
        check_files([path], HUB_DATASET, warehouse)
    message = str(caught.value)
    assert message.startswith(f"{path}: column ")
    assert "If the upstream changed its schema, change the contract in contracts.py." in message
    return message


@pytest.mark.parametrize("column", sorted(HUB_DATASET.required))
def test_a_missing_required_column_is_named(warehouse: Warehouse, upstream: Path, column: str) -> None:
    message = broken(warehouse, upstream, schema_with(**{column: None}))
    assert f"column {column!r} is missing; expected {HUB_DATASET.sql_type(column)}, found the columns " in message
    assert "num_reviews" in message


@pytest.mark.parametrize(
    ("column", "kind", "value", "expected", "found"),
    [
        ("title", pa.float64(), 1.0, "VARCHAR", "DOUBLE"),
        ("title", pa.bool_(), True, "VARCHAR", "BOOLEAN"),
        ("year", pa.bool_(), True, "BIGINT", "BOOLEAN"),
        ("year", pa.timestamp("us"), 0, "BIGINT", "TIMESTAMP"),
        ("authors", pa.string(), "A; B", "VARCHAR[]", "VARCHAR"),
        ("authors", pa.list_(pa.bool_()), [True], "VARCHAR[]", "BOOLEAN[]"),
        ("num_reviews", pa.list_(pa.int64()), [2], "BIGINT", "BIGINT[]"),
        ("reviews", pa.string(), "[]", 'STRUCT("confidence" BIGINT', "VARCHAR"),
        ("reviews", pa.list_(pa.string()), ["good"], 'STRUCT("confidence" BIGINT', "VARCHAR[]"),
    ],
)
def test_a_retyped_column_is_named(
    warehouse: Warehouse, upstream: Path, column: str, kind: pa.DataType, value: Any, expected: str, found: str
) -> None:
    message = broken(warehouse, upstream, schema_with(**{column: kind}), **{column: value})
    assert f"column {column!r} has another type; expected {expected}" in message
    assert f"found {found}." in message


def test_a_missing_field_of_reviews_is_named(warehouse: Warehouse, upstream: Path) -> None:
    message = broken(warehouse, upstream, schema_with(reviews=review_type(rating=None)))
    assert "column 'reviews' has no field 'rating'; expected BIGINT, found the fields confidence, date, re" in message


def test_a_retyped_field_of_reviews_is_named(warehouse: Warehouse, upstream: Path) -> None:
    reviews = [hub_review(rating=[6])]
    retyped = schema_with(reviews=review_type(rating=pa.list_(pa.int64())))
    message = broken(warehouse, upstream, retyped, reviews=reviews)
    assert "column 'reviews.rating' has another type; expected BIGINT, found BIGINT[]." in message


def test_a_column_that_stands_twice_is_named(warehouse: Warehouse, upstream: Path) -> None:
    table = pa.Table.from_pylist([hub_row(1)], schema=hub_schema())
    pyarrow.parquet.write_table(table.append_column("title", pa.array(["Another"])), upstream)
    with pytest.raises(ContractError, match=r"papers\.parquet: column 'title' stands there 2 times\."):
        check_files([upstream], HUB_DATASET, warehouse)


def test_each_file_is_checked_for_itself(warehouse: Warehouse, upstream: Path) -> None:
    """DuckDB takes the types of a list of files from the first one."""
    other = write_hub_file(upstream.with_name("z.parquet"), [hub_row(year=True)], schema_with(year=pa.bool_()))
    check_files([upstream], HUB_DATASET, warehouse)
    with pytest.raises(ContractError, match=r"z\.parquet: column 'year' has another type"):
        check_files([upstream, other], HUB_DATASET, warehouse)
