"""What is expected of `paper_source_values`: one value that one source gives for a paper that several sources have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("paper_id", "source", "column_name"),
            expect.in_own_file(),
        ],
        "values": [
            expect.one_of("column_name", ["status", "decision", "title", "rating_mean"]),
            expect.holds("is_sameness_told", "is_published must say whether the values are the same"),
        ],
    }


def _editions() -> Groups:
    return {
        # A warning: a source may be left out one day.
        "volume": expect.as_many_as_before("warning"),
        "distributions": [
            # Titles are edited now and then; many different ones mean that papers were matched wrongly.
            expect.between(
                "differing_title_share", None, 0.2, "warning", "share of titles that differ between sources"
            ),
        ],
    }


SUITE = Suite(
    columns=f"""
        paper_id, source, column_name, edition_id, is_published,
        is_published is not distinct from coalesce(source_value = published_value, false) as is_sameness_told,
        {expect.missing("paper_id", "source", "column_name", "edition_id", "source_value", "is_published")}
    """,
    batches=(
        Batch(
            name="rows",
            key=("paper_id", "source", "column_name"),
            query="select * exclude (row_hash) from paper_source_values",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="""
                with figures as (
                    select
                        edition_id,
                        avg((not is_published)::integer) filter (where column_name = 'title') as differing_title_share
                    from paper_source_values
                    group by edition_id
                )
                select volumes.edition_id, row_count, share_of_previous, differing_title_share
                from volumes
                left join figures using (edition_id)
                where mart = 'paper_source_values'
            """,
            expectations=_editions,
        ),
    ),
)
