"""OpenReview against a server on 127.0.0.1 that speaks its API, well and badly.

The check that counts is `records`: what the landed pages split into is exactly what the server has, each note once.
"""

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import OpenReviewSource
from pipelines.config.settings import Settings
from pipelines.formats.records import read_records, without_email_ids
from pipelines.sources import http, openreview
from pipelines.sources.fetched import Fetched, LandingError, SourceSkipped
from pipelines.sources.openreview.crawl import Crawl
from pipelines.warehouse import sha256
from tests.openreview_server import (
    PASSWORD,
    SUBMISSIONS,
    SUBMISSIONS_2017,
    USERNAME,
    Note,
    OpenReviewServer,
    author_response_v2,
    decision_v1,
    decision_v2,
    desk_rejection_v2,
    failing,
    meta_review_v2,
    note_id,
    note_v1,
    note_v2,
    public_comment_v2,
    rate_limited,
    raw,
    review_v1,
    review_v2,
    silent,
    withdrawal_v2,
)
from tests.upstream_servers import FileServer, redirect

SETTINGS = Settings(http_attempts=3, http_max_wait_seconds=2, http_timeout_seconds=5)
TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"


def venue(papers: int = 10) -> list[Note]:
    """A small venue: every paper has two reviews and a response to the first one."""
    notes: list[Note] = []
    for number in range(1, papers + 1):
        paper = note_v2(number)
        first, second = review_v2(paper, 1, rating=8), review_v2(paper, 2, rating=4)
        notes += [paper, first, second, author_response_v2(paper, first)]
    return notes


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENREVIEW_TOKEN", "OPENREVIEW_FULL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENREVIEW_USERNAME", USERNAME)
    monkeypatch.setenv("OPENREVIEW_PASSWORD", PASSWORD)


@pytest.fixture
def server() -> Iterator[OpenReviewServer]:
    with OpenReviewServer(venue()) as running:
        yield running


class Puller:
    """Pulls as landing does: what came moves away into a snapshot, the rest of the folder stays."""

    def __init__(self, folder: Path) -> None:
        self.into = folder / "incoming"
        self.into.mkdir()
        self.snapshots = folder / "snapshots"
        self.said: list[str] = []
        self.previous: list[Path] = []

    def pull(self, server: OpenReviewServer, settings: Settings = SETTINGS, **options: Any) -> Fetched | None:
        given: dict[str, Any] = {"api": "v2", "submissions": SUBMISSIONS, "page_size": 4, "base_url": server.url("")}
        source = OpenReviewSource(kind="openreview", **{**given, **options})
        landed = frozenset((path.name, sha256(path)) for path in self.previous)
        server.queries.clear()
        fetched = openreview.fetch(
            source, self.into, settings=settings, landed=landed, log=self.said.append, previous=self.previous
        )
        if fetched is not None:
            snapshot = self.snapshots / str(len(list(self.snapshots.glob("*"))))
            snapshot.mkdir(parents=True)
            for file in fetched.files:
                file.path.rename(snapshot / file.name)
            self.previous = [snapshot / file.name for file in fetched.files]
            for path in self.previous:
                path.chmod(0o444)
        return fetched

    def skipped(self, server: OpenReviewServer, settings: Settings = SETTINGS, **options: Any) -> str:
        with pytest.raises(SourceSkipped) as caught:
            self.pull(server, settings, **options)
        return str(caught.value)

    def refused(self, server: OpenReviewServer, settings: Settings = SETTINGS, **options: Any) -> str:
        with pytest.raises(LandingError) as caught:
            self.pull(server, settings, **options)
        assert not isinstance(caught.value, SourceSkipped)
        return str(caught.value)

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.into.iterdir())

    @property
    def names(self) -> list[str]:
        return [path.name for path in self.previous]


def records(paths: list[Path]) -> dict[str, Note]:
    """What the pages split into, by id; no id may come twice and none may be lost."""
    found = [json.loads(record.text) for record in read_records("openreview", paths)]
    by_id = {note["id"]: note for note in found}
    assert len(by_id) == len(found)
    return by_id


@pytest.fixture
def puller(tmp_path: Path) -> Puller:
    return Puller(tmp_path)


def shows_all(puller: Puller, server: OpenReviewServer) -> bool:
    """The landed notes are the server's, field by field, and every paper is in the newest page that has it."""
    shown = copy.deepcopy(server.notes)
    for note in shown.values():
        without_email_ids(note)  # which `read_records` leaves out, as its own tests show
    assert records(puller.previous) == shown
    return True


# A crawl that works


def test_a_crawl(server: OpenReviewServer, puller: Puller) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)

    fetched = puller.pull(server)

    assert fetched is not None
    assert shows_all(puller, server)
    assert puller.names == ["page-00001.json", "page-00002.json", "page-00003.json"]
    assert [len(json.loads(path.read_bytes())["notes"]) for path in puller.previous] == [4, 4, 2]
    assert puller.left == []
    assert fetched.as_of is not None
    assert before <= fetched.as_of <= datetime.now(UTC)
    assert {file.url for file in fetched.files} == {fetched.url}
    assert fetched.url.startswith(f"{server.url('/notes')}?invitation=ICLR.cc")
    crawl = [query for query in server.queries if "select" not in query]
    assert all(query["details"] == "replies" and query["sort"] == "id" for query in crawl)
    assert [query.get("count") for query in crawl] == ["true", None, None, None]
    assert [query.get("after") for query in crawl] == [None, *server.papers()[3:8:4], server.papers()[-1]]
    assert server.logins == 1
    assert any("8 of 10 papers" in line for line in puller.said)


def test_the_pages_are_the_bytes_of_the_answers(server: OpenReviewServer, puller: Puller) -> None:
    body = b'{"notes" : [{"id":"only", "tmdate": 1e0,\n"content":{"title":{"value":"\\u2028 \xc3\xa9"}}}], "count":1}'
    server.plan(raw(200, "application/json", body))
    server.notes = {"only": {"id": "only", "forum": "only", "tmdate": 1, "tcdate": 1, "invitations": [SUBMISSIONS]}}
    server.tokens.add(TOKEN)

    assert puller.pull(server) is not None
    assert puller.previous[0].read_bytes() == body


def test_the_crawl_without_a_count(server: OpenReviewServer, puller: Puller) -> None:
    server.counts = False
    assert puller.pull(server) is not None
    assert shows_all(puller, server)


def test_a_count_that_differs_is_told(server: OpenReviewServer, puller: Puller) -> None:
    """Papers that this account may not see are counted, but never shown."""
    server.hidden_papers = 2
    assert puller.pull(server) is not None
    assert shows_all(puller, server)
    assert any("the server counts 12 papers and shows 10 to this account" in line for line in puller.said)
    server.remove(server.papers()[0])
    assert puller.pull(server) is not None
    assert shows_all(puller, server)


def test_a_venue_that_is_gone(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    notes, server.notes = server.notes, {}
    assert "shows none of the 10 papers any more" in puller.refused(server)
    server.notes = notes
    assert shows_all(puller, server)


@pytest.mark.parametrize("selects", ["flat", "ignored"])
def test_a_server_that_cannot_select_inside_replies(server: OpenReviewServer, puller: Puller, selects: str) -> None:
    server.selects = selects
    assert puller.pull(server) is not None
    review = next(id for id, note in server.notes.items() if "rating" in note["content"])
    server.touch(review, {"rating": 1})

    assert puller.pull(server) is not None
    assert shows_all(puller, server)
    assert puller.pull(server) is None


def test_kinds_and_shapes_of_v2(puller: Puller) -> None:
    people = [{"fullname": "Ada Lovelace", "username": "~Ada_Lovelace1"}, {"fullname": "N. N.", "username": ""}]
    accepted = note_v2(1, authors=people, hidden=(), venue="ICLR 2026 Poster", venueid="ICLR.cc/2026/Conference")
    withdrawn = note_v2(2, venue="ICLR 2026 Conference Withdrawn Submission")
    rejected = note_v2(3, venue="ICLR 2026 Conference Desk Rejected Submission")
    deleted = note_v2(4, ddate=1_760_000_000_000)
    review = review_v2(accepted, 1, hidden=["rating"])
    notes = [
        *(accepted, review, meta_review_v2(accepted), decision_v2(accepted), author_response_v2(accepted, review)),
        *(public_comment_v2(accepted), withdrawn, withdrawal_v2(withdrawn), rejected, desk_rejection_v2(rejected)),
        *(deleted, review_v2(deleted, 1)),
    ]
    with OpenReviewServer(notes) as server:
        server.shows_deleted = True
        assert puller.pull(server) is not None
        assert shows_all(puller, server)
        found = records(puller.previous)
        assert found[review["id"]]["content"]["rating"] == {"readers": ["ICLR.cc/2026/Conference"]}
        assert found[accepted["id"]]["content"]["authors"]["value"] == people
        assert found[deleted["id"]]["ddate"] == 1_760_000_000_000


def test_the_shapes_of_2017_through_api_v1(puller: Puller) -> None:
    first, second = note_v1(1), note_v1(2, authors="Ada Lovelace, Carl Friedrich Gauss")
    notes = [first, review_v1(first, 1), review_v1(first, 2, rating="4: Ok but not good enough"), decision_v1(first)]
    with OpenReviewServer([*notes, second], api="v1") as server:
        assert puller.pull(server, api="v1", submissions=SUBMISSIONS_2017) is not None
        assert shows_all(puller, server)
        assert {query["invitation"] for query in server.queries} == {SUBMISSIONS_2017}
        server.touch(second["id"], {"title": "Another title"})
        assert puller.pull(server, api="v1", submissions=SUBMISSIONS_2017) is not None
        assert shows_all(puller, server)


# Drift


def test_a_three_page_crawl_with_inserts_and_deletes_between_pages(server: OpenReviewServer, puller: Puller) -> None:
    ids = server.papers()
    new = [note_v2(number) for number in range(100, 130)]
    behind = next(note for note in new if ids[0] < note["id"] < ids[3])
    ahead = next(note for note in new if note["id"] > ids[5])

    def between_one_and_two() -> None:
        server.put(behind, review_v2(behind, 1))  # on a page that has been read
        server.remove(ids[1])  # read already
        server.remove(ids[3])  # read already, and the cursor
        server.remove(ids[6])  # not read yet

    def between_two_and_three() -> None:
        server.put(ahead)
        server.touch(ids[0], {"title": "A new title"})
        server.put(review_v2(server.notes[ids[2]], 9))  # its paper keeps its tmdate
        gone = next(id for id, note in server.notes.items() if note["forum"] == ids[2] and "rating" in note["content"])
        server.remove(gone)

    server.before(2, between_one_and_two)
    server.before(3, between_two_and_three)

    assert puller.pull(server) is not None

    assert len([query for query in server.queries if "select" not in query][:3]) == 3
    assert shows_all(puller, server)
    papers = [note["id"] for path in puller.previous for note in json.loads(path.read_bytes())["notes"]]
    assert sorted(papers) == server.papers(), "not even the pages hold a paper twice"
    assert any("fetching the difference" in line for line in puller.said)
    assert puller.pull(server) is None


def test_drift_during_the_repair(server: OpenReviewServer, puller: Puller) -> None:
    ids = server.papers()
    server.before(4, lambda: server.remove(ids[0]))
    server.before(7, lambda: server.remove(ids[5]))
    server.before(8, lambda: server.put(note_v2(200), note_v2(201)))
    server.before(9, lambda: server.touch(ids[8], {"title": "Later still"}))

    assert puller.pull(server) is not None
    assert shows_all(puller, server)


@pytest.mark.parametrize("number", [2, 5, 6])
def test_a_page_that_is_empty_too_early(server: OpenReviewServer, puller: Puller, number: int) -> None:
    """In the crawl, and in the light pass after it: a list that ends early is no proof that notes are gone."""
    empty = raw(200, "application/json", b'{"notes": []}')
    server.before(number, lambda: server.plan(empty))
    assert puller.pull(server) is not None
    assert shows_all(puller, server)


def test_a_light_pass_that_lacks_papers_is_repeated(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    few = [{"id": id, "tmdate": server.notes[id]["tmdate"], "details": {"replies": []}} for id in server.papers()[:3]]
    server.plan(raw(200, "application/json", json.dumps({"notes": few, "count": 10}).encode()))
    server.plan(raw(200, "application/json", b'{"notes": []}'))

    assert puller.pull(server) is None
    assert any("counts 10 papers and showed 3; asking again" in line for line in puller.said)


def test_a_venue_that_never_rests(server: OpenReviewServer, puller: Puller) -> None:
    """Changes that never stop do not keep a crawl from ending, comings and goings do; both say so."""
    for number in range(1, 200):
        server.before(number, lambda: server.touch(server.papers()[0]))
    assert puller.pull(server) is not None
    assert set(records(puller.previous)) == set(server.notes)
    assert "1 papers changed while they were read; the next pull brings them." in puller.said[-1]

    for number in range(1, 200):
        server.before(number, lambda number=number: server.put(note_v2(1000 + number)))
    assert "kept changing through 6 rounds" in puller.refused(server)


# Increments


def test_nothing_new(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)

    assert puller.pull(server) is None
    assert puller.left == []
    assert all("select" in query for query in server.queries)
    assert "unchanged" in puller.said[-1]


def test_only_what_changed_is_fetched(puller: Puller) -> None:
    with OpenReviewServer(venue(40)) as server:
        puller.pull(server, page_size=20)
        first = puller.previous
        changed = server.papers()[5]
        server.touch(changed, {"venue": "ICLR 2026 Poster"})

        assert puller.pull(server, page_size=20) is not None

        assert [query["limit"] for query in server.queries if "select" not in query] == ["1"]
        assert puller.names == ["page-00001.json", "page-00002.json", "page-00003.json"]
        assert [path.stat().st_ino for path in puller.previous[:2]] == [path.stat().st_ino for path in first]
        assert shows_all(puller, server)
        assert puller.pull(server, page_size=20) is None


@pytest.mark.parametrize("change", ["edited", "new", "deleted", "deleted with a trace"])
def test_a_reply_that_changed_alone(server: OpenReviewServer, puller: Puller, change: str) -> None:
    puller.pull(server)
    review = next(id for id, note in server.notes.items() if "rating" in note["content"])
    if change == "edited":
        server.touch(review, {"rating": 2})
    elif change == "new":
        server.put(decision_v2(server.notes[server.notes[review]["forum"]], "Reject"))
    elif change == "deleted":
        server.remove(review)
    else:
        server.shows_deleted = True
        server.touch(review, ddate=1_760_000_000_000)

    assert puller.pull(server) is not None
    assert shows_all(puller, server)
    assert puller.pull(server) is None


def test_a_paper_that_went(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    server.remove(server.papers()[5])

    assert puller.pull(server) is not None
    assert shows_all(puller, server)
    assert puller.names == ["page-00001.json", "page-00003.json", "page-00004.json"]


def test_changes_near_each_other_are_one_request(puller: Puller) -> None:
    with OpenReviewServer(venue(60)) as server:
        puller.pull(server, page_size=20)
        ids = server.papers()
        for position in (3, 9, 12, 21, 55):
            server.touch(ids[position], {"title": f"Changed {position}"})

        assert puller.pull(server, page_size=20) is not None

        assert [(query["after"], query["limit"]) for query in server.queries if "select" not in query] == [
            (ids[2], "19"),
            (ids[54], "1"),
        ]
        assert shows_all(puller, server)


def test_pages_that_later_pages_cover_are_dropped(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    for _ in range(5):
        for id in server.papers():
            server.touch(id)
        assert puller.pull(server) is not None
        assert len(puller.names) == 3
        assert shows_all(puller, server)


def test_a_note_whose_date_goes_back(server: OpenReviewServer, puller: Puller) -> None:
    """A version that was taken back must not win over the one before it."""
    review = next(id for id, note in server.notes.items() if "rating" in note["content"])
    as_it_was = dict(server.notes[review])
    server.touch(review, {"rating": 1})
    puller.pull(server)
    server.put(as_it_was)

    assert puller.pull(server) is not None
    assert shows_all(puller, server)


@pytest.mark.parametrize("asked", ["source", "environment"])
def test_a_full_crawl_on_demand(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    puller.pull(server)
    hidden = server.papers()[0]
    server.notes[hidden]["content"]["title"] = {"value": "Changed without a date"}
    assert puller.pull(server) is None
    if asked == "environment":
        monkeypatch.setenv("OPENREVIEW_FULL", "1")

    assert puller.pull(server, full=asked == "source") is not None
    assert shows_all(puller, server)
    assert puller.pull(server, full=True) is None


def test_another_invitation_starts_anew(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    server.put(*(note_v2(number, invitations=["ICLR.cc/2026/Conference/-/Other"]) for number in (300, 301)))

    assert puller.pull(server, submissions="ICLR.cc/2026/Conference/-/Other") is not None
    assert set(records(puller.previous)) == {note_v2(300)["id"], note_v2(301)["id"]}


def test_a_previous_page_that_cannot_be_read(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    puller.previous[1].chmod(0o644)
    puller.previous[1].write_bytes(b"{")

    assert puller.pull(server) is not None
    assert shows_all(puller, server)


# Accounts


def test_without_an_account_nothing_is_asked(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENREVIEW_PASSWORD")
    said = puller.skipped(server)
    assert said.startswith("OpenReview answers accounts only: set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or ")
    assert server.seen == []
    monkeypatch.setenv("OPENREVIEW_TOKEN", "to\nken")
    assert "holds a blank" in puller.skipped(server)
    assert server.seen == []


def test_a_token_needs_no_login(server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    server.tokens.add(TOKEN)
    monkeypatch.setenv("OPENREVIEW_TOKEN", f"Bearer {TOKEN}\n")
    monkeypatch.delenv("OPENREVIEW_PASSWORD")

    assert puller.pull(server) is not None
    assert server.logins == 0
    assert {request.headers["authorization"] for request in server.seen} == {f"Bearer {TOKEN}"}


def test_a_token_that_has_run_out(server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENREVIEW_TOKEN", TOKEN)
    assert puller.pull(server) is not None, "the account logs in instead"
    assert server.logins == 1
    monkeypatch.delenv("OPENREVIEW_USERNAME")
    said = puller.skipped(server)
    assert said.endswith("does not take the token (status 401); set OPENREVIEW_TOKEN to a new token.")


def test_a_login_that_runs_out_in_the_middle(server: OpenReviewServer, puller: Puller) -> None:
    server.before(2, server.tokens.clear)
    assert puller.pull(server) is not None
    assert server.logins == 2
    assert shows_all(puller, server)


@pytest.mark.parametrize(
    "challenge",
    [
        failing(403, "ChallengeRequiredError", "Challenge verification is required"),
        lambda exchange, query: exchange.answer(302, {"Location": "/challenge?from=notes"}),
    ],
    ids=["error", "redirect"],
)
def test_the_challenge(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch, challenge: Any
) -> None:
    respond = server.respond

    def with_challenge_page(exchange: Any, request: Any) -> None:
        if request.path == "/challenge":
            return exchange.answer(200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><p>Are you human?")
        respond(exchange, request)

    monkeypatch.setattr(server, "respond", with_challenge_page)
    server.plan(*[challenge] * 2)
    said = puller.skipped(server)
    assert "asks for proof of a human (ChallengeRequiredError), fresh from a login" in said
    assert len(server.queries) == 2
    assert puller.left == []

    monkeypatch.setenv("OPENREVIEW_TOKEN", TOKEN)
    monkeypatch.delenv("OPENREVIEW_USERNAME")
    server.plan(challenge)
    assert puller.skipped(server).endswith("; set OPENREVIEW_TOKEN to a new token.")
    assert len(server.queries) == 1


def test_logins_that_do_not_work(server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    server.plan(failing(403, "ChallengeRequiredError"), path="/login")
    assert "ChallengeRequiredError" in puller.skipped(server)
    server.plan(rate_limited(3600), path="/login")
    assert "at 60 minutes" not in (said := puller.skipped(server))
    assert "limits requests" in said
    server.mfa = True
    assert "second factor" in puller.skipped(server)
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "wrong")
    assert "the login is refused; check OPENREVIEW_USERNAME" in puller.skipped(server)
    assert server.queries == []
    server.plan(failing(503), failing(503), failing(503), path="/login")
    assert "the server is in trouble" in puller.refused(server)


def test_secrets_stay_secret(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    said = [puller.skipped(server, submissions=SUBMISSIONS) for server.mfa in [True]]
    server.mfa = False
    token = "eyJ.t0ken-2.s1gned"
    server.plan(rate_limited(0, words=f"{token} {PASSWORD}"), failing(500, message=token), failing(500, message=token))
    fetched = puller.pull(server)
    server.plan(failing(400, "BadRequest", f"Bearer {token} of {PASSWORD}"))
    monkeypatch.setenv("OPENREVIEW_TOKEN", token)
    said.append(puller.refused(server))
    everything = "\n".join([*said, *puller.said, repr(fetched), caplog.text, *(str(server.queries),)])
    everything += "".join(path.read_text() for path in puller.previous)
    assert PASSWORD not in everything
    assert token not in everything
    assert "***" in everything


@pytest.mark.parametrize("path", ["/login", "/notes"])
def test_the_account_goes_to_no_other_host(
    server: OpenReviewServer, puller: Puller, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FileServer({path: b'{"notes": [], "token": "stolen"}'}) as elsewhere:
        fault = redirect(elsewhere.url(path), 307)
        server.plan(*[lambda exchange, query: fault(exchange, None)] * 3, path=path)  # type: ignore[arg-type]
        with pytest.raises(LandingError):
            puller.pull(server)
        assert all("authorization" not in request.headers for request in elsewhere.seen)
        assert path == "/notes" or elsewhere.seen == []


# Limits and trouble


def test_a_limit_beyond_the_cap_ends_at_once_and_goes_on_later(server: OpenReviewServer, puller: Puller) -> None:
    server.before(3, lambda: server.plan(rate_limited(3600)))

    said = puller.skipped(server)

    assert "limits requests (RateLimitError Too many requests: You have made 37 requests" in said
    assert "it may go on in 1 hour, at " in said
    assert said.endswith("2 pages are kept, and the next run continues from them.")
    assert puller.left == ["crawl.json", "page-00001.json", "page-00002.json"]
    assert len(server.queries) == 3
    cursor = server.papers()[7]
    server.touch(server.papers()[0], {"title": "Changed meanwhile"})
    server.remove(server.papers()[4])

    assert puller.pull(server) is not None

    assert server.queries[0]["after"] == cursor
    assert shows_all(puller, server)
    assert puller.left == []


def test_a_process_that_dies_goes_on_later(server: OpenReviewServer, puller: Puller) -> None:
    class Killed(BaseException):
        pass

    original = Crawl.save
    saves = 0

    def save(self: Crawl) -> None:
        nonlocal saves
        saves += 1
        if saves == 2:
            raise Killed  # the second page is on disk and not noted
        original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Crawl, "save", save)
        with pytest.raises(Killed):
            puller.pull(server)
    assert puller.left == ["crawl.json", "page-00001.json", "page-00002.json"]

    assert puller.pull(server) is not None
    assert server.queries[0]["after"] == server.papers()[3]
    assert shows_all(puller, server)


def test_a_limit_during_an_increment_goes_on_later(server: OpenReviewServer, puller: Puller) -> None:
    puller.pull(server)
    ids = server.papers()
    for position in (0, 5, 9):
        server.touch(ids[position])
    server.remove(ids[2])
    server.before(5, lambda: server.plan(rate_limited(3600)))
    snapshot = [path.read_bytes() for path in puller.previous]

    assert "the next run continues" in puller.skipped(server)
    assert [path.read_bytes() for path in puller.previous] == snapshot
    assert puller.pull(server) is not None
    assert shows_all(puller, server)


@pytest.mark.parametrize("spoilt", ["page", "state", "invitation", "full"])
def test_an_interrupted_crawl_that_does_not_fit_starts_anew(
    server: OpenReviewServer, puller: Puller, spoilt: str
) -> None:
    server.before(3, lambda: server.plan(rate_limited(3600)))
    puller.skipped(server)
    options: dict[str, Any] = {}
    if spoilt == "page":
        (puller.into / "page-00001.json").write_bytes(b'{"notes": []}')
    elif spoilt == "state":
        (puller.into / "crawl.json").write_bytes(b'{"version": 1')
    elif spoilt == "invitation":
        options["submissions"] = "ICLR.cc/2026/Conference/-/Post_Submission"
    else:
        options["full"] = True

    assert puller.pull(server, **options) is not None
    assert "after" not in server.queries[0]
    assert shows_all(puller, server)


@pytest.mark.parametrize(
    "limit",
    [
        rate_limited(1),
        rate_limited(1, header=False),
        rate_limited(3600, header=False, words="", reset_time=(datetime.now(UTC) - timedelta(1)).isoformat()),
    ],
    ids=["header", "words", "reset time"],
)
def test_a_short_limit_is_waited_for(
    server: OpenReviewServer, puller: Puller, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("pipelines.sources.http.retries.sleep", slept.append)
    server.before(2, lambda: server.plan(limit))

    assert puller.pull(server) is not None

    assert shows_all(puller, server)
    line = next(line for line in puller.said if "waiting" in line)
    assert "limits requests" in line
    assert "as the server asks, then attempt 2 of 3" in line
    assert slept in ([1.0], [0.0])


def test_limits_that_add_up_beyond_the_cap(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.sleep", lambda seconds: None)
    server.plan(*[rate_limited(1.5)] * 3)
    assert "limits requests" in puller.skipped(server)
    assert len(server.queries) == 2
    server.plan(*[rate_limited(0)] * 9)
    assert "limits requests" in puller.skipped(server)


@pytest.mark.parametrize(
    ("too_many", "settings"),
    [
        (failing(502), SETTINGS),
        (failing(413, "PayloadTooLargeError"), SETTINGS),
        (silent(), SETTINGS.model_copy(update={"http_timeout_seconds": 0.3})),
        (lambda exchange, query: exchange.hang_up(), SETTINGS),
        (raw(200, "application/json", b'{"notes": [{"id": "cut sho'), SETTINGS),
        (raw(200, "application/json", b" " * 200_000), SETTINGS),
    ],
    ids=["502", "413", "silent", "hangs up", "cut", "too large"],
)
def test_pages_shrink_where_the_server_cannot_cope(
    server: OpenReviewServer, puller: Puller, monkeypatch: pytest.MonkeyPatch, too_many: Any, settings: Settings
) -> None:
    ask = http.ask
    monkeypatch.setattr(http, "ask", lambda *given, **options: ask(*given, **options, max_bytes=100_000))
    server.most_at_once = 3
    server.too_many = too_many

    assert puller.pull(server, settings, page_size=8) is not None

    limits = [query["limit"] for query in server.queries if "select" not in query]
    assert limits[:6] == ["8", "4", "2", "2", "2", "2"]
    assert "4" in limits[6:], "it tries more again"
    assert "asking for 4 notes at a time instead of 8" in "".join(puller.said)
    assert shows_all(puller, server)


def test_trouble_that_is_not_about_size(server: OpenReviewServer, puller: Puller) -> None:
    server.plan(failing(503, headers={"Retry-After": "0"}))
    assert puller.pull(server) is not None
    assert {query["limit"] for query in server.queries if "select" not in query} == {"4"}


def test_a_server_that_is_down_leaves_what_was_read(server: OpenReviewServer, puller: Puller) -> None:
    server.before(3, lambda: server.plan(*[failing(502)] * 6))
    said = puller.refused(server)
    assert "the server is in trouble" in said
    assert "gave up after attempt 3 of 3" in said
    assert puller.left == ["crawl.json", "page-00001.json", "page-00002.json"]

    assert puller.pull(server) is not None
    assert shows_all(puller, server)


def test_a_server_that_is_not_there(puller: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenReviewServer(venue(1)) as server:
        pass
    assert "the connection was refused" in puller.refused(server)
    monkeypatch.setenv("OPENREVIEW_TOKEN", TOKEN)
    said = puller.refused(server)
    assert "the connection was refused" in said
    assert not any("instead of" in line for line in puller.said)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            failing(400, "EnumError", "The property sort must be allowed"),
            "(EnumError The property sort must be allowed)",
        ),
        (failing(404, "NotFoundError"), "check 'submissions', 'api' and base_url of the source"),
        (failing(403, "ForbiddenError", "No"), "this account may not read ICLR.cc/2026/Conference/-/Submission"),
        (raw(200, "text/html", b"<!DOCTYPE html><p>Maintenance"), "an HTML page instead of JSON"),
        (raw(200, "application/json", b'{"papers": []}'), "has no list 'notes'"),
        (raw(200, "application/json", b"[]"), "has no list 'notes'"),
    ],
)
def test_answers_that_no_retry_mends(server: OpenReviewServer, puller: Puller, fault: Any, words: str) -> None:
    server.plan(fault)
    assert words in puller.refused(server)
    assert len(server.queries) == 1


def test_an_invitation_without_notes(server: OpenReviewServer, puller: Puller) -> None:
    said = puller.skipped(server, submissions="ICLR.cc/2026/Conference/-/Submissions")
    assert "ICLR.cc/2026/Conference/-/Submissions has no notes; check 'submissions' and 'api'" in said


def test_a_server_that_ignores_the_cursor(server: OpenReviewServer, puller: Puller) -> None:
    page = json.dumps({"notes": [{"id": note_id(number), "tmdate": 1} for number in range(4)]}).encode()
    server.plan(*[raw(200, "application/json", page)] * 2)
    assert "does not honour 'after'" in puller.refused(server)
