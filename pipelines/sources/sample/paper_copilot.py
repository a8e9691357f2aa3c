"""The sample as the Paper Copilot archive: one JSON Lines file, one paper a line, its reviews as lists in text.

Here belongs how a paper looks as such a line.
"""

import json
from typing import Any

from pipelines.sources.sample.decided import Paper, papers
from pipelines.sources.sample.openreview import author_id
from pipelines.sources.sample.words import AFFILIATIONS

FILE_NAME = "sample.jsonl"
_CODE_EVERY = 3  # each third accepted paper names its code
_STATUSES = {"rejected": "Reject", "withdrawn": "Withdraw", "desk_rejected": "Desk Reject"}


def files(year: int) -> dict[str, bytes]:
    """The archive's file, whose last two lines are no papers of the edition: one of a workshop, and one cut short."""
    lines = [_dumped(_record(paper)) for paper in papers(year)]
    workshop = workshop_record(year)
    lines += [_dumped(workshop), _dumped(workshop)[:60]]
    return {FILE_NAME: "".join(f"{line}\n" for line in lines).encode()}


def _dumped(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False)


def affiliation(name: str) -> str:
    """Where somebody who does not exist works."""
    return AFFILIATIONS[sum(map(ord, name)) % len(AFFILIATIONS)]


def workshop_record(year: int) -> dict[str, Any]:
    """A line of a paper that the edition does not have."""
    return _record(papers(year)[-1]) | {"id": f"SynWork{year}", "site": "", "track": "workshop"}


def _record(paper: Paper) -> dict[str, Any]:
    status = paper.decision.capitalize() if paper.decision else _STATUSES[paper.status]
    title, reviews = paper.title, paper.row["reviews"]
    if paper.odd == "the archive still has a rejection":
        status = "Reject"
    if paper.odd == "the archive spells the title otherwise":
        title = "[Synthetic] " + title.removeprefix("[Synthetic] ").capitalize()
    has_code = paper.decision is not None and paper.number % _CODE_EVERY == 0
    return {
        "id": paper.forum_id,
        "title": title,
        "track": "main",
        "status": status,
        "abstract": paper.abstract,
        "keywords": ";".join(paper.keywords),
        "primary_area": paper.area,
        "author": ";".join(paper.authors),
        "authorids": ";".join(author_id(name) for name in paper.authors),
        "aff": ";".join(affiliation(name) for name in paper.authors),
        "bibtex": paper.row["_bibtex"],
        "github": f"https://github.com/synthetic-example/{paper.forum_id}" if has_code else "",
        "site": f"https://openreview.net/forum?id={paper.forum_id}",
        "reviewers": ";".join(review["reviewer"].rsplit("/", 1)[1] for review in reviews),
        "rating": ";".join(str(review["rating"]) for review in reviews),
        "confidence": ";".join(str(review["confidence"]) for review in reviews),
    }
