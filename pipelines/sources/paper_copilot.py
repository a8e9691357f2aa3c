"""One JSON Lines file of the Paper Copilot archive: a venue's year, its `.init` file, or a dated snapshot of it.

Here belongs where such a file is, what date it has, and the check that it is JSON Lines at all. How it splits into
records is in `records.py`; what its fields mean belongs in the dbt project.

The archive is https://github.com/papercopilot/openreview (layout and file names: its README).
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipelines.config.editions import PaperCopilotSource
from pipelines.config.settings import Settings
from pipelines.formats.records import parse
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log
from pipelines.sources.files import bring, is_safe_name, only_match, skip_if_absent

DEFAULT_NAME = "papers.jsonl"
_DATED = re.compile(r"\.(\d{2})(\d{2})(\d{4})(?:\.(\d{2}))?\.jsonl$")
_SHOWN = 40  # bytes of a line that is not what it should be


def fetch(
    source: PaperCopilotSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the source's file into the folder `into`: from `path`, else `url`, else `file` below `base_url`.

    Args:
        source: where the file is.
        into: an existing folder; what a broken download left there is continued.
        landed: (file name, sha256) of the current snapshot.
        previous: not needed; the file is always whole.

    Returns:
        None where the file is exactly the landed one. `as_of` is the date in the file's name, else the server's
        Last-Modified, else None; a local file's modification time says nothing about its content.

    Raises:
        SourceSkipped: the archive has no such file.
        LandingError: it is missing, empty, cut short, a page or another format; nothing is kept.
    """
    url = source.url or f"{source.base_url.rstrip('/')}/{source.file}"
    name = only_match(source.path).name if source.path else unquote(urlsplit(url).path).rpartition("/")[2]
    as_of = date_in_name(name)
    name = name if is_safe_name(name) else DEFAULT_NAME
    explain = None if source.url else skip_if_absent
    got = bring(source.path, url, into / name, settings=settings, log=log, explain=explain)
    if landed == {(name, got.sha256)}:
        got.path.unlink()
        log(f"{got.url}: unchanged, the same bytes are landed already.")
        return None
    if problem := _problem(got.path, settings.max_batch_bytes):
        got.path.unlink()
        raise LandingError(f"{got.url} {problem}.")
    return Fetched([FetchedFile(name, got.path, got.url)], got.url, etag=got.etag, as_of=as_of or got.last_modified)


def date_in_name(name: str) -> datetime | None:
    """The time of a dated snapshot, `<venue><year>.MMDDYYYY[.HH].jsonl`, read as UTC; None for any other name.

    The archive does not say which time zone it means.
    """
    match = _DATED.search(name)
    if match is None:
        return None
    month, day, year, hour = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, tzinfo=UTC)
    except ValueError:
        return None


def _problem(path: Path, max_bytes: int) -> str | None:
    """Why this is not a whole JSON Lines file, to follow its address; bad lines in the middle are quarantined later."""
    first, last, number = b"", b"", 0
    with path.open("rb") as file:
        count = 0
        while line := file.readline(max_bytes):
            count += 1
            if text := line.strip(b"\xef\xbb\xbf \t\r\n"):
                first, number = (first, number) if first else (text, count)
                last = line
    if not first:
        return "is empty; check the address, or try again later"
    if first[:1] == b"<":
        return "is an HTML page and not JSON Lines; open the address in a browser to see why"
    if not _is_object(first):
        begin = first[:_SHOWN].decode("utf-8", errors="replace")
        return f"is not JSON Lines: line {number} is no JSON object, it begins with {begin!r}; check the address"
    if not last.endswith(b"\n") and not _is_object(last.strip()):
        return "is cut short: its last line is no whole JSON object; fetch it again"
    return None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse(line.decode("utf-8-sig", errors="replace")), dict)
    except (ValueError, RecursionError):
        return False
