"""The Paper Copilot archive: which file is fetched, what date it has, and what is refused."""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import PaperCopilotSource
from pipelines.config.settings import Settings
from pipelines.sources import paper_copilot
from pipelines.sources.fetched import Fetched, LandingError
from tests.upstream_servers import LAST_MODIFIED, File, FileServer, close_delimited, html, status

FILE = "venues/iclr/iclr2017.jsonl"
ROWS = [{"id": "B1-Hhnslg", "title": "One", "rating": "4;5;6"}, {"id": "B1-q5Pqxl", "title": "Two\u2028lines"}]
BODY = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)
NAME_AND_HASH = ("iclr2017.jsonl", hashlib.sha256(BODY).hexdigest())
SETTINGS = Settings(http_attempts=2, http_max_wait_seconds=1, http_timeout_seconds=5)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({f"/mirror/{FILE}": BODY}) as running:
        yield running


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def fetch(into: Path, landed: frozenset[tuple[str, str]] = frozenset(), **given: Any) -> Fetched | None:
    source = PaperCopilotSource(kind="paper_copilot", **({"file": FILE} | given))
    return paper_copilot.fetch(source, into, settings=SETTINGS, landed=landed, log=lambda line: None)


def refused(into: Path, **given: Any) -> str:
    """Fetch something that must fail; gives the one sentence that says why. Nothing is left behind."""
    with pytest.raises(LandingError) as caught:
        fetch(into, **given)
    assert [path.name for path in into.iterdir() if ".part" not in path.name] == []
    return str(caught.value)


def test_a_file_below_the_base_url_as_received(server: FileServer, into: Path) -> None:
    fetched = fetch(into, base_url=server.url("/mirror/"))

    assert fetched is not None
    (file,) = fetched.files
    assert (file.name, file.path.read_bytes()) == ("iclr2017.jsonl", BODY)
    assert file.url == fetched.url == server.url(f"/mirror/{FILE}")
    assert (fetched.as_of, fetched.revision) == (LAST_MODIFIED, None)
    assert fetched.etag == server.files[f"/mirror/{FILE}"].etag


def test_a_url_of_its_own_goes_before_the_archive(server: FileServer, into: Path) -> None:
    server.files["/copy/my file.jsonl"] = File.of(BODY, last_modified=None)

    fetched = fetch(into, url=server.url("/copy/my%20file.jsonl?key=secret"), base_url="http://127.0.0.1:9")

    assert fetched is not None
    assert (fetched.files[0].name, fetched.as_of) == ("my file.jsonl", None)
    assert "secret" not in fetched.url


def test_a_local_file_needs_no_server_and_has_no_date(tmp_path: Path, into: Path) -> None:
    (tmp_path / "iclr2017.jsonl").write_bytes(BODY)

    for path in ("iclr2017.jsonl", "iclr*.jsonl"):
        fetched = fetch(into, path=str(tmp_path / path), base_url="http://127.0.0.1:9")
        assert fetched is not None
        assert (fetched.files[0].path.read_bytes(), fetched.as_of) == (BODY, None)
        assert fetched.url == (tmp_path / "iclr2017.jsonl").as_uri()


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("iclr2025.11122024.jsonl", datetime(2024, 11, 12, tzinfo=UTC)),
        ("iclr2026.11282025.06.jsonl", datetime(2025, 11, 28, 6, tzinfo=UTC)),
        ("iclr2025.13322024.jsonl", None),
        ("iclr2025.11122024.25.jsonl", None),
        ("iclr2023.init.jsonl", None),
        ("iclr2017.jsonl", None),
        ("12122024.jsonl", None),
    ],
)
def test_the_date_in_a_snapshots_name(name: str, date: datetime | None) -> None:
    assert paper_copilot.date_in_name(name) == date


def test_the_date_in_the_name_goes_before_the_servers(server: FileServer, into: Path, tmp_path: Path) -> None:
    file = "venues/iclr/iclr2025/iclr2025.11122024.14.jsonl"
    server.files[f"/{file}"] = File.of(BODY)
    (tmp_path / "iclr2025.11132024.jsonl").write_bytes(BODY)

    online = fetch(into, base_url=server.url(""), file=file)
    local = fetch(into, path=str(tmp_path / "iclr2025.*.jsonl"), file=file)

    assert online is not None
    assert online.as_of == datetime(2024, 11, 12, 14, tzinfo=UTC)
    assert local is not None
    assert local.as_of == datetime(2024, 11, 13, tzinfo=UTC)


def test_the_landed_bytes_are_no_news(server: FileServer, into: Path) -> None:
    assert fetch(into, frozenset({NAME_AND_HASH}), base_url=server.url("/mirror")) is None
    assert list(into.iterdir()) == []
    assert fetch(into, frozenset({(NAME_AND_HASH[0], "0" * 64)}), base_url=server.url("/mirror")) is not None


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"<html>\nPlease log in", "HTML page"),
        (b"[\n" + BODY, r"line 1 is no JSON object, it begins with '\['"),
        (b"\nversion https://git-lfs.github.com/spec/v1\noid sha256:00\n", "line 2 is no JSON object, it begins"),
        (BODY + b'{"id": "cut sho', "is cut short: its last line"),
    ],
)
def test_what_is_no_json_lines(server: FileServer, into: Path, tmp_path: Path, body: bytes, sentence: str) -> None:
    server.files["/bad.jsonl"] = File.of(body)
    (tmp_path / "bad.jsonl").write_bytes(body)

    online = refused(into, url=server.url("/bad.jsonl"))
    local = refused(into, path=str(tmp_path / "bad.jsonl"))

    assert online.startswith(server.url("/bad.jsonl"))
    assert local.startswith((tmp_path / "bad.jsonl").as_uri())
    assert re.search(sentence, online)
    assert re.search(sentence, local)


@pytest.mark.parametrize(
    "body",
    [BODY.rstrip(b"\n"), b"\xef\xbb\xbf" + BODY, BODY.replace(b"\n", b"\r\n"), b'{"title": "\xff"}\n', BODY + b"{}x\n"],
    ids=["no last line feed", "BOM", "CRLF", "not UTF-8", "a bad line to set aside later"],
)
def test_what_is_json_lines_all_the_same(into: Path, tmp_path: Path, body: bytes) -> None:
    (tmp_path / "odd.jsonl").write_bytes(body)

    fetched = fetch(into, path=str(tmp_path / "odd.jsonl"))

    assert fetched is not None
    assert fetched.files[0].path.read_bytes() == body


def test_a_page_and_a_missing_file(server: FileServer, into: Path) -> None:
    server.misbehave(f"/mirror/{FILE}", html())
    assert "HTML page" in refused(into, base_url=server.url("/mirror"))
    server.misbehave(f"/mirror/{FILE}", status(404))
    assert "no such file upstream" in refused(into, base_url=server.url("/mirror"))


def test_a_body_cut_without_a_sign(server: FileServer, into: Path) -> None:
    """A closed connection ends such a body; only the last line tells that some is missing."""
    server.misbehave(f"/mirror/{FILE}", close_delimited(at=len(BODY) - 10))

    assert "cut short" in refused(into, base_url=server.url("/mirror"))


def test_a_path_names_one_file(tmp_path: Path, into: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(BODY)

    assert "names 2 files (a.jsonl, b.jsonl); this source takes one" in refused(into, path=str(tmp_path / "*.jsonl"))
    assert "is a folder" in refused(into, path=str(tmp_path))
    assert "no file matches" in refused(into, path=str(tmp_path / "c.jsonl"))


def test_the_real_files(shared_data: Path, into: Path) -> None:
    for name, rows in (("iclr2017.jsonl", 490), ("iclr2023.init.jsonl", 4955)):
        fetched = fetch(into, path=str(shared_data / "paper_copilot" / name))
        assert fetched is not None
        assert fetched.files[0].path.read_bytes().count(b"\n") == rows
