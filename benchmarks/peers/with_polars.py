"""The same marts by polars: lazy queries in its streaming engine, one Parquet file a mart and edition. No database.

Run as `python -m benchmarks.peers.with_polars INPUT OUT`. Its users would write this: expressions where polars has
them, the project's Python functions where it has not (LaTeX, name keys).
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from benchmarks.inputs import Input
from benchmarks.peers import shared
from pipelines.model import text

NULL = pl.lit(None, dtype=pl.String)


def function(column: pl.Expr, called: Callable[[str], str | None]) -> pl.Expr:
    """A Python function over a column of texts, in one pass a batch."""
    return column.map_batches(
        lambda values: pl.Series([None if value is None else called(value) for value in values], dtype=pl.String),
        return_dtype=pl.String,
    )


def trimmed(column: str) -> pl.Expr:
    stripped = pl.col(column).str.strip_chars(" ")
    return pl.when(stripped != "").then(stripped)


def sink(frame: pl.LazyFrame | pl.DataFrame, out: Path, mart: str, edition: Input | None = None) -> None:
    target = out / mart / f"{edition.edition_id}.parquet" if edition else out / f"{mart}.parquet"
    target.parent.mkdir(exist_ok=True)
    frame.lazy().sink_parquet(
        target, compression=shared.COMPRESSION, compression_level=shared.LEVEL, row_group_size=shared.ROW_GROUP_ROWS
    )


def raw(edition: Input) -> pl.LazyFrame:
    return (
        pl.scan_parquet(edition.path)
        .with_row_index("row_number", offset=1)
        .with_columns(paper_id=pl.col("url").str.extract(shared.FORUM_ID), edition_id=pl.lit(edition.edition_id))
    )


def reviews(edition: Input) -> pl.LazyFrame:
    texts = ("summary", "strengths", "weaknesses")
    rating = pl.col("rating").cast(pl.Float64)
    signed = pl.col("reviewer").str.extract("([^/]+)$")
    reviewer_label = pl.when(~pl.col("reviewer").str.contains("@", literal=True)).then(signed)
    return (
        raw(edition)
        .select("paper_id", "edition_id", "row_number", "reviews")
        .with_columns(item_number=pl.int_ranges(1, pl.col("reviews").list.len() + 1))
        .explode("reviews", "item_number")
        .filter(pl.col("item_number").is_not_null())
        .unnest("reviews")
        .with_columns(trimmed(column).alias(column) for column in texts)
        .select(
            "paper_id", "edition_id", "row_number", "item_number", *texts,
            trimmed("review_id").alias("review_id"),
            reviewer_label=reviewer_label,
            is_reviewer_named=reviewer_label.str.contains(shared.NAMED_REVIEWER).fill_null(False),
            rating=rating,
            rating_text=pl.col("rating").cast(pl.String),
            is_rating_off_scale=~rating.is_in(shared.rating_scale(edition)),
            confidence=pl.when(pl.col("confidence") != 0).then(pl.col("confidence").cast(pl.Float64)),
            confidence_text=pl.col("confidence").cast(pl.String),
            questions=NULL,
            main_text=trimmed("review"),
            word_count=pl.sum_horizontal(pl.col(column).str.count_matches(r"\S+") for column in (*texts, "review")),
            reviewed_at=pl.when(pl.col("date") > 0).then(pl.from_epoch("date", time_unit="ms")),
            modified_at=pl.lit(None, dtype=pl.Datetime),
            source=pl.lit("hub_dataset"),
            snapshot_number=pl.lit(1),
            **{column: pl.lit(None, dtype=pl.Float64) for column in shared.EMPTY_REVIEW_SCORES},
        )
        .with_columns(has_text=pl.col("word_count") > 0)
    )  # fmt: skip


def ratings(file: Path) -> pl.LazyFrame:
    rating = pl.col("rating")
    count, total, squares = rating.count(), rating.sum(), (rating * rating).sum()
    return (
        pl.scan_parquet(file)
        .group_by("paper_id")
        .agg(
            review_count=pl.len().cast(pl.Int32),
            rating_mean=total / count,
            rating_stddev=pl.when(count > 1).then(
                (pl.max_horizontal(squares - total * total / count, 0) / (count - 1)).sqrt()
            ),
            rating_min=rating.min(),
            rating_max=rating.max(),
            confidence_mean=pl.col("confidence").mean(),
        )
    )


def papers(edition: Input, rated: pl.LazyFrame) -> pl.LazyFrame:
    labels = {row["label"]: row for row in shared.labels()}
    label = (
        pl.col("venue").str.to_lowercase().str.replace_all(f"{edition.venue} {edition.year}".lower(), " ", literal=True)
        .str.replace_all(r"\s+", " ").str.strip_chars(" ")
    )  # fmt: skip
    label = pl.when(label == "").then(pl.lit("(venue only)")).otherwise(label)
    by_label = label.replace_strict({key: row["status"] for key, row in labels.items()}, default=None)
    decision = label.replace_strict({key: row["decision"] or None for key, row in labels.items()}, default=None)
    invited = pl.col("invitation").str.contains
    abstract = trimmed("abstract")
    return (
        raw(edition)
        .drop("reviews")
        .join(rated, on="paper_id", how="left", maintain_order="left")
        .select(
            "paper_id", "edition_id", "row_number",
            "rating_mean", "rating_stddev", "rating_min", "rating_max", "confidence_mean",
            submission_number=pl.col("invitation").str.extract(r"/Submission(\d+)/").cast(pl.Int32),
            title=trimmed("title"),
            abstract=abstract,
            abstract_text=function(abstract, text.plain_text),
            is_placeholder_abstract=(
                (abstract.str.len_chars() < 20) | (abstract.str.to_lowercase() == trimmed("title").str.to_lowercase())
            ).fill_null(False),
            keywords=pl.lit(None, dtype=pl.List(pl.String)),
            status=pl.when(by_label.fill_null("under_review") != "under_review").then(by_label)
            .when(invited("Withdrawn_Submission", literal=True)).then(pl.lit("withdrawn"))
            .when(invited("Desk_Rejected_Submission", literal=True)).then(pl.lit("desk_rejected"))
            .otherwise(by_label),
            decision=decision,
            is_conditional=pl.lit(False),
            has_unknown_status=by_label.is_null(),
            venue_text=trimmed("venue"),
            is_blind=pl.col("authors").list.len().fill_null(0) == 0,
            forum_url=pl.lit("https://openreview.net/forum?id=") + pl.col("paper_id"),
            pdf_url=pl.when(trimmed("pdf").str.contains(r"^https?://[^\s/]")).then(trimmed("pdf")),
            bibtex=trimmed("_bibtex"),
            review_count=pl.col("review_count").fill_null(0),
            merged_row_count=pl.lit(0),
            source=pl.lit("hub_dataset"),
            sources=pl.lit(["hub_dataset"], dtype=pl.List(pl.String)),
            snapshot_number=pl.lit(1),
            **dict.fromkeys(shared.EMPTY_PAPER_COLUMNS, NULL),
        )
    )  # fmt: skip


def paper_authors(edition: Input) -> pl.DataFrame:
    items = (
        raw(edition)
        .filter(pl.col("authors").list.len() > 0)
        .select(
            "paper_id", "edition_id", "row_number", name="authors",
            position=pl.int_ranges(1, pl.col("authors").list.len() + 1),
        )
        .explode("name", "position")
        .collect()
    )  # fmt: skip
    keys = items.select("name").unique().with_columns(author_id="name:" + function(pl.col("name"), text.name_key))
    return (
        items.join(keys, on="name", how="left")
        .with_columns(affiliation=NULL, source=pl.lit("hub_dataset"), snapshot_number=pl.lit(1))
        .sort("paper_id", "position")
    )


def authors(written: pl.DataFrame, years: pl.DataFrame) -> pl.DataFrame:
    spellings = (
        written.group_by("author_id", "name").agg(uses=pl.len())
        .sort("author_id", pl.col("uses"), "name", descending=[False, True, False])
        .group_by("author_id").agg(display_name=pl.col("name").first(), name_variants=pl.col("name").sort())
    )  # fmt: skip
    papers = (
        written.join(years, on="edition_id")
        .group_by("author_id")
        .agg(
            paper_count=pl.col("paper_id").n_unique(),
            first_year=pl.col("year").min(),
            last_year=pl.col("year").max(),
        )
    )
    return (
        spellings.join(papers, on="author_id").with_columns(identity_basis=pl.lit("normalised_name")).sort("author_id")
    )


def paper_links(papers_file: Path) -> pl.DataFrame:
    return (
        pl.scan_parquet(papers_file)
        .filter(pl.col("abstract").str.contains("://", literal=True))
        .select("paper_id", "edition_id", url=pl.col("abstract").str.extract_all(shared.URL))
        .explode("url")
        .with_columns(pl.col("url").str.strip_chars_end(".,;:!?*_~'"))
        .filter(pl.col("url").str.contains(r"(?i)^https?://[^/]"))
        .unique()
        .with_columns(link_type=pl.col("url").map_elements(shared.link_type, return_dtype=pl.String))
        .sort("paper_id", "url")
        .collect()
    )


def edition_row(edition: Input, papers_file: Path, reviews_file: Path) -> pl.DataFrame:
    statuses = ("under_review", "accepted", "rejected", "withdrawn", "desk_rejected", "workshop")
    counts = pl.scan_parquet(papers_file).select(
        submission_count=pl.len(),
        unknown_status_count=pl.col("has_unknown_status").sum(),
        **{f"{status}_count": (pl.col("status") == status).sum() for status in statuses},
    )
    scores = pl.scan_parquet(reviews_file).select(
        review_count=pl.len(),
        rating_mean=pl.col("rating").sum() / pl.col("rating").count(),
        off_scale_rating_count=pl.col("is_rating_off_scale").sum(),
    )
    accepted, rejected = pl.col("accepted_count"), pl.col("rejected_count")
    return (
        pl.concat([counts, scores], how="horizontal")
        .with_columns(
            edition_id=pl.lit(edition.edition_id), venue=pl.lit(edition.venue), year=pl.lit(edition.year),
            venue_id=pl.lit(edition.venue_id), is_synthetic=pl.lit(False), as_of_at=NULL,
            sources=pl.lit(["hub_dataset"], dtype=pl.List(pl.String)),
            missing_sources=pl.lit([], dtype=pl.List(pl.String)),
            unknown_status_labels=pl.lit([], dtype=pl.List(pl.String)), disagreeing_figures=NULL,
            acceptance_rate=pl.when((accepted > 0) & (rejected > 0)).then(accepted / pl.col("submission_count")),
            rating_scale=pl.lit(shared.rating_scale(edition), dtype=pl.List(pl.Float64)),
            merged_paper_row_count=pl.lit(0), merged_review_row_count=pl.lit(0), quarantined_row_count=pl.lit(0),
        )
        .collect()
    )  # fmt: skip


def run(editions: list[Input], out: Path) -> None:
    """Write every mart of the editions under `out`."""
    written, rows, conserved = [], [], {}
    for edition in editions:
        file = f"{edition.edition_id}.parquet"
        sink(reviews(edition), out, "reviews", edition)
        sink(papers(edition, ratings(out / "reviews" / file)), out, "papers", edition)
        people = paper_authors(edition)
        sink(people, out, "paper_authors", edition)
        sink(paper_links(out / "papers" / file), out, "paper_links", edition)
        written.append(people)
        rows.append(edition_row(edition, out / "papers" / file, out / "reviews" / file))
        figures = rows[-1].row(0, named=True)
        counts = (figures["submission_count"], figures["review_count"], people.height)
        conserved = pl.DataFrame(
            {
                "edition_id": edition.edition_id, "snapshot_number": 1, "row_kind": ["paper", "review", "author"],
                "source": "hub_dataset", "rows_in": counts, "rows_in_marts": counts, "rows_merged": 0,
                "rows_quarantined": 0,
            }
        )  # fmt: skip
        sink(conserved, out, "row_conservation", edition)
        for mart, columns in shared.EMPTY_MARTS.items():
            sink(pl.DataFrame(schema=dict.fromkeys(columns.split(), pl.String)), out, mart, edition)
    whole = pl.concat(rows)
    sink(whole, out, "editions")
    sink(authors(pl.concat(written), whole.select("edition_id", "year")), out, "authors")


if __name__ == "__main__":
    run(*shared.parse())
