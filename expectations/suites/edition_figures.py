"""What is expected of `edition_figures`: one published figure of one edition beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("edition_id", "figure", "published_by"),
            expect.in_own_file(),
        ],
        "values": [
            expect.not_above("published_low", "published_high"),
            expect.holds("is_agreement_told", "is_in_agreement must say whether value is in the band"),
        ],
        "distributions": [
            # Sources differ for good reasons, so it is shown and does not block.
            expect.absent("disagreement", "value should agree with the published figure", "warning"),
        ],
    }


def _editions() -> Groups:
    return {
        # A warning: the figures are a seed of this project.
        "volume": expect.as_many_as_before("warning"),
    }


SUITE = Suite(
    columns=f"""
        edition_id, figure, published_by, published_low, published_high, is_in_agreement,
        is_in_agreement is not distinct from coalesce(value between published_low and published_high, false)
            as is_agreement_told,
        case
            when not is_in_agreement
                then coalesce(value::varchar, 'none') || ' instead of ' || published_low || ' to ' || published_high
        end as disagreement,
        {expect.missing("edition_id", "figure", "published_low", "published_high", "is_in_agreement", "published_by")}
    """,
    batches=(
        Batch(
            name="rows",
            key=("edition_id", "figure", "published_by"),
            row="figure",
            query="select * exclude (row_hash) from edition_figures",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="select edition_id, row_count, share_of_previous from volumes where mart = 'edition_figures'",
            expectations=_editions,
        ),
    ),
)
