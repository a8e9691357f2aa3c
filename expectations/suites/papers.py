"""What is expected of `papers`: one submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

STATUSES = ["under_review", "accepted", "rejected", "withdrawn", "desk_rejected", "workshop"]
DECISIONS = ["oral", "spotlight", "poster", "workshop"]

# Means and shares of a handful of papers say nothing: the preview has 14.
FEWEST_PAPERS_FOR_SHARES = 50


def _rows() -> Groups:
    return {
        "volume": [expect.not_empty()],
        "completeness": [
            expect.required(),
            expect.between("title_length", 1),
            expect.between("source_count", 1),
        ],
        "keys": [
            expect.unique("paper_id"),
            expect.in_own_file(),
            # Two forums of one submission are known from re-submissions.
            expect.unique("edition_id", "submission_number", severity="warning"),
        ],
        "values": [
            expect.matches("paper_id", expect.FORUM_ID, "an OpenReview id of 8 to 15 letters, digits, - or _"),
            expect.one_of("status", STATUSES),
            expect.one_of("decision", DECISIONS),
            # A workshop invitation is no acceptance to the conference.
            expect.one_of("status_of_decided", ["accepted"], description="status must be accepted where a decision is"),
            expect.numbers(),
            expect.between("rating_min", 0, 10),
            expect.between("rating_max", 0, 10),
            expect.not_above("rating_min", "rating_mean"),
            expect.not_above("rating_mean", "rating_max"),
            expect.between("rating_stddev", 0),
            expect.matches("forum_url", expect.HTTP_URL, "an http(s) URL"),
            expect.matches("pdf_url", expect.HTTP_URL, "an http(s) URL"),
        ],
    }


def _editions() -> Groups:
    return {
        "volume": [
            expect.between("row_count", 1, description="papers of an edition"),
            *expect.as_many_as_before(),
        ],
        "completeness": [
            expect.between("title_share", 0.99, None, "warning", "share of papers with a title"),
            expect.between("abstract_share", 0.9, None, "warning", "share of papers with an abstract"),
        ],
        "distributions": [
            # 3 to 5 reviews a paper are usual; 9 is the most that the ICLR 2026 dataset has.
            expect.between("reviews_per_reviewed_paper", 1, 8, "warning", "reviews per reviewed paper"),
            expect.between("most_reviews", None, 20, "warning", "the most reviews of one paper"),
            expect.between("mean_title_length", 30, 150, "warning", "mean length of titles"),
            expect.between("longest_title", None, 500, "warning", "length of the longest title"),
            expect.between("mean_abstract_length", 300, 2_500, "warning", "mean length of abstracts"),
            expect.between("longest_abstract", None, 20_000, "warning", "length of the longest abstract"),
            expect.between("placeholder_share", None, 0.2, "warning", "share of placeholder abstracts"),
            # An unknown status text is kept and counted; a new spelling belongs into the seed.
            expect.between("unknown_status_share", None, 0, "warning", "share of papers of unknown status"),
        ],
    }


_MISSING = expect.missing(
    "paper_id", "edition_id", "is_placeholder_abstract", "has_unknown_status", "is_conditional", "is_blind",
    "forum_url", "review_count", "merged_row_count", "source", "sources", "snapshot_number", "row_number",
)  # fmt: skip
_TOO_SMALL = expect.too_small({"submission_number": 1, "review_count": 0, "merged_row_count": 0, "row_number": 1})

SUITE = Suite(
    columns=f"""
        paper_id, edition_id, submission_number, status, decision, has_unknown_status, is_blind,
        is_placeholder_abstract,
        length(trim(title)) as title_length, length(abstract) as abstract_length, len(sources) as source_count,
        forum_url, pdf_url, review_count, rating_mean, rating_stddev, rating_min, rating_max,
        {_MISSING}, {_TOO_SMALL}
    """,
    batches=(
        Batch(
            name="rows",
            key=("paper_id",),
            query="""
                select
                    * exclude (row_hash),
                    case when decision != 'workshop' then coalesce(status, 'unknown') end as status_of_decided
                from papers
            """,
            expectations=_rows,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query=f"""
                with figures as (
                    select
                        edition_id,
                        count(*) as papers,
                        count(title_length) / count(*) as title_share,
                        count(abstract_length) / count(*) as abstract_share,
                        avg(review_count) filter (where review_count > 0) as reviews_per_reviewed_paper,
                        max(review_count) as most_reviews,
                        avg(title_length) as mean_title_length,
                        max(title_length) as longest_title,
                        avg(abstract_length) filter (where not is_placeholder_abstract) as mean_abstract_length,
                        max(abstract_length) as longest_abstract,
                        avg(is_placeholder_abstract::integer) filter (where abstract_length > 0) as placeholder_share,
                        avg(has_unknown_status::integer) as unknown_status_share
                    from papers
                    group by edition_id
                )
                select
                    volumes.edition_id, row_count, share_of_previous, most_reviews, longest_title, longest_abstract,
                    unknown_status_share,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then title_share end as title_share,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then abstract_share end as abstract_share,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then reviews_per_reviewed_paper end
                        as reviews_per_reviewed_paper,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then mean_title_length end as mean_title_length,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then mean_abstract_length end
                        as mean_abstract_length,
                    case when papers >= {FEWEST_PAPERS_FOR_SHARES} then placeholder_share end as placeholder_share
                from volumes
                left join figures using (edition_id)
                where mart = 'papers'
            """,
            expectations=_editions,
        ),
    ),
)
