"""How the API says no, and for how long: its errors as ours, and the wait that a limit on requests asks for.

Here belongs the reading of an answer that brings no notes. What is done about it belongs in `client.py`.
"""

import contextlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pipelines.formats.records import parse
from pipelines.sources import http
from pipelines.sources.fetched import LandingError

_UNITS = {"hour": 3600, "minute": 60, "second": 1}


class LimitedError(http.TransientError):
    """429: the API wants a pause, of `wait_seconds` where it says so."""


class ShutOutError(Exception):
    """The API does not take the token that was sent."""


class RefusedError(LandingError):
    """The API does not take the request, and will not the next time."""


class TooMuchError(Exception):
    """The server could not cope, perhaps because too much was asked for at once."""


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


def said_in(answer: http.Answer) -> dict[str, Any]:
    """The JSON object that an answer carries, or an empty one."""
    with contextlib.suppress(ValueError, RecursionError):
        said = parse(answer.body.decode("utf-8-sig"))
        return said if isinstance(said, dict) else {}
    return {}


def is_challenge(answer: http.Answer) -> bool:
    """The API's own error, or the page to which it redirects instead."""
    is_page = answer.is_html and "challenge" in answer.url.lower()
    return is_page or (answer.status == 403 and said_in(answer).get("name") == "ChallengeRequiredError")
