"""The sample's true figures, from what its builders made and never from what the pipeline made of it.

Here belongs counting. A row of any source is kept, merged into the row of another one, or quarantined.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pipelines.sources.sample import conference_site, hub_dataset, openreview
from pipelines.sources.sample.decided import Paper, papers
from pipelines.sources.sample.maker import Made

ALL_SOURCES = ("hub_dataset", "openreview", "paper_copilot", "conference_site")


@dataclass(frozen=True)
class Tally:
    """What comes in and what must become of it; `total` = kept + merged + quarantined."""

    total: int
    kept: int
    merged: int
    quarantined: int


@dataclass(frozen=True)
class _Counts:
    total: int
    quarantined: int = 0


def tallies(year: int, sources: Collection[str] = ("hub_dataset",)) -> dict[str, Tally]:
    """A year's true figures by row kind (paper, review, author, note), if these sources are read.

    A review counts once however many rows hold it; a paper's authors are those of the one list that is preferred.
    """
    made = hub_dataset.build(year) if "hub_dataset" in sources else ()
    of_hub = _of_hub(made)
    counted = {kind: [counts] for kind, counts in of_hub.items()}
    known = papers(year) if "paper_copilot" in sources else _on_openreview(year) if "openreview" in sources else ()
    for source, count in (
        ("openreview", _of_openreview),
        ("paper_copilot", _of_archive),
        ("conference_site", _of_site),
    ):
        if source in sources:
            for kind, counts in count(year).items():
                counted.setdefault(kind, []).append(counts)
    kept = _kept(made, known, has_hub="hub_dataset" in sources, has_openreview="openreview" in sources)
    kept["note"] = sum(counts.total for counts in counted.get("note", []))
    found = {}
    for kind, all_counts in counted.items():
        total, quarantined = (sum(getattr(c, name) for c in all_counts) for name in ("total", "quarantined"))
        found[kind] = Tally(total, kept[kind], total - kept[kind] - quarantined, quarantined)
    return found


def statuses(year: int, sources: Collection[str] = ALL_SOURCES) -> dict[str, int]:
    """How many papers have which status, if these sources are read: the dataset alone knows of no decisions."""
    found: dict[str, int] = {}
    decided = {paper.row["url"]: paper.published_status for paper in papers(year)} if len(sources) > 1 else {}
    before = {
        made.row["url"]: "withdrawn" if "Withdrawn" in made.row["venue"] else "under_review"
        for made in hub_dataset.build(year)
        if made.fate == "kept" and "hub_dataset" in sources
    }
    for status in (before | decided).values():
        found[status] = found.get(status, 0) + 1
    return found


def _on_openreview(year: int) -> tuple[Paper, ...]:
    return tuple(paper for paper in papers(year) if paper.on_openreview)


def _of_hub(made: Collection[Made]) -> dict[str, _Counts]:
    used = [one for one in made if one.fate != "quarantined"]
    set_aside = [one for one in made if one.fate == "quarantined"]

    def count(column: str, rows: Collection[Made]) -> int:
        return sum(len(one.row[column] or []) for one in rows)

    return {
        "paper": _Counts(len(made), len(set_aside)),
        "review": _Counts(count("reviews", made), sum(one.bad_reviews for one in used) + count("reviews", set_aside)),
        "author": _Counts(count("authors", made), sum(one.bad_authors for one in used) + count("authors", set_aside)),
    }


def _of_openreview(year: int) -> dict[str, _Counts]:
    """With the paper that was deleted, its review and its author."""
    there = _on_openreview(year)
    reviews = sum(len(paper.row["reviews"]) for paper in there)
    notes = sum(len(openreview.replies(paper, year)) for paper in there) - reviews
    return {
        "paper": _Counts(len(there) + 1, 1),
        "review": _Counts(reviews + 1, 1),
        "author": _Counts(sum(len(paper.authors) for paper in there) + 1, 1),
        "note": _Counts(notes),
    }


def _of_archive(year: int) -> dict[str, _Counts]:
    """With the workshop's paper, its reviews and authors, and the line that is cut short."""
    like = papers(year)[-1]
    reviews, authors = len(like.row["reviews"]), len(like.authors)
    return {
        "paper": _Counts(len(papers(year)) + 2, 2),
        "review": _Counts(sum(len(paper.row["reviews"]) for paper in papers(year)) + reviews, reviews),
        "author": _Counts(sum(len(paper.authors) for paper in papers(year)) + authors, authors),
    }


def _of_site(year: int) -> dict[str, _Counts]:
    """With the workshop's event, the last one."""
    events = conference_site.events(year)
    return {
        "paper": _Counts(len(events), 1),
        "author": _Counts(sum(len(event["authors"]) for event in events), len(events[-1]["authors"])),
    }


def _kept(made: Collection[Made], known: Collection[Paper], *, has_hub: bool, has_openreview: bool) -> dict[str, int]:
    """Papers, reviews and authorships that are left once each counts once."""
    kept_rows = {one.row["url"]: one for one in made if one.fate == "kept"}
    used = [one for one in made if one.fate != "quarantined"]
    ids = {item["review_id"] for one in used for item in one.row["reviews"] or [] if item} - {None, ""}
    for paper in known:
        # A review of the archive is a place in a list, and counts only where nobody else has the paper's reviews.
        if has_hub or (has_openreview and paper.on_openreview):
            ids |= {item["review_id"] for item in paper.row["reviews"]}
        else:
            ids |= {f"{paper.forum_id}/{position}" for position in range(len(paper.row["reviews"]))}
    authors = {url: len(one.row["authors"] or []) - one.bad_authors for url, one in kept_rows.items()}
    authors |= {paper.row["url"]: len(paper.authors) for paper in known}
    return {"paper": len(kept_rows | {paper.row["url"]: None for paper in known}), "review": len(ids)} | {
        "author": sum(authors.values())
    }
