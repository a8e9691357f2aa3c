"""Answers that are read whole into memory: an API's JSON, or the body of a refusal.

Here belongs nothing of a file on its way to disk: that is `transfer.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import requests
import urllib3

from pipelines.config.settings import Settings
from pipelines.formats.records import parse
from pipelines.sources.fetched import LandingError, Log
from pipelines.sources.http.errors import Explain, TooLargeError, TransientError, explained, shown
from pipelines.sources.http.reading import HTML_START, read_whole
from pipelines.sources.http.retries import http_date, refusal, retrying
from pipelines.sources.http.sessions import get, leave_as_is, session


@dataclass(frozen=True)
class Answer:
    """One answer read whole, whatever its status. `url` is where it came from in the end, fit to be shown."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str

    @property
    def is_html(self) -> bool:
        is_said = self.headers.get("Content-Type", "").lower().startswith(("text/html", "application/xhtml"))
        return is_said or HTML_START.match(self.body) is not None

    @property
    def date(self) -> datetime | None:
        """The server's own clock, UTC, where it tells the time."""
        return http_date(self.headers.get("Date"))


def ask(
    client: requests.Session,
    url: str,
    *,
    settings: Settings,
    headers: Mapping[str, str] | None = None,
    json: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
) -> Answer:
    """One request and its whole answer, for callers to whom the body of a refusal matters too.

    The answer may have `settings.max_batch_bytes`, unless the caller takes less.
    A GET follows redirects as `get` does; with `json` it is a POST, which follows none, since what it carries is meant
    for this address alone.

    Raises:
        TransientError: the connection failed in a way that may pass; `was_reached` tells on which side.
        TooLargeError: the body, unpacked, goes beyond that.
        LandingError: it failed for good.
    """
    try:
        if json is None:
            response = get(client, url, settings=settings, headers=headers)
        else:
            response = client.post(
                url,
                json=json,
                headers=dict(headers or {}),
                auth=leave_as_is,
                timeout=settings.http_timeout_seconds,
                stream=True,
                allow_redirects=False,
            )
        with response:
            try:
                body = read_whole(response, url, max_bytes or settings.max_batch_bytes, settings)
            except LandingError as error:
                raise TooLargeError(str(error)) from None
            return Answer(response.status_code, response.headers, body, shown(response.url))
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise explained(error, url, settings) from None


def get_json(
    url: str,
    *,
    settings: Settings,
    log: Log,
    headers: Mapping[str, str] | None = None,
    explain: Explain | None = None,
) -> Any:
    """The JSON at an address, with the retries, waits and limits of a download; `explain` as there.

    It is held in memory, so unpacked it has at most `settings.max_batch_bytes`.

    A body that does not parse is asked for again, since a cut gzip body ends without any other sign.

    Raises:
        LandingError: in one sentence, without secrets.
    """

    def attempt() -> Any:
        answer = ask(client, url, settings=settings, headers=headers)
        if answer.status != 200:
            raise refusal(url, answer.status, answer.headers, explain)
        if answer.is_html:
            raise LandingError(f"{shown(url)}: the server sent an HTML page instead of JSON; check the address.")
        try:
            return parse(answer.body.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise TransientError(f"{shown(url)}: the answer is not JSON, or was cut short") from None

    with session() as client:
        return retrying(attempt, settings=settings, log=log)
