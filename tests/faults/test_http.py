"""An upstream over HTTP that fails in every way, seen from landing: what stood stands, and the next pull is complete.

The answers themselves are tried one by one in `tests/integration/test_http_sources.py`, whose tests of faults run with
these.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.config.settings import Settings
from pipelines.land import landing
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import LandingError
from pipelines.warehouse import Warehouse, sha256
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally
from tests.hub_files import files_edition, hub_row, write_hub_file
from tests.upstream_servers import (
    Fault,
    File,
    FileServer,
    chunked,
    close_delimited,
    cut_body,
    drip,
    drip_headers,
    gzipped,
    html,
    other_bytes,
    redirect,
    self_signed_certificate,
    status,
)

pytestmark = pytest.mark.faults("http")

PATH = "/data/papers.parquet"

# Each leaves nothing that could be taken for the file, or what it leaves is continued.
FAULTS: dict[str, Fault] = {
    "short body": cut_body(at=3000),
    "cut gzip": gzipped(at=500),
    "cut chunk": chunked(at=900),
    "body that ends with the connection": close_delimited(at=3000),
    "HTML with 200": html(),
    "HTML as a file": html("application/octet-stream"),
    "other bytes": other_bytes(b"PAR1" + bytes(5000) + b"PAR1"),
    "bytes of no file at all": other_bytes(b""),
    "429 storm": status(429, {"Retry-After": "0"}),
    "503 storm": status(503),
    "503 for an hour": status(503, {"Retry-After": "3600"}),
    "slow drip": drip(at=2000),
    "headers that never end": drip_headers(),
    "redirect loop": redirect(PATH),
    "redirect to a local file": redirect("file:///etc/passwd"),
    "gone": status(410),
}


def quiet(message: str) -> None:
    """A log that nobody reads."""


class Puller:
    """Lands one file from a server into a warehouse."""

    def __init__(self, root: Path, url: str) -> None:
        root.mkdir()
        settings = Settings(
            warehouse_dir=root, http_attempts=2, http_max_wait_seconds=1, http_timeout_seconds=0.4, threads=1
        )
        self.warehouse = Warehouse(settings)
        self.edition = files_edition("unused", sources=[{"kind": "files", "url": url}])

    def pull(self) -> landing.Snapshot:
        (source,) = self.edition.sources
        settings = self.warehouse.settings
        return landing.land(
            self.edition, source, FETCHERS["files"], warehouse=self.warehouse, settings=settings, log=quiet
        )[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")


def body(folder: Path, number: int) -> bytes:
    rows = [hub_row(paper, abstract=f"{number} {paper} " * 50) for paper in range(1, 40)]
    return write_hub_file(folder / f"upstream-{number}.parquet", rows).read_bytes()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    with FileServer({PATH: body(tmp_path, 1)}) as running:
        yield running


@pytest.fixture
def puller(tmp_path: Path, server: FileServer) -> Puller:
    """The first file has landed; the server has another one now."""
    puller = Puller(tmp_path / "warehouse", server.url(PATH))
    puller.pull()
    server.files[PATH] = File.of(body(tmp_path, 2))
    return puller


def clean_pull(tmp_path: Path, server: FileServer) -> landing.Snapshot:
    """What a warehouse lands that met no fault."""
    server.behave()
    return Puller(tmp_path / "clean", server.url(PATH)).pull()


def refused(puller: Puller, before: State) -> str:
    with pytest.raises(LandingError) as caught:
        puller.pull()
    assert nothing_lost(before, puller.warehouse) == before
    said = str(caught.value)
    assert "\n" not in said
    return said


def recovers(puller: Puller, clean: landing.Snapshot) -> None:
    """The next pull lands the same bytes under the same name as a clean one."""
    landed = puller.pull()
    assert landed.record.snapshot_id == clean.record.snapshot_id
    assert [sha256(path) for path in landed.paths()] == [sha256(path) for path in clean.paths()]
    assert landing.current_snapshot(puller.warehouse, puller.edition.id, "files") is not None
    assert sorted((landed.folder.parent / ".incoming").iterdir()) == []


@pytest.mark.parametrize("name", FAULTS)
def test_landing_stays_as_it_was_and_the_next_pull_is_complete(
    tmp_path: Path, server: FileServer, puller: Puller, tally: Tally, name: str
) -> None:
    before = State.of(puller.warehouse)
    server.misbehave(PATH, FAULTS[name])
    tally.injected += 1
    refused(puller, before)
    clean = clean_pull(tmp_path, server)
    recovers(puller, clean)
    nothing_lost(before, puller.warehouse)
    tally.recovered += 1


def test_a_server_that_dies_mid_file_and_comes_back_is_resumed(
    tmp_path: Path, server: FileServer, puller: Puller, tally: Tally
) -> None:
    before = State.of(puller.warehouse)
    server.misbehave(PATH, cut_body(at=1000), times=1)
    server.misbehave(PATH, cut_body(at=2500))
    tally.injected += 1
    refused(puller, before)
    clean = clean_pull(tmp_path, server)
    server.seen.clear()
    recovers(puller, clean)
    # From where it broke off, and not from the start.
    assert server.seen[-1].headers.get("range") == "bytes=2500-"
    tally.recovered += 1


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    ("make_url", "words"),
    [
        (lambda: "https://upstream.invalid/papers.parquet", "the host name cannot be resolved"),
        (lambda: f"http://127.0.0.1:{closed_port()}/papers.parquet", "the connection was refused"),
    ],
    ids=["DNS", "nobody listens"],
)
def test_an_upstream_that_is_not_there(puller: Puller, tally: Tally, make_url: Callable[[], str], words: str) -> None:
    before = State.of(puller.warehouse)
    (source,) = puller.edition.sources
    puller.edition = puller.edition.model_copy(update={"sources": [source.model_copy(update={"url": make_url()})]})
    tally.injected += 1
    assert words in refused(puller, before)
    puller.edition = puller.edition.model_copy(update={"sources": [source]})
    puller.pull()
    nothing_lost(before, puller.warehouse)
    tally.recovered += 1


def test_a_certificate_that_nobody_trusts(tmp_path: Path, puller: Puller, tally: Tally) -> None:
    before = State.of(puller.warehouse)
    (source,) = puller.edition.sources
    with FileServer({PATH: body(tmp_path, 3)}, certificate=self_signed_certificate(tmp_path)) as impostor:
        changed = source.model_copy(update={"url": impostor.url(PATH)})
        puller.edition = puller.edition.model_copy(update={"sources": [changed]})
        tally.injected += 1
        assert "certificate is not trusted" in refused(puller, before)
        # Nothing was asked of it, and so nothing told.
        assert impostor.seen == []
    puller.edition = puller.edition.model_copy(update={"sources": [source]})
    puller.pull()
    nothing_lost(before, puller.warehouse)
    tally.recovered += 1
