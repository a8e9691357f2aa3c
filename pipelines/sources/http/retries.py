"""When another attempt is made, how long it waits, and what is said about it; when to give up.

Here belongs what decides about a repeated request. The words for what went wrong belong in `errors.py`.
"""

import email.utils
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import sleep
from typing import NoReturn, TypeVar

import tenacity

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError, Log
from pipelines.sources.http.errors import Explain, TransientError, duration_text, shown, status_sentence

T = TypeVar("T")

BACKOFF_SECONDS = 1.0  # the first wait where the server asks for none; it doubles, with jitter, up to the next
LONGEST_BACKOFF_SECONDS = 30.0


def retrying(action: Callable[[], T], *, settings: Settings, log: Log) -> T:
    """Call `action` until it succeeds, again only after a `TransientError`; each wait is logged, with its reason.

    There are at most `settings.http_attempts` calls, and all waits together stay within
    `settings.http_max_wait_seconds`: a server that asks for more gets an error at once instead of a silent sleep.

    Raises:
        LandingError: the attempts are used up or the next wait is too long; anything else that `action` raises.
    """
    backoff = tenacity.wait_exponential_jitter(
        multiplier=BACKOFF_SECONDS, max=LONGEST_BACKOFF_SECONDS, jitter=BACKOFF_SECONDS
    )

    def failure(state: tenacity.RetryCallState) -> TransientError:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, TransientError)
        return error

    def wait(state: tenacity.RetryCallState) -> float:
        asked = failure(state).wait_seconds
        return backoff(state) if asked is None else asked

    def too_long(state: tenacity.RetryCallState) -> bool:
        return state.idle_for + state.upcoming_sleep > settings.http_max_wait_seconds

    def announce(state: tenacity.RetryCallState) -> None:
        asker = "" if failure(state).wait_seconds is None else ", as the server asks"
        attempt = f"attempt {state.attempt_number + 1} of {settings.http_attempts}"
        log(f"{failure(state)}; waiting {duration_text(state.upcoming_sleep)}{asker}, then {attempt}.")

    def give_up(state: tenacity.RetryCallState) -> NoReturn:
        reason = f"gave up after attempt {state.attempt_number} of {settings.http_attempts}"
        if too_long(state):
            limit = f"HTTP_MAX_WAIT_SECONDS={settings.http_max_wait_seconds:g} allows"
            reason = f"the next wait of {duration_text(state.upcoming_sleep)} is longer than {limit}"
        raise LandingError(f"{failure(state)}; {reason}. Run again later: what has been landed stays as it is.")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        wait=wait,
        stop=lambda state: too_long(state) or state.attempt_number >= settings.http_attempts,
        sleep=sleep,
        before_sleep=announce,
        retry_error_callback=give_up,
    )(action)


def pause() -> None:
    """The wait before the first repetition, for a caller that repeats a request in another form."""
    sleep(BACKOFF_SECONDS)


def refusal(
    url: str, status: int, headers: Mapping[str, str], explain: Explain | None
) -> TransientError | LandingError:
    """An error status as an error of ours: one to retry where that can help."""
    sentence = (explain and explain(status, headers)) or f"{shown(url)}: {status_sentence(status)}"
    return TransientError(sentence, asked_wait(status, headers)) if is_retried(status) else LandingError(f"{sentence}.")


def is_retried(status: int) -> bool:
    """Whether the same request may succeed later: time-outs, too early, too many, and the server's own troubles."""
    return status in {408, 425, 429} or status >= 500


def asked_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to be left alone: Retry-After, or for a 429 the reset time in `RateLimit`.

    `RateLimit: "api";r=0;t=55` is the draft header that the Hugging Face Hub sends; `t` is in seconds.
    """
    given = headers.get("Retry-After", "").strip()
    if given.isdecimal():
        return float(given)
    if when := http_date(given):
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    reset = re.search(r";\s*t=(\d+)", headers.get("RateLimit", ""))
    return float(reset[1]) if reset and status == 429 else None


def http_date(given: str | None) -> datetime | None:
    """A date of a header in UTC; None where there is none that can be read."""
    try:
        when = email.utils.parsedate_to_datetime(given or "")
    except ValueError:
        return None
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
