"""What a page of notes tells of its papers: their ids, their versions, and those of their replies.

Here belongs what a crawl must know of a note to tell whether it has changed. What a note means belongs in the dbt
project.
"""

import contextlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.formats.records import parse


@dataclass(frozen=True)
class Paper:
    """A paper as it was seen: `tmdate` (epoch ms) of its own note, and of each reply by the reply's id."""

    changed_at: float
    replies: Mapping[str, float]


@dataclass(frozen=True)
class Page:
    """One answer to `GET /notes`."""

    body: bytes
    notes: list[Any]
    count: int | None
    date: datetime | None

    @property
    def last_id(self) -> str | None:
        return next((str(note["id"]) for note in reversed(self.notes) if id_of(note)), None)


def is_gone(held: Paper, now: Paper | None) -> bool:
    """Whether a held version has what the server no longer has: the paper, a reply, or a later date."""
    if now is None or held.changed_at > now.changed_at:
        return True
    return any(changed_at > now.replies.get(reply, -1) for reply, changed_at in held.replies.items())


def papers_of(notes: Iterable[Any]) -> dict[str, Paper]:
    """The papers of a page by id. Ids are interned, since a crawl holds each of them several times."""
    papers = {}
    for note in notes:
        if paper_id := id_of(note):
            replies = {reply_id: changed_at_of(one) for one in replies_of(note) or [] if (reply_id := id_of(one))}
            papers[paper_id] = Paper(changed_at_of(note), replies)
    return papers


def id_of(note: Any) -> str | None:
    given = note.get("id") if isinstance(note, dict) else None
    return sys.intern(given) if isinstance(given, str) and given else None


def replies_of(note: Any) -> list[Any] | None:
    """The replies that a note came with, at any depth; None where it came without such a list."""
    details = note.get("details") if isinstance(note, dict) else None
    replies = details.get("replies") if isinstance(details, dict) else None
    return replies if isinstance(replies, list) else None


def changed_at_of(note: Mapping[str, Any]) -> float:
    """The server's own date of the last change, epoch ms; records.py decides by the same one."""
    changed = note.get("tmdate") or note.get("tcdate") or 0
    return changed if isinstance(changed, int | float) else 0


def load_notes(path: Path) -> list[Any]:
    """The notes of a page on disk; none where it cannot be read, so that they count as missing."""
    with contextlib.suppress(ValueError, RecursionError):
        page = parse(path.read_bytes().decode("utf-8-sig", errors="replace"))
        notes = page.get("notes") if isinstance(page, dict) else None
        return notes if isinstance(notes, list) else []
    return []
