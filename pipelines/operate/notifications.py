"""Telling someone that a run failed: one JSON message to the webhook of `NOTIFY_WEBHOOK_URL`.

Here belongs what the message says and how it is sent. When it is sent belongs in `automation.py` (runs of the daemon)
and in the launcher. The address of a webhook is its password, so no log, error or metadata shows more than its host;
and whatever becomes of a message, nothing else fails because of it.
"""

import re
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import tenacity

from pipelines.config.settings import Settings
from pipelines.operate.failures import Failure
from pipelines.sources import http
from pipelines.sources.fetched import LandingError

ATTEMPTS = 3
BACKOFF_SECONDS = 1.0
_LONGEST_REASON = 600  # characters; chat services cut or refuse long messages
_MOST_STEPS = 20
_LARGEST_ANSWER_BYTES = 64_000  # of which nothing is read but that it ended


class _WebhookError(Exception):
    """A message that did not arrive, in a sentence without the address."""


@dataclass(frozen=True)
class RunFailure:
    """A run that failed, as it is told: `partition` is the edition, `release_id` the release that still stands."""

    run_id: str
    job: str
    partition: str | None
    failures: Sequence[Failure]
    release_id: str | None

    def message(self) -> dict[str, Any]:
        """The JSON to send: `text` for Slack and what understands Slack's format, the rest for programs."""
        shown = [replace(failure, reason=_short(failure.reason)) for failure in self.failures[:_MOST_STEPS]]
        what = f"{self.job} of {self.partition}" if self.partition else self.job
        stands = f"Release {self.release_id} still stands." if self.release_id else "There is no release yet."
        lines = [f"peer-review-warehouse: {what} failed (run {self.run_id}). {stands}", *map(str, shown)]
        if more := len(self.failures) - len(shown):
            lines.append(f"and {more} more")
        return {
            "text": "\n".join(_inert(line) for line in lines),
            "event": "run_failed",
            "run_id": self.run_id,
            "job": self.job,
            "partition": self.partition,
            "failures": [asdict(failure) for failure in shown],
            "failure_count": len(self.failures),
            "release_id": self.release_id,
            "host": socket.gethostname(),
            "sent_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def notify(failure: RunFailure, settings: Settings) -> str | None:
    """Send the message and tell in one sentence what became of it; None where no webhook is set. Never raises.

    At most `ATTEMPTS` requests of `settings.notify_timeout_seconds` each, with jitter between them. Redirects are not
    followed, since the message is meant for this address alone.
    """
    url = settings.notify_webhook_url
    if not url:
        return None
    place = _place(url)
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(http.TransientError),
        wait=tenacity.wait_exponential(multiplier=BACKOFF_SECONDS, max=5) + tenacity.wait_random(0, BACKOFF_SECONDS),
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        reraise=True,
    )
    try:
        attempts(_post, url, failure.message(), place, settings)
    except (http.TransientError, _WebhookError) as error:
        return f"The failure of run {failure.run_id} could not be told: {error}."
    except Exception as error:  # whatever it is, its words may hold the address
        return f"The failure of run {failure.run_id} could not be told: {place} gave a {type(error).__name__}."
    return f"The failure of run {failure.run_id} was told to {place}."


def _post(url: str, message: dict[str, Any], place: str, settings: Settings) -> None:
    seconds = settings.notify_timeout_seconds
    limits = settings.model_copy(update={"http_timeout_seconds": seconds, "http_answer_seconds": seconds})
    try:
        with http.session() as client:
            answer = http.ask(client, url, settings=limits, json=message, max_bytes=_LARGEST_ANSWER_BYTES)
    except http.TransientError as error:
        raise http.TransientError(_without(url, str(error), place)) from None
    except http.TooLargeError:
        return  # it arrived; what the receiver has to say about it is of no interest
    except LandingError as error:
        raise _WebhookError(_without(url, str(error), place).rstrip(".")) from None
    if 300 <= answer.status < 400:
        raise _WebhookError(f"{place} redirects, which is not followed; set NOTIFY_WEBHOOK_URL to the final address")
    if answer.status >= 400:
        refusal = http.TransientError if http.is_retried(answer.status) else _WebhookError
        raise refusal(f"{place} answered with status {answer.status}")


def _place(url: str) -> str:
    """What may be shown of the address."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    return f"the webhook at {''.join(filter(str.isprintable, host))}" if host else "the webhook"


def _without(url: str, sentence: str, place: str) -> str:
    """A sentence of the HTTP layer, which shows the path of an address, without it."""
    return sentence.replace(http.shown(url), place)


def _short(reason: str) -> str:
    """The reason in one line."""
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"


def _inert(line: str) -> str:
    """Text that chat services show as it is: reasons quote data from outside, which must not call a whole channel."""
    escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"@(?=channel|here|all|everyone)", "@\u200b", escaped)
