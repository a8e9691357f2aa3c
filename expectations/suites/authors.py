"""What is expected of `authors`: one identity of an author."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups


def _rows() -> Groups:
    return {
        "completeness": [
            expect.required(),
            expect.between("display_name_length", 1),
            expect.between("variant_count", 1),
        ],
        "keys": [expect.unique("author_id")],
        "values": [
            expect.matches("author_id", r"^(?:name:|~)\S", "`name:` and a name, or a profile id"),
            expect.one_of("identity_basis", ["openreview_profile", "normalised_name"]),
            expect.holds("is_display_name_known", "display_name must be one of name_variants"),
            expect.holds("is_free_of_emails", "display_name and name_variants must hold no e-mail address"),
            expect.numbers(),
            expect.not_above("first_year", "last_year"),
            expect.between("first_year", 2000, 2100),
            expect.between("last_year", 2000, 2100),
        ],
    }


def _mart() -> Groups:
    return {
        "volume": [
            # Editions whose papers are all blind have no authors, and that is right.
            expect.between(
                "named_papers_without_authors", None, 0, description="papers that name authors, without any"
            ),
            *expect.as_many_as_before(),
        ],
        "distributions": [
            # Common names of many people are one identity for now; more papers than this are a placeholder name.
            expect.between("most_papers", None, 300, "warning", "the most papers of one author"),
            expect.between("longest_name", None, 200, "warning", "length of the longest name"),
            expect.between("most_variants", None, 20, "warning", "the most spellings of one author"),
        ],
    }


_MISSING = expect.missing(
    "author_id", "identity_basis", "display_name", "name_variants", "paper_count", "first_year", "last_year"
)
_TOO_SMALL = expect.too_small({"paper_count": 1})

SUITE = Suite(
    columns=f"""
        author_id, identity_basis, paper_count, first_year, last_year, {_MISSING}, {_TOO_SMALL},
        length(trim(display_name)) as display_name_length,
        len(name_variants) as variant_count,
        list_contains(name_variants, display_name) as is_display_name_known,
        not regexp_matches(
            concat_ws(' ', display_name, array_to_string(name_variants, ' ')),
            '{expect.EMAIL}'
        ) as is_free_of_emails
    """,
    batches=(
        Batch(
            name="rows",
            key=("author_id",),
            query="select * exclude (row_hash) from authors",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="mart",
            key=("mart",),
            row="mart",
            query="""
                select
                    mart, row_count, share_of_previous,
                    case
                        when row_count = 0 then (select count(*) from papers where not is_blind) else 0
                    end as named_papers_without_authors,
                    (select max(paper_count) from authors) as most_papers,
                    (select max(display_name_length) from authors) as longest_name,
                    (select max(variant_count) from authors) as most_variants
                from volumes
                where mart = 'authors'
            """,
            expectations=_mart,
        ),
    ),
)
