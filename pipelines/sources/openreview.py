"""A venue's notes from the OpenReview API (v1 and v2), as pages of JSON exactly as the API sends them.

Here belongs the API's protocol: logging in, paging, waiting, and the proof that the pages are complete. What a note
means belongs in the dbt project; how pages split into records, in `records.py`.

**Paging.** `GET /notes?invitation=...&details=replies&sort=id&limit=...`, then `after=<last id>` until an empty page.
A page is landed as it came. Where the server cannot cope (5xx, time-out, an answer too large), half as many notes are
asked for, and after some good pages twice as many again. Both APIs page alike; they differ in what a note looks like.

**Drift.** Notes come, go and change while a crawl runs. After it a light pass asks for the id and `tmdate` of every
paper and every reply (`select`), and nothing else. What the pages lack, or hold in another version, is fetched anew;
a page that holds a note which is gone is dropped, and the rest of it fetched anew. Another light pass follows, until
one agrees with the pages: then their ids are the final set. `count` may be missing, and may count what an account
cannot see; where it speaks against a light pass that lacks papers, that pass is repeated once, and else it is told.
A server that does not select inside replies is read in full instead, which is slower and proves the same.

**Increments.** A pull that finds an earlier snapshot starts from its pages (hard links) and the same light pass, so it
fetches what has a later `tmdate`, and the papers that have a new or changed reply: a new review leaves its paper's
own `tmdate` alone. Requests are what OpenReview limits (about a hundred in half an hour, openreview issue 437), so
changed papers that stand near each other are fetched in one request, with what is between them. A note may then be
in two pages; the later version counts, and a page that later pages cover wholly is dropped. A deletion is not a
version, hence the dropped pages. A note deleted with a trace has a `ddate` and is landed like any other.

**Stopping.** Each page is noted in `crawl.json` beside the pages, with the cursor. Whatever ends a crawl (a limit on
requests beyond the cap, a crash), the next pull of the same invitation continues from there.

Sources of facts: docs and issues of OpenReview, and openreview-py. `after` and `select` exist in both APIs
(`Client.get_notes`, `api.OpenReviewClient.get_all_notes`; both page by `tools.efficient_iterget`, sorted by id). There
is no dependable filter by `tmdate` for notes (openreview-py has `mintmdate` for tags only). `select` reaches into
replies as `details.replies[*].id`, and drops replies that it does not name; OpenReview's own web pages use it so.
"""

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256 as hash_of
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

from pipelines.config.editions import OpenReviewSource
from pipelines.config.settings import Settings
from pipelines.formats.records import parse
from pipelines.sources import http
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log, SourceSkipped
from pipelines.warehouse import sha256

T = TypeVar("T")

STATE_NAME = "crawl.json"
LARGEST_PAGE = 1000  # the API clamps what is above
LIGHT = ",".join(f"{prefix}{name}" for prefix in ("", "details.replies[*].") for name in ("id", "tmdate", "tcdate"))
GOOD_PAGES_BEFORE_GROWTH = 4
ROUNDS = 6  # of repair; each covers only what changed during the one before
TOKEN_SECONDS = 24 * 3600
_STATE_VERSION = 1
_PAGE_NAME = re.compile(r"page-(\d{5,})\.json")
_UNITS = {"hour": 3600, "minute": 60, "second": 1}


def fetch(
    source: OpenReviewSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the notes of the source's invitation, with their replies, into the folder `into`.

    The account is OPENREVIEW_TOKEN, or OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; it goes to `base_url` only.

    Args:
        source: which notes of which API; `full` (or OPENREVIEW_FULL=1) reads all anew.
        into: an existing folder; what an interrupted crawl left there is continued.
        landed: (file name, sha256) of the current snapshot.
        previous: the files of the current snapshot, for a pull of only what changed.

    Returns:
        The pages in the order in which they came, or None where they are exactly the landed ones. `as_of` is the
        server's own time when it last showed that the pages are complete.

    Raises:
        SourceSkipped: no account, or one that the API does not let in; or it wants a longer pause than
            `settings.http_max_wait_seconds`. What has been fetched stays in `into`.
        LandingError: anything else that goes wrong, in one sentence.
    """
    credentials = _Credentials.from_environment(source)
    is_full = source.full or os.environ.get("OPENREVIEW_FULL", "").lower() in {"1", "true", "yes"}
    crawl = _Crawl.open(into, source, is_full=is_full, previous=previous, landed=landed, log=log)
    try:
        with _Api(source, credentials, settings, log) as api:
            if not crawl.is_whole:
                _read_all(crawl, api, log)
            as_of = _settle(crawl, api, log)
    except _LimitedError as limit:
        kept = f"{len(crawl.pages)} pages are kept, and the next run continues from them."
        raise SourceSkipped(f"{limit}; {kept}") from None
    except _RefusedError:
        crawl.discard()  # the cursor itself may be what the server does not like
        raise
    crawl.close()
    if landed and landed == set(crawl.hashes.items()):
        crawl.discard()
        log(f"{source.submissions}: unchanged, the same pages are landed already.")
        return None
    query = urlencode({"invitation": source.submissions, "details": "replies", "sort": "id"})
    url = f"{http.shown(source.base_url).rstrip('/')}/notes?{query}"
    return Fetched([FetchedFile(name, into / name, url) for name in crawl.pages], url, as_of=as_of)


@dataclass(frozen=True)
class _Paper:
    """A paper as it was seen: `tmdate` (epoch ms) of its own note, and of each reply by the reply's id."""

    changed_at: float
    replies: Mapping[str, float]


@dataclass(frozen=True)
class _Page:
    """One answer to `GET /notes`."""

    body: bytes
    notes: list[Any]
    count: int | None
    date: datetime | None

    @property
    def last_id(self) -> str | None:
        return next((str(note["id"]) for note in reversed(self.notes) if _id_of(note)), None)


# The crawl


def _read_all(crawl: "_Crawl", api: "_Api", log: Log) -> None:
    """Page through the invitation, from the crawl's cursor to the end."""
    count = None
    while True:
        page = api.notes(api.heavy, _beyond(crawl.cursor))
        count = count or page.count
        if not page.notes:
            break
        known = crawl.held()
        crawl.cursor = _advanced(api, page, known)
        crawl.add(page)
        total = f" of {count}" if count is not None else ""
        log(f"{api.invitation}: {len(known) + len(page.notes)}{total} papers read.")
    crawl.is_whole = True
    crawl.save()


def _settle(crawl: "_Crawl", api: "_Api", log: Log) -> datetime | None:
    """Repair the pages until a light pass agrees with them; gives the server's time at its end."""
    doubted: set[str] | None = None
    for round_number in range(ROUNDS + 1):
        papers, count, date = api.census()
        held = crawl.held()
        if len(papers) < min(1 if count is None else count, len(held)) and papers.keys() != doubted:
            counts = "" if count is None else f"counts {count} papers and "
            log(f"{api.invitation}: the server {counts}showed {len(papers)}; asking again.")
            doubted = set(papers)
            papers, count, date = api.census()
        if not papers:
            what = f"shows none of the {len(held)} papers any more" if held else "has no notes"
            message = (
                f"{api.place}: {api.invitation} {what}; check 'submissions' and 'api' of the source, and whether this "
                "account may read them."
            )
            # Some years have no withdrawn or desk-rejected papers under an invitation of their own.
            raise LandingError(message) if held else SourceSkipped(message)
        outdated, needed = crawl.compare(papers)
        if not outdated and not needed:
            if count is not None and count != len(papers):
                log(f"{api.invitation}: the server counts {count} papers and shows {len(papers)} to this account.")
            return date
        missing = [paper_id for paper_id in needed if paper_id not in held]
        if round_number == ROUNDS:
            break
        log(
            f"{api.invitation}: {len(missing)} papers are new, {len(needed) - len(missing)} changed or are read again, "
            f"{len(outdated)} pages hold notes that are gone; fetching the difference."
        )
        crawl.drop(outdated)
        _fetch_some(crawl, api, list(papers), set(needed))
        crawl.drop(crawl.superseded())
    if missing or outdated:
        raise LandingError(
            f"{api.place}: {api.invitation} kept changing through {ROUNDS} rounds of repair ({len(missing)} papers "
            f"missing, {len(outdated)} pages out of date); run again when it is quieter, the pages are kept."
        )
    log(f"{api.invitation}: {len(needed)} papers changed while they were read; the next pull brings them.")
    return date


def _fetch_some(crawl: "_Crawl", api: "_Api", ids: list[str], needed: set[str]) -> None:
    """Fetch the needed papers of `ids` (in the server's order) in as few requests as the page size allows."""
    positions = [position for position, paper in enumerate(ids) if paper in needed]
    while positions:
        start = positions[0]
        within = [position for position in positions if position < start + api.heavy.most]
        positions = positions[len(within) :]
        left, cursor = within[-1] - start + 1, ids[start - 1] if start else None
        while left > 0:
            page = api.notes(api.heavy, _beyond(cursor, is_counted=False), most=left)
            if not page.notes:
                break
            cursor = _advanced(api, page, [cursor] if cursor else [])
            crawl.add(page)
            left -= len(page.notes)


def _beyond(cursor: str | None, *, is_counted: bool = True) -> dict[str, str]:
    """The query for what comes after the cursor; `count` can be had with the first page only."""
    first = {"count": "true"} if is_counted else {}
    return {"after": cursor} if cursor else first


def _advanced(api: "_Api", page: _Page, known: Iterable[str]) -> str:
    """The cursor after this page; an error where it would lead round in a circle."""
    ids = {_id_of(note) for note in page.notes} - {None}
    if not page.last_id or ids <= set(known):
        raise LandingError(
            f"{api.place}: a page brings no note beyond the last one, so the server does not honour 'after'; "
            "check that base_url and 'api' of the source belong together."
        )
    return page.last_id


class _Crawl:
    """The pages on disk, what they hold, and the note from which another process continues.

    `pages` has the papers of each page by its file name, in the order of fetching; of two versions the later counts.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        self.identity = identity
        self.pages: dict[str, dict[str, _Paper]] = {}
        self.hashes: dict[str, str] = {}
        self.cursor: str | None = None
        self.is_whole = False

    @classmethod
    def open(
        cls,
        folder: Path,
        source: OpenReviewSource,
        *,
        is_full: bool,
        previous: Sequence[Path],
        landed: frozenset[tuple[str, str]],
        log: Log,
    ) -> Self:
        """A crawl that was interrupted, else one that starts from the previous snapshot, else a new one."""
        identity = {"version": _STATE_VERSION, "api": source.api, "base_url": http.shown(source.base_url)}
        crawl = cls(folder, identity | {"invitation": source.submissions, "is_full": is_full})
        if crawl._resume():
            log(f"{source.submissions}: continuing an interrupted crawl of {len(crawl.pages)} pages.")
            return crawl
        crawl.discard()
        if previous and not is_full:
            crawl._begin_from(previous, dict(landed))
            log(f"{source.submissions}: looking for what changed since {len(crawl.held())} papers landed.")
        return crawl

    def held(self) -> dict[str, _Paper]:
        """The papers of all pages, each in its latest version."""
        return {paper_id: paper for papers in self.pages.values() for paper_id, paper in papers.items()}

    def compare(self, papers: Mapping[str, _Paper]) -> tuple[list[str], list[str]]:
        """Against what the server has now: pages that hold what is gone, and papers to fetch if those are dropped."""
        outdated: list[str] = []
        kept: dict[str, _Paper] = {}
        for name, held in self.pages.items():
            if any(_is_gone(paper, papers.get(paper_id)) for paper_id, paper in held.items()):
                outdated.append(name)
            else:
                kept |= held
        return outdated, [paper_id for paper_id, paper in papers.items() if kept.get(paper_id) != paper]

    def superseded(self) -> list[str]:
        """Pages of which every paper is in a later page too."""
        later: set[str] = set()
        names = []
        for name, papers in reversed(self.pages.items()):
            if papers.keys() <= later:
                names.append(name)
            else:
                later |= papers.keys()
        return names

    def add(self, page: _Page) -> None:
        last = max((int(match[1]) for name in self.pages if (match := _PAGE_NAME.fullmatch(name))), default=0)
        name = f"page-{last + 1:05d}.json"
        _write(self.folder / name, page.body)
        self.pages[name] = _papers(page.notes)
        self.hashes[name] = hash_of(page.body).hexdigest()
        self.save()

    def drop(self, names: Iterable[str]) -> None:
        dropped = list(names)
        for name in dropped:
            del self.pages[name], self.hashes[name]
        self.save()
        for name in dropped:
            (self.folder / name).unlink(missing_ok=True)

    def save(self) -> None:
        state = {**self.identity, "is_whole": self.is_whole, "cursor": self.cursor, "pages": self.hashes}
        _write(self.folder / STATE_NAME, json.dumps(state, indent=2).encode())

    def close(self) -> None:
        """The pages now belong to the caller."""
        (self.folder / STATE_NAME).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove every trace of a crawl from the folder."""
        self.close()
        for path in [*self.folder.glob("page-*.json*"), *self.folder.glob(f"{STATE_NAME}.part")]:
            path.unlink()
        self.pages, self.hashes, self.cursor, self.is_whole = {}, {}, None, False

    def _resume(self) -> bool:
        """Take over what the state file describes, if it fits and its pages are as it says."""
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            state = json.loads((self.folder / STATE_NAME).read_bytes())
            # A full crawl is as good as any other for who did not ask for one.
            wanted = {**self.identity, "is_full": state["is_full"] or self.identity["is_full"]}
            if any(state[key] != value for key, value in wanted.items()):
                return False
            pages = {}
            for name, digest in state["pages"].items():
                if not _PAGE_NAME.fullmatch(name) or sha256(self.folder / name) != digest:
                    return False
                pages[name] = _papers(_load(self.folder / name))
            self.pages, self.hashes = pages, dict(state["pages"])
            self.cursor, self.is_whole = state["cursor"], state["is_whole"]
            self.identity = wanted
            return bool(pages)
        return False

    def _begin_from(self, previous: Sequence[Path], landed: Mapping[str, str]) -> None:
        for path in previous:
            if not _PAGE_NAME.fullmatch(path.name):
                continue
            target = self.folder / path.name
            try:
                target.hardlink_to(path)
            except OSError:  # another disk, or one without links
                _write(target, path.read_bytes())
            self.pages[path.name] = _papers(_load(path))
            self.hashes[path.name] = landed.get(path.name) or sha256(path)
        self.is_whole = True
        self.save()


def _is_gone(held: _Paper, now: _Paper | None) -> bool:
    """Whether a held version has what the server no longer has: the paper, a reply, or a later date."""
    if now is None or held.changed_at > now.changed_at:
        return True
    return any(changed_at > now.replies.get(reply, -1) for reply, changed_at in held.replies.items())


def _papers(notes: Iterable[Any]) -> dict[str, _Paper]:
    """The papers of a page by id. Ids are interned, since a crawl holds each of them several times."""
    papers = {}
    for note in notes:
        if paper_id := _id_of(note):
            replies = {reply_id: _changed_at(one) for one in _replies(note) or [] if (reply_id := _id_of(one))}
            papers[paper_id] = _Paper(_changed_at(note), replies)
    return papers


def _id_of(note: Any) -> str | None:
    given = note.get("id") if isinstance(note, dict) else None
    return sys.intern(given) if isinstance(given, str) and given else None


def _replies(note: Any) -> list[Any] | None:
    """The replies that a note came with, at any depth; None where it came without such a list."""
    details = note.get("details") if isinstance(note, dict) else None
    replies = details.get("replies") if isinstance(details, dict) else None
    return replies if isinstance(replies, list) else None


def _changed_at(note: Mapping[str, Any]) -> float:
    """The server's own date of the last change, epoch ms; records.py decides by the same one."""
    changed = note.get("tmdate") or note.get("tcdate") or 0
    return changed if isinstance(changed, int | float) else 0


def _load(path: Path) -> list[Any]:
    """The notes of a page on disk; none where it cannot be read, so that they count as missing."""
    with contextlib.suppress(ValueError, RecursionError):
        page = parse(path.read_bytes().decode("utf-8-sig", errors="replace"))
        notes = page.get("notes") if isinstance(page, dict) else None
        return notes if isinstance(notes, list) else []
    return []


def _write(path: Path, body: bytes) -> None:
    """The file appears whole, also after a power cut."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise LandingError(f"{path}: cannot be written ({error.strerror or error}); check the disk.") from None


# The protocol


class _LimitedError(http.TransientError):
    """429: the API wants a pause, of `wait_seconds` where it says so."""


class _ShutOutError(Exception):
    """The API does not take the token that was sent."""


class _RefusedError(LandingError):
    """The API does not take the request, and will not the next time."""


class _TooMuchError(Exception):
    """The server could not cope, perhaps because too much was asked for at once."""


@dataclass(frozen=True, repr=False)
class _Credentials:
    token: str | None
    username: str | None
    password: str | None

    @classmethod
    def from_environment(cls, source: OpenReviewSource) -> Self:
        """Raises SourceSkipped without an account: anonymous calls have been refused since the summer of 2026."""
        token = os.environ.get("OPENREVIEW_TOKEN", "").strip().removeprefix("Bearer ").strip()
        username = os.environ.get("OPENREVIEW_USERNAME", "").strip()
        password = os.environ.get("OPENREVIEW_PASSWORD", "")
        if not token and not (username and password):
            raise SourceSkipped(
                f"OpenReview answers accounts only: set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or "
                f"OPENREVIEW_TOKEN, to pull {source.submissions}."
            )
        if not re.fullmatch(r"[!-~]*", token):
            raise SourceSkipped(
                "OPENREVIEW_TOKEN holds a blank, a line break or a character outside ASCII; copy the token again."
            )
        return cls(token or None, username or None, password or None)

    @property
    def can_log_in(self) -> bool:
        return bool(self.username and self.password)


@dataclass
class _PageSize:
    """How many notes to ask for at once: halves where the server cannot cope, doubles after some good pages."""

    most: int
    now: int = field(init=False)
    good: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.now = self.most

    def shrink(self, asked: int) -> None:
        self.now, self.good = max(1, asked // 2), 0

    def went_well(self) -> None:
        self.good += 1
        if self.good >= GOOD_PAGES_BEFORE_GROWTH and self.now < self.most:
            self.now, self.good = min(self.most, self.now * 2), 0


class _Api:
    """One API at one address, as one account sees it."""

    def __init__(self, source: OpenReviewSource, credentials: _Credentials, settings: Settings, log: Log) -> None:
        self.base_url = source.base_url.rstrip("/")
        self.place = http.shown(self.base_url)
        self.invitation = source.submissions
        self.heavy = _PageSize(min(source.page_size, LARGEST_PAGE))
        self.light = _PageSize(LARGEST_PAGE)
        self._credentials = credentials
        self._token = credentials.token
        self._settings = settings
        self._log = log
        self._client = http.session()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def census(self) -> tuple[dict[str, _Paper], int | None, datetime | None]:
        """Every paper as the server has it now, in its order; the `count` it gives, and its time at the end."""
        papers, pages, is_light = self._all(self.light, {"select": LIGHT})
        if papers and not is_light:
            papers, pages, _ = self._all(self.heavy, {})
        return papers, pages[0].count, pages[-1].date

    def notes(self, size: _PageSize, query: Mapping[str, str], *, most: int = LARGEST_PAGE) -> _Page:
        """One page of at most `most` notes of the invitation, smaller where the server cannot cope."""
        while True:
            asked = min(size.now, most)
            parameters = {
                "invitation": self.invitation,
                "details": "replies",
                "sort": "id",
                "limit": str(asked),
                **query,
            }
            try:
                page = self._patiently(lambda url: self._page(url, can_shrink=asked > 1), parameters)  # noqa: B023
            except _TooMuchError as trouble:
                size.shrink(asked)
                self._log(f"{trouble}; asking for {size.now} notes at a time instead of {asked}.")
                time.sleep(http.BACKOFF_SECONDS)
            else:
                size.went_well()
                return page

    def _all(self, size: _PageSize, query: Mapping[str, str]) -> tuple[dict[str, _Paper], list[_Page], bool]:
        """All papers; the first and the last page; whether any note came with its date and a list of replies."""
        papers: dict[str, _Paper] = {}
        ends: list[_Page] = []
        cursor, is_telling = None, False
        while True:
            page = self.notes(size, {**query, **_beyond(cursor)})
            ends = [*ends[:1], page]
            if not page.notes:
                return papers, ends, is_telling
            cursor = _advanced(self, page, papers)
            papers |= _papers(page.notes)
            is_telling |= any(_replies(note) is not None and note.get("tmdate") for note in page.notes)

    def _patiently(self, action: Callable[[str], T], parameters: Mapping[str, str]) -> T:
        """Call with retries, and once more with a new login where the token has run out."""
        url = f"{self.base_url}/notes?{urlencode(parameters)}"
        if self._token is None:
            self._retried(self._log_in)
        try:
            return self._retried(lambda: action(url))
        except _ShutOutError as first:
            if not self._credentials.can_log_in:
                raise SourceSkipped(f"{first}; set OPENREVIEW_TOKEN to a new token.") from None
        self._retried(self._log_in)
        try:
            return self._retried(lambda: action(url))
        except _ShutOutError as second:
            raise SourceSkipped(f"{second}, fresh from a login; log in with a browser to see what it wants.") from None

    def _retried(self, action: Callable[[], T]) -> T:
        """`http.retrying`, which waits no longer than the settings allow; a limit on requests ends as _LimitedError."""
        limit: _LimitedError | None = None

        def attempt() -> T:
            nonlocal limit
            limit = None
            try:
                return action()
            except _LimitedError as error:
                limit = error
                raise

        try:
            return http.retrying(attempt, settings=self._settings, log=self._log)
        except LandingError:
            if limit is None:
                raise
        raise _LimitedError(self._explained(limit))

    def _explained(self, limit: _LimitedError) -> str:
        if limit.wait_seconds is None:
            return f"{limit}; try again in some minutes"
        until = datetime.now(UTC) + timedelta(seconds=limit.wait_seconds)
        return (
            f"{limit}; it may go on in {http.duration_text(limit.wait_seconds)}, at {until:%Y-%m-%d %H:%M} UTC, and "
            f"HTTP_MAX_WAIT_SECONDS={self._settings.http_max_wait_seconds:g} with "
            f"HTTP_ATTEMPTS={self._settings.http_attempts} allows no more waiting"
        )

    def _page(self, url: str, *, can_shrink: bool) -> _Page:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        try:
            answer = http.ask(self._client, url, settings=self._settings, headers=headers)
            if answer.status != 200 or answer.is_html:
                raise self._refusal(answer)
            return self._parsed(answer)
        except _LimitedError:
            raise
        except http.TooLargeError as error:
            if not can_shrink:
                raise
            raise _TooMuchError(str(error).rstrip(".")) from None
        except http.TransientError as error:
            if not can_shrink or error.wait_seconds is not None or not http.was_reached(error):
                raise
            raise _TooMuchError(str(error)) from None

    def _parsed(self, answer: http.Answer) -> _Page:
        try:
            page = parse(answer.body.decode("utf-8-sig", errors="replace"))
        except (ValueError, RecursionError):
            raise http.TransientError(f"{self.place}: the answer is not JSON, or was cut short") from None
        notes = page.get("notes") if isinstance(page, dict) else None
        if not isinstance(notes, list):
            raise LandingError(
                f"{self.place}: the answer has no list 'notes', so this is no OpenReview API; correct base_url."
            )
        count = page.get("count")
        return _Page(answer.body, notes, count if isinstance(count, int) else None, answer.date)

    def _log_in(self) -> None:
        """Raises SourceSkipped where the account cannot be used by a script."""
        account = {"id": self._credentials.username, "password": self._credentials.password}
        answer = http.ask(
            self._client,
            f"{self.base_url}/login",
            settings=self._settings,
            headers={"Accept": "application/json"},
            json={**account, "expiresIn": TOKEN_SECONDS},
        )
        said = _said(answer)
        if answer.status == 200 and said.get("mfaPending"):
            raise SourceSkipped(
                f"{self.place}: this account logs in with a second factor, which a script cannot give; log in with a "
                "browser and set OPENREVIEW_TOKEN, or use an account without."
            )
        token = said.get("token")
        if answer.status == 200 and isinstance(token, str) and re.fullmatch(r"[!-~]+", token):
            self._token = token
            return
        if answer.status in {400, 401, 403} and not _is_challenge(answer):
            raise SourceSkipped(
                f"{self.place}: the login is refused; check OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD."
            )
        try:
            raise self._refusal(answer)
        except _ShutOutError as error:
            raise SourceSkipped(f"{error}; log in with a browser and set OPENREVIEW_TOKEN.") from None

    def _refusal(self, answer: http.Answer) -> Exception:
        """An answer that brings nothing, as an error of ours."""
        if _is_challenge(answer):
            return _ShutOutError(f"{self.place} asks for proof of a human (ChallengeRequiredError)")
        if answer.is_html:
            return LandingError(f"{self.place}: the server sent an HTML page instead of JSON; correct base_url.")
        said = " ".join(self._clean(_said(answer).get(key)) for key in ("name", "message")).strip()
        if answer.status == 429:
            return _LimitedError(
                f"{self.place} limits requests ({said or 'status 429'})", asked_wait(answer, _said(answer))
            )
        if answer.status == 401:
            return _ShutOutError(f"{self.place} does not take the token (status 401)")
        sentence = f"{self.place}: {http.status_sentence(answer.status)}" + (f" ({said})" if said else "")
        if http.is_retried(answer.status) or answer.status == 413:
            return http.TransientError(sentence, http.asked_wait(answer.status, answer.headers))
        if answer.status == 403:
            return LandingError(f"{self.place}: this account may not read {self.invitation} ({said or 'status 403'}).")
        return _RefusedError(f"{sentence}; check 'submissions', 'api' and base_url of the source.")

    def _clean(self, given: object) -> str:
        """What a server says, fit to be shown: short, printable, and without our secrets should it repeat them."""
        text = "".join(character for character in str(given or "") if character.isprintable())
        for secret in (self._token, self._credentials.password):
            text = text.replace(secret, "***") if secret else text
        return text[:200]


def asked_wait(answer: http.Answer, said: Mapping[str, Any]) -> float | None:
    """Seconds that a 429 asks for: by Retry-After, else `details.resetTime`, else the words of its message.

    `resetTime` is a date (ISO 8601, or epoch ms); it is read by the server's own clock, since ours may differ.
    """
    header = http.asked_wait(answer.status, answer.headers)
    if header is not None:
        return header
    details = said.get("details")
    reset = _as_date(details.get("resetTime")) if isinstance(details, dict) else None
    if reset:
        return max(0.0, (reset - (answer.date or datetime.now(UTC))).total_seconds())
    words = re.search(r"try again in (.*)", str(said.get("message")), re.IGNORECASE)
    parts = re.findall(r"(\d+) (hour|minute|second)s?", words[1]) if words else []
    return float(sum(int(number) * _UNITS[unit] for number, unit in parts)) if parts else None


def _as_date(given: object) -> datetime | None:
    with contextlib.suppress(ValueError, OverflowError, OSError):
        if isinstance(given, int | float):
            return datetime.fromtimestamp(given / 1000, UTC)
        if isinstance(given, str):
            date = datetime.fromisoformat(given)
            return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def _said(answer: http.Answer) -> dict[str, Any]:
    """The JSON object that an answer carries, or an empty one."""
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(answer.body)
        return said if isinstance(said, dict) else {}
    return {}


def _is_challenge(answer: http.Answer) -> bool:
    """The API's own error, or the page to which it redirects instead."""
    is_page = answer.is_html and "challenge" in answer.url.lower()
    return is_page or (answer.status == 403 and _said(answer).get("name") == "ChallengeRequiredError")
