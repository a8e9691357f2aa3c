"""The sample as OpenReview's API (version 2) gives it: pages of notes with their replies.

Here belongs how papers, reviews and discussion look as notes. That the shapes are the API's is what the tests of the
OpenReview source are about.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.sources.sample.decided import Paper, papers
from pipelines.sources.sample.maker import Row, people
from pipelines.sources.sample.words import (
    DESK_REJECTION,
    META_REVIEW,
    QUESTIONS,
    RAISED,
    REMARK,
    RESPONSE,
    WITHDRAWAL,
)

PAGE_SIZE = 100
_RESPONDS_EVERY = 2  # each second paper's authors answer their reviews
_REMARKS_EVERY = 25

Note = dict[str, Any]


def files(year: int) -> dict[str, bytes]:
    """The pages, and at their end a paper that was deleted upstream, with one review."""
    found = [_notes(paper, year) for paper in papers(year) if paper.on_openreview]
    found.append(_deleted(papers(year)[-1], year))
    pages = [found[start : start + PAGE_SIZE] for start in range(0, len(found), PAGE_SIZE)]
    return {
        f"page-{number:05d}.json": json.dumps({"notes": page, "count": len(found)}, ensure_ascii=False).encode()
        for number, page in enumerate(pages, start=1)
    }


def rating(paper: Paper, position: int) -> int:
    """The rating that a review ended with; the scale has even numbers."""
    given: int = paper.row["reviews"][position]["rating"]
    return given + 2 if paper.odd == "a rating rose after the dataset" and position == 0 else given


def author_id(name: str) -> str:
    """The profile of somebody who does not exist."""
    return f"~{name.replace(' ', '_')}1"


def replies(paper: Paper, year: int) -> list[Note]:
    """Everything that was written below a paper, in order of time."""
    reviews = [_review(paper, position, year) for position in range(len(paper.row["reviews"]))]
    found = [*reviews]
    if reviews and paper.number % _RESPONDS_EVERY == 0:
        for review in reviews:
            content = {"title": "Response", "comment": RESPONSE}
            found.append(_reply(paper, year, "Official_Comment", "Authors", content, 60, to=review["id"]))
    if paper.odd == "a rating rose after the dataset":
        signature = reviews[0]["signatures"][0].rsplit("/", 1)[1]
        found.append(_reply(paper, year, "Official_Comment", signature, {"comment": RAISED}, 65, to=reviews[0]["id"]))
    if paper.number % _REMARKS_EVERY == 0:
        signature = author_id(people()[paper.number % len(people())])
        content = {"title": "Remark", "comment": REMARK}
        found.append(_reply(paper, year, "Public_Comment", signature, content, 70))
    if paper.status in ("accepted", "rejected"):
        verb = "accept" if paper.decision else "reject"
        text = f"Accept ({paper.decision.capitalize()})" if paper.decision else "Reject"
        meta = {"metareview": META_REVIEW.format(verb=verb)}
        found.append(_reply(paper, year, "Meta_Review", "Area_Chair_Syn1", meta, 100))
        decision = {"title": "Paper Decision", "decision": text, "comment": ""}
        found.append(_reply(paper, year, "Decision", "Program_Chairs", decision, 120))
    elif paper.status == "withdrawn":
        found.append(_reply(paper, year, "Withdrawal", "Authors", {"withdrawal_confirmation": WITHDRAWAL}, 75))
    else:
        reason = {"desk_reject_comments": DESK_REJECTION}
        found.append(_reply(paper, year, "Desk_Rejection", "Program_Chairs", reason, 20))
    return found


def _notes(paper: Paper, year: int) -> Note:
    """A paper with its replies."""
    status = f"Synthetic {year} "
    if paper.decision:
        status += paper.decision.capitalize()
    elif paper.status == "rejected":
        status = f"Submitted to Synthetic {year}"
    else:
        status += f"Conference {'Withdrawn' if paper.status == 'withdrawn' else 'Desk Rejected'} Submission"
    content = {
        "title": paper.title,
        "authors": list(paper.authors),
        "authorids": [author_id(name) for name in paper.authors],
        "keywords": list(paper.keywords),
        "abstract": paper.abstract,
        "primary_area": paper.area,
        "pdf": f"/pdf/{hashlib.sha256(paper.forum_id.encode()).hexdigest()[:40]}.pdf",
        "venue": status,
        "venueid": f"Synthetic.example/{year}/Conference",
        "_bibtex": paper.row["_bibtex"],
    }
    invitations = [f"Synthetic.example/{year}/Conference/-/Submission"]
    return _note(paper, year, paper.forum_id, invitations, [_group(paper, year) + "/Authors"], content, 0) | {
        "details": {"replies": replies(paper, year)}
    }


def _deleted(like: Paper, year: int) -> Note:
    """A paper and its review that were taken down after the crawl had begun."""
    gone = Paper(
        row={**like.row, "reviews": like.row["reviews"][:1]},
        forum_id=_id("deleted", year),
        number=2001,
        title="[Synthetic] A Paper That Was Deleted",
        abstract=like.abstract,
        authors=like.authors[:1],
        keywords=like.keywords,
        area=like.area,
        status="rejected",
    )
    review = _review(gone, 0, year) | {"id": _id("deleted review", year)}
    return _notes(gone, year) | {"ddate": _time(year, gone.number, 90), "details": {"replies": [review]}}


def _review(paper: Paper, position: int, year: int) -> Note:
    item: Row = paper.row["reviews"][position]
    score = 1 + (rating(paper, position) + position) % 4
    content = {
        "summary": item["summary"],
        "soundness": score,
        "presentation": 1 + item["confidence"] % 4,
        "contribution": score,
        "strengths": item["strengths"],
        "weaknesses": item["weaknesses"],
        "questions": QUESTIONS,
        "rating": rating(paper, position),
        "confidence": item["confidence"],
    }
    signature = item["reviewer"].rsplit("/", 1)[1]
    return _reply(paper, year, "Official_Review", signature, content, 45) | {"id": item["review_id"]}


def _reply(
    paper: Paper, year: int, kind: str, signature: str, content: Mapping[str, Any], day: int, to: str | None = None
) -> Note:
    group = _group(paper, year)
    signed = signature if signature.startswith("~") else f"{group}/{signature}"
    if signature == "Program_Chairs":
        signed = f"Synthetic.example/{year}/Conference/{signature}"
    id_ = _id(paper.forum_id, kind, signature, to)
    note = _note(paper, year, id_, [f"{group}/-/{kind}"], [signed], content, day)
    return note | {"replyto": to or paper.forum_id}


def _note(
    paper: Paper,
    year: int,
    id_: str,
    invitations: list[str],
    signatures: list[str],
    content: Mapping[str, Any],
    day: int,
) -> Note:
    time = _time(year, paper.number, day)
    return {
        "id": id_,
        "forum": paper.forum_id,
        "number": paper.number,
        "tcdate": time,
        "tmdate": time,
        "domain": f"Synthetic.example/{year}/Conference",
        "invitations": invitations,
        "signatures": signatures,
        "readers": ["everyone"],
        "content": {name: {"value": value} for name, value in content.items()},
        "version": 2,
    }


def _group(paper: Paper, year: int) -> str:
    return f"Synthetic.example/{year}/Conference/Submission{paper.number}"


def _time(year: int, number: int, day: int) -> int:
    """Epoch ms, so many days after the papers came in, one of them a minute."""
    moment = datetime(year - 1, 9, 20, tzinfo=UTC) + timedelta(days=day, minutes=number)
    return int(moment.timestamp()) * 1000


def _id(*parts: object) -> str:
    """Ten characters as OpenReview's ids have, which say that they are synthetic."""
    return "Syn" + hashlib.sha256(repr(parts).encode()).hexdigest()[:7]
