"""What is expected of `paper_links`: one URL in one paper's abstract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

LINK_TYPES = ["code", "anonymous_code", "data", "model", "project", "other"]


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("paper_id", "url"),
            expect.in_own_file(),
        ],
        "values": [
            expect.one_of("link_type", LINK_TYPES),
            expect.matches("url", f"(?i){expect.HTTP_URL}", "an http(s) URL"),
        ],
    }


def _editions() -> Groups:
    return {
        # A warning: links are few, and abstracts are edited.
        "volume": expect.as_many_as_before("warning"),
        "distributions": [
            expect.between("most_links", None, 50, "warning", "the most links of one paper"),
            expect.between("longest_url", None, 2_000, "warning", "length of the longest URL"),
        ],
    }


_MISSING = expect.missing("paper_id", "url", "edition_id", "link_type")

SUITE = Suite(
    columns=f"paper_id, url, edition_id, link_type, {_MISSING}",
    batches=(
        Batch(
            name="rows",
            key=("paper_id", "url"),
            query="select * exclude (row_hash) from paper_links",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="""
                with links as (
                    select edition_id, paper_id, count(*) as link_count, max(length(url)) as longest_url
                    from paper_links
                    group by edition_id, paper_id
                ),
                figures as (
                    select edition_id, max(link_count) as most_links, max(longest_url) as longest_url
                    from links
                    group by edition_id
                )
                select volumes.edition_id, row_count, share_of_previous, most_links, longest_url
                from volumes
                left join figures using (edition_id)
                where mart = 'paper_links'
            """,
            expectations=_editions,
        ),
    ),
)
