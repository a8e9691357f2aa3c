"""What the marts promise each other: keys that meet, counts that agree, files that equal the database.

Here belongs every expectation that reads more than one mart, sorted by the mart that it blames, and the suite of the
candidate as a whole. Volume, which compares with the previous release, is in each mart's own module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

# Sums of ratings are exact in doubles; only the division rounds.
RATING_MEAN_TOLERANCE = 1e-9


def _group(*expectations: object) -> Groups:
    return {"cross_table": list(expectations)}  # type: ignore[arg-type]


def _of_papers(mart: str, key: tuple[str, ...], *, may_be_empty: bool, holds_authors: bool = False) -> Batch:
    """The paper and edition of each row of a mart that hangs on papers."""

    def expectations() -> Groups:
        return _group(
            expect.absent("paper_id_without_paper", "paper_id must be in papers"),
            expect.absent("edition_id_of_other_paper", "edition_id must be that of the paper"),
            expect.absent("edition_id_without_edition", "edition_id must be in editions"),
            *([expect.absent("author_id_without_author", "author_id must be in authors")] if holds_authors else []),
            *([expect.absent("blind_paper_id", "a blind paper must have no authors")] if holds_authors else []),
        )

    authors = f"""
        case when {mart}.author_id not in (select author_id from authors) then {mart}.author_id end
            as author_id_without_author,
        case when papers.is_blind then {mart}.paper_id end as blind_paper_id,
    """
    return Batch(
        name="keys",
        key=key,
        query=f"""
            select
                {", ".join(f"{mart}.{column}" for column in key)},
                {authors if holds_authors else ""}
                case when papers.paper_id is null then {mart}.paper_id end as paper_id_without_paper,
                case when papers.edition_id != {mart}.edition_id then {mart}.edition_id end
                    as edition_id_of_other_paper,
                case when {mart}.edition_id not in (select edition_id from editions) then {mart}.edition_id end
                    as edition_id_without_edition
            from {mart}
            left join (select distinct on (paper_id) paper_id, edition_id, is_blind from papers) as papers
                on {mart}.paper_id = papers.paper_id
        """,
        expectations=expectations,
        may_be_empty=may_be_empty,
    )


def _papers() -> Groups:
    return _group(
        expect.absent("edition_id_without_edition", "edition_id must be in editions"),
        expect.equal("review_count", "counted_reviews", description="review_count must be the paper's rows in reviews"),
        expect.between(
            "rating_mean_error", 0, RATING_MEAN_TOLERANCE, description="difference of rating_mean to that of reviews"
        ),
    )


PAPERS = Batch(
    name="counts",
    key=("paper_id",),
    query="""
        with counted as (
            select paper_id, count(*) as review_count, avg(rating) as rating_mean
            from reviews
            group by paper_id
        )
        select
            papers.paper_id,
            case when papers.edition_id not in (select edition_id from editions) then papers.edition_id end
                as edition_id_without_edition,
            coalesce(papers.review_count, -1) as review_count,
            coalesce(counted.review_count, 0)::integer as counted_reviews,
            case
                when papers.rating_mean is null and counted.rating_mean is null then 0
                -- Where one of them is missing, as far apart as ratings get.
                else coalesce(abs(papers.rating_mean - counted.rating_mean), 10)
            end as rating_mean_error
        from papers
        left join counted on papers.paper_id = counted.paper_id
    """,
    expectations=_papers,
)


def _authors() -> Groups:
    return _group(
        expect.equal("paper_count", "counted_papers", description="paper_count must be the papers in paper_authors"),
        expect.equal("first_year", "first_counted_year", description="first_year must be that of paper_authors"),
        expect.equal("last_year", "last_counted_year", description="last_year must be that of paper_authors"),
    )


AUTHORS = Batch(
    name="counts",
    key=("author_id",),
    query="""
        with counted as (
            select
                author_id,
                count(distinct paper_id) as paper_count,
                min(year) as first_year,
                max(year) as last_year
            from paper_authors
            left join editions using (edition_id)
            group by author_id
        )
        select
            authors.author_id,
            coalesce(authors.paper_count, -1) as paper_count,
            coalesce(counted.paper_count, 0)::integer as counted_papers,
            coalesce(authors.first_year, -1) as first_year,
            coalesce(counted.first_year, 0) as first_counted_year,
            coalesce(authors.last_year, -1) as last_year,
            coalesce(counted.last_year, 0) as last_counted_year
        from authors
        left join counted on authors.author_id = counted.author_id
    """,
    expectations=_authors,
    may_be_empty=True,
)


def _editions() -> Groups:
    return _group(
        expect.absent("wrong_counts", "counts must be those of the rows in the other marts"),
        expect.between(
            "rating_mean_error", 0, RATING_MEAN_TOLERANCE, description="difference of rating_mean to that of reviews"
        ),
    )


# What each count of an edition is to be.
_COUNTED = {
    "submission_count": "paper_counts.submission_count",
    "under_review_count": "paper_counts.under_review_count",
    "accepted_count": "paper_counts.accepted_count",
    "rejected_count": "paper_counts.rejected_count",
    "withdrawn_count": "paper_counts.withdrawn_count",
    "desk_rejected_count": "paper_counts.desk_rejected_count",
    "workshop_count": "paper_counts.workshop_count",
    "unknown_status_count": "paper_counts.unknown_status_count",
    "review_count": "review_counts.review_count",
    "off_scale_rating_count": "review_counts.off_scale_rating_count",
    "quarantined_row_count": "quarantined.row_count",
}
_WRONG = ", ".join(
    f"case when editions.{count} is distinct from coalesce({counted}, 0) "
    f"then '{count} ' || coalesce(editions.{count}::varchar, 'null') || ' but counted ' || coalesce({counted}, 0) end"
    for count, counted in _COUNTED.items()
)

EDITIONS = Batch(
    name="counts",
    key=("edition_id",),
    row="edition",
    query=f"""
        with paper_counts as (
            select
                edition_id,
                count(*) as submission_count,
                count(*) filter (where status = 'under_review') as under_review_count,
                count(*) filter (where status = 'accepted') as accepted_count,
                count(*) filter (where status = 'rejected') as rejected_count,
                count(*) filter (where status = 'withdrawn') as withdrawn_count,
                count(*) filter (where status = 'desk_rejected') as desk_rejected_count,
                count(*) filter (where status = 'workshop') as workshop_count,
                count(*) filter (where has_unknown_status) as unknown_status_count
            from papers
            group by edition_id
        ),
        review_counts as (
            select
                edition_id,
                count(*) as review_count,
                count(*) filter (where is_rating_off_scale) as off_scale_rating_count,
                avg(rating) as rating_mean
            from reviews
            group by edition_id
        ),
        quarantined as (
            select edition_id, count(*) as row_count
            from quarantined_rows
            group by edition_id
        )
        select
            edition_id,
            nullif(concat_ws(', ', {_WRONG}), '') as wrong_counts,
            case
                when editions.rating_mean is null and review_counts.rating_mean is null then 0
                -- Where one of them is missing, as far apart as ratings get.
                else coalesce(abs(editions.rating_mean - review_counts.rating_mean), 10)
            end as rating_mean_error
        from editions
        left join paper_counts using (edition_id)
        left join review_counts using (edition_id)
        left join quarantined using (edition_id)
    """,
    expectations=_editions,
)


def _quarantined() -> Groups:
    return _group(expect.absent("edition_id_without_edition", "edition_id must be in editions"))


QUARANTINED = Batch(
    name="keys",
    key=("edition_id", "snapshot_number", "row_number", "row_kind", "item_number"),
    query="""
        select
            edition_id, snapshot_number, row_number, row_kind, item_number,
            case when edition_id not in (select edition_id from editions) then edition_id end
                as edition_id_without_edition
        from quarantined_rows
    """,
    expectations=_quarantined,
    may_be_empty=True,
)


def _figures() -> Groups:
    return _group(
        expect.absent("edition_id_without_edition", "edition_id must be in editions"),
        expect.holds("is_told", "disagreements must be in editions.disagreeing_figures"),
    )


FIGURES = Batch(
    name="keys",
    key=("edition_id", "figure", "published_by"),
    row="figure",
    query="""
        select
            edition_id, figure, published_by,
            case when editions.edition_id is null then edition_id end as edition_id_without_edition,
            is_in_agreement or coalesce(list_contains(disagreeing_figures, figure), false) as is_told
        from edition_figures
        left join editions using (edition_id)
    """,
    expectations=_figures,
    may_be_empty=True,
)


def _snapshots() -> Groups:
    return _group(
        expect.absent("edition_id_without_edition", "edition_id must be in editions"),
        expect.holds("is_counted", "the snapshot must be in row_conservation"),
    )


SNAPSHOTS = Batch(
    name="keys",
    key=("edition_id", "snapshot_number"),
    query="""
        select
            edition_id,
            snapshot_number,
            case when edition_id not in (select edition_id from editions) then edition_id end
                as edition_id_without_edition,
            (edition_id, snapshot_number) in (select (edition_id, snapshot_number) from row_conservation) as is_counted
        from snapshots
    """,
    expectations=_snapshots,
)


def _conservation() -> Groups:
    return _group(
        expect.equal("rows_in_marts", "mart_row_count", description="rows_in_marts must be as many as in the mart"),
    )


CONSERVATION = Batch(
    name="counts",
    key=("edition_id", "row_kind"),
    query="""
        with kinds (mart, row_kind) as (
            values ('papers', 'paper'), ('reviews', 'review'), ('paper_authors', 'author'), ('discussion', 'note')
        ),
        conserved as (
            select edition_id, row_kind, sum(rows_in_marts)::bigint as rows_in_marts
            from row_conservation
            group by edition_id, row_kind
        )
        select
            volumes.edition_id,
            kinds.row_kind,
            coalesce(conserved.rows_in_marts, 0) as rows_in_marts,
            volumes.row_count as mart_row_count
        from volumes
        inner join kinds using (mart)
        left join conserved using (edition_id, row_kind)
    """,
    expectations=_conservation,
)

BATCHES: Mapping[str, tuple[Batch, ...]] = {
    "editions": (EDITIONS,),
    "papers": (PAPERS,),
    "reviews": (_of_papers("reviews", ("review_id",), may_be_empty=False),),
    "authors": (AUTHORS,),
    "paper_authors": (_of_papers("paper_authors", ("paper_id", "position"), may_be_empty=True, holds_authors=True),),
    "paper_links": (_of_papers("paper_links", ("paper_id", "url"), may_be_empty=True),),
    "quarantined_rows": (QUARANTINED,),
    "paper_keywords": (_of_papers("paper_keywords", ("paper_id", "position"), may_be_empty=True),),
    "discussion": (_of_papers("discussion", ("note_id",), may_be_empty=True),),
    "paper_source_values": (
        _of_papers("paper_source_values", ("paper_id", "source", "column_name"), may_be_empty=True),
    ),
    "edition_figures": (FIGURES,),
    "snapshots": (SNAPSHOTS,),
    "row_conservation": (CONSERVATION,),
}


def _contents() -> Groups:
    return {"contents": [expect.holds("has_suite", "every mart must have a suite")]}


def _database() -> Groups:
    return {
        "database": [
            expect.equal(
                "row_count", "database_row_count", description="rows must be as many as in peer_reviews.duckdb"
            ),
            expect.equal(
                "fingerprint", "database_fingerprint", description="rows must be those of peer_reviews.duckdb"
            ),
        ]
    }


# Of the candidate as a whole.
SUITE = Suite(
    columns=None,
    batches=(
        Batch(name="marts", key=("mart",), row="mart", query="select * from marts", expectations=_contents),
        Batch(
            name="database",
            key=("mart", "edition_id"),
            row="file",
            query="""
                select
                    mart,
                    edition_id,
                    coalesce(file_rows.row_count, 0) as row_count,
                    coalesce(database_rows.row_count, 0) as database_row_count,
                    coalesce(file_rows.fingerprint, '') as fingerprint,
                    coalesce(database_rows.fingerprint, '') as database_fingerprint
                from file_rows
                full join database_rows using (mart, edition_id)
                where coalesce(file_rows.row_count, 0) > 0 or coalesce(database_rows.row_count, 0) > 0
            """,
            expectations=_database,
        ),
    ),
)
