"""What is expected of `paper_authors`: one author of one paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

FEWEST_PAPERS_FOR_BANDS = 50


def _rows() -> Groups:
    return {
        "completeness": [
            expect.required(),
            expect.between("name_length", 1),
        ],
        "keys": [
            expect.unique("paper_id", "position"),
            expect.in_own_file(),
        ],
        "values": [
            expect.numbers(),
            expect.matches("author_id", r"^(?:name:|~)\S", "`name:` and a name, or a profile id"),
            expect.holds("is_free_of_emails", "name must hold no e-mail address"),
        ],
    }


def _editions() -> Groups:
    return {
        "volume": [
            # A warning: the only named author of a tiny edition may be a name that was set aside.
            expect.between(
                "named_papers_without_authors",
                None,
                0,
                "warning",
                "papers that name authors, in an edition without any,",
            ),
            *expect.as_many_as_before(),
        ],
        "distributions": [
            expect.between("mean_authors", 1, 15, "warning", "authors per paper that names them"),
            # The most that the ICLR 2026 dataset has is 84.
            expect.between("most_authors", None, 300, "warning", "the most authors of one paper"),
            expect.between("longest_name", None, 200, "warning", "length of the longest name"),
        ],
    }


_MISSING = expect.missing(
    "paper_id", "position", "edition_id", "name", "author_id", "source", "snapshot_number", "row_number"
)
_TOO_SMALL = expect.too_small({"position": 1, "row_number": 1})

SUITE = Suite(
    columns=f"""
        paper_id, position, edition_id, author_id, {_MISSING}, {_TOO_SMALL},
        length(trim(name)) as name_length,
        not regexp_matches(name, '{expect.EMAIL}') as is_free_of_emails
    """,
    batches=(
        Batch(
            name="rows",
            key=("paper_id", "position"),
            query="select * exclude (row_hash) from paper_authors",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query=f"""
                with figures as (
                    select
                        edition_id,
                        count(*) / count(distinct paper_id) as mean_authors,
                        count(distinct paper_id) as papers,
                        max(position) as most_authors,
                        max(name_length) as longest_name
                    from paper_authors
                    group by edition_id
                ),
                named as (
                    select edition_id, count(*) filter (where not is_blind) as named_papers
                    from papers
                    group by edition_id
                )
                select
                    volumes.edition_id, row_count, share_of_previous, most_authors, longest_name,
                    case when row_count = 0 then coalesce(named_papers, 0) else 0 end as named_papers_without_authors,
                    case when papers >= {FEWEST_PAPERS_FOR_BANDS} then mean_authors end as mean_authors
                from volumes
                left join figures using (edition_id)
                left join named using (edition_id)
                where mart = 'paper_authors'
            """,
            expectations=_editions,
        ),
    ),
)
