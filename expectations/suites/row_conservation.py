"""What is expected of `row_conservation`: one kind of row of one snapshot, and what became of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("edition_id", "snapshot_number", "row_kind"),
            expect.in_own_file(),
        ],
        "values": [
            expect.one_of("row_kind", ["paper", "review", "author", "note"]),
            expect.numbers(),
            expect.equal(
                "rows_in",
                "rows_out",
                description="rows in must be those in marts, merged and quarantined together: nothing is lost",
            ),
        ],
        "distributions": [
            expect.between("kept_share", 0, 1, "warning", "share of the rows in that are in the marts"),
        ],
    }


def _editions() -> Groups:
    return {
        "volume": [expect.not_empty(), *expect.as_many_as_before("warning")],
    }


_COUNTS = ("rows_in", "rows_in_marts", "rows_merged", "rows_quarantined")

SUITE = Suite(
    columns=f"""
        edition_id, snapshot_number, row_kind, rows_in, rows_in_marts,
        coalesce(rows_in_marts / nullif(rows_in, 0), 1) as kept_share,
        rows_in_marts + rows_merged + rows_quarantined as rows_out,
        {expect.missing("edition_id", "snapshot_number", "row_kind", *_COUNTS)},
        {expect.too_small(dict.fromkeys(_COUNTS, 0))}
    """,
    batches=(
        Batch(
            name="rows",
            key=("edition_id", "snapshot_number", "row_kind"),
            query="select * exclude (row_hash) from row_conservation",
            expectations=_rows,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="select edition_id, row_count, share_of_previous from volumes where mart = 'row_conservation'",
            expectations=_editions,
        ),
    ),
)
