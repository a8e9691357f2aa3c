"""The same marts by pandas on Arrow memory, a row group at a time, one Parquet file a mart and edition. No database.

Run as `python -m benchmarks.peers.with_pandas INPUT OUT`. Its users would write this: pyarrow takes the nested reviews
apart (pandas would make a dict of each), pandas does the columns.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs import Input
from benchmarks.peers import shared
from pipelines.model import text

STRING, INTEGER, FLOAT = (pd.ArrowDtype(kind) for kind in (pa.string(), pa.int64(), pa.float64()))
STRINGS = pd.ArrowDtype(pa.list_(pa.string()))
TEXTS = ("summary", "strengths", "weaknesses")
URL = re.compile(shared.URL)


def trimmed(column: pd.Series) -> pd.Series:
    stripped = column.str.strip(" ")
    return stripped.mask(stripped == "")


def constant(value: Any, rows: int, kind: pd.ArrowDtype) -> pd.Series:
    return pd.Series(pd.array([value] * rows, dtype=kind))


class Marts:
    """One Parquet writer a mart and edition, each opened by its first frame."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.writers: dict[Path, pq.ParquetWriter] = {}

    def write(self, frame: pd.DataFrame, mart: str, edition: Input | None = None) -> None:
        path = self.out / mart / f"{edition.edition_id}.parquet" if edition else self.out / f"{mart}.parquet"
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if path not in self.writers:
            path.parent.mkdir(exist_ok=True)
            self.writers[path] = pq.ParquetWriter(
                path, table.schema, compression=shared.COMPRESSION, compression_level=shared.LEVEL
            )
        self.writers[path].write_table(table, row_group_size=shared.ROW_GROUP_ROWS)

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()


def reviews(group: pa.Table, row_numbers: pd.Series, edition: Input) -> pd.DataFrame:
    lists = group["reviews"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    items = pa.Table.from_struct_array(lists.flatten()).to_pandas(types_mapper=pd.ArrowDtype)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    paper_ids = group["paper_id"].take(pa.array(owner)).to_pandas(types_mapper=pd.ArrowDtype)
    rows = len(items)
    words = sum(items[column].fillna("").map(text.word_count) for column in (*TEXTS, "review"))
    signed = items["reviewer"].str.extract("([^/]+)$", expand=False)
    reviewer_label = signed.mask(items["reviewer"].str.contains("@", regex=False))
    frame = pd.DataFrame(
        {
            "review_id": trimmed(items["review_id"]),
            "paper_id": paper_ids,
            "edition_id": constant(edition.edition_id, rows, STRING),
            "reviewer_label": reviewer_label,
            "is_reviewer_named": reviewer_label.str.contains(shared.NAMED_REVIEWER).fillna(False),
            "rating": items["rating"].astype(FLOAT),
            "rating_text": items["rating"].astype(STRING),
            "is_rating_off_scale": ~items["rating"].isin(shared.rating_scale(edition)),
            "confidence": items["confidence"].mask(items["confidence"] == 0).astype(FLOAT),
            "confidence_text": items["confidence"].astype(STRING),
            **{column: constant(None, rows, FLOAT) for column in shared.EMPTY_REVIEW_SCORES},
            **{column: trimmed(items[column]) for column in TEXTS},
            "questions": constant(None, rows, STRING),
            "main_text": trimmed(items["review"]),
            "word_count": words.astype(INTEGER),
            "has_text": words > 0,
            "reviewed_at": pd.to_datetime(items["date"].mask(items["date"] <= 0), unit="ms"),
            "modified_at": constant(None, rows, pd.ArrowDtype(pa.timestamp("us"))),
            "source": constant("hub_dataset", rows, STRING),
            "snapshot_number": 1,
            "row_number": row_numbers.to_numpy()[owner],
            "item_number": np.arange(rows) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1,
        }
    )
    return frame


def ratings(scores: pd.DataFrame) -> pd.DataFrame:
    scores = scores.assign(square=scores["rating"] * scores["rating"])
    grouped = scores.groupby("paper_id")
    rated = grouped.agg(
        review_count=("rating", "size"), count=("rating", "count"), total=("rating", "sum"), squares=("square", "sum"),
        rating_min=("rating", "min"), rating_max=("rating", "max"), confidence_mean=("confidence", "mean"),
    )  # fmt: skip
    rated["rating_mean"] = rated["total"] / rated["count"]
    spread = (rated["squares"] - rated["total"] * rated["total"] / rated["count"]).clip(lower=0)
    many = rated["count"] > 1
    rated["rating_stddev"] = (spread / (rated["count"] - 1).where(many, 1)) ** 0.5
    rated["rating_stddev"] = rated["rating_stddev"].where(many)
    return rated.drop(columns=["count", "total", "squares"])


def papers(group: pa.Table, row_numbers: pd.Series, edition: Input, rated: pd.DataFrame) -> pd.DataFrame:
    labels = pd.DataFrame(shared.labels()).set_index("label")
    raw = group.drop_columns(["reviews"]).to_pandas(types_mapper=pd.ArrowDtype)
    rows = len(raw)
    named = f"{edition.venue} {edition.year}".lower()
    label = raw["venue"].str.lower().str.replace(named, " ", regex=False).str.replace(r"\s+", " ", regex=True)
    label = label.str.strip(" ").replace("", "(venue only)")
    by_label = label.map(labels["status"].to_dict()).astype(STRING)
    status = by_label.copy()
    open_ = by_label.fillna("under_review") == "under_review"
    status[open_ & raw["invitation"].str.contains("Desk_Rejected_Submission", regex=False)] = "desk_rejected"
    status[open_ & raw["invitation"].str.contains("Withdrawn_Submission", regex=False)] = "withdrawn"
    decision = label.map(labels["decision"].to_dict()).astype(STRING)
    abstract, title, pdf = trimmed(raw["abstract"]), trimmed(raw["title"]), trimmed(raw["pdf"])
    plain = [None if value is None else text.plain_text(value) for value in pa.array(abstract).to_pylist()]
    frame = pd.DataFrame(
        {
            "paper_id": raw["paper_id"],
            "edition_id": constant(edition.edition_id, rows, STRING),
            "submission_number": raw["invitation"].str.extract(r"/Submission(\d+)/", expand=False).astype(INTEGER),
            "title": title,
            "abstract": abstract,
            "abstract_text": pd.Series(pd.array(plain, dtype=STRING)),
            "is_placeholder_abstract": ((abstract.str.len() < 20) | (abstract.str.lower() == title.str.lower())).fillna(
                False
            ),
            "keywords": constant(None, rows, STRINGS),
            **{column: constant(None, rows, STRING) for column in shared.EMPTY_PAPER_COLUMNS},
            "status": status,
            "decision": decision.mask(decision == ""),
            "is_conditional": False,
            "has_unknown_status": by_label.isna(),
            "venue_text": trimmed(raw["venue"]),
            "is_blind": pd.Series(pc.equal(pc.fill_null(pc.list_value_length(group["authors"]), 0), 0).to_numpy()),
            "forum_url": "https://openreview.net/forum?id=" + raw["paper_id"],
            "pdf_url": pdf.where(pdf.str.match(r"https?://[^\s/]").fillna(False)),
            "bibtex": trimmed(raw["_bibtex"]),
            "merged_row_count": 0,
            "source": constant("hub_dataset", rows, STRING),
            "sources": constant(["hub_dataset"], rows, STRINGS),
            "snapshot_number": 1,
            "row_number": row_numbers,
        }
    ).join(rated, on="paper_id")
    return frame.assign(review_count=frame["review_count"].fillna(0).astype(INTEGER))


def paper_authors(group: pa.Table, row_numbers: pd.Series, edition: Input) -> pd.DataFrame:
    lists = group["authors"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    owner = np.repeat(np.arange(len(lengths)), lengths)
    rows = int(lengths.sum())
    return pd.DataFrame(
        {
            "paper_id": group["paper_id"].take(pa.array(owner)).to_pandas(types_mapper=pd.ArrowDtype),
            "position": np.arange(rows) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1,
            "edition_id": constant(edition.edition_id, rows, STRING),
            "name": pd.Series(pd.array(lists.flatten(), dtype=STRING)),
            "affiliation": constant(None, rows, STRING),
            "source": constant("hub_dataset", rows, STRING),
            "snapshot_number": 1,
            "row_number": row_numbers.to_numpy()[owner],
        }
    )


def authors(written: pd.DataFrame) -> pd.DataFrame:
    spellings = written.groupby(["author_id", "name"]).size().rename("uses").reset_index()
    spellings = spellings.sort_values(["author_id", "uses", "name"], ascending=[True, False, True])
    people = spellings.groupby("author_id").agg(display_name=("name", "first"), name_variants=("name", sorted))
    counted = written.groupby("author_id").agg(
        paper_count=("paper_id", "nunique"), first_year=("year", "min"), last_year=("year", "max")
    )
    whole = people.join(counted).reset_index().assign(identity_basis="normalised_name")
    return whole.assign(name_variants=pd.Series(pd.array(whole["name_variants"].tolist(), dtype=STRINGS)))


def paper_links(frame: pd.DataFrame) -> pd.DataFrame:
    with_links = frame[frame["abstract"].str.contains("://", regex=False).fillna(False)]
    found = with_links.assign(url=[URL.findall(abstract) for abstract in with_links["abstract"]]).explode("url")
    found = found.assign(url=found["url"].astype(STRING).str.rstrip(".,;:!?*_~'"))
    found = found[found["url"].str.match(r"(?i)https?://[^/]").fillna(False)]
    found = found[["paper_id", "edition_id", "url"]].drop_duplicates().sort_values(["paper_id", "url"])
    return found.assign(link_type=found["url"].map(shared.link_type).astype(STRING))


def run(editions: list[Input], out: Path) -> None:
    """Write every mart of the editions under `out`."""
    marts, written, rows = Marts(out), [], []
    for edition in editions:
        statuses, people, links = Counter(), [], []
        scored = {"papers": 0, "reviews": 0, "unknown": 0, "off_scale": 0, "rated": 0, "total": 0.0}
        first = 1
        with pq.ParquetFile(edition.path) as file:
            for place in range(file.num_row_groups):
                group = file.read_row_group(place)
                found = pc.extract_regex(group["url"], pattern=shared.FORUM_ID.replace("([", "(?P<id>[", 1))
                group = group.append_column("paper_id", pc.struct_field(found, "id"))
                numbers = pd.Series(np.arange(first, first + len(group)))
                first += len(group)
                of_reviews = reviews(group, numbers, edition)
                of_papers = papers(group, numbers, edition, ratings(of_reviews[["paper_id", "rating", "confidence"]]))
                marts.write(of_reviews, "reviews", edition)
                marts.write(of_papers, "papers", edition)
                people.append(paper_authors(group, numbers, edition))
                links.append(paper_links(of_papers[["paper_id", "edition_id", "abstract"]]))
                statuses.update(of_papers["status"].dropna())
                scored["papers"] += len(of_papers)
                scored["reviews"] += len(of_reviews)
                scored["unknown"] += int(of_papers["has_unknown_status"].sum())
                scored["off_scale"] += int(of_reviews["is_rating_off_scale"].sum())
                scored["rated"] += int(of_reviews["rating"].count())
                scored["total"] += float(of_reviews["rating"].sum())
        named = pd.concat(people, ignore_index=True)
        keys = {name: "name:" + text.name_key(name) for name in named["name"].unique()}
        named = named.assign(author_id=named["name"].map(keys).astype(STRING)).sort_values(["paper_id", "position"])
        marts.write(named, "paper_authors", edition)
        marts.write(pd.concat(links).sort_values(["paper_id", "url"]), "paper_links", edition)
        written.append(named[["author_id", "name", "paper_id"]].assign(year=edition.year))
        counts = [scored["papers"], scored["reviews"], len(named)]
        marts.write(
            pd.DataFrame(
                {
                    "edition_id": edition.edition_id, "snapshot_number": 1, "row_kind": ["paper", "review", "author"],
                    "source": "hub_dataset", "rows_in": counts, "rows_in_marts": counts, "rows_merged": 0,
                    "rows_quarantined": 0,
                }
            ), "row_conservation", edition,
        )  # fmt: skip
        for mart, columns in shared.EMPTY_MARTS.items():
            marts.write(pd.DataFrame({column: pd.array([], dtype=STRING) for column in columns.split()}), mart, edition)
        kinds = ("under_review", "accepted", "rejected", "withdrawn", "desk_rejected", "workshop")
        is_decided = statuses["accepted"] > 0 and statuses["rejected"] > 0
        rows.append(
            {
                "edition_id": edition.edition_id, "venue": edition.venue, "year": edition.year,
                "venue_id": edition.venue_id, "is_synthetic": False, "as_of_at": None, "sources": ["hub_dataset"],
                "missing_sources": [], "submission_count": scored["papers"],
                **{f"{kind}_count": statuses[kind] for kind in kinds}, "unknown_status_count": scored["unknown"],
                "unknown_status_labels": [],
                "acceptance_rate": statuses["accepted"] / scored["papers"] if is_decided else None,
                "review_count": scored["reviews"], "rating_mean": scored["total"] / scored["rated"],
                "disagreeing_figures": None, "rating_scale": shared.rating_scale(edition),
                "off_scale_rating_count": scored["off_scale"], "merged_paper_row_count": 0,
                "merged_review_row_count": 0, "quarantined_row_count": 0,
            }
        )  # fmt: skip
    marts.write(pd.DataFrame(rows), "editions")
    marts.write(authors(pd.concat(written, ignore_index=True)), "authors")
    marts.close()


if __name__ == "__main__":
    run(*shared.parse())
