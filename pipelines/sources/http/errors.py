"""What went wrong, in words: one sentence for each way in which a server, a network or an address can fail.

Here belongs how an address, a status, a size or a library's exception is told to the person who runs the pipeline.
What is done about it belongs in `retries.py`.

Nothing here prints a query string, a user name, a password or a header: signed addresses and tokens are secrets.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from humanize import naturalsize, precisedelta

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError

Explain = Callable[[int, Mapping[str, str]], str | None]


class TransientError(Exception):
    """A failure that another attempt may cure. `wait_seconds` is the wait that the server asks for, if it does."""

    def __init__(self, sentence: str, wait_seconds: float | None = None) -> None:
        super().__init__(sentence)
        self.wait_seconds = wait_seconds


class TooLargeError(LandingError):
    """An answer is larger than the caller is willing to hold in memory."""


def shown(url: str) -> str:
    """The address without its secrets: no user, no password, no query, nothing that a terminal would obey."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    text = f"{parts.scheme}://{host}{parts.path}{'?...' if parts.query else ''}"
    return "".join(character if character.isprintable() else "?" for character in text)


def status_sentence(status: int) -> str:
    """What an HTTP error status means for the person who runs the pipeline, without a full stop."""
    meaning = {
        401: "it wants credentials, and none were sent or they were not accepted; check the token",
        403: "access is refused; check that your account or token may read it",
        404: "there is nothing at this address; check the spelling",
        410: "it has been removed for good; look for its new address",
        429: "too many requests; the server wants a pause",
    }.get(status)
    if meaning is None:
        meaning = "the server is in trouble" if status >= 500 else "an answer that a file download cannot use"
    return f"status {status}: {meaning}"


def size_text(count: int) -> str:
    """A number of bytes for people, in decimal units: `300.0 kB`."""
    return naturalsize(count)


def duration_text(seconds: float) -> str:
    """A time in seconds for people: `0.3 seconds`, `1 hour and 13 seconds`."""
    return precisedelta(seconds if seconds < 100 else round(seconds), format="%.1f")


def explained(error: Exception, url: str, settings: Settings) -> TransientError | LandingError:
    """A failed connection in one sentence of ours: the libraries' texts repeat the address with its query."""
    place, inside = shown(url), list(causes(error))

    def among(*kinds: type[BaseException]) -> Any:
        return next((cause for cause in inside if isinstance(cause, kinds)), None)

    if certificate := among(ssl.SSLCertVerificationError):
        return LandingError(
            f"{place}: the server's TLS certificate is not trusted ({certificate.verify_message}); check the address "
            "and the clock, or set REQUESTS_CA_BUNDLE to the authority file of your network."
        )
    if among(requests.exceptions.InvalidHeader, UnicodeEncodeError):
        return LandingError(f"{place}: a request header cannot be sent; does the token hold a line break or an accent?")
    if isinstance(error, ValueError):
        return LandingError(f"{place}: not an address that can be fetched; write http:// or https:// and a host.")
    if among(ConnectionRefusedError):
        return TransientError(f"{place}: the connection was refused; is the server running")
    if among(urllib3.exceptions.NameResolutionError):
        return TransientError(f"{place}: the host name cannot be resolved; check its spelling and the network")
    if among(urllib3.exceptions.ProxyError):
        return TransientError(f"{place}: the proxy cannot be used; check HTTPS_PROXY and NO_PROXY")
    if among(ssl.SSLError, requests.exceptions.SSLError):
        return TransientError(f"{place}: no TLS connection could be made; check that the address really serves https")
    if among(urllib3.exceptions.TimeoutError, requests.Timeout, TimeoutError):
        return TransientError(f"{place}: no answer within {duration_text(settings.http_timeout_seconds)}")
    return TransientError(f"{place}: the connection broke ({type(inside[-1]).__name__})")


def causes(error: object) -> Iterator[BaseException]:
    """An exception and those inside it, outermost first."""
    seen: list[BaseException] = []
    todo = [error]
    while todo:
        one = todo.pop(0)
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            todo += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
            yield one


def was_reached(error: TransientError) -> bool:
    """Whether the server was there when a request failed, so that a smaller answer may fare better."""
    unreached = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ProxyError, ssl.SSLError)
    return not any(isinstance(cause, (*unreached, requests.ConnectTimeout)) for cause in causes(error))
