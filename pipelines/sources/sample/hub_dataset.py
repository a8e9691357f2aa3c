"""The sample as the Hub dataset: one Parquet file from before the decisions and the names, with every quirk in it.

Here belongs what the file holds: the ordinary papers of a year, and the rows of `quirks.py` strewn among them.
"""

import random
from functools import lru_cache

from pipelines.sources.sample.maker import Made, Maker, Row
from pipelines.sources.sample.quirks import QUIRKS

FILE_NAME = "sample.parquet"
ORDINARY_PAPERS = 200
DESK_REJECTED_PAPERS = 5

_COLUMNS = (
    *("title", "abstract", "year", "url", "pdf", "authors", "venue", "venueid", "invitation", "venue_type"),
    *("reviews", "num_reviews", "_bibtex", "_bibkey"),
)
_REVIEW_TEXTS = ("review", "review_id", "reviewer", "strengths", "summary", "weaknesses")


@lru_cache(maxsize=4)
def _made(year: int) -> tuple[tuple[Row, ...], tuple[Made, ...]]:
    """The ordinary rows and, in file order, all rows."""
    maker = Maker(random.Random(year * 10_000 + 101), year)  # noqa: S311 (it has to repeat, not to be secret)
    rows = [maker.paper(withdrawn=False, reviews=0) for _ in range(DESK_REJECTED_PAPERS)]
    rows += [maker.paper() for _ in range(ORDINARY_PAPERS - DESK_REJECTED_PAPERS)]
    made = [Made(row) for row in rows]
    for quirk in QUIRKS.values():
        made += quirk(maker)
    maker.random.shuffle(made)
    return tuple(rows), tuple(made)


def ordinary(year: int) -> tuple[Row, ...]:
    """The rows of a year's ordinary papers, which the other sources know too; the first were rejected at the desk."""
    return _made(year)[0]


def build(year: int) -> tuple[Made, ...]:
    """All rows in file order: the ordinary papers with every quirk's rows strewn among them."""
    return _made(year)[1]


def files(year: int) -> dict[str, bytes]:
    """The dataset as a Parquet file, the same bytes every time (for one version of pyarrow)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.int64()
    review = pa.struct(dict.fromkeys(("confidence", "date", "rating"), number) | dict.fromkeys(_REVIEW_TEXTS, text))
    columns = dict.fromkeys(_COLUMNS, text) | dict.fromkeys(("year", "num_reviews"), number)
    schema = pa.schema(columns | {"authors": pa.list_(text), "reviews": pa.list_(review)})
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist([made.row for made in build(year)], schema=schema)
    pq.write_table(table, sink, compression="zstd", compression_level=3)
    return {FILE_NAME: bytes(sink.getvalue())}
