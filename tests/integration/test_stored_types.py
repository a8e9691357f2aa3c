"""What the marts make of a source whose files store the same columns in other types, and of rows that cannot be read.

Here belongs what comes out at the end; each type by column and nesting is in `tests/unit/stage/test_stored_types.py`.
"""

import json
from typing import Any

import pyarrow as pa
import pytest

from tests.hub_files import files_edition, hub_review, hub_row, review_type, schema_with, write_hub_file
from tests.model_runs import ModelRun

pytestmark = pytest.mark.slow

# File by file: the type of the rating, the ratings of its one paper, and what the marts then say.
RATINGS: list[tuple[pa.DataType, list[Any], list[tuple[float | None, str | None]]]] = [
    (pa.int64(), [6, None], [(6.0, "6"), (None, None)]),
    (pa.int32(), [4, 8], [(4.0, "4"), (8.0, "8")]),
    (pa.float64(), [6.5, 6.0], [(6.5, "6.5"), (6.0, "6")]),
    (pa.float32(), [3.0, float("nan")], [(3.0, "3"), (None, None)]),
    (pa.null(), [None, None], [(None, None), (None, None)]),
    (pa.string(), ["8: accept, good paper", "none"], [(8.0, "8: accept, good paper"), (None, "none")]),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ModelRun:
    folder = tmp_path_factory.mktemp("stored types")
    upstream = folder / "upstream"
    for number, (kind, ratings, _) in enumerate(RATINGS, start=1):
        reviews = [hub_review(f"rev{number}item{place}", rating=rating) for place, rating in enumerate(ratings)]
        schema = schema_with(reviews=review_type(rating=kind), authors=pa.list_(pa.null()), edition_id=pa.string())
        write_hub_file(upstream / f"{number}.parquet", [hub_row(number, reviews=reviews) | {"edition_id": "x"}], schema)
    odd = [
        hub_row(11, num_reviews=2.0),
        hub_row(12, num_reviews=2.5),
        hub_row(13, num_reviews=float("nan"), year="twenty"),
    ]
    rows = [row | {"year": str(row["year"])} for row in odd]
    write_hub_file(upstream / "odd.parquet", rows, schema_with(num_reviews=pa.float64(), year=pa.string()))
    made = ModelRun(folder)
    made.stage(files_edition(upstream / "*.parquet"))
    made.build()
    return made


def test_ratings_are_the_numbers_that_were_given(run: ModelRun) -> None:
    for number, (_, _, expected) in enumerate(RATINGS, start=1):
        found = run.marts(
            "select rating, rating_text from reviews where paper_id = ? order by item_number", [f"Forum{number:05d}"]
        )
        assert found == expected


def test_a_row_that_would_lose_something_is_set_aside_with_the_reason(run: ModelRun) -> None:
    set_aside = run.marts("select reason, row_json from quarantined_rows where row_kind = 'paper' order by row_number")
    assert [reason for reason, _ in set_aside] == [
        "the column num_reviews holds '2.5', which cannot be read as a whole number",
        "the column year holds 'twenty', which cannot be read as a whole number",
    ]
    first, second = (json.loads(row) for _, row in set_aside)
    assert (first["num_reviews"], first["year"], second["num_reviews"], second["year"]) == (2.5, "2026", None, "twenty")
    papers = run.marts("select paper_id from papers order by 1")
    assert papers == [(f"Forum{number:05d}",) for number in (1, 2, 3, 4, 5, 6, 11)]


def test_no_row_is_lost(run: ModelRun) -> None:
    assert run.marts("select row_kind, rows_in, rows_in_marts, rows_quarantined from row_conservation order by 1") == [
        ("paper", 9, 7, 2),
        ("review", 18, 14, 4),
    ]
