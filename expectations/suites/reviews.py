"""What is expected of `reviews`: one official review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

REVIEW_ID = r"^[A-Za-z0-9_-]{8,15}(?:/paper_copilot/[1-9][0-9]*)?$"

# A rating off its edition's scale is real data and only shown; more of them mean a wrong scale or a broken parser.
LARGEST_OFF_SCALE_SHARE = 0.01
# The forms of ICLR 2013 and 2014 are not known to have had ratings; the scales that are known begin in 2017.
FIRST_YEAR_WITH_RATINGS = 2017
# Mean and spread of fewer ratings say little about an edition.
FEWEST_RATINGS_FOR_BANDS = 50


def _rows() -> Groups:
    return {
        "volume": [expect.not_empty()],
        "completeness": [expect.required()],
        "keys": [
            expect.unique("review_id"),
            expect.in_own_file(),
            # One reviewer writes one official review of a paper.
            expect.unique(
                "paper_id",
                "single_reviewer",
                severity="warning",
                description="paper_id and a reviewer_label that names one reviewer together should be unique",
            ),
        ],
        "values": [
            expect.matches("review_id", REVIEW_ID, "an OpenReview id, or a paper's id, /paper_copilot/ and a position"),
            expect.between("rating", 0, 10),
            expect.one_of("is_rating_off_scale", [False], "warning", "rating must be on its edition's scale"),
            expect.between("confidence", 1, 5, "warning"),
            expect.absent("odd_scores", "sub-scores should be between 1 and 4", "warning"),
            expect.holds("is_text_told", "has_text must say whether there are words"),
            expect.numbers(),
        ],
    }


def _editions() -> Groups:
    return {
        "volume": expect.as_many_as_before(),
        "completeness": [
            # All-null passes every expectation on the column itself.
            expect.plausible(
                expect.between("rated_count", 1, description="reviews with a rating, of an edition with reviews,")
            ),
            expect.between("rated_share", 0.9, None, "warning", "share of reviews with a rating"),
        ],
        "values": [
            expect.plausible(
                expect.between(
                    "off_scale_share",
                    None,
                    LARGEST_OFF_SCALE_SHARE,
                    "critical",
                    "share of ratings off the edition's scale",
                )
            ),
        ],
        "distributions": [
            # Published means run from 4.2 (2026) to 5.7 (2017); spreads from 1.2 to 2.2.
            expect.between("rating_mean", 3, 7, "warning", "mean rating"),
            expect.between("rating_stddev", 0.8, 3.5, "warning", "standard deviation of ratings"),
            expect.between("confidence_mean", 2, 5, "warning", "mean confidence"),
            expect.between("mean_word_count", 50, 1_500, "warning", "mean words of a review with text"),
            expect.between("largest_word_count", None, 20_000, "warning", "words of the longest review"),
        ],
    }


_MISSING = expect.missing(
    "review_id",
    "paper_id",
    "edition_id",
    "is_reviewer_named",
    "has_text",
    "word_count",
    "source",
    "snapshot_number",
    "row_number",
    "item_number",
)
_SCORES = ("soundness", "presentation", "contribution", "correctness", "technical_novelty", "empirical_novelty")
_ODD_SCORES = expect.named({score: f"{score} not between 1 and 4" for score in _SCORES}, "odd_scores")
_TOO_SMALL = expect.too_small({"word_count": 0, "row_number": 1, "item_number": 0})

SUITE = Suite(
    columns=f"""
        review_id, paper_id, edition_id, reviewer_label, rating, is_rating_off_scale, confidence, word_count,
        case when is_reviewer_named then reviewer_label end as single_reviewer,
        {_ODD_SCORES},
        has_text is not distinct from (word_count > 0) as is_text_told, {_MISSING}, {_TOO_SMALL}
    """,
    batches=(
        Batch(name="rows", key=("review_id",), query="select * exclude (row_hash) from reviews", expectations=_rows),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query=f"""
                with figures as (
                    select
                        edition_id,
                        count(rating) as rated_count,
                        count(rating) / count(*) as rated_share,
                        count(*) filter (where is_rating_off_scale) / nullif(count(rating), 0) as off_scale_share,
                        avg(rating) as rating_mean,
                        stddev_samp(rating) as rating_stddev,
                        avg(confidence) as confidence_mean,
                        avg(word_count) filter (where word_count > 0) as mean_word_count,
                        max(word_count) as largest_word_count
                    from reviews
                    group by edition_id
                )
                select
                    volumes.edition_id, row_count, share_of_previous, rated_share, off_scale_share,
                    mean_word_count, largest_word_count,
                    case
                        when year >= {FIRST_YEAR_WITH_RATINGS} or (select count(rating) from reviews) = 0
                            then rated_count
                    end as rated_count,
                    case when rated_count >= {FEWEST_RATINGS_FOR_BANDS} then figures.rating_mean end as rating_mean,
                    case when rated_count >= {FEWEST_RATINGS_FOR_BANDS} then rating_stddev end as rating_stddev,
                    case when rated_count >= {FEWEST_RATINGS_FOR_BANDS} then confidence_mean end as confidence_mean
                from volumes
                inner join editions using (edition_id)
                left join figures using (edition_id)
                where mart = 'reviews'
            """,
            expectations=_editions,
        ),
    ),
)
