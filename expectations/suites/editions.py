"""What is expected of `editions`: one venue-year."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

COUNTS = (
    "submission_count", "under_review_count", "accepted_count", "rejected_count", "withdrawn_count",
    "desk_rejected_count", "workshop_count", "unknown_status_count",
    "review_count", "off_scale_rating_count", "merged_paper_row_count",
    "merged_review_row_count", "quarantined_row_count",
)  # fmt: skip


def _rows() -> Groups:
    return {
        "volume": [expect.not_empty()],
        "completeness": [
            expect.required(),
            expect.between("source_count", 1),
            expect.between("rating_scale_length", 1),
        ],
        "keys": [expect.unique("edition_id"), expect.unique("venue_id", severity="warning")],
        "values": [
            expect.matches(
                "edition_id", r"^[0-9]*[a-z][a-z0-9]*(?:-[a-z0-9]+)*$", "lower-case words and numbers joined by -"
            ),
            expect.between("year", 2000, 2100),
            expect.numbers(),
            expect.between("acceptance_rate", 0, 1),
            expect.between("rating_mean", 0, 10),
            expect.single_valued("is_synthetic", "synthetic and real editions must not be in one release"),
        ],
        "distributions": [
            # Conferences accept a fifth to a third; small venues and workshops more.
            expect.between("acceptance_rate", 0.1, 0.7, "warning", "acceptance rate"),
        ],
    }


def _previous() -> Groups:
    return {
        "volume": [
            expect.holds("is_present", "every edition of the previous release must be in this one"),
        ],
    }


_MISSING = expect.missing("edition_id", "venue", "year", "venue_id", "is_synthetic", "sources", *COUNTS)
_TOO_SMALL = expect.too_small(dict.fromkeys(COUNTS, 0))

SUITE = Suite(
    columns=f"""
        edition_id, year, venue_id, is_synthetic, {", ".join(COUNTS)}, acceptance_rate, rating_mean,
        disagreeing_figures, len(sources) as source_count, len(rating_scale) as rating_scale_length,
        {_MISSING}, {_TOO_SMALL}
    """,
    batches=(
        Batch(
            name="rows",
            key=("edition_id",),
            row="edition",
            query="select * exclude (row_hash, disagreeing_figures) from editions",
            expectations=_rows,
        ),
        Batch(
            name="previous",
            key=("edition_id",),
            row="edition",
            query="""
                select distinct edition_id, edition_id in (select edition_id from editions) as is_present
                from previous
                where mart = 'papers' and row_count > 0
            """,
            expectations=_previous,
            # The first release has no previous one.
            may_be_empty=True,
        ),
    ),
)
