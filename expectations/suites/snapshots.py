"""What is expected of `snapshots`: one landed snapshot that an edition was built from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

SOURCES = ["openreview", "hub_dataset", "paper_copilot", "conference_site"]


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("edition_id", "snapshot_number"),
            expect.unique("edition_id", "snapshot_id"),
            expect.in_own_file(),
        ],
        "values": [
            expect.one_of("source", SOURCES),
            expect.matches("snapshot_id", "^[0-9a-f]{16}$", "16 hex digits"),
            expect.numbers(),
        ],
        "distributions": [expect.between("row_count", 1, None, "warning", "rows of a snapshot")],
    }


def _editions() -> Groups:
    return {
        "volume": [expect.not_empty(), *expect.as_many_as_before("warning")],
    }


SUITE = Suite(
    columns=f"""
        edition_id, snapshot_number, source, snapshot_id, row_count,
        {expect.missing("edition_id", "snapshot_number", "source", "snapshot_id", "row_count")},
        {expect.too_small({"snapshot_number": 1, "row_count": 0})}
    """,
    batches=(
        Batch(
            name="rows",
            key=("edition_id", "snapshot_number"),
            row="snapshot",
            query="select * exclude (row_hash) from snapshots",
            expectations=_rows,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="select edition_id, row_count, share_of_previous from volumes where mart = 'snapshots'",
            expectations=_editions,
        ),
    ),
)
