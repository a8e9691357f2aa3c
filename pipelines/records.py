"""How the landed files of a JSON source split into records: one JSON object each, in a stable order.

Here belongs what is a record of each source, and what becomes of text that is not proper JSON. What the fields mean
belongs in the dbt project.

* `paper_copilot`: one line of a JSONL file.
* `openreview`: one note; its replies are records of their own, after it. Where a note came several times (a crawl that
  was continued), the version with the latest `tmdate` counts.
* `conference_site`: one event of `results`, with its abstract from the sidecar file as `abstract`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A lone surrogate has no UTF-8 form and kills whole batches in pyarrow and DuckDB; NUL breaks consumers in C.
_UNSAFE_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_CONSTANT = re.compile("NaN|Infinity")
# Where sources put ids of people; authors that are objects have a `username` besides.
_ID_FIELDS = ("authorids", "signatures", "readers", "writers", "nonreaders", "or_profile")
REPLACEMENT = "�"


class RecordsError(Exception):
    """A file as a whole is not what its source ships; says what was expected and what was found."""


@dataclass(frozen=True)
class Record:
    """One record as JSON text; `problem` says why it is not an object, and `text` is then what stood there."""

    text: str
    problem: str | None = None


def read_records(schema: str, paths: Sequence[Path]) -> Iterator[Record]:
    """The records of a source's files.

    Raises:
        RecordsError: a file cannot be split into records at all.
    """
    return _READERS[schema](paths)


def _jsonl(paths: Sequence[Path]) -> Iterator[Record]:
    for path in paths:
        with path.open("rb") as file:
            # Bytes split at LF only; `splitlines` would also split at U+2028 inside a text.
            for line in file:
                if text := line.decode("utf-8", errors="replace").strip("\ufeff\r\n \t"):
                    yield _from_text(text)


def _without_email_ids(value: dict[str, Any]) -> bool:
    """Empty the ids that are e-mail addresses, in their places; says whether there were any.

    Such ids go nowhere outside landing. A name or a text that holds an address is another matter.
    """
    content = value.get("content")
    found = False
    for holder in [value, content] if isinstance(content, dict) else [value]:
        for key in (*_ID_FIELDS, "authors"):
            if key in holder:
                cleaned = _emptied(holder[key], is_id=key != "authors")
                found |= cleaned != holder[key]
                holder[key] = cleaned
    return found


def _emptied(given: Any, *, is_id: bool) -> Any:
    """Text, a list, `{"value": ...}` of version 2 of the API, or authors that are objects with a `username`."""
    if isinstance(given, str):
        return ";".join("" if "@" in one else one for one in given.split(";")) if is_id else given
    if isinstance(given, list):
        return [_emptied(one, is_id=is_id) for one in given]
    if isinstance(given, dict):
        return {key: _emptied(one, is_id=is_id or key == "username") for key, one in given.items()}
    return given


def _from_text(text: str) -> Record:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return Record(_UNSAFE.sub(REPLACEMENT, text), f"the line is not JSON ({error})")
    if not isinstance(value, dict):
        return Record(_UNSAFE.sub(REPLACEMENT, text), "the line is not a JSON object")
    has_emails = "@" in text and _without_email_ids(value)
    is_unsafe = has_emails or _UNSAFE_ESCAPE.search(text) or _UNSAFE.search(text) or _CONSTANT.search(text)
    return Record(_dump(value) if is_unsafe else text)


def _no_constant(name: str) -> None:
    """NaN and Infinity are not JSON; an absent number is null."""
    return None


def _dump(value: Any) -> str:
    return _UNSAFE.sub(REPLACEMENT, json.dumps(_safe(value), ensure_ascii=False, separators=(",", ":")))


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSAFE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {_safe(key): _safe(item) for key, item in value.items()}
    return value


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8", errors="replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RecordsError(f"{path} is not JSON: {error}.") from None


def _openreview(paths: Sequence[Path]) -> Iterator[Record]:
    notes: dict[str, dict[str, Any]] = {}
    odd: list[Record] = []
    for path in paths:
        page = _load(path)
        if not isinstance(page, dict) or not isinstance(page.get("notes"), list):
            raise RecordsError(f"{path} has no list 'notes'; expected a page of the OpenReview API.")
        for note in page["notes"]:
            details = note.pop("details", None) if isinstance(note, dict) else None
            details = details if isinstance(details, dict) else {}
            replies = details.get("replies") or details.get("directReplies")
            for one in [note, *(replies if isinstance(replies, list) else [])]:
                if not isinstance(one, dict) or not isinstance(one.get("id"), str):
                    odd.append(Record(_dump(one), "the note has no id"))
                elif one["id"] not in notes or _changed_at(one) >= _changed_at(notes[one["id"]]):
                    notes[one["id"]] = one
    for note in notes.values():
        _without_email_ids(note)
        yield Record(_dump(note))
    yield from odd


def _changed_at(note: Mapping[str, Any]) -> float:
    changed = note.get("tmdate") or note.get("tcdate") or 0
    return changed if isinstance(changed, int | float) else 0


def _conference_site(paths: Sequence[Path]) -> Iterator[Record]:
    feed = _load(paths[0])
    if not isinstance(feed, dict) or not isinstance(feed.get("results"), list):
        raise RecordsError(f"{paths[0]} has no list 'results'; expected the site's orals-posters file.")
    count, shipped = feed.get("count"), len(feed["results"])
    if count != shipped:
        raise RecordsError(f"{paths[0]} says that it has {count} events but ships {shipped}; it is not complete.")
    abstracts = _load(paths[1]) if len(paths) > 1 else {}
    for event in feed["results"]:
        if not isinstance(event, dict):
            yield Record(_dump(event), "the event is not a JSON object")
            continue
        abstract = abstracts.get(str(event.get("id"))) if isinstance(abstracts, dict) else None
        yield Record(_dump({**event, "abstract": event.get("abstract") or abstract}))


_READERS: Mapping[str, Callable[[Sequence[Path]], Iterator[Record]]] = {
    "paper_copilot": _jsonl,
    "openreview": _openreview,
    "conference_site": _conference_site,
}
