"""The API at one address, as one account sees it: logging in, one page at a time, and pages that shrink.

Here belongs the protocol of a single request. Which pages a crawl needs belongs in `pull.py`, what a refusal means in
`refusals.py`.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar
from urllib.parse import urlencode

from pipelines.config.editions import OpenReviewSource
from pipelines.config.settings import Settings
from pipelines.formats.records import parse
from pipelines.sources import http
from pipelines.sources.fetched import LandingError, Log, SourceSkipped
from pipelines.sources.openreview.notes import Page, Paper, id_of, papers_of, replies_of
from pipelines.sources.openreview.refusals import (
    LimitedError,
    RefusedError,
    ShutOutError,
    TooMuchError,
    asked_wait,
    is_challenge,
    said_in,
)

T = TypeVar("T")

LARGEST_PAGE = 1000  # the API clamps what is above
LIGHT = ",".join(f"{prefix}{name}" for prefix in ("", "details.replies[*].") for name in ("id", "tmdate", "tcdate"))
GOOD_PAGES_BEFORE_GROWTH = 4
TOKEN_SECONDS = 24 * 3600


@dataclass(frozen=True, repr=False)
class Credentials:
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
class PageSize:
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


class Api:
    """One API at one address, as one account sees it."""

    def __init__(self, source: OpenReviewSource, credentials: Credentials, settings: Settings, log: Log) -> None:
        self.base_url = source.base_url.rstrip("/")
        self.place = http.shown(self.base_url)
        self.invitation = source.submissions
        self.heavy = PageSize(min(source.page_size, LARGEST_PAGE))
        self.light = PageSize(LARGEST_PAGE)
        self._credentials = credentials
        self._token = credentials.token
        self._settings = settings
        self._log = log
        self._client = http.session()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def census(self) -> tuple[dict[str, Paper], int | None, datetime | None]:
        """Every paper as the server has it now, in its order; the `count` it gives, and its time at the end."""
        papers, pages, is_light = self._all(self.light, {"select": LIGHT})
        if papers and not is_light:
            papers, pages, _ = self._all(self.heavy, {})
        return papers, pages[0].count, pages[-1].date

    def notes(self, size: PageSize, query: Mapping[str, str], *, most: int = LARGEST_PAGE) -> Page:
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
            except TooMuchError as trouble:
                size.shrink(asked)
                self._log(f"{trouble}; asking for {size.now} notes at a time instead of {asked}.")
                http.pause()
            else:
                size.went_well()
                return page

    def _all(self, size: PageSize, query: Mapping[str, str]) -> tuple[dict[str, Paper], list[Page], bool]:
        """All papers; the first and the last page; whether any note came with its date and a list of replies."""
        papers: dict[str, Paper] = {}
        ends: list[Page] = []
        cursor, is_telling = None, False
        while True:
            page = self.notes(size, {**query, **beyond(cursor)})
            ends = [*ends[:1], page]
            if not page.notes:
                return papers, ends, is_telling
            cursor = advanced(self, page, papers)
            papers |= papers_of(page.notes)
            is_telling |= any(replies_of(note) is not None and note.get("tmdate") for note in page.notes)

    def _patiently(self, action: Callable[[str], T], parameters: Mapping[str, str]) -> T:
        """Call with retries, and once more with a new login where the token has run out."""
        url = f"{self.base_url}/notes?{urlencode(parameters)}"
        if self._token is None:
            self._retried(self._log_in)
        try:
            return self._retried(lambda: action(url))
        except ShutOutError as first:
            if not self._credentials.can_log_in:
                raise SourceSkipped(f"{first}; set OPENREVIEW_TOKEN to a new token.") from None
        self._retried(self._log_in)
        try:
            return self._retried(lambda: action(url))
        except ShutOutError as second:
            raise SourceSkipped(f"{second}, fresh from a login; log in with a browser to see what it wants.") from None

    def _retried(self, action: Callable[[], T]) -> T:
        """`http.retrying`, which waits no longer than the settings allow; a limit on requests ends as LimitedError."""
        limit: LimitedError | None = None

        def attempt() -> T:
            nonlocal limit
            limit = None
            try:
                return action()
            except LimitedError as error:
                limit = error
                raise

        try:
            return http.retrying(attempt, settings=self._settings, log=self._log)
        except LandingError:
            if limit is None:
                raise
        raise LimitedError(self._explained(limit))

    def _explained(self, limit: LimitedError) -> str:
        if limit.wait_seconds is None:
            return f"{limit}; try again in some minutes"
        until = datetime.now(UTC) + timedelta(seconds=limit.wait_seconds)
        return (
            f"{limit}; it may go on in {http.duration_text(limit.wait_seconds)}, at {until:%Y-%m-%d %H:%M} UTC, and "
            f"HTTP_MAX_WAIT_SECONDS={self._settings.http_max_wait_seconds:g} with "
            f"HTTP_ATTEMPTS={self._settings.http_attempts} allows no more waiting"
        )

    def _page(self, url: str, *, can_shrink: bool) -> Page:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        try:
            answer = http.ask(self._client, url, settings=self._settings, headers=headers)
            if answer.status != 200 or answer.is_html:
                raise self._refusal(answer)
            return self._parsed(answer)
        except LimitedError:
            raise
        except http.TooLargeError as error:
            if not can_shrink:
                raise
            raise TooMuchError(str(error).rstrip(".")) from None
        except http.TransientError as error:
            if not can_shrink or error.wait_seconds is not None or not http.was_reached(error):
                raise
            raise TooMuchError(str(error)) from None

    def _parsed(self, answer: http.Answer) -> Page:
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
        return Page(answer.body, notes, count if isinstance(count, int) else None, answer.date)

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
        said = said_in(answer)
        if answer.status == 200 and said.get("mfaPending"):
            raise SourceSkipped(
                f"{self.place}: this account logs in with a second factor, which a script cannot give; log in with a "
                "browser and set OPENREVIEW_TOKEN, or use an account without."
            )
        token = said.get("token")
        if answer.status == 200 and isinstance(token, str) and re.fullmatch(r"[!-~]+", token):
            self._token = token
            return
        if answer.status in {400, 401, 403} and not is_challenge(answer):
            raise SourceSkipped(
                f"{self.place}: the login is refused; check OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD."
            )
        try:
            raise self._refusal(answer)
        except ShutOutError as error:
            raise SourceSkipped(f"{error}; log in with a browser and set OPENREVIEW_TOKEN.") from None

    def _refusal(self, answer: http.Answer) -> Exception:
        """An answer that brings nothing, as an error of ours."""
        if is_challenge(answer):
            return ShutOutError(f"{self.place} asks for proof of a human (ChallengeRequiredError)")
        if answer.is_html:
            return LandingError(f"{self.place}: the server sent an HTML page instead of JSON; correct base_url.")
        said = " ".join(self._clean(said_in(answer).get(key)) for key in ("name", "message")).strip()
        if answer.status == 429:
            return LimitedError(
                f"{self.place} limits requests ({said or 'status 429'})", asked_wait(answer, said_in(answer))
            )
        if answer.status == 401:
            return ShutOutError(f"{self.place} does not take the token (status 401)")
        sentence = f"{self.place}: {http.status_sentence(answer.status)}" + (f" ({said})" if said else "")
        if http.is_retried(answer.status) or answer.status == 413:
            return http.TransientError(sentence, http.asked_wait(answer.status, answer.headers))
        if answer.status == 403:
            return LandingError(f"{self.place}: this account may not read {self.invitation} ({said or 'status 403'}).")
        return RefusedError(f"{sentence}; check 'submissions', 'api' and base_url of the source.")

    def _clean(self, given: object) -> str:
        """What a server says, fit to be shown: short, printable, and without our secrets should it repeat them."""
        text = "".join(character for character in str(given or "") if character.isprintable())
        for secret in (self._token, self._credentials.password):
            text = text.replace(secret, "***") if secret else text
        return text[:200]


def beyond(cursor: str | None, *, is_counted: bool = True) -> dict[str, str]:
    """The query for what comes after the cursor; `count` can be had with the first page only."""
    first = {"count": "true"} if is_counted else {}
    return {"after": cursor} if cursor else first


def advanced(api: "Api", page: Page, known: Iterable[str]) -> str:
    """The cursor after this page; an error where it would lead round in a circle."""
    ids = {id_of(note) for note in page.notes} - {None}
    if not page.last_id or ids <= set(known):
        raise LandingError(
            f"{api.place}: a page brings no note beyond the last one, so the server does not honour 'after'; "
            "check that base_url and 'api' of the source belong together."
        )
    return page.last_id
