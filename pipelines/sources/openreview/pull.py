"""One pull: read the invitation to its end, then repair the pages until a light pass agrees with them.

Here belongs which pages are fetched, and in which order; the reasons are in the package's docstring.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

from pipelines.config.editions import OpenReviewSource
from pipelines.config.settings import Settings
from pipelines.sources import http
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log, SourceSkipped
from pipelines.sources.openreview.client import Api, Credentials, advanced, beyond
from pipelines.sources.openreview.crawl import Crawl
from pipelines.sources.openreview.refusals import LimitedError, RefusedError

ROUNDS = 6  # of repair; each covers only what changed during the one before


def fetch(
    source: OpenReviewSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the notes of the source's invitation, with their replies, into the folder `into`.

    The account is OPENREVIEW_TOKEN, or OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD; it goes to `base_url` only.

    Args:
        source: which notes of which API; `full` (or OPENREVIEW_FULL=1) reads all anew.
        into: an existing folder; what an interrupted crawl left there is continued.
        landed: (file name, sha256) of the current snapshot.
        previous: the files of the current snapshot, for a pull of only what changed.

    Returns:
        The pages in the order in which they came, or None where they are exactly the landed ones. `as_of` is the
        server's own time when it last showed that the pages are complete.

    Raises:
        SourceSkipped: no account, or one that the API does not let in; or it wants a longer pause than
            `settings.http_max_wait_seconds`. What has been fetched stays in `into`.
        LandingError: anything else that goes wrong, in one sentence.
    """
    credentials = Credentials.from_environment(source)
    is_full = source.full or os.environ.get("OPENREVIEW_FULL", "").lower() in {"1", "true", "yes"}
    crawl = Crawl.open(into, source, is_full=is_full, previous=previous, landed=landed, log=log)
    try:
        with Api(source, credentials, settings, log) as api:
            if not crawl.is_whole:
                _read_all(crawl, api, log)
            as_of = _settle(crawl, api, log)
    except LimitedError as limit:
        kept = f"{len(crawl.pages)} pages are kept, and the next run continues from them."
        raise SourceSkipped(f"{limit}; {kept}") from None
    except RefusedError:
        crawl.discard()  # the cursor itself may be what the server does not like
        raise
    crawl.close()
    if landed and landed == set(crawl.hashes.items()):
        crawl.discard()
        log(f"{source.submissions}: unchanged, the same pages are landed already.")
        return None
    query = urlencode({"invitation": source.submissions, "details": "replies", "sort": "id"})
    url = f"{http.shown(source.base_url).rstrip('/')}/notes?{query}"
    return Fetched([FetchedFile(name, into / name, url) for name in crawl.pages], url, as_of=as_of)


def _read_all(crawl: "Crawl", api: "Api", log: Log) -> None:
    """Page through the invitation, from the crawl's cursor to the end."""
    count = None
    while True:
        page = api.notes(api.heavy, beyond(crawl.cursor))
        count = count or page.count
        if not page.notes:
            break
        known = crawl.held()
        crawl.cursor = advanced(api, page, known)
        crawl.add(page)
        total = f" of {count}" if count is not None else ""
        log(f"{api.invitation}: {len(known) + len(page.notes)}{total} papers read.")
    crawl.is_whole = True
    crawl.save()


def _settle(crawl: "Crawl", api: "Api", log: Log) -> datetime | None:
    """Repair the pages until a light pass agrees with them; gives the server's time at its end."""
    doubted: set[str] | None = None
    for round_number in range(ROUNDS + 1):
        papers, count, date = api.census()
        held = crawl.held()
        if len(papers) < min(1 if count is None else count, len(held)) and papers.keys() != doubted:
            counts = "" if count is None else f"counts {count} papers and "
            log(f"{api.invitation}: the server {counts}showed {len(papers)}; asking again.")
            doubted = set(papers)
            papers, count, date = api.census()
        if not papers:
            what = f"shows none of the {len(held)} papers any more" if held else "has no notes"
            message = (
                f"{api.place}: {api.invitation} {what}; check 'submissions' and 'api' of the source, and whether this "
                "account may read them."
            )
            # Some years have no withdrawn or desk-rejected papers under an invitation of their own.
            raise LandingError(message) if held else SourceSkipped(message)
        outdated, needed = crawl.compare(papers)
        if not outdated and not needed:
            if count is not None and count != len(papers):
                log(f"{api.invitation}: the server counts {count} papers and shows {len(papers)} to this account.")
            return date
        missing = [paper_id for paper_id in needed if paper_id not in held]
        if round_number == ROUNDS:
            break
        log(
            f"{api.invitation}: {len(missing)} papers are new, {len(needed) - len(missing)} changed or are read again, "
            f"{len(outdated)} pages hold notes that are gone; fetching the difference."
        )
        crawl.drop(outdated)
        _fetch_some(crawl, api, list(papers), set(needed))
        crawl.drop(crawl.superseded())
    if missing or outdated:
        raise LandingError(
            f"{api.place}: {api.invitation} kept changing through {ROUNDS} rounds of repair ({len(missing)} papers "
            f"missing, {len(outdated)} pages out of date); run again when it is quieter, the pages are kept."
        )
    log(f"{api.invitation}: {len(needed)} papers changed while they were read; the next pull brings them.")
    return date


def _fetch_some(crawl: "Crawl", api: "Api", ids: list[str], needed: set[str]) -> None:
    """Fetch the needed papers of `ids` (in the server's order) in as few requests as the page size allows."""
    positions = [position for position, paper in enumerate(ids) if paper in needed]
    while positions:
        start = positions[0]
        within = [position for position in positions if position < start + api.heavy.most]
        positions = positions[len(within) :]
        left, cursor = within[-1] - start + 1, ids[start - 1] if start else None
        while left > 0:
            page = api.notes(api.heavy, beyond(cursor, is_counted=False), most=left)
            if not page.notes:
                break
            cursor = advanced(api, page, [cursor] if cursor else [])
            crawl.add(page)
            left -= len(page.notes)
