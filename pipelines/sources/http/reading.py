"""The body of an answer while it comes: how slow it may be, how much of it fits in memory, and how far it is.

Here belongs what every body has in common. What becomes of a file on disk belongs in `transfer.py`.
"""

import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator

import requests
from tqdm import tqdm

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError, Log
from pipelines.sources.http.errors import TransientError, shown, size_text

SLOWEST_BYTES_PER_SECOND = 4096  # averaged over Settings.http_timeout_seconds; below it a connection counts as dead
CHUNK_BYTES = 1 << 20
_LOG_EVERY_SECONDS = 10.0
HTML_START = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype|html)", re.IGNORECASE | re.DOTALL)


def read_whole(response: requests.Response, url: str, max_bytes: int, settings: Settings) -> bytes:
    """The body, unpacked. Raises LandingError beyond `max_bytes`, TransientError where it comes too slowly."""
    body = bytearray()
    with speed_limits(response, lambda: len(body), settings) as too_slow:
        while chunk := response.raw.read1(CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > max_bytes:
                raise LandingError(f"{shown(url)}: sends more than {size_text(max_bytes)}; refused.")
    if too_slow.is_set():
        raise TransientError(f"{shown(url)}: too slow, stopped after {size_text(len(body))}")
    return bytes(body)


def is_said_to_be_html(response: requests.Response) -> bool:
    """Whether the headers announce a page for people."""
    return response.headers.get("Content-Type", "").lower().startswith(("text/html", "application/xhtml"))


@contextlib.contextmanager
def speed_limits(
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
def progress(name: str, start: int, total: int | None, log: Log) -> Generator[Callable[[int], object]]:
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
