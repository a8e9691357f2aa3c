"""A conference site's list of accepted papers and its abstracts: what is fetched, and what is refused."""

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import ConferenceSiteSource
from pipelines.config.settings import Settings
from pipelines.sources import conference_site
from pipelines.sources.fetched import Fetched, LandingError
from tests.upstream_servers import LAST_MODIFIED, File, FileServer, html, status

FILE = "static/virtual/data/iclr-2026-orals-posters.json"
SIDECAR = "static/virtual/data/iclr-2026-abstracts.json"
SETTINGS = Settings(http_attempts=2, http_max_wait_seconds=1, http_timeout_seconds=5)


def feed(events: int = 3, *, count: Any = ..., **given: Any) -> bytes:
    results = [{"id": number, "uid": f"{number:032x}", "name": f"Paper {number}", **given} for number in range(events)]
    return json.dumps({"count": events if count is ... else count, "next": None, "results": results}).encode()


ABSTRACTS = json.dumps({"0": "Zero.", "1": "One.", "2": "Two."}).encode()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def server() -> Iterator[FileServer]:
    later = File.of(ABSTRACTS, last_modified=LAST_MODIFIED + timedelta(days=1))
    with FileServer({f"/{FILE}": feed(), f"/{SIDECAR}": later}) as running:
        yield running


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


@pytest.fixture
def said() -> list[str]:
    return []


def fetch(
    into: Path, landed: frozenset[tuple[str, str]] = frozenset(), said: list[str] | None = None, **given: Any
) -> Fetched | None:
    source = ConferenceSiteSource(
        kind="conference_site", **({"file": FILE, "abstracts_file": SIDECAR, "base_url": "http://127.0.0.1:9"} | given)
    )
    log = (said if said is not None else []).append
    return conference_site.fetch(source, into, settings=SETTINGS, landed=landed, log=log)


def refused(into: Path, **given: Any) -> str:
    """Fetch something that must fail; gives what it says. Nothing is left behind."""
    with pytest.raises(LandingError) as caught:
        fetch(into, **given)
    assert list(into.iterdir()) == []
    return str(caught.value)


def names(fetched: Fetched | None) -> list[str]:
    assert fetched is not None
    return [file.name for file in fetched.files]


def test_the_list_and_its_abstracts_as_received(server: FileServer, into: Path) -> None:
    fetched = fetch(into, base_url=server.url("/"))

    assert fetched is not None
    assert {file.name: file.path.read_bytes() for file in fetched.files} == {
        "events.json": feed(),
        "abstracts.json": ABSTRACTS,
    }
    assert names(fetched) == ["events.json", "abstracts.json"]
    assert [file.url for file in fetched.files] == [server.url(f"/{FILE}"), server.url(f"/{SIDECAR}")]
    assert (fetched.url, fetched.etag) == (server.url(f"/{FILE}"), server.files[f"/{FILE}"].etag)
    assert fetched.as_of == LAST_MODIFIED + timedelta(days=1)


def test_a_year_without_abstracts_file(server: FileServer, into: Path) -> None:
    assert names(fetch(into, base_url=server.url(""), abstracts_file=None)) == ["events.json"]


def test_local_copies(into: Path, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(feed())
    (tmp_path / "texts.json").write_bytes(ABSTRACTS)

    both = fetch(into, path=str(tmp_path / "list.json"), abstracts_path=str(tmp_path / "texts.json"))

    assert both is not None
    assert names(both) == ["events.json", "abstracts.json"]
    assert [file.path.read_bytes() for file in both.files] == [feed(), ABSTRACTS]
    assert (both.as_of, both.url) == (None, (tmp_path / "list.json").as_uri())


def test_a_copy_is_not_mixed_with_the_sites_own_abstracts(server: FileServer, into: Path, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_bytes(feed())
    server.files["/copy.json"] = File.of(feed())

    assert names(fetch(into, base_url=server.url(""), path=str(tmp_path / "list.json"))) == ["events.json"]
    assert names(fetch(into, base_url=server.url(""), url=server.url("/copy.json"))) == ["events.json"]
    assert [request.path for request in server.seen] == ["/copy.json"]


def test_addresses_of_their_own(server: FileServer, into: Path) -> None:
    server.files |= {"/a.json": File.of(feed()), "/b.json": File.of(ABSTRACTS)}

    assert names(fetch(into, url=server.url("/a.json"), abstracts_url=server.url("/b.json"))) == [
        "events.json",
        "abstracts.json",
    ]


def test_the_landed_bytes_are_no_news(server: FileServer, into: Path) -> None:
    events, texts = (hashlib.sha256(body).hexdigest() for body in (feed(), ABSTRACTS))
    landed = frozenset({("events.json", events), ("abstracts.json", texts)})

    assert fetch(into, landed, base_url=server.url("")) is None
    assert list(into.iterdir()) == []
    assert fetch(into, frozenset({("events.json", events)}), base_url=server.url("")) is not None


def test_more_announced_than_shipped(server: FileServer, into: Path) -> None:
    """As one feed of 2026 did."""
    server.files[f"/{FILE}"] = File.of(feed(200, count=2891))

    message = refused(into, base_url=server.url(""))

    assert "2891" in message
    assert "200" in message
    assert server.url(f"/{FILE}") in message
    assert [request.path for request in server.seen] == [f"/{FILE}"]


@pytest.mark.parametrize("count", [2, None, "3"])
def test_other_counts_that_do_not_agree(server: FileServer, into: Path, count: Any) -> None:
    server.files[f"/{FILE}"] = File.of(feed(3, count=count))

    assert f"{json.dumps(count)} events but ships 3" in refused(into, base_url=server.url(""))


def test_next_is_not_followed(server: FileServer, into: Path) -> None:
    whole = json.loads(feed()) | {"next": server.url("/page2.json")}
    server.files[f"/{FILE}"] = File.of(json.dumps(whole).encode())

    assert fetch(into, base_url=server.url("")) is not None
    assert "/page2.json" not in [request.path for request in server.seen]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "is not JSON"),
        (feed()[:-20], "is not JSON"),
        (b"[]", "no list 'results'"),
        (b'{"count": 0, "results": {}}', "no list 'results'"),
        (feed(0), "lists no events"),
        (b"<!doctype html><title>Log in</title>", "HTML page|is not JSON"),
    ],
)
def test_what_is_no_list(server: FileServer, into: Path, tmp_path: Path, body: bytes, sentence: str) -> None:
    server.files[f"/{FILE}"] = File.of(body)
    (tmp_path / "list.json").write_bytes(body)

    assert any(part in refused(into, base_url=server.url("")) for part in sentence.split("|"))
    local = refused(into, path=str(tmp_path / "list.json"))
    assert any(part in local for part in sentence.split("|"))
    assert str(into) not in local


def test_a_page_instead_of_the_list(server: FileServer, into: Path) -> None:
    server.misbehave(f"/{FILE}", html())

    assert "HTML page" in refused(into, base_url=server.url(""))


def test_missing_abstracts_are_an_error_where_the_events_have_none(server: FileServer, into: Path) -> None:
    server.misbehave(f"/{SIDECAR}", status(404))

    message = refused(into, base_url=server.url(""))

    assert "404" in message
    assert server.url(f"/{SIDECAR}") in message


def test_missing_abstracts_are_none_where_the_events_carry_them(
    server: FileServer, into: Path, said: list[str]
) -> None:
    server.files[f"/{FILE}"] = File.of(feed(abstract="In the event itself."))
    server.misbehave(f"/{SIDECAR}", status(404))

    assert names(fetch(into, said=said, base_url=server.url(""))) == ["events.json"]
    assert any("there is no abstracts file" in line for line in said)


@pytest.mark.parametrize("code", [403, 500])
def test_abstracts_that_cannot_be_had_are_always_an_error(server: FileServer, into: Path, code: int) -> None:
    server.files[f"/{FILE}"] = File.of(feed(abstract="In the event itself."))
    server.misbehave(f"/{SIDECAR}", status(code))

    assert f"status {code}" in refused(into, base_url=server.url(""))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"[]", "is not a JSON object of abstracts"),
        (ABSTRACTS[:-5], "is not JSON: Unterminated string"),
        (b'{"700": "Of another year."}', "none of which is in the list"),
    ],
)
def test_what_are_no_abstracts(server: FileServer, into: Path, body: bytes, sentence: str) -> None:
    server.files[f"/{SIDECAR}"] = File.of(body)

    assert sentence in refused(into, base_url=server.url(""))


def test_some_abstracts_may_be_missing(server: FileServer, into: Path) -> None:
    server.files[f"/{SIDECAR}"] = File.of(b'{"2": "Two."}')

    assert names(fetch(into, base_url=server.url(""))) == ["events.json", "abstracts.json"]
