"""`pipelines/formats/records.py`: landed JSON files as records that every reader behind them can take."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.formats.records import REPLACEMENT, Record, RecordsError, read_records


def write(folder: Path, *bodies: bytes | Any) -> list[Path]:
    """Files with these bodies; what is not bytes is written as JSON."""
    paths = []
    for number, body in enumerate(bodies):
        paths.append(folder / f"{number}.json")
        paths[-1].write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
    return paths


def lines(folder: Path, *bodies: bytes) -> list[Record]:
    return list(read_records("paper_copilot", write(folder, *bodies)))


def values(records: Sequence[Record]) -> list[Any]:
    """The records' values; each must be JSON as RFC 8259 has it, encodable, without NUL, and an object."""
    found = []
    for record in records:
        assert record.problem is None
        assert b"\x00" not in record.text.encode("utf-8")
        found.append(json.loads(record.text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")))
        assert isinstance(found[-1], dict)
    return found


# JSON lines


def test_one_record_a_line_in_the_files_order(tmp_path: Path) -> None:
    records = lines(tmp_path, b'{"id": "b"}\n\n{"id": "a"}\r\n', b'{"id": "c"}')

    assert values(records) == [{"id": "b"}, {"id": "a"}, {"id": "c"}]


def test_a_clean_line_stays_as_it_is(tmp_path: Path) -> None:
    text = '{"title":  "caf\\u00e9 \\ud83d\\ude00", "rating": 5.50, "n": 9007199254740993}'

    (record,) = lines(tmp_path, text.encode())

    assert json.loads(record.text) == json.loads(text)
    assert "9007199254740993" in record.text


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c", "\x0c", "\x0b"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, separator: str) -> None:
    """str.splitlines would split at each of these; JSON allows the first three inside a string as they are."""
    text = json.dumps({"id": f"a{separator}b"}, ensure_ascii=separator < " ")

    assert values(lines(tmp_path, f"{text}\n".encode())) == [{"id": f"a{separator}b"}]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert values(lines(tmp_path, b'\xef\xbb\xbf{"id": "a"}\n{"id": "b"}\n')) == [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"x \ud835 y", f"x {REPLACEMENT} y"),
        (rb"x \uDC00", f"x {REPLACEMENT}"),
        (rb"\ud835\ud835\udc00", f"{REPLACEMENT}\U0001d400"),
        (rb"nul \u0000 end", f"nul {REPLACEMENT} end"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (b"\xff\xfe", REPLACEMENT * 2),
        (b"\xed\xa0\xb5", REPLACEMENT * 3),
        (rb"\\ud835 and \\u0000 spelled out", r"\ud835 and \u0000 spelled out"),
    ],
)
def test_text_that_no_reader_can_take(tmp_path: Path, written: bytes, read: str) -> None:
    """Lone surrogates and NUL are replaced, in values and in keys; whole pairs and spelled-out escapes are text."""
    body = b'{"' + written + b'": ["' + written + b'", {"a": "' + written + b'"}]}\n'

    assert values(lines(tmp_path, body)) == [{read: [read, {"a": read}]}]


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_absent(tmp_path: Path, constant: str) -> None:
    body = f'{{"rating_avg": {constant}, "title": "NaN and Infinity"}}\n'.encode()

    assert values(lines(tmp_path, body)) == [{"rating_avg": None, "title": "NaN and Infinity"}]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": "cut sho', "is not JSON"),
        (b"{'id': 'python'}", "is not JSON"),
        (b'{"id": "a"} {"id": "b"}', "is not JSON"),
        (b"<html>", "is not JSON"),
        (b"[" * 100_000, "nested more than 64 levels"),
        (b'["a"]', "is not a JSON object"),
        (b'"a"', "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b"NaN", "is not a JSON object"),
    ],
    ids=range(9),
)
def test_a_bad_line_is_kept_with_its_problem(tmp_path: Path, line: bytes, problem: str) -> None:
    """It still counts as a row, so that its snapshot's rows add up; the last line of a cut file is one."""
    good, bad = lines(tmp_path, b'{"id": "a"}\n' + line)

    assert good.problem is None
    assert problem in (bad.problem or "")
    assert bad.text == line.decode()


def test_a_bad_line_has_no_unsafe_text_either(tmp_path: Path) -> None:
    (record,) = lines(tmp_path, b'{"a": "\x00\xed\xa0\xb5')

    assert record.problem is not None
    assert record.text == f'{{"a": "{REPLACEMENT * 4}'


_TEXT = st.text(st.characters(codec=None, exclude_categories=[]), max_size=20)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXT, _VALUE, max_size=4), st.booleans())
def test_any_object_becomes_text_that_every_reader_can_take(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], is_ascii: bool
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    body = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", errors="surrogatepass")

    (record,) = read_records("paper_copilot", write(folder, body))

    assert len(values([record])) == 1


@pytest.mark.parametrize("depth", [70, 600, 5_000, 100_000])
def test_a_line_that_nests_too_deep_is_set_aside_alone(tmp_path: Path, depth: int) -> None:
    good, bad, other = lines(tmp_path, b'{"id": "a"}\n{"a":' + b"[" * depth + b"]" * depth + b'}\n{"id": "b"}\n')

    assert (good.problem, other.problem) == (None, None)
    assert bad.problem == "the record is nested more than 64 levels deep"


@pytest.mark.parametrize("number", [b"7" * 5_000, b"-" + b"7" * 5_000, b"1e999"])
def test_a_record_with_a_huge_number_is_set_aside_with_its_digits(tmp_path: Path, number: bytes) -> None:
    huge, good = lines(tmp_path, b'{"n": [' + number + b'], "k": 3}\n{"n": 2}\n')
    assert json.loads(huge.text) == {"n": [number.decode()], "k": 3}
    assert huge.problem == (f"a number of {len(number)} characters ({number[:20].decode()}...) is too large to be read")
    assert good.problem is None

    body = b'{"notes": [{"id": "a", "number": ' + number + b'}, {"id": "b", "number": 2}]}'
    huge, good = read_records("openreview", write(tmp_path, body))
    assert "is too large to be read" in str(huge.problem)
    assert good.problem is None


def test_digits_in_a_text_are_text(tmp_path: Path) -> None:
    (record,) = lines(tmp_path, b'{"abstract": "pi is 3' + b"1" * 5_000 + b'"}\n')
    assert record.problem is None


def test_of_a_doubled_key_the_last_value_counts(tmp_path: Path) -> None:
    """DuckDB would take the first, so the text has it only once."""
    (record,) = lines(tmp_path, b'{"id": "a", "x": {"y": 1, "y": 2}, "id": "b"}\n')

    assert record.text == '{"id":"b","x":{"y":2}}'


def test_what_was_mended_is_said(tmp_path: Path) -> None:
    body = b'{"a": "\\u0000"}\n{"a": "\\ud835"}\n{"a": "\\\\u0000"}\n{"a": NaN}\n'

    assert [record.is_mended for record in lines(tmp_path, body)] == [True, True, False, False]


def test_a_line_or_file_beyond_the_limit(tmp_path: Path) -> None:
    body = b'{"id": "a"}\n{"id": "' + b"x" * 200 + b'"}\n{"id": "b"}'

    good, bad, last = read_records("paper_copilot", write(tmp_path, body), 100)

    assert (good.problem, last.problem) == (None, None)
    assert bad.problem == "the line is longer than MAX_BATCH_BYTES=100 allows"
    with pytest.raises(RecordsError, match=r"0\.json has 223 bytes, more than MAX_BATCH_BYTES=100 allows"):
        list(read_records("openreview", write(tmp_path, b'{"notes": []}' + b" " * 210), 100))


# OpenReview


def page(*notes: Any) -> dict[str, Any]:
    return {"notes": list(notes)}


def notes(folder: Path, *pages: Any) -> list[Any]:
    return values(list(read_records("openreview", write(folder, *pages))))


def test_replies_are_notes_of_their_own_behind_their_paper(tmp_path: Path) -> None:
    review, answer = {"id": "r", "replyto": "p"}, {"id": "a", "replyto": "r"}
    paper = {"id": "p", "content": {"title": {"value": "T"}}}

    found = notes(
        tmp_path,
        page({**paper, "details": {"replies": [review, answer]}}),
        page({"id": "q", "details": {"directReplies": [{"id": "s"}]}}, {"id": "t", "details": None}),
    )

    assert found == [paper, review, answer, {"id": "q"}, {"id": "s"}, {"id": "t"}]


def test_of_one_note_the_latest_version_counts_wherever_it_stands(tmp_path: Path) -> None:
    """A crawl that was continued sees notes again, in any order of its pages."""
    old, new = {"id": "a", "tmdate": 1, "title": "old"}, {"id": "a", "tmdate": 2, "title": "new"}
    other = {"id": "b", "tcdate": 5}

    assert notes(tmp_path, page(old, other), page(new)) == [new, other]
    assert notes(tmp_path, page(new, other), page(old)) == [new, other]
    assert notes(tmp_path, page({"id": "p", "details": {"replies": [new]}}), page(old)) == [{"id": "p"}, new]


def test_without_a_tmdate_the_creation_counts_and_at_a_tie_the_later_page(tmp_path: Path) -> None:
    first, second = {"id": "a", "tcdate": 3, "n": 1}, {"id": "a", "tcdate": 3, "n": 2}

    assert notes(tmp_path, page(first), page(second)) == [second]
    assert notes(tmp_path, page({"id": "a", "tcdate": 4}), page(second)) == [{"id": "a", "tcdate": 4}]
    assert notes(tmp_path, page({"id": "a", "tmdate": "x"}), page(second)) == [second]


def test_a_note_without_id_is_set_aside(tmp_path: Path) -> None:
    found = list(read_records("openreview", write(tmp_path, page({"id": "a"}, {"number": 3}, "text", None, {"id": 7}))))

    assert [record.problem for record in found] == [None, *["the note has no id"] * 4]
    assert [json.loads(record.text) for record in found] == [{"id": "a"}, {"number": 3}, "text", None, {"id": 7}]


@pytest.mark.parametrize("body", [b"<html>", b'{"notes": [', [], {}, {"notes": {}}, {"name": "RateLimitError"}])
def test_what_is_no_page_of_notes(tmp_path: Path, body: Any) -> None:
    with pytest.raises(RecordsError, match=r"0\.json (is not JSON|has no list 'notes')"):
        list(read_records("openreview", write(tmp_path, body)))


def test_a_notes_text_is_made_safe(tmp_path: Path) -> None:
    body = rb'{"notes": [{"id": "a", "content": {"title": {"value": "x\ud835 \u0000"}, "rating": NaN}}]}'

    (note,) = notes(tmp_path, body)

    assert note["content"] == {"title": {"value": f"x{REPLACEMENT} {REPLACEMENT}"}, "rating": None}


# Conference site


def feed(*events: Any, **given: Any) -> dict[str, Any]:
    return {"count": len(events), "next": None, "previous": None, "results": list(events)} | given


def events(folder: Path, *bodies: Any) -> list[Any]:
    return values(list(read_records("conference_site", write(folder, *bodies))))


def test_an_event_has_its_own_abstract_or_that_of_the_sidecar(tmp_path: Path) -> None:
    whole = feed({"id": 1}, {"id": "2", "abstract": ""}, {"id": 3, "abstract": "Own."}, {"id": 4})

    found = events(tmp_path, whole, {"1": "One.", "2": "Two.", "3": "Other."})

    assert [event["abstract"] for event in found] == ["One.", "Two.", "Own.", None]
    assert [event["abstract"] for event in events(tmp_path, whole)] == [None, None, "Own.", None]


def test_a_feed_that_ships_less_than_it_counts(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match="2891 events but ships 2"):
        events(tmp_path, feed({"id": 1}, {"id": 2}, count=2891))


def test_a_number_of_five_thousand_digits_costs_no_feed(tmp_path: Path) -> None:
    digits = b"7" * 5_000
    body = b'{"count": 2, "results": [{"id": ' + digits + b', "n": -' + digits + b'}, {"id": 2}]}'

    first, second = read_records("conference_site", write(tmp_path, body))

    assert "a number of 5000 characters" in str(first.problem)
    assert (second.problem, json.loads(second.text)["id"]) == (None, 2)


def test_a_count_that_is_no_number_of_events_is_said_in_few_words(tmp_path: Path) -> None:
    with pytest.raises(RecordsError, match=r'says that it has "?7{38,40} events but ships 1; it is not complete\.$'):
        events(tmp_path, b'{"count": ' + b"7" * 5_000 + b', "results": [{"id": 1}]}')


@pytest.mark.parametrize("body", [b"", b"<html>", [], {}, {"count": 0}, {"count": 1, "results": None}])
def test_what_is_no_feed(tmp_path: Path, body: Any) -> None:
    with pytest.raises(RecordsError, match=r"0\.json (is not JSON|has no list 'results')"):
        events(tmp_path, body)


def test_an_event_that_is_no_object_is_set_aside(tmp_path: Path) -> None:
    found = list(read_records("conference_site", write(tmp_path, feed({"id": 1}, "text", None))))

    assert [record.problem for record in found] == [None, *["the event is not a JSON object"] * 2]


def test_an_events_text_is_made_safe(tmp_path: Path) -> None:
    body = json.dumps(feed({"id": 1, "name": "x\ud835"})).encode()
    texts = rb'{"1": "\u0000 NUL"}'

    (event,) = events(tmp_path, body, texts)

    assert (event["name"], event["abstract"]) == (f"x{REPLACEMENT}", f"{REPLACEMENT} NUL")


# Real files


@pytest.mark.parametrize(("name", "rows"), [("iclr2017.jsonl", 490), ("iclr2023.init.jsonl", 4955)])
def test_the_real_files(shared_data: Path, name: str, rows: int) -> None:
    path = shared_data / "paper_copilot" / name

    found = list(read_records("paper_copilot", [path]))

    assert len(found) == rows
    assert all(record.problem is None for record in found)
    for record, line in zip(found, path.read_text(encoding="utf-8").splitlines(), strict=True):
        given = json.loads(line)
        ids = [one for one in given.get("authorids", "").split(";") if "@" not in one]
        kept = json.loads(record.text)
        assert [one for one in kept.pop("authorids", "").split(";") if one] == [one for one in ids if one]
        given.pop("authorids", None)
        assert kept == given


def test_ids_that_are_email_addresses_are_emptied_in_their_places(tmp_path: Path) -> None:
    line = {"id": "a", "author": "Ada;Bo;x@y.org", "authorids": "ada@example.org;~Bo_B1;c@example.org"}
    (tmp_path / "papers.jsonl").write_text(json.dumps(line) + "\n")
    (archive,) = read_records("paper_copilot", [tmp_path / "papers.jsonl"])
    assert json.loads(archive.text) == line | {"authorids": ";~Bo_B1;"}

    note = {
        "id": "n",
        "signatures": ["cy@example.org"],
        "content": {
            "authors": {"value": ["Ada", {"fullname": "Bo", "username": "bo@example.org"}]},
            "authorids": {"value": ["~Ada_A1", "bo@example.org"]},
            "comment": {"value": "write to d@example.org"},
        },
    }
    (tmp_path / "page.json").write_text(json.dumps({"notes": [note]}))
    (crawled,) = read_records("openreview", [tmp_path / "page.json"])
    content = json.loads(crawled.text)["content"]
    assert json.loads(crawled.text)["signatures"] == [""]
    assert content["authors"]["value"] == ["Ada", {"fullname": "Bo", "username": ""}]
    assert content["authorids"]["value"] == ["~Ada_A1", ""]
    assert content["comment"]["value"] == "write to d@example.org"
