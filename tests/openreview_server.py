"""OpenReview on 127.0.0.1: its login and `/notes` of both API versions, and notes in the shapes that real ones have.

Here belongs what the API would do, well or badly; what the pipeline makes of it belongs in the tests. Shapes and rules
follow OpenReview's documentation, openreview-py and the web pages that use the API.

    paper = note_v2(1, title="A title")
    with OpenReviewServer([paper, review_v2(paper, 1, rating=6), decision_v2(paper, "Accept (Poster)")]) as server:
        server.before(2, lambda: server.put(note_v2(9)))     # just before the second request for notes
        server.plan(rate_limited(3600))                      # what the next request for notes gets
        OpenReviewSource(kind="openreview", api="v2", base_url=server.url(""), submissions=SUBMISSIONS)

A note is a plain dict and stays changeable: `server.put(note)` adds or replaces, `server.touch(id, ...)` changes fields
and moves `tmdate` on, `server.remove(id)` deletes without a trace, `server.touch(id, ddate=...)` with one.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl

from tests.upstream_servers import Exchange, Seen, _Server

VENUE = "ICLR.cc/2026/Conference"
SUBMISSIONS = f"{VENUE}/-/Submission"
VENUE_2017 = "ICLR.cc/2017/conference"
SUBMISSIONS_2017 = f"{VENUE_2017}/-/submission"
USERNAME, PASSWORD = "reader@example.org", "5ecret-Passw0rd"
START = 1_758_000_000_000  # 2025-09-16, epoch ms

Note = dict[str, Any]
Fault = Callable[[Exchange, dict[str, str]], None]


# Notes. Ids are made from what they are for, so they are stable and in no meaningful order, like real ones.


def note_id(*parts: object) -> str:
    """Ten characters, like OpenReview's own ids."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return base64.urlsafe_b64encode(digest).decode()[:10]


def note_v2(
    number: int,
    *,
    venue_id: str = VENUE,
    id: str | None = None,
    title: str | None = None,
    abstract: str = "We show something, and then something else.",
    authors: list[Any] | None = None,
    venue: str = "ICLR 2026 Conference Submission",
    venueid: str | None = None,
    hidden: Iterable[str] = ("authors", "authorids"),
    invitations: Iterable[str] = (),
    tmdate: int | None = None,
    ddate: int | None = None,
    **content: Any,
) -> Note:
    """A submission. `authors` are names or objects as of 2026; fields in `hidden` have readers and no value."""
    given = authors if authors is not None else ["Ada Lovelace", "Émilie du Châtelet"]
    names = [author["fullname"] if isinstance(author, dict) else author for author in given]
    group = f"{venue_id}/Submission{number}/Authors"
    values: dict[str, Any] = {
        "title": title or f"On the Number {number}",
        "authors": given,
        "authorids": [f"~{name.replace(' ', '_')}1" for name in names],
        "keywords": ["numbers", "learning theory"],
        "abstract": abstract,
        "primary_area": "learning theory",
        "pdf": f"/pdf/{hashlib.sha1(str(number).encode()).hexdigest()}.pdf",
        "venue": venue,
        "venueid": venueid or f"{venue_id}/Submission",
        "_bibtex": f"@inproceedings{{\nanonymous2025on,\ntitle={{{title or number}}}\n}}",
        **content,
    }
    if any(isinstance(author, dict) for author in given):
        del values["authorids"]  # the objects carry them
    hidden_readers = {"readers": [venue_id, group]}
    created = START + number * 1000
    return {
        "id": id or note_id(venue_id, number),
        "forum": id or note_id(venue_id, number),
        "number": number,
        "cdate": created,
        "tcdate": created,
        "mdate": tmdate or created,
        "tmdate": tmdate or created,
        "odate": created + 1_000_000,
        **({"ddate": ddate} if ddate else {}),
        "license": "CC BY 4.0",
        "domain": venue_id,
        "invitations": [f"{venue_id}/-/Submission", f"{venue_id}/-/Post_Submission", *invitations],
        "signatures": [group],
        "readers": ["everyone"],
        "writers": [venue_id, group],
        "content": {
            name: hidden_readers if name in hidden else {"value": value}
            for name, value in values.items()
            if value is not None
        },
        "version": 2,
    }


def reply_v2(
    paper: Note,
    kind: str,
    signature: str,
    content: Mapping[str, Any],
    *,
    label: object = 1,
    id: str | None = None,
    replyto: str | None = None,
    tmdate: int | None = None,
    hidden: Iterable[str] = (),
    ddate: int | None = None,
) -> Note:
    """A reply of any kind, such as `Official_Comment`, signed by `signature` (below the paper's own group)."""
    venue_id, number = paper["domain"], paper["number"]
    created = paper["tcdate"] + 5_000_000
    group = f"{venue_id}/Submission{number}"
    return {
        "id": id or note_id(paper["id"], kind, signature, label),
        "forum": paper["id"],
        "replyto": replyto or paper["id"],
        "number": label if isinstance(label, int) else 1,
        "cdate": created,
        "tcdate": created,
        "mdate": tmdate or created,
        "tmdate": tmdate or created,
        **({"ddate": ddate} if ddate else {}),
        "license": "CC BY 4.0",
        "domain": venue_id,
        "invitations": [f"{group}/-/{kind}", f"{group}/{signature}/-/Edit"],
        "parentInvitations": f"{venue_id}/-/{kind}",
        "signatures": [signature if signature.startswith("~") else f"{group}/{signature}"],
        "readers": ["everyone"],
        "writers": [venue_id],
        "content": {
            name: {"readers": [venue_id]} if name in hidden else {"value": value} for name, value in content.items()
        },
        "version": 2,
    }


def review_v2(paper: Note, label: int, *, rating: Any = 6, confidence: Any = 4, **options: Any) -> Note:
    """An `Official_Review` of the form of 2025 and 2026; `content=` adds or replaces fields."""
    content = {
        "summary": f"The paper counts to {paper['number']}.",
        "soundness": 3,
        "presentation": 2,
        "contribution": 3,
        "strengths": "It is short.\n\n* And clear.",
        "weaknesses": "No baselines, see $x_1$.",
        "questions": "Why?",
        "flag_for_ethics_review": ["No ethics review needed."],
        "rating": rating,
        "confidence": confidence,
        "code_of_conduct": "Yes",
        **options.pop("content", {}),
    }
    code = note_id("reviewer", paper["id"], label)[:4].replace("-", "x").replace("_", "y")
    return reply_v2(paper, "Official_Review", f"Reviewer_{code}", content, label=label, **options)


def meta_review_v2(paper: Note, text: str = "All agree.", **options: Any) -> Note:
    content = {"metareview": text, "additional_comments_on_reviewer_discussion": "None."}
    return reply_v2(paper, "Meta_Review", "Area_Chair_aB3d", content, **options)


def decision_v2(paper: Note, decision: str = "Accept (Poster)", **options: Any) -> Note:
    content = {"title": "Paper Decision", "decision": decision, "comment": ""}
    venue_chairs = reply_v2(paper, "Decision", "Program_Chairs", content, **options)
    return venue_chairs | {"signatures": [f"{paper['domain']}/Program_Chairs"]}


def author_response_v2(paper: Note, to: Note, text: str = "Thank you.", **options: Any) -> Note:
    """An `Official_Comment` signed by the authors, as an answer to another note."""
    content = {"title": "Rebuttal", "comment": text}
    return reply_v2(paper, "Official_Comment", "Authors", content, replyto=to["id"], label=to["id"], **options)


def public_comment_v2(paper: Note, text: str = "Nice.", **options: Any) -> Note:
    return reply_v2(paper, "Public_Comment", "~Passer_By1", {"title": "A comment", "comment": text}, **options)


def withdrawal_v2(paper: Note, **options: Any) -> Note:
    content = {"withdrawal_confirmation": "I have read and agree with the venue's withdrawal policy."}
    return reply_v2(paper, "Withdrawal", "Authors", content, **options)


def desk_rejection_v2(paper: Note, reason: str = "Over the page limit.", **options: Any) -> Note:
    note = reply_v2(paper, "Desk_Rejection", "Program_Chairs", {"desk_reject_comments": reason}, **options)
    return note | {"signatures": [f"{paper['domain']}/Program_Chairs"]}


def note_v1(
    number: int,
    *,
    venue_id: str = VENUE_2017,
    invitation: str = SUBMISSIONS_2017,
    id: str | None = None,
    title: str | None = None,
    authors: list[str] | str = ("Ada Lovelace", "Carl Friedrich Gauss"),  # type: ignore[assignment]
    tmdate: int | None = None,
    ddate: int | None = None,
    original: str | None = None,
    **content: Any,
) -> Note:
    """A submission of API v1, by default of 2017: flat content, one `invitation`, e-mail addresses as author ids.

    `authors` may be one string, as some notes of 2017 have it. A blind copy (2018 to 2023) has an `original`.
    """
    names = authors.split(", ") if isinstance(authors, str) else list(authors)
    created = 1_478_000_000_000 + number * 1000  # November 2016
    return {
        "id": id or note_id(venue_id, number),
        "forum": id or note_id(venue_id, number),
        "original": original,
        "number": number,
        "cdate": created,
        "tcdate": created,
        "tmdate": tmdate or created,
        "ddate": ddate,
        "invitation": invitation,
        "replyto": None,
        "signatures": [f"{venue_id}/Paper{number}/Authors" if original else "~Ada_Lovelace1"],
        "readers": ["everyone"],
        "nonreaders": [],
        "writers": [],
        "content": {
            "title": title or f"On the Number {number}",
            "abstract": "We show something.",
            "pdf": f"/pdf/{hashlib.sha1(str(number).encode()).hexdigest()}.pdf",
            "TL;DR": "Something is shown.",
            "paperhash": f"lovelace|on_the_number_{number}",
            "keywords": ["Theory"],
            "conflicts": ["example.org"],
            "authors": authors if isinstance(authors, str) else names,
            "authorids": [f"{name.split()[-1].lower()}@example.org" for name in names],
            **content,
        },
    }


def reply_v1(
    paper: Note,
    kind: str,
    signature: str,
    content: Mapping[str, Any],
    *,
    venue_id: str = VENUE_2017,
    label: object = 1,
    tmdate: int | None = None,
) -> Note:
    """A reply of API v1; `kind` is the end of its invitation, such as `official/review` in 2017."""
    created = paper["tcdate"] + 5_000_000
    return {
        "id": note_id(paper["id"], kind, signature, label),
        "forum": paper["id"],
        "replyto": paper["id"],
        "number": label if isinstance(label, int) else 1,
        "cdate": created,
        "tcdate": created,
        "tmdate": tmdate or created,
        "ddate": None,
        "invitation": f"{venue_id}/-/paper{paper['number']}/{kind}",
        "signatures": [f"{venue_id}/paper{paper['number']}/{signature}"],
        "readers": ["everyone"],
        "nonreaders": [],
        "writers": [],
        "content": dict(content),
    }


def review_v1(paper: Note, label: int, *, rating: str = "7: Good paper, accept", **options: Any) -> Note:
    """A review of 2017: rating and confidence are text that begins with the number."""
    content = {
        "title": "Interesting",
        "rating": rating,
        "review": "The paper counts well.",
        "confidence": "4: The reviewer is confident but not absolutely certain that the evaluation is correct",
    }
    return reply_v1(paper, "official/review", f"AnonReviewer{label}", content, label=label, **options)


def decision_v1(paper: Note, decision: str = "Accept (Poster)", **options: Any) -> Note:
    content = {"title": "ICLR committee final decision", "decision": decision, "comment": "The reviewers agree."}
    return reply_v1(paper, "acceptance", "pcs", content, **options) | {"signatures": [f"{VENUE_2017}/pcs"]}


# Faults: each is one way in which the API answers a request for notes otherwise than with notes.


def rate_limited(seconds: float, *, header: bool = True, reset_time: Any = None, words: str | None = None) -> Fault:
    """429 as the API words it; the wait is in Retry-After, in `details.resetTime`, in the message, or in several."""

    def answer(exchange: Exchange, query: dict[str, str]) -> None:
        wait = words if words is not None else f"{seconds // 60:.0f} minutes and {seconds % 60:.0f} seconds"
        message = "Too many requests: You have made 37 requests, surpassing the limit of 36 requests. Please try again"
        error = {
            "name": "RateLimitError",
            "message": f"{message} in {wait} (2026-08-31-4689127)" if wait else message,
            "status": 429,
            "details": {"limit": 36, "remaining": 0, "used": 37, "reqId": "2026-08-31-4689127"}
            | ({"resetTime": reset_time} if reset_time is not None else {}),
        }
        send(exchange, 429, error, {"Retry-After": f"{seconds:.0f}"} if header else {})

    return answer


def failing(
    status: int = 502, name: str = "Error", message: str = "", headers: Mapping[str, str] | None = None
) -> Fault:
    """An error of the server's own."""
    return lambda exchange, query: send(exchange, status, {"name": name, "message": message}, headers)


def raw(status: int, content_type: str, body: bytes) -> Fault:
    """Any bytes, such as a page of HTML with status 200."""
    return lambda exchange, query: exchange.answer(status, {"Content-Type": content_type}, body)


def silent() -> Fault:
    """No answer, until the client leaves."""
    return lambda exchange, query: exchange.server.owner.stopping.wait(10) and None


def send(exchange: Exchange, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
    body = json.dumps(value, ensure_ascii=False).encode()
    exchange.answer(status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, body)


class _WithPost(Exchange):
    """An exchange that takes the body of a POST too."""

    disable_nagle_algorithm = True  # else each small answer waits 40 ms for an acknowledgement
    posted: bytes = b""

    def do_POST(self) -> None:  # noqa: N802 (the name that http.server looks for)
        self.posted = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()


class OpenReviewServer(_Server):
    """One version of the API with one account (USERNAME, PASSWORD).

    Attributes:
        notes: papers and replies by id.
        tokens: valid Bearer tokens; a login adds one. Without one, notes are refused with the challenge.
        mfa: the login asks for a second factor.
        selects: "nested" as the real API, "flat" (inside replies nothing can be selected), or "ignored".
        counts: whether `count` comes when it is asked for.
        hidden_papers: how many papers are counted and not shown.
        shows_deleted: whether notes with a `ddate` come without `trash=true`.
        most_at_once: requests with `details=replies`, without `select`, for more notes fail with `too_many`.
        queries: the query of each request for notes, in order.
        logins: how many logins were tried.
    """

    def __init__(self, notes: Iterable[Note] = (), *, api: str = "v2", **options: Any) -> None:
        super().__init__(**options)
        self._listener.RequestHandlerClass = _WithPost
        self.api = api
        self.notes: dict[str, Note] = {}
        self.put(*notes)
        self.tokens: set[str] = set()
        self.mfa = False
        self.selects = "nested"
        self.counts = True
        self.hidden_papers = 0
        self.shows_deleted = False
        self.most_at_once = 1000
        self.too_many: Fault = failing(502)
        self.queries: list[dict[str, str]] = []
        self.logins = 0
        self._asked = 0
        self._before: dict[int, Callable[[], object]] = {}
        self._planned: dict[str, list[Fault]] = {"/notes": [], "/login": []}
        self._clock = START + 10**9

    # What a test does to the venue

    def put(self, *notes: Note) -> None:
        self.notes |= {note["id"]: deepcopy(note) for note in notes}

    def touch(self, id: str, content: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Change fields of a note, and of its content by plain values; its `tmdate` moves on."""
        self._clock += 1000
        note = self.notes[id]
        wrapped = {name: {"value": value} if self.api == "v2" else value for name, value in (content or {}).items()}
        note |= {"mdate": self._clock, "tmdate": self._clock, **fields}
        note["content"] = note["content"] | wrapped

    def remove(self, id: str) -> None:
        """Delete a note and its replies without a trace."""
        self.notes = {key: note for key, note in self.notes.items() if id not in (key, note["forum"])}

    def before(self, number: int, action: Callable[[], object]) -> None:
        """Do something just before the n-th request for notes from now (1 is the next) is answered."""
        self._before[self._asked + number] = action

    def plan(self, *faults: Fault, path: str = "/notes") -> None:
        """Answer the next requests with these, one each."""
        self._planned[path] += faults

    def papers(self, invitation: str | None = None) -> list[str]:
        """The ids of what `/notes` shows, in its order."""
        return sorted(note["id"] for note in self.notes.values() if self._is_shown(note, invitation))

    # What the API does

    def respond(self, exchange: Exchange, request: Seen) -> None:
        if request.path == "/login" and request.method == "POST":
            return self._log_in(exchange, request)
        if request.path != "/notes" or request.method != "GET":
            return send(exchange, 404, {"name": "NotFoundError", "message": f"{request.path} was not found"})
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        self.queries.append(query)
        self._asked += 1
        if action := self._before.pop(self._asked, None):
            action()
        if self._planned["/notes"]:
            return self._planned["/notes"].pop(0)(exchange, query)
        token = request.headers.get("authorization")
        if token is None:
            error = {"name": "ChallengeRequiredError", "message": "Challenge verification is required", "status": 403}
            return send(exchange, 403, error)
        if token.removeprefix("Bearer ") not in self.tokens:
            return send(exchange, 401, {"name": "TokenError", "message": "Token is not valid", "status": 401})
        self._list(exchange, query)

    def _log_in(self, exchange: Exchange, request: Seen) -> None:
        self.logins += 1
        if self._planned["/login"]:
            return self._planned["/login"].pop(0)(exchange, {})
        assert isinstance(exchange, _WithPost)
        account = json.loads(exchange.posted)
        if (account.get("id"), account.get("password")) != (USERNAME, PASSWORD):
            error = {"name": "LoginError", "message": "Invalid username or password", "status": 400}
            return send(exchange, 400, error)
        if self.mfa:
            return send(exchange, 200, {"mfaPending": True, "mfaPendingToken": "pending", "mfaMethods": ["totp"]})
        token = f"eyJ.t0ken-{self.logins}.s1gned"
        self.tokens.add(token)
        send(exchange, 200, {"token": token, "user": {"id": USERNAME, "profile": {"id": "~Reader_One1"}}})

    def _list(self, exchange: Exchange, query: dict[str, str]) -> None:
        known = {"id", "invitation", "forum", "details", "select", "sort", "limit", "offset", "after", "count", "trash"}
        if unknown := sorted(query.keys() - known):
            return _refuse(exchange, "AdditionalPropertiesError", f"The property {unknown[0]} must NOT be present")
        for name in ("count", "trash"):
            if query.get(name, "true") not in {"true", "false"}:
                return _refuse(exchange, "TypeError", f"The property {name} must be boolean")
        sort = re.fullmatch(r"(id|tmdate|tcdate|number)(?::(asc|desc))?", query.get("sort", "tcdate"))
        if not sort:
            return _refuse(exchange, "EnumError", "The property sort must be equal to one of the allowed values")
        limit = min(int(query.get("limit", 1000)), 1000)
        is_full = query.get("details") is not None and "select" not in query
        if is_full and limit > self.most_at_once:
            return self.too_many(exchange, query)
        shown = [
            note
            for note in self.notes.values()
            if self._is_shown(note, query.get("invitation"), has_trash=query.get("trash") == "true")
            and query.get("id", note["id"]) == note["id"]
            and query.get("forum", note["forum"]) == note["forum"]
        ]
        shown.sort(key=lambda note: note[sort[1]], reverse=sort[2] == "desc")
        rest = shown[int(query.get("offset", 0)) :]
        if after := query.get("after"):
            # Keyset paging needs no note of that id: it may be gone by now.
            rest = [note for note in rest if note["id"] > after]
        answer: dict[str, Any] = {"notes": [self._shaped(note, query) for note in rest[:limit]]}
        if query.get("count") == "true" and self.counts and not after and "offset" not in query:
            answer["count"] = len(shown) + self.hidden_papers
        send(exchange, 200, answer)

    def _is_shown(self, note: Note, invitation: str | None, *, has_trash: bool = False) -> bool:
        if note.get("ddate") and not (has_trash or self.shows_deleted):
            return False
        if invitation is None:
            return note["id"] == note["forum"]
        return invitation in note.get("invitations", [note.get("invitation")])

    def _shaped(self, note: Note, query: dict[str, str]) -> Note:
        shaped = dict(note)
        kind = query.get("details")
        if kind in {"replies", "directReplies"}:
            replies = [
                reply
                for reply in self.notes.values()
                if reply["forum"] == note["id"] != reply["id"]
                and (kind == "replies" or reply["replyto"] == note["id"])
                and (self.shows_deleted or not reply.get("ddate"))
            ]
            shaped["details"] = {kind: replies}
        if "select" not in query or self.selects == "ignored":
            return shaped
        paths = query["select"].split(",")
        if self.selects == "flat":
            return {path: shaped[path] for path in paths if path in shaped}
        return _selected(shaped, paths)


def _selected(note: Note, paths: list[str]) -> Note:
    """The fields that `select` names; replies that it does not name are dropped."""
    chosen: Note = {path: note[path] for path in paths if path in note}
    inside = re.compile(r"details\.(replies|directReplies)\[\*\]\.(.+)")
    for match in filter(None, map(inside.fullmatch, paths)):
        kind, name = match[1], match[2]
        replies = note.get("details", {}).get(kind)
        if replies is not None:
            few = chosen.setdefault("details", {}).setdefault(kind, [{} for _ in replies])
            for reply, picked in zip(replies, few, strict=True):
                picked |= {name: reply[name]} if name in reply else {}
    return chosen


def _refuse(exchange: Exchange, name: str, message: str) -> None:
    send(exchange, 400, {"name": name, "message": message, "status": 400})
