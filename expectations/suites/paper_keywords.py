"""What is expected of `paper_keywords`: one keyword of one paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups


def _rows() -> Groups:
    return {
        "completeness": [expect.required(), expect.between("keyword_length", 1)],
        "keys": [
            expect.unique("paper_id", "position"),
            expect.in_own_file(),
        ],
        "values": [expect.numbers()],
    }


def _editions() -> Groups:
    return {
        # A warning: keywords are edited.
        "volume": expect.as_many_as_before("warning"),
        "distributions": [
            expect.between("most_keywords", None, 50, "warning", "the most keywords of one paper"),
            # A list that was not taken apart is one long keyword.
            expect.between("mean_keyword_length", 3, 60, "warning", "mean length of keywords"),
        ],
    }


SUITE = Suite(
    columns=f"""
        paper_id, position, edition_id, length(trim(keyword)) as keyword_length,
        {expect.missing("paper_id", "position", "edition_id", "keyword")}, {expect.too_small({"position": 1})}
    """,
    batches=(
        Batch(
            name="rows",
            key=("paper_id", "position"),
            query="select * exclude (row_hash) from paper_keywords",
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
                        edition_id, max(position) as most_keywords, avg(keyword_length) as mean_keyword_length
                    from paper_keywords
                    group by edition_id
                )
                select volumes.edition_id, row_count, share_of_previous, most_keywords, mean_keyword_length
                from volumes
                left join figures using (edition_id)
                where mart = 'paper_keywords'
            """,
            expectations=_editions,
        ),
    ),
)
