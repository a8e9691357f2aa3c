"""A conference site's list of accepted papers: the orals-posters file and, where the year has one, its abstracts.

Here belongs where these files are and the check that they are whole and belong together. How they make records is in
`records.py`; what the fields mean belongs in the dbt project.

`{"count", "next", "previous", "results": [...]}` looks like a page of an API, but it is one static file that holds the
whole list. `next` is not followed: in such a dump it could only name an address inside the site. A file that holds
fewer events than its `count` (it has happened: 200 of 2,891) is incomplete, and is refused whatever `next` says.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.config.editions import ConferenceSiteSource
from pipelines.config.settings import Settings
from pipelines.formats.records import RecordsError, load, read_records
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log
from pipelines.sources.files import bring, skip_if_absent
from pipelines.sources.http import Download

EVENTS, ABSTRACTS = "events.json", "abstracts.json"


class _NoSidecar(LandingError):
    """The server has no abstracts file."""


def fetch(
    source: ConferenceSiteSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the list into the folder `into` as `events.json`, and its abstracts as `abstracts.json`.

    The list comes from `path`, else `url`, else `file` below `base_url`. The abstracts come from `abstracts_path`,
    else `abstracts_url`, else, if the list comes from `base_url` as well, `abstracts_file` below it: a copy of the
    list at `path` or `url` is never mixed with abstracts from the site unless that is asked for.

    Args:
        source: where the files are.
        into: an existing folder; what a broken download left there is continued.
        landed: (file name, sha256) of the current snapshot.
        previous: not needed; the files are always whole.

    Returns:
        None where the files are exactly the landed ones. `as_of` is the later Last-Modified of the two.

    Raises:
        SourceSkipped: the site has no such list.
        LandingError: a file is missing or not what it should be, or `count` is not the number of events; nothing is
            kept. Abstracts that the server does not have are no error if the events carry abstracts themselves.
    """
    got: list[Download] = []

    def take(path: str | None, url: str, name: str, explain: Callable[..., None] | None = None) -> Download:
        got.append(bring(path, url, into / name, settings=settings, log=log, explain=explain))
        return got[-1]

    base = source.base_url.rstrip("/")
    try:
        address = source.url or f"{base}/{source.file}"
        most = settings.max_batch_bytes
        events = _events(take(source.path, address, EVENTS, None if source.url else skip_if_absent), most)
        if where := _sidecar(source, base):
            try:
                _check_abstracts(take(*where, ABSTRACTS, _explain_sidecar), events, most)
            except _NoSidecar:
                if not any(event.get("abstract") for event in events):
                    raise LandingError(
                        f"{where[1]}: there is no abstracts file at this address (404), and the events of "
                        f"{got[0].url} carry no abstracts; correct 'abstracts_file', or set it to null to do without."
                    ) from None
                log(f"{where[1]}: there is no abstracts file; the events carry abstracts themselves.")
        if landed == {(one.path.name, one.sha256) for one in got}:
            log(f"{got[0].url}: unchanged, the same bytes are landed already.")
            _discard(got)
            return None
    except LandingError:
        _discard(got)
        raise
    dates = [one.last_modified for one in got if one.last_modified]
    files = [FetchedFile(one.path.name, one.path, one.url) for one in got]
    return Fetched(files, got[0].url, etag=got[0].etag, as_of=max(dates, default=None))


def _sidecar(source: ConferenceSiteSource, base: str) -> tuple[str | None, str] | None:
    """Local path and address of the abstracts, or None where there are none to fetch."""
    if source.abstracts_path or source.abstracts_url:
        return source.abstracts_path, source.abstracts_url or ""
    is_copy = source.path or source.url
    return None if is_copy or not source.abstracts_file else (None, f"{base}/{source.abstracts_file}")


def _explain_sidecar(status: int, headers: Mapping[str, str]) -> None:
    """Tell a file that is not there from every other failure."""
    if status in {404, 410}:
        raise _NoSidecar


def _events(file: Download, max_bytes: int) -> list[dict[str, Any]]:
    """The events of the list, once it has shown itself to be whole."""
    try:
        records = list(read_records("conference_site", [file.path], max_bytes))
    except RecordsError as error:
        raise LandingError(f"{str(error).replace(str(file.path), file.url)} Nothing was kept.") from None
    if not records:
        raise LandingError(f"{file.url} lists no events; it may not be published yet. Nothing was kept.")
    return [json.loads(record.text) for record in records if record.problem is None]


def _check_abstracts(file: Download, events: list[dict[str, Any]], max_bytes: int) -> None:
    try:
        abstracts = load(file.path, max_bytes)
    except RecordsError as error:
        raise LandingError(f"{str(error).replace(str(file.path), file.url)} Nothing was kept.") from None
    if not isinstance(abstracts, dict):
        raise LandingError(f"{file.url} is not a JSON object of abstracts by event id. Nothing was kept.")
    if abstracts and not any(str(event.get("id")) in abstracts for event in events):
        raise LandingError(
            f"{file.url} has abstracts for {len(abstracts)} events, none of which is in the list; is it of another "
            "year? Nothing was kept."
        )


def _discard(files: list[Download]) -> None:
    for file in files:
        file.path.unlink(missing_ok=True)
