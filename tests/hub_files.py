"""Small Parquet files in the Hub dataset's schema, and editions that read them; the schema is the contract's own.

Here belongs what a test needs in order to have an upstream. Faults of an upstream belong in the tests that plant them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from pipelines.config.editions import Edition, Editions
from pipelines.stage.column_types import Kind
from pipelines.stage.contracts import HUB_DATASET

Row = dict[str, Any]

VENUE_ID = "TEST.cc/2026/Conference"
_ARROW = {
    Kind.TEXT: pa.string(),
    Kind.TEXTS: pa.list_(pa.string()),
    Kind.COUNT: pa.int64(),
    Kind.TIME: pa.int64(),
    Kind.SCORE: pa.int64(),
}


def hub_schema() -> pa.Schema:
    """The Arrow schema that the contract `HUB_DATASET` describes."""
    fields = []
    for column, kind in HUB_DATASET.columns.items():
        if isinstance(kind, Kind):
            arrow = _ARROW[kind]
        else:
            arrow = pa.list_(pa.struct([pa.field(name, _ARROW[field]) for name, field in kind.items()]))
        fields.append(pa.field(column, arrow))
    return pa.schema(fields)


def hub_review(review_id: str = "rev0000001", **changes: Any) -> Row:
    """One item of `reviews`, as the real dataset has it."""
    review = {
        "confidence": 3,
        "date": 0,
        "rating": 6,
        "review": "",
        "review_id": review_id,
        "reviewer": f"{VENUE_ID}/Submission1/Reviewer_Ab12",
        "strengths": "- The question is a good one.",
        "summary": "The paper asks a question and answers it with an experiment.",
        "weaknesses": "- The baselines are few.",
    }
    return review | changes


def hub_row(number: int = 1, **changes: Any) -> Row:
    """One blind paper with two reviews; `number` makes ids, title and submission number distinct."""
    row: Row = {
        "title": f"On the {number}. Question of Machine Learning",
        "abstract": f"We ask the {number}. question of machine learning, and answer it in a way that is long enough.",
        "year": 2026,
        "url": f"https://openreview.net/forum?id=Forum{number:05d}",
        "pdf": f"https://openreview.net/pdf/{number:040x}.pdf",
        "authors": [],
        "venue": "TEST 2026 Conference Submission",
        "venueid": "TEST",
        "invitation": repr([f"{VENUE_ID}/-/Submission", f"{VENUE_ID}/Submission{number}/-/Full_Submission"]),
        "venue_type": "poster",
        "reviews": [
            hub_review(
                f"rev{number:05d}{letter}", rating=rating, reviewer=f"{VENUE_ID}/Submission{number}/Reviewer_{letter}"
            )
            for letter, rating in (("aaAA", 4), ("bbBB", 8))
        ],
        "_bibtex": f"@misc{{\nanonymous2025on{number},\ntitle={{On the {number}. Question of Machine Learning}}\n}}",
        "_bibkey": f"anonymous2025on{number}",
    } | changes
    return {"num_reviews": len(row["reviews"] or []), **row}


def withdrawn_row(number: int, authors: Sequence[str], **changes: Any) -> Row:
    """One withdrawn paper, whose authors are named."""
    invitations = [
        f"{VENUE_ID}/-/Submission",
        f"{VENUE_ID}/Submission{number}/-/Full_Submission",
        f"{VENUE_ID}/-/Withdrawn_Submission",
    ]
    withdrawn = {
        "authors": list(authors),
        "venue": "TEST 2026 Conference Withdrawn Submission",
        "invitation": repr(invitations),
    }
    return hub_row(number, **(withdrawn | changes))


def review_type(**changes: pa.DataType | None) -> pa.DataType:
    """The Arrow type of `reviews` with fields added, retyped, or (None) removed."""
    fields = {field.name: field.type for field in hub_schema().field("reviews").type.value_type} | changes
    return pa.list_(pa.struct([pa.field(name, kind) for name, kind in fields.items() if kind is not None]))


def schema_with(**changes: pa.DataType | None) -> pa.Schema:
    """The Hub's schema with columns added, retyped, or (None) removed."""
    fields = {field.name: field.type for field in hub_schema()} | changes
    return pa.schema([pa.field(name, kind) for name, kind in fields.items() if kind is not None])


def ten_papers() -> list[Row]:
    """Eight blind papers and two withdrawn ones: 20 reviews, 3 authors in 4 places."""
    return [
        *(hub_row(number) for number in range(1, 9)),
        withdrawn_row(9, ["Ada Example", "Bo Sample"]),
        withdrawn_row(10, ["Ada Example", "Cy Instance"]),
    ]


def write_hub_file(path: Path, rows: Sequence[Row], schema: pa.Schema | None = None) -> Path:
    """Write rows as Parquet in the Hub's schema (or another one, to break the contract); returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema or hub_schema()), path)
    return path


def files_edition(path: Path | str, edition_id: str = "test-2026", **changes: Any) -> Edition:
    """An edition with one `files` source that reads a path or glob."""
    given = {
        "id": edition_id,
        "venue": "TEST",
        "year": 2026,
        "venue_id": VENUE_ID,
        "sources": [{"kind": "files", "path": str(path)}],
    }
    return Edition.model_validate(given | changes)


def editions_of(*editions: Edition) -> Editions:
    """The model of an editions file with these editions."""
    return Editions(editions=list(editions))
