"""How the landed files of a JSON source split into records: one JSON object each, in a stable order.

Here belongs what is a record of each source, and what becomes of text that is not proper JSON. What the fields mean
belongs in the dbt project.

* `paper_copilot`: one line of a JSONL file.
* `openreview`: one note; its replies are records of their own, after it. Where a note came several times (a crawl that
  was continued), the version with the latest `tmdate` counts.
* `conference_site`: one event of `results`, with its abstract from the sidecar file as `abstract`.

Every reader of a record sees the same: of a key that stands twice the last value counts, NUL and halves of surrogate
pairs become U+FFFD, NaN and Infinity null. A record with a number that no number type holds is set aside.
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
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNUSUAL = re.compile(r"NaN|Infinity|\d{300}|[eE]\+?\d{3}")
# Where sources put ids of people; authors that are objects have a `username` besides.
_ID_FIELDS = ("authorids", "signatures", "readers", "writers", "nonreaders", "or_profile")
# Real records stay below 10; what recurses over a value would end the whole file at some hundreds.
MAX_DEPTH = 64
MAX_BYTES = 256 * 10**6  # the default of MAX_BATCH_BYTES; a file of one JSON value, or one line, is held in memory
_SHOWN = 1000  # characters of a line that is too long
LONGEST_NUMBER = 300  # digits; Python itself turns only some thousand into an integer
REPLACEMENT = "�"


class RecordsError(Exception):
    """A file as a whole is not what its source ships; says what was expected and what was found."""


@dataclass(frozen=True)
class Record:
    """One record as JSON text; `problem` says why it is not an object, and `text` is then what stood there.

    `is_mended`: NUL or half a surrogate pair was replaced in it. `is_cut`: it is longer than `max_bytes` allowed.
    """

    text: str
    problem: str | None = None
    is_mended: bool = False
    is_cut: bool = False


def read_records(schema: str, paths: Sequence[Path], max_bytes: int = MAX_BYTES) -> Iterator[Record]:
    """The records of a source's files, of which one line, or a file that is one JSON value, has at most `max_bytes`.

    Raises:
        RecordsError: a file cannot be split into records at all.
    """
    return _READERS[schema](paths, max_bytes)


def _jsonl(paths: Sequence[Path], max_bytes: int) -> Iterator[Record]:
    for path in paths:
        with path.open("rb") as file:
            # Bytes split at LF only; `splitlines` would also split at U+2028 inside a text.
            while line := file.readline(max_bytes + 1):
                if len(line) > max_bytes:
                    start = _mended(line[: 4 * _SHOWN].decode("utf-8", errors="replace")[:_SHOWN])
                    while line and not line.endswith(b"\n"):
                        line = file.readline(max_bytes)
                    yield Record(start, f"the line is longer than MAX_BATCH_BYTES={max_bytes} allows", is_cut=True)
                elif text := line.decode("utf-8", errors="replace").strip("\ufeff\r\n \t"):
                    yield _from_text(text)


def without_email_ids(value: dict[str, Any]) -> bool:
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
    has_twins = False

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_twins
        found = dict(pairs)
        has_twins |= len(found) < len(pairs)
        return found

    try:
        value = parse(text, unique)
    except ValueError as error:
        return Record(_mended(text), f"the line is not JSON ({error})")
    except RecursionError:
        return Record(_mended(text), _TOO_DEEP)
    if not isinstance(value, dict):
        return Record(_mended(text), "the line is not a JSON object")
    if _is_deep(value):
        return Record(_mended(text), _TOO_DEEP)
    has_emails = "@" in text and without_email_ids(value)
    if problem := _huge_number(text, value):
        return Record(_dump(_safe(value)), problem)
    is_unsafe = _UNSAFE_ESCAPE.search(text) or _UNSAFE.search(text) or _UNUSUAL.search(text)
    # A text that is as it should be stays as it stands, spelling of numbers included.
    return _record(value) if has_emails or has_twins or is_unsafe else Record(text)


_TOO_DEEP = f"the record is nested more than {MAX_DEPTH} levels deep"


def parse(text: str, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """JSON as Python values, whatever numbers it holds.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested some hundreds of levels deep.
    """
    return json.loads(
        text, parse_constant=_no_constant, parse_int=_integer, parse_float=_number, object_pairs_hook=pairs_hook
    )


def _no_constant(name: str) -> None:
    """NaN and Infinity are not JSON; an absent number is null."""
    return None


class _HugeNumber(str):
    """The text of a number that is too large to be one; nothing here has even thirty digits."""


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_NUMBER else _HugeNumber(digits)


def _number(text: str) -> float | str:
    number = float(text)
    return number if abs(number) != float("inf") else _HugeNumber(text)


def _huge_number(text: str, value: Any) -> str | None:
    """Why a record with a number that is too large is set aside; `text` is its JSON, looked at first."""
    level = [value] if _UNUSUAL.search(text) else []
    while level:
        if found := next((one for one in level if isinstance(one, _HugeNumber)), None):
            return f"a number of {len(found)} characters ({found[:20]}...) is too large to be read"
        items = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [child for one in items for child in one]
    return None


def _is_deep(value: Any) -> bool:
    """Whether a value nests deeper than MAX_DEPTH; found level by level, since recursion is what it protects."""
    level = [value]
    for _ in range(MAX_DEPTH):
        items = [one.values() if isinstance(one, dict) else one for one in level]
        level = [child for one in items for child in one if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _mended(text: str) -> str:
    return _UNSAFE.sub(REPLACEMENT, text)


def _record(value: Any, problem: str | None = None) -> Record:
    """A value as JSON text that every reader takes."""
    if isinstance(value, dict | list) and _is_deep(value):
        return Record(_dump(_cut(value, MAX_DEPTH)), problem or _TOO_DEEP)
    if isinstance(value, dict):
        without_email_ids(value)
    text = _dump(value)
    problem = problem or _huge_number(text, value)
    # Halves of pairs are written as they are, NUL as an escape; behind another backslash it is the spelled-out escape.
    is_mended = _SURROGATE.search(text) is not None or "\\u0000" in text
    if is_mended:
        safe = _safe(value)
        is_mended, text = safe != value, _dump(safe)
    return Record(text, problem, is_mended)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return _mended(value)
    if isinstance(value, list):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {_safe(key): _safe(item) for key, item in value.items()}
    return value


def _cut(value: Any, depth: int) -> Any:
    """What stands above a depth, to be looked at; what lies below is in landing."""
    if isinstance(value, str):
        return _mended(value)
    if depth == 0 and isinstance(value, dict | list):
        return "..."
    if isinstance(value, list):
        return [_cut(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _cut(item, depth - 1) for key, item in value.items()}
    return value


def load(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """The JSON value of a file.

    Raises:
        RecordsError: it is larger than `max_bytes`, nested too deep, or not JSON.
    """
    size = path.stat().st_size
    if size > max_bytes:
        raise RecordsError(f"{path} has {size} bytes, more than MAX_BATCH_BYTES={max_bytes} allows.")
    try:
        return parse(path.read_bytes().decode("utf-8-sig", errors="replace"))
    except ValueError as error:
        raise RecordsError(f"{path} is not JSON: {error}.") from None
    except RecursionError:
        raise RecordsError(f"{path} is not JSON that can be read: it is nested hundreds of levels deep.") from None


def _openreview(paths: Sequence[Path], max_bytes: int) -> Iterator[Record]:
    notes: dict[str, dict[str, Any]] = {}
    odd: list[Record] = []
    for path in paths:
        page = load(path, max_bytes)
        if not isinstance(page, dict) or not isinstance(page.get("notes"), list):
            raise RecordsError(f"{path} has no list 'notes'; expected a page of the OpenReview API.")
        for note in page["notes"]:
            details = note.pop("details", None) if isinstance(note, dict) else None
            details = details if isinstance(details, dict) else {}
            replies = details.get("replies") or details.get("directReplies")
            for one in [note, *(replies if isinstance(replies, list) else [])]:
                if not isinstance(one, dict) or not isinstance(one.get("id"), str):
                    odd.append(_record(one, "the note has no id"))
                elif one["id"] not in notes or _changed_at(one) >= _changed_at(notes[one["id"]]):
                    notes[one["id"]] = one
    for note in notes.values():
        yield _record(note)
    yield from odd


def _changed_at(note: Mapping[str, Any]) -> float:
    changed = note.get("tmdate") or note.get("tcdate") or 0
    return changed if isinstance(changed, int | float) else 0


def _conference_site(paths: Sequence[Path], max_bytes: int) -> Iterator[Record]:
    feed = load(paths[0], max_bytes)
    if not isinstance(feed, dict) or not isinstance(feed.get("results"), list):
        raise RecordsError(f"{paths[0]} has no list 'results'; expected the site's orals-posters file.")
    count, shipped = feed.get("count"), len(feed["results"])
    if count != shipped:
        said = _mended(_dump(_cut(count, 0)))[:40]
        raise RecordsError(f"{paths[0]} says that it has {said} events but ships {shipped}; it is not complete.")
    abstracts = load(paths[1], max_bytes) if len(paths) > 1 else {}
    for event in feed["results"]:
        if not isinstance(event, dict):
            yield _record(event, "the event is not a JSON object")
            continue
        abstract = abstracts.get(str(event.get("id"))) if isinstance(abstracts, dict) else None
        yield _record({**event, "abstract": event.get("abstract") or abstract})


_READERS: Mapping[str, Callable[[Sequence[Path], int], Iterator[Record]]] = {
    "paper_copilot": _jsonl,
    "openreview": _openreview,
    "conference_site": _conference_site,
}
