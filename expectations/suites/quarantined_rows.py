"""What is expected of `quarantined_rows`: one source row, or item of its lists, that could not become a mart row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

# Of all rows and items of an edition. Real datasets have a few odd names and stray workshop rows, well below 1 %;
# above 10 % the source has changed its form.
USUAL_SHARE = 0.01
LARGEST_SHARE = 0.1


def _rows() -> Groups:
    return {
        "completeness": [
            expect.required(),
            expect.between("reason_length", 1),
        ],
        "keys": [
            expect.unique("edition_id", "snapshot_number", "row_number", "row_kind", "item_number"),
            expect.in_own_file(),
        ],
        "values": [
            expect.one_of("row_kind", ["paper", "review", "author", "note"]),
            expect.numbers(),
            expect.holds("is_item_of_its_kind", "item_number must be 0 for papers and notes, and from 1 for authors"),
            expect.holds("is_free_of_emails", "row_json must hold no e-mail address"),
        ],
    }


def _editions() -> Groups:
    text = "share of the edition's own rows that were set aside"
    return {
        "volume": [
            expect.equal(
                "row_count", "expected_row_count", description="rows must be as many as editions.quarantined_row_count"
            ),
        ],
        "distributions": [
            expect.between("quarantined_share", None, USUAL_SHARE, "warning", text),
            expect.plausible(expect.between("quarantined_share", None, LARGEST_SHARE, "critical", text)),
        ],
    }


_MISSING = expect.missing("snapshot_number", "row_number", "row_kind", "item_number", "edition_id", "source", "reason")
_TOO_SMALL = expect.too_small({"row_number": 1, "item_number": 0})

SUITE = Suite(
    columns=f"""
        snapshot_number, row_number, row_kind, item_number, edition_id,
        -- The archive and the site list other tracks too; that is no sign of damage.
        contains(reason, 'another track') as is_of_other_track, {_MISSING}, {_TOO_SMALL},
        length(trim(reason)) as reason_length,
        case row_kind
            when 'author' then item_number >= 1
            when 'review' then item_number >= 0
            else item_number = 0
        end as is_item_of_its_kind,
        not regexp_matches(
            row_json, '{expect.EMAIL}'
        ) as is_free_of_emails
    """,
    batches=(
        Batch(
            name="rows",
            key=("edition_id", "snapshot_number", "row_number", "row_kind", "item_number"),
            query="select * exclude (row_hash) from quarantined_rows",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="""
                with defective as (
                    select edition_id, count(*) as row_count
                    from quarantined_rows
                    where not is_of_other_track
                    group by edition_id
                ),
                mart_rows as (
                    select edition_id, sum(row_count)::bigint as row_count
                    from volumes
                    where mart in ('papers', 'reviews', 'paper_authors', 'discussion')
                    group by edition_id
                )
                select
                    edition_id,
                    volumes.row_count,
                    coalesce(editions.quarantined_row_count, -1) as expected_row_count,
                    coalesce(defective.row_count, 0) / nullif(
                        coalesce(defective.row_count, 0) + mart_rows.row_count
                        + editions.merged_paper_row_count + editions.merged_review_row_count, 0
                    ) as quarantined_share
                from volumes
                inner join editions using (edition_id)
                inner join mart_rows using (edition_id)
                left join defective using (edition_id)
                where mart = 'quarantined_rows'
            """,
            expectations=_editions,
        ),
    ),
)
