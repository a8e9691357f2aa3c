"""The pages of a crawl on disk, what they hold, and the note from which another process continues.

Here belongs nothing that asks the server: `pull.py` decides what to fetch, `client.py` fetches it.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256 as hash_of
from pathlib import Path
from typing import Any, Self

from pipelines.config.editions import OpenReviewSource
from pipelines.sources import http
from pipelines.sources.fetched import LandingError, Log
from pipelines.sources.openreview.notes import Page, Paper, is_gone, load_notes, papers_of
from pipelines.warehouse import sha256

STATE_NAME = "crawl.json"
_STATE_VERSION = 1
PAGE_NAME = re.compile(r"page-(\d{5,})\.json")


class Crawl:
    """The pages on disk, what they hold, and the note from which another process continues.

    `pages` has the papers of each page by its file name, in the order of fetching; of two versions the later counts.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder
        self.identity = identity
        self.pages: dict[str, dict[str, Paper]] = {}
        self.hashes: dict[str, str] = {}
        self.cursor: str | None = None
        self.is_whole = False

    @classmethod
    def open(
        cls,
        folder: Path,
        source: OpenReviewSource,
        *,
        is_full: bool,
        previous: Sequence[Path],
        landed: frozenset[tuple[str, str]],
        log: Log,
    ) -> Self:
        """A crawl that was interrupted, else one that starts from the previous snapshot, else a new one."""
        identity = {"version": _STATE_VERSION, "api": source.api, "base_url": http.shown(source.base_url)}
        crawl = cls(folder, identity | {"invitation": source.submissions, "is_full": is_full})
        if crawl._resume():
            log(f"{source.submissions}: continuing an interrupted crawl of {len(crawl.pages)} pages.")
            return crawl
        crawl.discard()
        if previous and not is_full:
            crawl._begin_from(previous, dict(landed))
            log(f"{source.submissions}: looking for what changed since {len(crawl.held())} papers landed.")
        return crawl

    def held(self) -> dict[str, Paper]:
        """The papers of all pages, each in its latest version."""
        return {paper_id: paper for papers in self.pages.values() for paper_id, paper in papers.items()}

    def compare(self, papers: Mapping[str, Paper]) -> tuple[list[str], list[str]]:
        """Against what the server has now: pages that hold what is gone, and papers to fetch if those are dropped."""
        outdated: list[str] = []
        kept: dict[str, Paper] = {}
        for name, held in self.pages.items():
            if any(is_gone(paper, papers.get(paper_id)) for paper_id, paper in held.items()):
                outdated.append(name)
            else:
                kept |= held
        return outdated, [paper_id for paper_id, paper in papers.items() if kept.get(paper_id) != paper]

    def superseded(self) -> list[str]:
        """Pages of which every paper is in a later page too."""
        later: set[str] = set()
        names = []
        for name, papers in reversed(self.pages.items()):
            if papers.keys() <= later:
                names.append(name)
            else:
                later |= papers.keys()
        return names

    def add(self, page: Page) -> None:
        last = max((int(match[1]) for name in self.pages if (match := PAGE_NAME.fullmatch(name))), default=0)
        name = f"page-{last + 1:05d}.json"
        write_whole(self.folder / name, page.body)
        self.pages[name] = papers_of(page.notes)
        self.hashes[name] = hash_of(page.body).hexdigest()
        self.save()

    def drop(self, names: Iterable[str]) -> None:
        dropped = list(names)
        for name in dropped:
            del self.pages[name], self.hashes[name]
        self.save()
        for name in dropped:
            (self.folder / name).unlink(missing_ok=True)

    def save(self) -> None:
        state = {**self.identity, "is_whole": self.is_whole, "cursor": self.cursor, "pages": self.hashes}
        write_whole(self.folder / STATE_NAME, json.dumps(state, indent=2).encode())

    def close(self) -> None:
        """The pages now belong to the caller."""
        (self.folder / STATE_NAME).unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove every trace of a crawl from the folder."""
        self.close()
        for path in [*self.folder.glob("page-*.json*"), *self.folder.glob(f"{STATE_NAME}.part")]:
            path.unlink()
        self.pages, self.hashes, self.cursor, self.is_whole = {}, {}, None, False

    def _resume(self) -> bool:
        """Take over what the state file describes, if it fits and its pages are as it says."""
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            state = json.loads((self.folder / STATE_NAME).read_bytes())
            # A full crawl is as good as any other for who did not ask for one.
            wanted = {**self.identity, "is_full": state["is_full"] or self.identity["is_full"]}
            if any(state[key] != value for key, value in wanted.items()):
                return False
            pages = {}
            for name, digest in state["pages"].items():
                if not PAGE_NAME.fullmatch(name) or sha256(self.folder / name) != digest:
                    return False
                pages[name] = papers_of(load_notes(self.folder / name))
            self.pages, self.hashes = pages, dict(state["pages"])
            self.cursor, self.is_whole = state["cursor"], state["is_whole"]
            self.identity = wanted
            return bool(pages)
        return False

    def _begin_from(self, previous: Sequence[Path], landed: Mapping[str, str]) -> None:
        for path in previous:
            if not PAGE_NAME.fullmatch(path.name):
                continue
            target = self.folder / path.name
            try:
                target.hardlink_to(path)
            except OSError:  # another disk, or one without links
                write_whole(target, path.read_bytes())
            self.pages[path.name] = papers_of(load_notes(path))
            self.hashes[path.name] = landed.get(path.name) or sha256(path)
        self.is_whole = True
        self.save()


def write_whole(path: Path, body: bytes) -> None:
    """The file appears whole, also after a power cut."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise LandingError(f"{path}: cannot be written ({error.strerror or error}); check the disk.") from None
