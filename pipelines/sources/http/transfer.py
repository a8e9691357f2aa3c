"""Downloads that can be trusted and resumed: one file, whole and verified, or not at all.

A download is complete when the size that the server (or the caller) promised has arrived and, where the caller knows
it, the sha256 agrees. A body whose end is marked only by the closing of the connection proves neither: such a file
is as good as the format check in landing, and the log says so.

Here belongs one file up to its name in an incoming folder. Where bytes go for good is `land`'s.
"""

import contextlib
import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import requests
import urllib3

from pipelines.config.settings import Settings
from pipelines.sources.fetched import LandingError, Log
from pipelines.sources.http.errors import Explain, TransientError, duration_text, explained, shown, size_text
from pipelines.sources.http.reading import CHUNK_BYTES, HTML_START, is_said_to_be_html, progress, speed_limits
from pipelines.sources.http.retries import http_date, refusal, retrying
from pipelines.sources.http.sessions import get, session
from pipelines.warehouse import sha256

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass(frozen=True)
class Download:
    """A verified file, and what the server said about it. `url` is fit to be shown and stored."""

    path: Path
    url: str
    sha256: str
    bytes: int
    etag: str | None = None
    last_modified: datetime | None = None


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
            raise explained(error, self.url, self.settings) from None
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
        raise refusal(self.url, status, response.headers, self.explain)

    def _check_kind(self, response: requests.Response) -> None:
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in {"", "identity"}:
            raise LandingError(
                f"{shown(self.url)}: sent with Content-Encoding {encoding!r} although plain bytes were asked for, so a "
                "cut could not be noticed; give an address that serves the file as it is."
            )
        if is_said_to_be_html(response):
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
            progress(self.target.name, offset, total, self.log) as report,
            speed_limits(response, lambda: size, self.settings) as too_slow,
        ):
            # read1 returns what has come, so that the speed is seen; iter_content waits for a whole chunk.
            while chunk := response.raw.read1(CHUNK_BYTES, decode_content=False):
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
            is_page = HTML_START.match(file.read(1024)) is not None
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
        modified = http_date(said.get("Last-Modified"))
        return Download(self.target, shown(self.url), found, size, said.get("ETag"), modified)

    def _is_a_page(self) -> str:
        return (
            f"{shown(self.url)}: the server sent an HTML page instead of the file (a login, error or notice page?); "
            "open the address in a browser to see it."
        )
