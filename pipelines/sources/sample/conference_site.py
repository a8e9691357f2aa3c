"""The sample as a conference site's list of accepted papers, and from 2026 on its abstracts in a file of their own.

Here belongs how a paper looks as an event: an oral is two of them, the talk and its poster.
"""

import json
from typing import Any

from pipelines.sources.sample.decided import Paper, papers
from pipelines.sources.sample.paper_copilot import affiliation

EVENTS, ABSTRACTS = "events.json", "abstracts.json"


def files(year: int) -> dict[str, bytes]:
    """The list, whose last event belongs to a workshop, and its abstracts."""
    found = events(year)
    feed = {"count": len(found), "next": None, "previous": None, "results": found}
    if year < 2026:
        return {EVENTS: json.dumps(feed, ensure_ascii=False).encode()}
    abstracts = {str(event["id"]): event.pop("abstract") for event in found}
    return {
        EVENTS: json.dumps(feed, ensure_ascii=False).encode(),
        ABSTRACTS: json.dumps(abstracts, ensure_ascii=False).encode(),
    }


def events(year: int) -> list[dict[str, Any]]:
    """Everything that the site lists."""
    listed = [
        (paper, kind)
        for paper in papers(year)
        if paper.site_decision
        for kind in (("Oral", "Poster") if paper.site_decision == "oral" else ("Poster",))
    ]
    found = [_event(number, paper, kind, year) for number, (paper, kind) in enumerate(listed, start=1)]
    other = found[-1] | {
        "id": len(found) + 1,
        "uid": "synthetic workshop",
        "sourceurl": f"https://openreview.net/group?id=Synthetic.example/{year}/Workshop",
        "paper_url": f"https://openreview.net/forum?id=SynWork{year}",
    }
    return [*found, other]


def _event(number: int, paper: Paper, kind: str, year: int) -> dict[str, Any]:
    names = list(paper.authors)
    if paper.odd == "the site abbreviates first names":
        names = [f"{name[0]}. {name.split()[-1]}" for name in names]
    return {
        "id": number,
        "uid": f"synthetic {paper.forum_id}",
        "name": paper.title,
        "authors": [
            {"id": place, "fullname": name, "institution": affiliation(full)}
            for place, (name, full) in enumerate(zip(names, paper.authors, strict=True), start=1)
        ],
        "abstract": paper.abstract,
        "topic": paper.area,
        "keywords": list(paper.keywords),
        "decision": f"Accept ({(paper.site_decision or '').capitalize()})",
        "eventtype": kind,
        "sourceurl": f"https://openreview.net/group?id=Synthetic.example/{year}/Conference",
        "paper_url": f"https://openreview.net/forum?id={paper.forum_id}",
        "eventmedia": None,
        "visible": True,
    }
