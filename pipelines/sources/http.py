"""HTTP as every source uses it: sessions, retries with a say, and downloads that can be trusted and resumed.

Here belongs what is true of any server: time limits, waits, redirects, cut bodies, credentials that stay with their
host. What one upstream's answers mean belongs in that upstream's module; where bytes go for good, in `landing.py`.

A download is complete when the size that the server (or the caller) promised has arrived and, where the caller knows
it, the sha256 agrees. A body whose end is marked only by the closing of the connection proves neither: such a file
is as good as the format check in landing, and the log says so.

Nothing here prints a query string, a user name, a password or a header: signed addresses and tokens are secrets.
"""

import contextlib
import email.utils
import json
import logging
import re
import shutil
import ssl
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
import tenacity
import urllib3
from requests.adapters import HTTPAdapter
from requests.utils import requote_uri
from tqdm import tqdm

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError, Log
from pipelines.warehouse import sha256

T = TypeVar("T")
Explain = Callable[[int, Mapping[str, str]], str | None]

BACKOFF_SECONDS = 1.0  # the first wait where the server asks for none; it doubles, with jitter, up to the next
LONGEST_BACKOFF_SECONDS = 30.0
SLOWEST_BYTES_PER_SECOND = 4096  # averaged over Settings.http_timeout_seconds; below it a connection counts as dead
MAX_REDIRECTS = 10
_CHUNK_BYTES = 1 << 20
_LOG_EVERY_SECONDS = 10.0
_HTML = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype|html)", re.IGNORECASE | re.DOTALL)
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
# At DEBUG it prints the path and query of every request.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)
# What another host may see of a request after a redirect; everything else stays with the host it was meant for.
_HARMLESS_HEADERS = frozenset({"accept", "accept-encoding", "if-range", "range", "user-agent"})


class TransientError(Exception):
    """A failure that another attempt may cure. `wait_seconds` is the wait that the server asks for, if it does."""

    def __init__(self, sentence: str, wait_seconds: float | None = None) -> None:
        super().__init__(sentence)
        self.wait_seconds = wait_seconds


@dataclass(frozen=True)
class Download:
    """A verified file, and what the server said about it. `url` is fit to be shown and stored."""

    path: Path
    url: str
    sha256: str
    bytes: int
    etag: str | None = None
    last_modified: datetime | None = None


def shown(url: str) -> str:
    """The address without its secrets: no user, no password, no query, nothing that a terminal would obey."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    text = f"{parts.scheme}://{host}{parts.path}{'?...' if parts.query else ''}"
    return "".join(character if character.isprintable() else "?" for character in text)


def retrying(action: Callable[[], T], *, settings: Settings, log: Log) -> T:
    """Call `action` until it succeeds, again only after a `TransientError`; each wait is logged, with its reason.

    There are at most `settings.http_attempts` calls, and all waits together stay within
    `settings.http_max_wait_seconds`: a server that asks for more gets an error at once instead of a silent sleep.

    Raises:
        LandingError: the attempts are used up or the next wait is too long; anything else that `action` raises.
    """
    growing = tenacity.wait_exponential(multiplier=BACKOFF_SECONDS, max=LONGEST_BACKOFF_SECONDS)
    backoff = growing + tenacity.wait_random(0, BACKOFF_SECONDS)

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
        before_sleep=announce,
        retry_error_callback=give_up,
    )(action)


def session() -> requests.Session:
    """A session that retries nothing by itself, keeps no cookies and limits how long response headers may take."""
    new = requests.Session()
    new.headers["User-Agent"] = "peer-review-warehouse (python-requests)"
    new.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    new.mount("http://", _Adapter(max_retries=0))
    new.mount("https://", _Adapter(max_retries=0))
    return new


def get(
    client: requests.Session, url: str, *, settings: Settings, headers: Mapping[str, str] | None = None
) -> requests.Response:
    """GET with the body left unread; redirects are followed, but the caller's headers stay with the first origin.

    requests itself drops `Authorization` on a change of host, yet sends every other header on; here an origin
    (scheme, host and port) that differs sees harmless headers only, for the rest of the chain.

    Raises:
        TransientError: the connection failed in a way that may pass.
        LandingError: it failed for good: a certificate, a redirect loop, an address that is none.
    """
    sent = dict(headers or {})
    place = url
    try:
        for _ in range(MAX_REDIRECTS + 1):
            # Without an explicit auth requests would let ~/.netrc overrule the header given here.
            auth = _leave_as_is if any(name.lower() == "authorization" for name in sent) else None
            response = client.get(
                place,
                headers=sent,
                auth=auth,
                timeout=settings.http_timeout_seconds,
                stream=True,
                allow_redirects=False,
            )
            location = client.get_redirect_target(response)
            if location is None:
                return response
            response.close()
            target = urljoin(place, requote_uri(location))
            if place.startswith("https:") and not target.startswith("https:"):
                raise LandingError(f"{shown(url)}: redirects from https to {shown(target)}; refused as unsafe.")
            if _origin(target) != _origin(place):
                sent = {name: value for name, value in sent.items() if name.lower() in _HARMLESS_HEADERS}
            place = target
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _explained(error, url, settings) from None
    raise LandingError(f"{shown(url)}: more than {MAX_REDIRECTS} redirects, so probably a loop; check the address.")


def download(
    url: str,
    target: Path,
    *,
    settings: Settings,
    log: Log,
    headers: Mapping[str, str] | None = None,
    expected_sha256: str | None = None,
    expected_bytes: int | None = None,
    max_bytes: int | None = None,
    explain: Explain | None = None,
) -> Download:
    """Fetch `url` into `target`, whole and verified or not at all.

    The body grows in `<target>.part`. What is there when a connection or the process dies is continued by a Range
    request, in this process or the next, if a strong ETag (sent as If-Range) or the expected sha256 shows that it
    belongs to the same bytes; a server that answers 200 all the same is read from the start. A wrong sha256 is
    fetched once more from the start, since a transfer can spoil bytes, and is an error the second time.

    Args:
        url: http or https.
        target: the file to write, in an existing folder on the disk where it will stay.
        headers: sent to the origin of `url` only.
        expected_sha256: 64 hex digits; a `target` that already has it is not fetched again.
        expected_bytes: the exact size.
        max_bytes: the size beyond which the download stops, in bytes; a server that never stops must not fill the
            disk, so the default is `settings.max_file_bytes`.
        explain: a better sentence for an error status (status, headers) than the general one.

    Raises:
        LandingError: in one sentence, without secrets; a part that can be continued is kept beside `target`.
    """
    if expected_sha256 and target.is_file() and sha256(target) == expected_sha256:
        log(f"{target.name} is already here with the right sha256.")
        return Download(target, shown(url), expected_sha256, target.stat().st_size)
    transfer = _Transfer(
        url=url,
        target=target,
        settings=settings,
        log=log,
        headers=dict(headers or {}),
        expected_sha256=expected_sha256,
        expected_bytes=expected_bytes,
        max_bytes=settings.max_file_bytes if max_bytes is None else max_bytes,
        explain=explain,
    )
    started = time.monotonic()
    with session() as client:
        result = retrying(lambda: transfer.attempt(client), settings=settings, log=log)
    log(f"{target.name}: {size_text(result.bytes)} in {duration_text(time.monotonic() - started)} from {result.url}.")
    return result


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
        try:
            with get(client, url, settings=settings, headers=headers) as response:
                if response.status_code != 200:
                    raise _refusal(url, response, explain)
                if _is_html(response):
                    raise LandingError(
                        f"{shown(url)}: the server sent an HTML page instead of JSON; check the address."
                    )
                return json.loads(_read(response, url, settings.max_batch_bytes, settings))
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _explained(error, url, settings) from None
        except (ValueError, RecursionError):
            raise TransientError(f"{shown(url)}: the answer is not JSON, or was cut short") from None

    with session() as client:
        return retrying(attempt, settings=settings, log=log)


def _read(response: requests.Response, url: str, max_bytes: int, settings: Settings) -> bytes:
    body = bytearray()
    with _speed_limits(response, lambda: len(body), settings) as too_slow:
        while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > max_bytes:
                raise LandingError(f"{shown(url)}: sends more than {size_text(max_bytes)}; refused.")
    if too_slow.is_set():
        raise TransientError(f"{shown(url)}: too slow, stopped after {size_text(len(body))}")
    return bytes(body)


def _refusal(url: str, response: requests.Response, explain: Explain | None) -> TransientError | LandingError:
    """An error status as an error of ours: one to retry where that can help."""
    status, headers = response.status_code, response.headers
    sentence = (explain and explain(status, headers)) or f"{shown(url)}: {status_sentence(status)}"
    return TransientError(sentence, asked_wait(status, headers)) if is_retried(status) else LandingError(f"{sentence}.")


def _is_html(response: requests.Response) -> bool:
    return response.headers.get("Content-Type", "").lower().startswith(("text/html", "application/xhtml"))


@dataclass(repr=False)  # its headers and its address are secrets
class _Transfer:
    """One file on its way: the part on disk, and what is known of the bytes that it must become."""

    url: str
    target: Path
    settings: Settings
    log: Log
    headers: dict[str, str]
    expected_sha256: str | None
    expected_bytes: int | None
    max_bytes: int
    explain: Explain | None
    wrong_hashes: int = 0

    def __post_init__(self) -> None:
        self.part = self.target.with_name(self.target.name + ".part")
        self.note = self.target.with_name(self.target.name + ".part.json")

    def attempt(self, client: requests.Session) -> Download:
        """One request, or none where all bytes are already here, then the checks and the rename."""
        try:
            said: Mapping[str, str] = {}
            offset, etag = self._resumable()
            is_complete = offset > 0 and offset == self.expected_bytes and self.expected_sha256 is not None
            if not is_complete:
                said = self._receive(client, offset, etag)
            return self._keep(said)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _explained(error, self.url, self.settings) from None
        except OSError as error:  # after the network's own errors, many of which are OSErrors too
            raise LandingError(f"{self.part}: cannot be written ({error.strerror or error}); check the disk.") from None

    def _resumable(self) -> tuple[int, str | None]:
        """How many bytes of the part can be built upon, and the strong ETag that they had."""
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            noted = json.loads(self.note.read_text(encoding="utf-8"))
            size = self.part.stat().st_size
            same_bytes = noted["etag"] or noted["sha256"]
            same_file = noted.get("url") == shown(self.url) and noted.get("sha256") == self.expected_sha256
            if same_bytes and same_file and size <= (self.expected_bytes or self.max_bytes):
                return size, noted["etag"]
        self._discard()
        return 0, None

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def _receive(self, client: requests.Session, offset: int, etag: str | None) -> Mapping[str, str]:
        """Ask for the rest, append it to the part, and give the headers of the answer."""
        # Not compressed on the way: a cut gzip ends without an error, and ranges would count compressed bytes.
        asked = self.headers | {"Accept-Encoding": "identity"}
        if offset:
            asked |= {"Range": f"bytes={offset}-"} | ({"If-Range": etag} if etag else {})
        with get(client, self.url, settings=self.settings, headers=asked) as response:
            if response.status_code == 416 and response.headers.get("Content-Range") == f"bytes */{offset}":
                return response.headers  # nothing is missing: the process died between the last byte and the rename
            self._check_status(response, offset)
            self._check_kind(response)
            if offset and response.status_code == 200:
                self.log(f"{shown(self.url)}: the server does not continue a download; reading from the start.")
                offset = 0
            total = self._total(response, offset, etag)
            if total is None and not self.expected_sha256 and not self.expected_bytes:
                self.log(f"{shown(self.url)}: the server does not say how long the file is; only its format can tell.")
            if offset:
                self.log(f"{self.target.name}: resuming at {size_text(offset)}.")
            else:
                self._begin(response.headers.get("ETag"))
            self._append(response, offset, total)
            return response.headers

    def _check_status(self, response: requests.Response, offset: int) -> None:
        status = response.status_code
        if status == 200 or (status == 206 and offset):
            return
        if status == 416 and offset:
            self._discard()
            raise TransientError(f"{shown(self.url)}: the part on disk is no part of this file, it starts again", 0)
        raise _refusal(self.url, response, self.explain)

    def _check_kind(self, response: requests.Response) -> None:
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in {"", "identity"}:
            raise LandingError(
                f"{shown(self.url)}: sent with Content-Encoding {encoding!r} although plain bytes were asked for, so a "
                "cut could not be noticed; give an address that serves the file as it is."
            )
        if _is_html(response):
            raise LandingError(self._is_a_page())

    def _total(self, response: requests.Response, offset: int, etag: str | None) -> int | None:
        """The size of the whole file as the server states it, checked against all that is known."""
        total: int | None = None
        if offset:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            new_etag = response.headers.get("ETag")
            if not match or int(match[1]) != offset or (etag and new_etag and etag != new_etag):
                self._discard()
                raise TransientError(f"{shown(self.url)}: answered with another range than asked, it starts again", 0)
            total = None if match[2] == "*" else int(match[2])
        elif response.headers.get("Content-Length", "").isdecimal():
            total = int(response.headers["Content-Length"])
        if total is None:
            return self.expected_bytes
        if self.expected_bytes is not None and total != self.expected_bytes:
            self._discard()
            raise LandingError(
                f"{shown(self.url)}: has {total} bytes where {self.expected_bytes} were announced; "
                "the upstream contradicts itself, try again later."
            )
        if total > self.max_bytes:
            raise LandingError(
                f"{shown(self.url)}: has {size_text(total)}, over the limit of {size_text(self.max_bytes)}."
            )
        free = shutil.disk_usage(self.target.parent).free
        if total - offset > free:
            raise LandingError(
                f"{self.target.parent}: {size_text(free)} are free and {size_text(total - offset)} needed for "
                f"{self.target.name}; make room and run again."
            )
        return total

    def _begin(self, etag: str | None) -> None:
        """Start the part anew, with the note that lets another process continue it."""
        self._discard()
        strong = etag if etag and not etag.startswith("W/") else None
        noted = {"url": shown(self.url), "etag": strong, "sha256": self.expected_sha256}
        self.note.write_text(json.dumps(noted), encoding="utf-8")

    def _append(self, response: requests.Response, offset: int, total: int | None) -> None:
        size, most = offset, self.max_bytes if total is None else total
        with (
            self.part.open("ab" if offset else "wb") as file,
            _progress(self.target.name, offset, total, self.log) as report,
            _speed_limits(response, lambda: size, self.settings) as too_slow,
        ):
            # read1 returns what has come, so that the speed is seen; iter_content waits for a whole chunk.
            while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=False):
                size += len(chunk)
                if size > most:
                    break
                file.write(chunk)
                report(len(chunk))
        if too_slow.is_set():
            raise TransientError(f"{shown(self.url)}: too slow, stopped after {size_text(size)}")
        if size > most:
            self._discard()
            raise LandingError(f"{shown(self.url)}: sends more than {size_text(most)}; refused.")
        if total is not None and size != total:
            raise TransientError(f"{shown(self.url)}: the body ended after {size} of {total} bytes")

    def _keep(self, said: Mapping[str, str]) -> Download:
        """Verify the part and give it its name."""
        found = sha256(self.part)
        with self.part.open("rb") as file:
            is_page = _HTML.match(file.read(1024)) is not None
        if is_page and found != self.expected_sha256:
            self._discard()
            raise LandingError(self._is_a_page())
        if self.expected_sha256 and found != self.expected_sha256:
            self._discard()
            self.wrong_hashes += 1
            sentence = f"{shown(self.url)}: sha256 is {found} where {self.expected_sha256} was announced"
            if self.wrong_hashes > 1:
                raise LandingError(f"{sentence}, twice; nothing was kept, try again later or tell the publisher.")
            raise TransientError(f"{sentence}, it starts again", 0)
        size = self.part.stat().st_size
        self.part.replace(self.target)
        self.note.unlink(missing_ok=True)
        modified = _http_date(said.get("Last-Modified"))
        return Download(self.target, shown(self.url), found, size, said.get("ETag"), modified)

    def _is_a_page(self) -> str:
        return (
            f"{shown(self.url)}: the server sent an HTML page instead of the file (a login, error or notice page?); "
            "open the address in a browser to see it."
        )


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
    if when := _http_date(given):
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    reset = re.search(r";\s*t=(\d+)", headers.get("RateLimit", ""))
    return float(reset[1]) if reset and status == 429 else None


def size_text(count: int) -> str:
    """A number of bytes for people, in decimal units."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def duration_text(seconds: float) -> str:
    """A time in seconds for people."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


class _Watched:
    """A connection on which response headers may take no longer in all than one read may."""

    def getresponse(self) -> Any:
        connection: Any = self
        late = threading.Event()
        socket = connection.sock

        def cut() -> None:
            late.set()
            with contextlib.suppress(OSError):
                socket.shutdown(2)

        timer = threading.Timer(connection.timeout or 60, cut)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()  # type: ignore[misc]
        except Exception:
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():  # also where all went well: to http.client, headers may end with the connection
            raise TimeoutError("timed out while reading response headers")
        return response


class _HTTPConnection(_Watched, urllib3.connection.HTTPConnection):
    pass


class _HTTPSConnection(_Watched, urllib3.connection.HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


class _Adapter(HTTPAdapter):
    """requests' adapter over connections that are watched, direct ones and those through a proxy."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        return manager


@contextlib.contextmanager
def _speed_limits(
    response: requests.Response, received: Callable[[], int], settings: Settings
) -> Iterator[threading.Event]:
    """Cut the connection when less than the slowest tolerated rate came in a window, or the whole takes too long.

    The event tells that it was cut. A time limit on each read does not stop a server that sends one byte a second.
    """
    finished, too_slow = threading.Event(), threading.Event()
    window = settings.http_timeout_seconds
    deadline = time.monotonic() + settings.http_answer_seconds

    def watch() -> None:
        before = received()
        while not finished.wait(min(window, max(0.0, deadline - time.monotonic()))):
            now = received()
            if time.monotonic() >= deadline or now - before < SLOWEST_BYTES_PER_SECOND * window:
                too_slow.set()
                with contextlib.suppress(OSError, ValueError, RuntimeError):  # it may have ended by itself just now
                    response.raw.shutdown()
                return
            before = now

    watcher = threading.Thread(target=watch, name="low-speed-limit", daemon=True)
    watcher.start()
    try:
        yield too_slow
    except Exception:
        if not too_slow.is_set():  # else it comes from the cut, in whatever shape
            raise
    finally:
        finished.set()
        watcher.join()


@contextlib.contextmanager
def _progress(name: str, start: int, total: int | None, log: Log) -> Generator[Callable[[int], object]]:
    """A bar in a terminal; elsewhere a log line every ten seconds or ten per cent, whichever comes first."""
    if sys.stderr.isatty():
        with tqdm(desc=name, initial=start, total=total, unit="B", unit_scale=True, leave=False) as bar:
            yield bar.update
        return
    size, said_size, said_at = start, start, time.monotonic()
    step = max((total or 0) // 10, 1 << 20)

    def report(more: int) -> None:
        nonlocal size, said_size, said_at
        size += more
        due = size - said_size >= step if total else False
        if due or time.monotonic() - said_at >= _LOG_EVERY_SECONDS:
            share = f" of {size_text(total)} ({size / total:.0%})" if total else ""
            log(f"{name}: {size_text(size)}{share} received.")
            said_size, said_at = size, time.monotonic()

    yield report


def _leave_as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _explained(error: Exception, url: str, settings: Settings) -> TransientError | LandingError:
    """A failed connection in one sentence of ours: the libraries' texts repeat the address with its query."""
    place, causes = shown(url), list(_causes(error))

    def among(*kinds: type[BaseException]) -> Any:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

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
    return TransientError(f"{place}: the connection broke ({type(causes[-1]).__name__})")


def _causes(error: object) -> Iterator[BaseException]:
    """An exception and those inside it, outermost first."""
    seen: list[BaseException] = []
    todo = [error]
    while todo:
        one = todo.pop(0)
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            todo += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
            yield one


def _http_date(given: str | None) -> datetime | None:
    try:
        when = email.utils.parsedate_to_datetime(given or "")
    except ValueError:
        return None
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


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
        return is_said or _HTML.match(self.body) is not None

    @property
    def date(self) -> datetime | None:
        """The server's own clock, UTC, where it tells the time."""
        return _http_date(self.headers.get("Date"))


class TooLargeError(LandingError):
    """An answer is larger than the caller is willing to hold in memory."""


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
                auth=_leave_as_is,
                timeout=settings.http_timeout_seconds,
                stream=True,
                allow_redirects=False,
            )
        with response:
            try:
                body = _read(response, url, max_bytes or settings.max_batch_bytes, settings)
            except LandingError as error:
                raise TooLargeError(str(error)) from None
            return Answer(response.status_code, response.headers, body, shown(response.url))
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _explained(error, url, settings) from None


def was_reached(error: TransientError) -> bool:
    """Whether the server was there when a request failed, so that a smaller answer may fare better."""
    unreached = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ProxyError, ssl.SSLError)
    return not any(isinstance(cause, (*unreached, requests.ConnectTimeout)) for cause in _causes(error))
