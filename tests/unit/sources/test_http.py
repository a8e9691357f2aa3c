"""The parts of the HTTP layer that need no server: what is shown, what is waited for, when it gives up."""

import itertools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pipelines.config.settings import Settings
from pipelines.sources import http
from pipelines.sources.fetched import LandingError


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/data/a.parquet", "https://example.org/data/a.parquet"),
        ("https://me:pa55@example.org:8080/a?sig=5ecret#part", "https://example.org:8080/a?..."),
        ("https://example.org/a\x1b[31m\u202eb", "https://example.org/a?[31m?b"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, expected: str) -> None:
    assert http.shown(url) == expected


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (503, {"Retry-After": "7"}, 7),
        (429, {"RateLimit": '"api";r=0;t=55'}, 55),
        (429, {"Retry-After": "3", "RateLimit": '"api";r=0;t=55'}, 3),
        (503, {"RateLimit": '"api";r=10;t=55'}, None),
        (503, {"Retry-After": "86400"}, 86400),  # urllib3's own reading stops at six hours, and does not say so
        (503, {"Retry-After": "soon"}, None),
        (503, {}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(status: int, headers: dict[str, str], expected: float | None) -> None:
    assert http.asked_wait(status, headers) == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.31, "0.3 seconds"), (5, "5 seconds"), (290.4, "4 minutes and 50 seconds"), (3600, "1 hour"), (90000, "1 day")],
)
def test_a_duration_in_words(seconds: float, words: str) -> None:
    assert http.duration_text(seconds).startswith(words)


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    earlier = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)

    assert 3000 < (http.asked_wait(503, {"Retry-After": later}) or 0) <= 3600
    assert http.asked_wait(503, {"Retry-After": earlier}) == 0


class Flaky:
    """Fails with the given errors, one a call, then returns how often it was called."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return self.calls


def test_a_passing_failure_is_retried_and_each_wait_is_logged() -> None:
    said: list[str] = []
    settings = Settings(http_attempts=4, http_max_wait_seconds=1)

    calls = http.retrying(
        Flaky(http.TransientError("first"), http.TransientError("second", 0.01)), settings=settings, log=said.append
    )

    assert calls == 3
    assert len(said) == 2
    assert said[0].startswith("first; waiting")
    assert said[0].endswith("attempt 2 of 4.")
    assert "as the server asks" not in said[0]
    assert "second; waiting 0 seconds, as the server asks, then attempt 3 of 4." in said[1]


def test_attempts_are_limited() -> None:
    action = Flaky(*[http.TransientError("the server is in trouble")] * 9)

    with pytest.raises(LandingError, match="the server is in trouble; gave up after attempt 3 of 3") as caught:
        http.retrying(action, settings=Settings(http_attempts=3, http_max_wait_seconds=1), log=lambda line: None)

    assert action.calls == 3
    assert caught.value.__cause__ is None


def test_a_wait_beyond_the_cap_is_an_error_at_once() -> None:
    said: list[str] = []
    action = Flaky(http.TransientError("too many requests", 3600))

    with pytest.raises(LandingError, match=r"1 hour is longer than HTTP_MAX_WAIT_SECONDS=300 allows"):
        http.retrying(action, settings=Settings(http_attempts=5, http_max_wait_seconds=300), log=said.append)

    assert action.calls == 1
    assert said == []


def test_the_cap_counts_all_waits_together() -> None:
    action = Flaky(*[http.TransientError("too many requests", 0.03)] * 9)

    with pytest.raises(LandingError, match="HTTP_MAX_WAIT_SECONDS"):
        http.retrying(action, settings=Settings(http_attempts=99, http_max_wait_seconds=0.07), log=lambda line: None)

    assert action.calls == 3


def test_the_cap_does_not_count_the_time_that_the_work_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """tenacity's own `stop_before_delay` does: after an hour of download it would not try again."""
    clock = itertools.count(step=3600.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    action = Flaky(http.TransientError("the connection broke"))

    assert (
        http.retrying(action, settings=Settings(http_attempts=3, http_max_wait_seconds=1), log=lambda line: None) == 2
    )


def test_what_a_retry_cannot_cure_is_raised_as_it_is() -> None:
    action = Flaky(LandingError("there is nothing at this address"))

    with pytest.raises(LandingError, match=r"^there is nothing at this address$"):
        http.retrying(action, settings=Settings(), log=lambda line: None)

    assert action.calls == 1


@pytest.mark.parametrize("status", [401, 403, 404, 429, 503, 418])
def test_every_status_has_a_sentence(status: int) -> None:
    assert http.status_sentence(status).startswith(f"status {status}: ")
