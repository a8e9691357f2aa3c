"""What a contract asks of a column, and how each type that Parquet has for it is read as that, in SQL.

Here belongs what reads without loss and what does not, once for every source whose files are Parquet. Which columns a
source has belongs in `contracts.py`.

Writers choose types by what a file happens to hold: a column without a value is of type NULL, counts with a gap become
floats, ratings come as integers, halves, decimals or words. What cannot be read as it stands (a fraction where
something is counted, words where a number belongs) is NULL, and its row is set aside with the reason.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pipelines.formats.records import REPLACEMENT
from pipelines.warehouse import sql_string


class Kind(Enum):
    """What a column holds. `sql` is its type among the texts, `row_sql` its type in the table of rows.

    A score keeps the text that was given; what number it stands for is one rule for all sources, and dbt's.
    """

    TEXT = ("text", "VARCHAR", "VARCHAR")
    TEXTS = ("texts", "VARCHAR[]", "VARCHAR[]")
    COUNT = ("count", "BIGINT", "BIGINT")
    TIME = ("epoch ms", "BIGINT", "BIGINT")
    SCORE = ("score", "BIGINT", "VARCHAR")

    def __init__(self, word: str, sql: str, row_sql: str) -> None:
        self.word, self.sql, self.row_sql = word, sql, row_sql

    def sql_type(self, *, as_json: bool = False) -> str:
        """`sql`, or JSON where numbers are to be shown as they stand."""
        return "JSON" if as_json and self in (Kind.COUNT, Kind.SCORE) else self.sql


@dataclass(frozen=True)
class Reading:
    """How one stored value is read, as SQL expressions.

    `value` is of the kind's `sql` type, `row_value` of its `row_sql`. `given` is JSON and shows the value as it stands,
    for files that hold what `sql` has no room for; it is None where `value` says it all. `problem` is the condition
    under which the value cannot be read, `shown` then its text, `wanted` what it should have been.
    """

    value: str
    row_value: str
    given: str | None = None
    problem: str | None = None
    shown: str = ""
    wanted: str = "a whole number"

    @property
    def as_json(self) -> str:
        """The value as it stands, whatever it is."""
        return self.given or f"(({self.value})::varchar)::json"


_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"}
_LARGE_INTEGERS = {"ubigint", "hugeint", "uhugeint"}
_FLOATS = {"float", "double"}
_TEXTS = {"varchar", "enum"}
_DIGITS = _INTEGERS | _LARGE_INTEGERS | {"decimal", "uuid"}  # as text: what they show
_BYTES = "blob"  # some writers leave out that a text is one
_ZONED = {"timestamp with time zone", "timestamptz_ns"}
_TIMES = {"date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"}
_ZONE = r"[A-Za-z]$|:.*[+-]"  # ISO text that names its zone
_WHOLE, _SOME = r"^\s*[+-]?\d+(\.0*)?\s*$", r"\S"


def read(kind: Kind, value: str, stored: Any, *, is_sound: bool) -> Reading | None:
    """How a value of a stored type (as DuckDB names it) is read as a kind; None where it cannot be.

    Args:
        kind: what is wanted.
        value: SQL for the stored value.
        stored: its DuckDB type.
        is_sound: whether no text of the file holds NUL.
    """
    if stored.id == "null":
        return Reading(f"null::{kind.sql}", f"null::{kind.row_sql}")
    if kind is Kind.TEXTS:
        return _texts(value, stored, is_sound)
    if kind is Kind.TEXT:
        return _words(value, stored, is_sound)
    if kind is Kind.TIME:
        return _time(value, stored, is_sound)
    if kind is Kind.SCORE:
        return _score(value, stored, is_sound)
    return _whole_number(value, stored, is_sound)


def list_of(value: str, stored: Any) -> tuple[str, Any] | None:
    """A list of whatever kind, as SQL for a plain list and its items' type; None where it is no list."""
    if stored.id == "list":
        return value, stored.children[0][1]
    if stored.id == "array":
        return f"{value}::{stored.children[0][1]}[]", stored.children[0][1]
    return None


def _same(value: str) -> Reading:
    return Reading(value, value)


def _words(value: str, stored: Any, is_sound: bool) -> Reading | None:
    if stored.id not in _TEXTS | _DIGITS | {_BYTES}:
        return None
    text = _text(value, stored, is_sound)
    if stored.id != _BYTES:
        return _same(text)
    return Reading(text, text, None, _is_no_text(value), f"{value}::varchar", "text")


def _is_no_text(value: str) -> str:
    return f"{value} is not null and try(decode({value})) is null"


def _text(value: str, stored: Any, is_sound: bool) -> str:
    if stored.id == _BYTES:  # landing looks for NUL in texts only
        return f"replace(try(decode({value})), chr(0), '{REPLACEMENT}')"
    text = value if stored.id == "varchar" and str(stored) == "VARCHAR" else f"{value}::varchar"
    return text if is_sound else f"replace({text}, chr(0), '{REPLACEMENT}')"


def _texts(value: str, stored: Any, is_sound: bool) -> Reading | None:
    if (found := list_of(value, stored)) is None:
        return None
    items, item = found
    if item.id == "null":
        return _same(f"{items}::varchar[]")
    if item.id not in _TEXTS | _DIGITS | {_BYTES}:
        return None
    if str(item) == "VARCHAR" and is_sound:
        return _same(items)
    texts = f"list_transform({items}, lambda text: {_text('text', item, is_sound)})"
    if item.id != _BYTES:
        return _same(texts)
    first = f"list_filter({items}, lambda text: {_is_no_text('text')})[1]"
    return Reading(texts, texts, None, f"{first} is not null", f"({first})::varchar", "text")


def _time(value: str, stored: Any, is_sound: bool) -> Reading | None:
    if stored.id in _TIMES | _ZONED:
        kind = "timestamptz" if stored.id in _ZONED else "timestamp"
        time = f"epoch_ms(try_cast({value} as {kind}))"
        # Infinity, and a date that milliseconds cannot hold.
        problem = f"{value} is not null and {time} is null"
        return Reading(time, time, None, problem, f"{value}::varchar", "a time")
    if (number := _whole_number(value, stored, is_sound)) is None:
        return None
    if stored.id not in _TEXTS:
        return replace(number, wanted="a time")
    text = number.shown
    # Without a zone it is UTC, whatever the zone of this machine is.
    trimmed = f"regexp_replace({text}, '^\\s+|\\s+$', '', 'g')"
    zoned, plain = (f"epoch_ms(try_cast({trimmed} as {kind}))" for kind in ("timestamptz", "timestamp"))
    moment = f"case when regexp_matches({trimmed}, '{_ZONE}') then {zoned} else {plain} end"
    time = f"coalesce({moment}, {number.value})"
    problem = f"regexp_matches({text}, '{_SOME}') and ({time}) is null"
    return Reading(time, time, number.given, problem, text, "a time")


def _score(value: str, stored: Any, is_sound: bool) -> Reading | None:
    if stored.id in _INTEGERS:
        return Reading(_as(value, stored, "BIGINT"), f"{value}::varchar")
    given = f"({value}::varchar)::json"
    if stored.id in _LARGE_INTEGERS:
        text = f"{value}::varchar"
    elif stored.id in _FLOATS:
        # 6.0 is a 6 in a column that has a gap or a half elsewhere; NaN is how such columns say "none".
        text = f"case when {_is_number(value)} then regexp_replace({value}::varchar, '\\.0$', '') end"
        given = f"case when isfinite({value}) then {given} when {_is_number(value)} then to_json({value}::varchar) end"
    elif stored.id == "decimal":
        text = f"regexp_replace(regexp_replace({value}::varchar, '(\\.\\d*?)0+$', '\\1'), '\\.$', '')"
    elif stored.id in _TEXTS:
        plain = _text(value, stored, is_sound)
        text = f"case when regexp_matches({plain}, '{_SOME}') then {plain} end"
        given = f"to_json({plain})"
    else:
        return None
    return Reading(f"try_cast({text} as bigint)", text, given)


def _whole_number(value: str, stored: Any, is_sound: bool) -> Reading | None:
    given, shown = f"({value}::varchar)::json", f"{value}::varchar"
    is_there = f"{value} is not null"
    if stored.id in _INTEGERS:
        return _same(_as(value, stored, "BIGINT"))
    if stored.id in _LARGE_INTEGERS:
        number = f"try_cast({value} as bigint)"
    elif stored.id in _FLOATS:
        number = f"case when {value} = trunc({value}) then try_cast({value} as bigint) end"
        is_there = _is_number(value)
        given = f"case when isfinite({value}) then {given} when {_is_number(value)} then to_json({value}::varchar) end"
    elif stored.id == "decimal":
        number = f"case when {value} = trunc({value}) then try_cast({value} as bigint) end"
    elif stored.id in _TEXTS:
        text = _text(value, stored, is_sound)
        number = (
            f"case when regexp_matches({text}, '{_WHOLE}') "
            f"then try_cast(regexp_extract({text}, '[+-]?\\d+') as bigint) end"
        )
        is_there, given, shown = f"regexp_matches({text}, '{_SOME}')", f"to_json({text})", text
    else:
        return None
    return Reading(number, number, given, f"({is_there}) and ({number}) is null", shown)


def _is_number(value: str) -> str:
    """Not NaN. DuckDB 2.0 takes `isnan(x)` for false, by a file's statistics, where other numbers are in the column."""
    return f"{value}::varchar != 'nan'"


def _as(value: str, stored: Any, kind: str) -> str:
    return value if str(stored) == kind else f"{value}::{kind}"


_ADDRESS = r"[^\s@]+@[^\s@]+"
_SHOWN = 100  # characters of a value that a reason quotes


def reason(place: str, reading: Reading) -> str:
    """SQL for why a value cannot be read, in words that name the place (SQL too) and the value; NULL where it can."""
    shown = f"regexp_replace({reading.shown}, {sql_string(_ADDRESS)}, '<e-mail address removed>', 'g')"
    quote = f"'''' || left({shown}, {_SHOWN}) || ''''"
    words = f"'the column ' || {place} || ' holds ' || {quote} || ', which cannot be read as {reading.wanted}'"
    return f"case when {reading.problem} then {words} end"
