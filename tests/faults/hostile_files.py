"""Mutated files of every source, made anew from valid ones: what is in them, and which of their rows are still good.

Here belongs how a file is spoilt. What must become of it is the corpus test's business. A file has `ROWS` papers, of
which the one at `SPOILT` is spoilt by what spoils a row; what spoils a file as a whole says which rows may be lost.

All randomness comes from one seed, so that a file is the same in each run.
"""

import gzip
import io
import json
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hub_files import hub_review, hub_row, hub_schema, review_type, schema_with
from tests.openreview_server import note_v2, review_v2

VENUE_ID = "TEST.cc/2026/Conference"
ROWS, SPOILT = 6, 2

# Each arrives as it is in every text column, NUL and halves of pairs aside, and runs nowhere.
TEXTS = {
    "nul": "before\x00after",
    "bidi": "user\u202e\u2066// admin\u2069\u202c",
    "sql": "'; drop table papers; select * from read_text('/etc/passwd'); --",
    "sql_quotes": "\"'`;$$ || chr(39) || $$",
    "jinja": "{{ 1 / 0 }}{% for x in range(10) %}{{ env_var('HF_TOKEN') }}{% endfor %}{# no",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)></td></table><!--",
    "html_attribute": '" onmouseover="alert(1)" \' autofocus onfocus=\'alert(1)',
    "markdown": "[a](javascript:alert(1)) ![b](https://evil.example/p.png) | `c` | **d**\n# e\n---",
    "formula": "=cmd|' /C calc'!A0",
    "formula_at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "path": "../../../../etc/passwd",
    "path_windows": "C:\\..\\..\\windows\\win.ini%00.txt",
    "shell": "$(touch /tmp/pwned) `touch /tmp/pwned` ; rm -rf / #",
    "template": "${jndi:ldap://127.0.0.1/a} #{7*7} <%= 7*7 %> %s %n {0.__class__}",
    "long": "long title " * 10_000,
    "one_word": "x" * 100_000,
    "zalgo": "Z" + "\u0301\u0489" * 500,
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028\u2029",
    "noncharacters": "\ufdd0\ufdef\ufffe\uffff\U0001ffff\ufeff",
    "emoji": "\U0001f469\u200d\U0001f52c\ufe0f\u0000".replace("\u0000", "") * 50,
    "escapes": '\\u0000 \\ud835 \\n \\x00 \\" {"title": "x"}',
    "latex": "$" * 200 + "\\textbf{" * 200 + "\\cite{" * 200,
    "blanks": " \t\u00a0\u200b ",
    "empty": "",
    "json_list": '["\\ud835", {"a": [null]}]',
}
# What stands where a text, a number or a list was expected; raw JSON, some of which Python would not write.
VALUES = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "fraction": "6.5",
    "beyond_64_bit": "99999999999999999999",
    "huge_integer": "9" * 5_000,
    "huge_exponent": "1e999",
    "nan": "NaN",
    "infinity": "-Infinity",
    "empty_list": "[]",
    "list_of_null": "[null]",
    "nested_nulls": '[[null, {"a": [null]}], null]',
    "empty_object": "{}",
    "object": '{"value": {"value": null}, "a": [1]}',
    "list_of_objects": '[{"fullname": null}, {"fullname": ["x"]}, {"x": 1}, 7, true]',
    "list_of_numbers": "[1, 2.5, -3]",
    "separators": '";;"',
    "deep_70": "[" * 70 + "]" * 70,
    "deep_600": '{"a":' * 600 + "1" + "}" * 600,
    "lone_high": '"x\\ud835y"',
    "lone_low": '"\\udc00"',
    "escaped_nul": '"a\\u0000b"',
    "ten_thousand": json.dumps([f"Person {number} of Many" for number in range(10_000)]),
}
TEN_MILLION = "A very long review indeed. " * 400_000


@dataclass
class Hostile:
    """One file. `good` are the ids of papers that have to be published if the file is accepted at all.

    `texts` are (mart column, what it has to hold) of the spoilt paper, `spoilt`, if it is published.
    """

    kind: str
    name: str
    body: bytes
    good: list[str]
    spoilt: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)


def corpus(seed: int) -> list[Hostile]:
    """All files, in a fixed order; their papers have ids that no other file has."""
    makers: list[Callable[[random.Random, Ids], Iterator[Hostile]]] = [
        lambda chance, ids: json_files(chance, ids, ARCHIVE),
        lambda chance, ids: json_files(chance, ids, SITE),
        lambda chance, ids: json_files(chance, ids, OPENREVIEW),
        hub_files,
    ]
    ids = Ids()
    return [one for number, make in enumerate(makers) for one in make(random.Random(f"{seed}/{number}"), ids)]


class Ids:
    """Ids of papers and reviews as OpenReview makes them, new ones for each file."""

    def __init__(self) -> None:
        self.file = 0

    def next(self) -> list[str]:
        self.file += 1
        return [f"F{self.file:05d}p{row}x" for row in range(ROWS)]


def expected(text: str) -> str | None:
    """A text as a mart has it: without blanks around it, NULL where nothing is left, U+FFFD for what breaks readers."""
    return text.replace("\x00", "\ufffd").strip(" ") or None


# JSON


@dataclass(frozen=True)
class JsonSource:
    """How a source writes its rows; `text_fields` are paths into a row, with the mart's column that shows them."""

    kind: str
    row: Callable[[str, int], dict[str, Any]]
    head: Callable[[int], bytes]
    between: bytes
    tail: bytes
    text_fields: dict[tuple[str, ...], str | None]
    other_fields: list[tuple[str, ...]]

    def whole(self, rows: list[bytes], *, count: int | None = None) -> bytes:
        return self.head(len(rows) if count is None else count) + self.between.join(rows) + self.tail


def _archive_row(id: str, number: int) -> dict[str, Any]:
    return {
        "id": id,
        "title": f"Paper {id}",
        "track": "main",
        "status": "Poster",
        "abstract": f"What {id} is about, said in a sentence that is long enough.",
        "keywords": "one;two",
        "primary_area": "learning",
        "author": "Ada Example;Bo Sample",
        "authorids": "~Ada_Example1;~Bo_Sample1",
        "aff": "University of A;University of B",
        "bibtex": "@a{b}",
        "github": "https://github.com/a/b",
        "site": f"https://openreview.net/forum?id={id}",
        "rating": "6;8",
        "confidence": "3;4",
        "reviewers": "Ab12;Cd34",
    }


def _site_row(id: str, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "uid": f"uid-{id}",
        "name": f"Paper {id}",
        "decision": "Accept (Poster)",
        "eventtype": "Poster",
        "abstract": f"What {id} is about, said in a sentence that is long enough.",
        "topic": "learning",
        "keywords": ["one", "two"],
        "sourceurl": f"https://openreview.net/group?id={VENUE_ID}",
        "paper_url": f"https://openreview.net/forum?id={id}",
        "authors": [{"id": 1, "fullname": "Ada Example", "institution": "University of A"}],
        "eventmedia": None,
        "visible": True,
    }


def _openreview_row(id: str, number: int) -> dict[str, Any]:
    paper = note_v2(
        number + 1, venue_id=VENUE_ID, id=id, title=f"Paper {id}", hidden=(), venue="TEST 2026 Conference Submission"
    )
    return paper | {"details": {"replies": [review_v2(paper, 1, id=f"{id}_r1"), review_v2(paper, 2, id=f"{id}_r2")]}}


ARCHIVE = JsonSource(
    "paper_copilot", _archive_row, lambda count: b"", b"\n", b"\n",
    {("title",): "title", ("abstract",): "abstract", ("bibtex",): "bibtex", ("primary_area",): "primary_area",
     ("status",): None, ("author",): None, ("aff",): None, ("keywords",): None, ("github",): None},
    [("id",), ("track",), ("rating",), ("confidence",), ("reviewers",), ("authorids",), ("site",), ("undeclared",)],
)  # fmt: skip
SITE = JsonSource(
    "conference_site", _site_row,
    lambda count: b'{"count": %d, "next": null, "previous": null, "results": [' % count, b",\n", b"]}",
    {("name",): None, ("abstract",): None, ("topic",): "primary_area", ("decision",): None},
    [("id",), ("sourceurl",), ("uid",), ("keywords",), ("authors",), ("eventmedia",), ("visible",), ("paper_url",),
     ("eventtype",)],
)  # fmt: skip
OPENREVIEW = JsonSource(
    "openreview", _openreview_row, lambda count: b'{"count": %d, "notes": [' % count, b",\n", b"]}",
    {("content", "title", "value"): "title", ("content", "abstract", "value"): "abstract",
     ("content", "_bibtex", "value"): "bibtex", ("content", "primary_area", "value"): "primary_area",
     ("content", "venueid", "value"): None, ("license",): None},
    [("id",), ("forum",), ("number",), ("invitations",), ("signatures",), ("tcdate",), ("tmdate",), ("content",),
     ("details",), ("details", "replies"), ("content", "authors", "value"), ("content", "authors"),
     ("content", "authorids", "value"), ("content", "keywords", "value"), ("content", "venue", "value"),
     ("content", "pdf", "value"), ("ddate",)],
)  # fmt: skip


def put(row: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        row = row[key]
    row[path[-1]] = value


def with_raw(row: dict[str, Any], path: tuple[str, ...], raw: str) -> bytes:
    """The row as JSON with raw text at a path."""
    put(row, path, "@@raw@@")
    return json.dumps(row).replace('"@@raw@@"', raw).encode()


def json_files(chance: random.Random, ids: Ids, source: JsonSource) -> Iterator[Hostile]:
    def begin(name: str) -> tuple[Hostile, list[dict[str, Any]], list[bytes]]:
        names = ids.next()
        rows = [source.row(id, number) for number, id in enumerate(names)]
        good = [id for number, id in enumerate(names) if number != SPOILT]
        spoilt = Hostile(source.kind, name, b"", good, spoilt=names[SPOILT])
        return spoilt, rows, [json.dumps(row).encode() for row in rows]

    def spoil_row(name: str, row: Callable[[dict[str, Any]], bytes]) -> Hostile:
        hostile, rows, written = begin(name)
        written[SPOILT] = row(rows[SPOILT])
        hostile.body = source.whole(written)
        return hostile

    yield replace((good := begin("valid"))[0], body=source.whole(good[2]), good=[*good[0].good, str(good[0].spoilt)])
    for name, text in TEXTS.items():
        hostile, rows, written = begin(f"text {name}")
        for path, column in source.text_fields.items():
            put(rows[SPOILT], path, text)
            if column:
                hostile.texts[column] = text
        if source is OPENREVIEW:
            for field_name in ("summary", "strengths", "weaknesses", "questions"):
                rows[SPOILT]["details"]["replies"][0]["content"][field_name]["value"] = text
                hostile.reviews[field_name] = text
        written[SPOILT] = json.dumps(rows[SPOILT], ensure_ascii=chance.random() < 0.5).encode()
        hostile.body = source.whole(written)
        yield hostile
    for name, raw in VALUES.items():
        # In one field of each sort, by chance, so that the row often survives; `everywhere` is for all at once.
        path = chance.choice([*source.text_fields, *source.other_fields])
        yield spoil_row(f"value {name} at {'.'.join(path)}", lambda row, p=path, r=raw: with_raw(row, p, r))
    for path in source.other_fields:
        raw = VALUES[chance.choice(["null", "object", "list_of_null", "nested_nulls", "zero", "true"])]
        yield spoil_row(f"other {'.'.join(path)}", lambda row, p=path, r=raw: with_raw(row, p, r))
    yield spoil_row("all null", lambda row: json.dumps(dict.fromkeys(row)).encode())
    yield spoil_row("all [null]", lambda row: json.dumps({key: [None] for key in row}).encode())
    yield spoil_row("no fields", lambda row: b"{}")
    yield spoil_row("null row", lambda row: b"null")
    yield spoil_row("list row", lambda row: b"[null]")
    yield spoil_row("text row", lambda row: b'"<script>alert(1)</script>"')
    yield spoil_row("deep row", lambda row: b'{"a":' * 900 + b"1" + b"}" * 900)
    yield spoil_row("doubled keys", lambda row: json.dumps(row).encode()[:-1] + b', "id": "../../x", "title": 1}')
    yield spoil_row(
        "strange keys", lambda row: json.dumps(row | {"": 1, "'; --": 2, "{{ x }}": 3, "$.a[*]": 4}).encode()
    )
    yield spoil_row(
        "ten million", lambda row: json.dumps(row | {"abstract": TEN_MILLION, "bibtex": TEN_MILLION}).encode()
    )
    for number in range(6):
        hostile, rows, written = begin(f"flipped bytes {number}")
        body = bytearray(written[SPOILT])
        for _ in range(number + 1):
            body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
        written[SPOILT] = bytes(body)
        hostile.body = source.whole(written)
        yield hostile
    for number in range(4):
        hostile, rows, written = begin(f"cut {number}")
        whole = source.whole(written)
        at = chance.randrange(1, len(whole))
        kept = hostile.good if source is ARCHIVE else []
        whole_rows = whole[:at].count(b"\n")
        hostile.body, hostile.good = whole[:at], [id for id in kept if int(id[7]) < whole_rows]
        yield hostile
    for name, change in FILE_CHANGES.items():
        hostile, rows, written = begin(name)
        hostile.body = change(source.whole(written))
        hostile.good = [*hostile.good, str(hostile.spoilt)] if name in HARMLESS_CHANGES else []
        yield hostile
    if source is not ARCHIVE:
        hostile, rows, written = begin("wrong count")
        hostile.body = source.whole(written, count=999)
        hostile.good = [*hostile.good, str(hostile.spoilt)] if source is OPENREVIEW else []
        yield hostile
        hostile, rows, written = begin("rows are an object")
        hostile.body, hostile.good = source.head(1)[:-1] + b"{}}", []
        yield hostile


FILE_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "carriage returns": lambda body: body.replace(b"\n", b"\r\n"),
    "blank end": lambda body: body + b"\n \n",
    "utf-16": lambda body: body.decode().encode("utf-16"),
    "utf-32": lambda body: body.decode().encode("utf-32"),
    "empty": lambda body: b"",
    "blanks": lambda body: b" \n\n ",
    "nul bytes": lambda body: b"\x00" * 1000,
    "html": lambda body: b"<!DOCTYPE html><html><body><script>alert(1)</script></body></html>",
    "gzip": gzip.compress,
    "other json": lambda body: b'{"error": {"message": "<b>no</b>"}}\n',
    "list": lambda body: b"[" * 3 + b"]" * 3,
    "deep": lambda body: b"[" * 100_000,
    "number": lambda body: b"1" * 10_000,
    "noise": lambda body: bytes(random.Random(len(body)).randbytes(2000)),
}
HARMLESS_CHANGES = {"byte order mark", "carriage returns", "blank end"}


# Parquet


def hub_rows(ids: list[str]) -> list[dict[str, Any]]:
    return [
        hub_row(
            number + 1,
            url=f"https://openreview.net/forum?id={id}",
            title=f"Paper {id}",
            reviews=[hub_review(f"{id}_r1"), hub_review(f"{id}_r2", rating=2)],
        )
        for number, id in enumerate(ids)
    ]


def written(rows: list[dict[str, Any]], schema: pa.Schema | None = None, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema or hub_schema()), sink, **options)
    return sink.getvalue()


def hub_files(chance: random.Random, ids: Ids) -> Iterator[Hostile]:
    def begin(name: str) -> tuple[Hostile, list[dict[str, Any]]]:
        names = ids.next()
        good = [id for number, id in enumerate(names) if number != SPOILT]
        return Hostile("files", name, b"", good, spoilt=names[SPOILT]), hub_rows(names)

    def spoil(name: str, **changes: Any) -> Hostile:
        hostile, rows = begin(name)
        rows[SPOILT] |= changes
        hostile.body = written(rows)
        return hostile

    def whole(name: str, body: Callable[[list[dict[str, Any]]], bytes], *, is_sound: bool = True) -> Hostile:
        hostile, rows = begin(name)
        hostile.body = body(rows)
        hostile.good = [*hostile.good, str(hostile.spoilt)] if is_sound else []
        return hostile

    for name, text in TEXTS.items():
        hostile, rows = begin(f"text {name}")
        review = hub_review(f"{hostile.spoilt}_r1", summary=text, strengths=text, weaknesses=text, review=text)
        rows[SPOILT] |= {"title": text, "abstract": text, "_bibtex": text, "_bibkey": text, "venueid": text}
        rows[SPOILT] |= {"reviews": [review, hub_review(text)], "authors": [text, "Ada Example"]}
        hostile.texts = {"title": text, "abstract": text, "bibtex": text}
        hostile.reviews = {"summary": text, "strengths": text, "weaknesses": text, "main_text": text}
        hostile.body = written(rows)
        yield hostile
    for column in hub_schema().names:
        yield spoil(f"null {column}", **{column: None})
    yield spoil("all null", **dict.fromkeys(hub_schema().names))
    yield spoil("reviews [null]", reviews=[None, None])
    yield spoil("reviews of nulls", reviews=[dict.fromkeys(hub_review())])
    yield spoil("no reviews", reviews=[])
    yield spoil("authors [null]", authors=[None, "", " ", "N/A"])
    yield spoil("ten thousand authors", authors=[f"Person {number} of Many" for number in range(10_000)])
    yield spoil("ten million", reviews=[hub_review("ten_million", summary=TEN_MILLION)])
    yield spoil("largest integers", year=2**63 - 1, num_reviews=-(2**63), reviews=[hub_review("big", date=2**63 - 1)])
    yield spoil("smallest integers", year=-(2**63), reviews=[hub_review("low", rating=-(2**63), confidence=2**63 - 1)])
    for name in ("path", "path_windows", "sql", "jinja", "html", "nul"):
        yield spoil(f"id {name}", url=f"https://openreview.net/forum?id={TEXTS[name]}", invitation=TEXTS[name])

    for codec in ("snappy", "gzip", "zstd", "lz4", "brotli", "none"):
        yield whole(f"codec {codec}", lambda rows, codec=codec: written(rows, compression=codec))
    yield whole("data pages v2", lambda rows: written(rows, data_page_version="2.0", compression="zstd"))
    yield whole("no dictionary", lambda rows: written(rows, use_dictionary=False))
    yield whole("row group a row", lambda rows: written(rows, row_group_size=1))
    yield whole("tiny pages", lambda rows: written(rows, data_page_size=1, write_batch_size=1))
    yield whole("no statistics", lambda rows: written(rows, write_statistics=False))
    yield whole("checksums", lambda rows: written(rows, write_page_checksum=True))
    yield whole("parquet 1.0", lambda rows: written(rows, version="1.0"))
    yield whole("indexed pages", lambda rows: written(rows, write_page_index=True))
    yield whole(
        "delta lengths",
        lambda rows: written(
            rows,
            use_dictionary=False,
            column_encoding={
                "title": "DELTA_BYTE_ARRAY",
                "abstract": "DELTA_LENGTH_BYTE_ARRAY",
                "year": "DELTA_BINARY_PACKED",
            },
        ),
    )
    yield whole(
        "split bytes", lambda rows: written(rows, use_dictionary=False, column_encoding={"year": "BYTE_STREAM_SPLIT"})
    )
    yield whole(
        "large strings",
        lambda rows: written(rows, schema_with(title=pa.large_string(), authors=pa.large_list(pa.large_string()))),
    )
    yield whole("string views", lambda rows: written(rows, schema_with(abstract=pa.string_view())))
    yield whole(
        "dictionary type",
        lambda rows: written(
            rows, schema_with(venue=pa.dictionary(pa.int32(), pa.string()), title=pa.dictionary(pa.int8(), pa.string()))
        ),
    )
    yield whole("columns reversed", lambda rows: written(rows, pa.schema(list(hub_schema())[::-1])))
    yield whole(
        "not nullable",
        lambda rows: written(
            rows, pa.schema([field.with_nullable(False) if field.name == "title" else field for field in hub_schema()])
        ),
    )
    yield whole("fields reversed", lambda rows: written(rows, schema_with(reviews=_reversed_review_type())))
    for extra in (
        "filename",
        "row_number",
        "edition_id",
        "snapshot_id",
        "source",
        "file_number",
        "place",
        "item",
        'a"b',
        "'; --",
        "",
        "{{ x }}",
        "a.b",
        "file_index",
    ):
        yield whole(
            f"column {extra!r}",
            lambda rows, e=extra: written([row | {e: "<b>"} for row in rows], schema_with(**{e: pa.string()})),
        )
    yield whole(
        "nested column",
        lambda rows: written(
            [row | {"z": [{"a": [None]}]} for row in rows],
            schema_with(z=pa.list_(pa.struct([pa.field("a", pa.list_(pa.null()))]))),
        ),
    )
    yield whole(
        "more fields",
        lambda rows: written(rows, schema_with(reviews=review_type(soundness=pa.int64(), extra=pa.string()))),
    )
    for reserved in ("file_row_number", "File_Row_Number"):
        yield whole(
            f"column {reserved}",
            lambda rows, r=reserved: written([row | {r: 7} for row in rows], schema_with(**{r: pa.int64()})),
        )
    yield whole(
        "twins in other case",
        lambda rows: written([row | {"Title": "x"} for row in rows], schema_with(Title=pa.string())),
    )
    for column, kind in {
        "title": pa.binary(),
        "year": pa.int32(),
        "authors": pa.list_(pa.null()),
        "abstract": pa.null(),
        "reviews": pa.list_(pa.list_(pa.string())),
        "num_reviews": pa.float64(),
    }.items():
        yield whole(
            f"type {column} {kind}",
            lambda rows, c=column, k=kind: written(_emptied(rows, c, k), schema_with(**{c: k})),
            is_sound=False,
        )
    for column in ("title", "reviews", "url"):
        yield whole(
            f"without {column}",
            lambda rows, c=column: written(
                [{k: v for k, v in row.items() if k != c} for row in rows], schema_with(**{c: None})
            ),
            is_sound=False,
        )
    yield whole("no rows", lambda rows: written([]), is_sound=False)
    yield whole("no columns", lambda rows: _no_columns(), is_sound=False)
    for number in range(20):
        yield whole(
            f"flipped bytes {number}", lambda rows: _flipped(written(rows, compression="zstd"), chance), is_sound=False
        )
    for number in range(5):
        yield whole(
            f"cut {number}", lambda rows: (body := written(rows))[: chance.randrange(len(body))], is_sound=False
        )
        yield whole(f"cut inside {number}", lambda rows: _without_a_piece(written(rows), chance), is_sound=False)
    for name, change in FILE_CHANGES.items():
        if name not in ("byte order mark", "carriage returns", "blank end", "utf-16", "utf-32"):
            yield whole(name, lambda rows, c=change: c(written(rows)), is_sound=False)
    yield whole("magic only", lambda rows: b"PAR1PAR1", is_sound=False)
    yield whole(
        "footer of gigabytes", lambda rows: written(rows)[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1", is_sound=False
    )
    yield whole("not utf-8", lambda rows: _not_utf8(rows), is_sound=False)
    yield whole("dictionary bomb", lambda rows: dictionary_bomb(is_nested=False), is_sound=False)
    yield whole("nested dictionary bomb", lambda rows: dictionary_bomb(is_nested=True), is_sound=False)
    yield whole("page bomb", lambda rows: page_bomb(), is_sound=False)


def _reversed_review_type() -> pa.DataType:
    return pa.list_(pa.struct(list(hub_schema().field("reviews").type.value_type)[::-1]))


def _emptied(rows: list[dict[str, Any]], column: str, kind: pa.DataType) -> list[dict[str, Any]]:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return rows
    value = b"x" if pa.types.is_binary(kind) else None if pa.types.is_null(kind) else []
    return [row | {column: value} for row in rows]


def _no_columns() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({}), sink)
    return sink.getvalue()


def _flipped(body: bytes, chance: random.Random) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.choice([1, 1, 2, 8])):
        changed[chance.randrange(4, len(changed) - 4)] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _without_a_piece(body: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(4, len(body) - 200)
    return body[:start] + body[start + chance.randrange(1, 150) :]


def _not_utf8(rows: list[dict[str, Any]]) -> bytes:
    table = pa.Table.from_pylist(rows, schema=hub_schema())
    texts = pa.array([b"fine", b"\xff\xfe bad", b"\xed\xa0\xb5"] * (ROWS // 3), pa.binary())
    bad = pa.StringArray.from_buffers(len(texts), texts.buffers()[1], texts.buffers()[2])
    sink = io.BytesIO()
    pq.write_table(table.set_column(1, "abstract", bad), sink)
    return sink.getvalue()


@cache
def dictionary_bomb(*, is_nested: bool) -> bytes:
    """A kilobyte or two that stand for a hundred gigabytes: one text of 5 MB, to which every row refers."""
    count = 20_000
    text = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["a" * 5_000_000]))
    table = pa.concat_tables([pa.Table.from_pylist([hub_row(1)], schema=hub_schema())] * count).combine_chunks()
    if is_nested:
        column = pa.ListArray.from_arrays(pa.array(range(count + 1), pa.int32()), text)
        table = table.set_column(table.schema.get_field_index("authors"), "authors", column)
    else:
        table = table.set_column(table.schema.get_field_index("abstract"), "abstract", text)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", dictionary_pagesize_limit=1 << 30)
    return sink.getvalue()


@cache
def page_bomb() -> bytes:
    """Some kilobytes of zstd that unpack to 100 MB of text in five rows."""
    rows = [hub_row(number, abstract="a" * 20_000_000) for number in range(5)]
    return written(rows, compression="zstd", use_dictionary=False)
