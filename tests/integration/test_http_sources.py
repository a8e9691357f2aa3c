"""Downloads and the Hub, against servers on 127.0.0.1 that behave well, badly, or die.

Every test compares bytes: whatever a server does, a file is either exactly what the upstream has or is not there.
"""

import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import FilesSource, HuggingFaceSource
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.sources import files, http, hugging_face
from pipelines.sources.fetched import Fetched, LandingError
from tests.upstream_servers import (
    LAST_MODIFIED,
    Exchange,
    Fault,
    File,
    FileServer,
    HubServer,
    chunked,
    close_delimited,
    cut_body,
    drip,
    drip_headers,
    endless,
    gzipped,
    html,
    ignore_range,
    other_bytes,
    redirect,
    self_signed_certificate,
    status,
    wrong_range,
)

BODY = b"PAR1" + hashlib.shake_256(b"a file").digest(300_000) + b"PAR1"
SHA256 = hashlib.sha256(BODY).hexdigest()
PATH = "/data/main.parquet"
TOKEN = "hf_5ecretTokenOfATest"
DATASET = "davidheineman/iclr-2026"
# Runs with `make test-faults` too.
a_fault = pytest.mark.faults("http")
SETTINGS = Settings(http_attempts=3, http_max_wait_seconds=2, http_timeout_seconds=5)
IMPATIENT = Settings(http_attempts=2, http_max_wait_seconds=2, http_timeout_seconds=0.3)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({PATH: BODY}) as running:
        yield running


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


class Target:
    """A folder to download into, the log of what was said, and the checks on what is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "main.parquet"
        self.said: list[str] = []

    def download(self, url: str, settings: Settings = SETTINGS, **options: Any) -> http.Download:
        return http.download(url, self.path, settings=settings, log=self.said.append, **options)

    def refused(self, url: str, settings: Settings = SETTINGS, **options: Any) -> str:
        """Download something that must fail; gives the one sentence that says why."""
        with pytest.raises(LandingError) as caught:
            self.download(url, settings, **options)
        assert not self.path.exists()
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return str(caught.value)

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def is_whole(self) -> bool:
        return self.path.read_bytes() == BODY and self.left == ["main.parquet"]


@pytest.fixture
def target(tmp_path: Path) -> Target:
    (tmp_path / "into").mkdir()
    return Target(tmp_path / "into")


def ranges(server: FileServer) -> list[str | None]:
    return [request.headers.get("range") for request in server.seen]


# A download that works


def test_a_clean_download(server: FileServer, target: Target) -> None:
    got = target.download(server.url(PATH))

    assert target.is_whole()
    assert (got.sha256, got.bytes, got.url) == (SHA256, len(BODY), server.url(PATH))
    assert (got.etag, got.last_modified) == (f'"{SHA256}"', LAST_MODIFIED)
    assert server.seen[0].headers["accept-encoding"] == "identity"
    assert "main.parquet: 300.0 kB" in target.said[-1]


def test_a_file_that_is_here_already_is_not_fetched_again(server: FileServer, target: Target) -> None:
    target.path.write_bytes(BODY)

    assert target.download(server.url(PATH), expected_sha256=SHA256).sha256 == SHA256
    assert server.seen == []

    target.path.write_bytes(b"something else")
    target.download(server.url(PATH), expected_sha256=SHA256)
    assert target.is_whole()


def test_progress_is_logged_where_there_is_no_terminal(target: Target) -> None:
    with FileServer({PATH: bytes(25_000_000)}) as server:
        target.download(server.url(PATH))

    shares = [int(share) for line in target.said for share in re.findall(r"25\.0 MB \((\d+)%\) received", line)]
    assert 5 <= len(shares) <= 10
    assert shares == sorted(shares)


def test_progress_is_a_bar_in_a_terminal(
    server: FileServer, target: Target, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    target.download(server.url(PATH))

    assert "main.parquet:" in capsys.readouterr().err
    assert [line for line in target.said if "received" in line] == []


# Bodies that end too soon


@a_fault
@pytest.mark.parametrize("known", [True, False], ids=["known sha256", "etag only"])
def test_a_cut_body_is_resumed(server: FileServer, target: Target, known: bool) -> None:
    server.misbehave(PATH, cut_body(at=100_000), times=1)
    server.misbehave(PATH, cut_body(at=250_000), times=1)

    target.download(server.url(PATH), expected_sha256=SHA256 if known else None)

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=100000-", "bytes=250000-"]
    assert server.seen[1].headers["if-range"] == f'"{SHA256}"'
    assert any("connection broke" in line and "attempt 2 of 3" in line for line in target.said)


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_validator_or_a_hash_nothing_is_resumed(target: Target, etag: str | None) -> None:
    with FileServer({PATH: File(BODY, etag)}) as server:
        server.misbehave(PATH, cut_body(at=100_000), times=1)
        target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server) == [None, None]


def test_a_known_hash_allows_to_resume_without_a_validator(target: Target) -> None:
    with FileServer({PATH: File(BODY, None)}) as server:
        server.misbehave(PATH, cut_body(at=100_000), times=1)
        target.download(server.url(PATH), expected_sha256=SHA256)

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=100000-"]


def test_a_file_that_changed_meanwhile_is_read_from_the_start(server: FileServer, target: Target) -> None:
    server.files[PATH] = File.of(BODY[::-1])
    server.misbehave(PATH, cut_body(at=100_000))
    target.refused(server.url(PATH))
    server.behave()
    server.files[PATH] = File.of(BODY)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server)[-1] == "bytes=100000-"
    assert any("reading from the start" in line for line in target.said)


@a_fault
def test_a_body_that_stays_cut_is_an_error_and_its_part_is_kept(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, cut_body(at=100_000))

    said = target.refused(server.url(PATH), expected_sha256=SHA256)

    assert "the connection broke" in said
    assert "gave up after attempt 3 of 3" in said
    assert target.left == ["main.parquet.part", "main.parquet.part.json"]
    assert (target.folder / "main.parquet.part").read_bytes() == BODY[:100_000]


@a_fault
def test_a_cut_chunk_is_noticed_and_resumed(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, chunked(at=1000), times=1)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=1000-"]


def test_a_whole_chunked_body(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, chunked())

    target.download(server.url(PATH))

    assert target.is_whole()


@a_fault
@pytest.mark.parametrize("at", [None, 1000], ids=["whole", "cut"])
def test_a_gzip_body_is_refused_since_its_cut_could_not_be_seen(
    server: FileServer, target: Target, at: int | None
) -> None:
    server.misbehave(PATH, gzipped(at))

    assert "Content-Encoding 'gzip'" in target.refused(server.url(PATH))
    assert target.left == []


@a_fault
def test_a_body_that_ends_with_the_connection_is_verified_by_size_or_hash(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, close_delimited(at=1000), times=1)
    target.download(server.url(PATH), expected_bytes=len(BODY))
    assert target.is_whole()
    assert any("the body ended after 1000 of 300008 bytes" in line for line in target.said)

    target.path.unlink()
    server.misbehave(PATH, close_delimited(at=1000), times=1)
    target.download(server.url(PATH), expected_sha256=SHA256)
    assert target.is_whole()


def test_a_body_that_ends_with_the_connection_and_has_no_hash_is_announced_as_such(
    server: FileServer, target: Target
) -> None:
    server.misbehave(PATH, close_delimited())

    target.download(server.url(PATH))

    assert target.is_whole()
    assert any("does not say how long the file is" in line for line in target.said)


# Answers that are not the file


@a_fault
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/octet-stream"])
@pytest.mark.parametrize("options", [{}, {"expected_sha256": SHA256}], ids=["unknown", "known sha256"])
def test_an_html_page_with_status_200(
    server: FileServer, target: Target, content_type: str, options: dict[str, str]
) -> None:
    server.misbehave(PATH, html(content_type))

    assert "sent an HTML page instead of the file" in target.refused(server.url(PATH), **options)
    assert target.left == []
    assert len(server.seen) == 1


@a_fault
def test_a_range_answered_with_200_restarts_from_zero(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, cut_body(at=100_000), times=1)
    server.misbehave(PATH, ignore_range(), times=1)

    target.download(server.url(PATH), expected_sha256=SHA256)

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=100000-"]
    assert any("does not continue a download" in line for line in target.said)


@a_fault
def test_another_range_than_asked_restarts_from_zero(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, cut_body(at=100_000), times=1)
    server.misbehave(PATH, wrong_range(), times=1)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=100000-", None]


@a_fault
def test_a_wrong_size_is_an_error_at_once(server: FileServer, target: Target) -> None:
    said = target.refused(server.url(PATH), expected_bytes=len(BODY) + 1, expected_sha256=SHA256)

    assert "has 300008 bytes where 300009 were announced" in said
    assert len(server.seen) == 1
    assert target.left == []


@a_fault
def test_a_wrong_hash_is_fetched_once_more_and_then_is_an_error(server: FileServer, target: Target) -> None:
    spoilt = BODY[:-1] + b"2"
    server.misbehave(PATH, other_bytes(spoilt), times=1)
    target.download(server.url(PATH), expected_sha256=SHA256, expected_bytes=len(BODY))
    assert target.is_whole()
    assert len(server.seen) == 2

    target.path.unlink()
    server.misbehave(PATH, other_bytes(spoilt))
    said = target.refused(server.url(PATH), expected_sha256=SHA256, expected_bytes=len(BODY))
    assert f"sha256 is {hashlib.sha256(spoilt).hexdigest()} where {SHA256} was announced, twice" in said
    assert len(server.seen) == 4
    assert target.left == []


@a_fault
def test_a_part_that_was_damaged_on_disk_is_found_by_the_hash(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, cut_body(at=100_000))
    target.refused(server.url(PATH), expected_sha256=SHA256)
    server.behave()
    (target.folder / "main.parquet.part").write_bytes(bytes(100_000))

    target.download(server.url(PATH), expected_sha256=SHA256)

    assert target.is_whole()
    assert ranges(server)[-2:] == ["bytes=100000-", None]


def test_a_part_of_another_address_is_not_built_upon(server: FileServer, target: Target) -> None:
    server.files["/other"] = File(BODY[::-1], f'"{SHA256}"')
    server.misbehave("/other", cut_body(at=100_000))
    target.refused(server.url("/other"))

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server)[-1] is None


@a_fault
@pytest.mark.parametrize("note", [b"", b"[]", b'{"etag": 1', b"\xff"])
def test_a_damaged_note_means_to_start_again(server: FileServer, target: Target, note: bytes) -> None:
    (target.folder / "main.parquet.part").write_bytes(b"x" * 1000)
    (target.folder / "main.parquet.part.json").write_bytes(note)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server) == [None]


@pytest.mark.parametrize("options", [{}, {"expected_sha256": SHA256}], ids=["etag only", "known sha256"])
def test_a_part_that_is_complete_is_kept_without_its_bytes_being_sent_again(
    server: FileServer, target: Target, options: dict[str, str]
) -> None:
    server.misbehave(PATH, cut_body(at=100_000))
    target.refused(server.url(PATH), **options)
    server.behave()
    (target.folder / "main.parquet.part").write_bytes(BODY)

    target.download(server.url(PATH), **options)

    assert target.is_whole()
    assert ranges(server)[-1] == f"bytes={len(BODY)}-"


def test_an_empty_file(server: FileServer, target: Target) -> None:
    server.files[PATH] = File.of(b"")

    got = target.download(server.url(PATH), expected_bytes=0, expected_sha256=hashlib.sha256().hexdigest())

    assert got.bytes == 0
    assert target.left == ["main.parquet"]


@a_fault
def test_a_body_without_end_is_stopped(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, endless())

    assert "sends more than 5.0 MB; refused" in target.refused(server.url(PATH), max_bytes=5_000_000)
    assert target.left == []


def test_a_file_over_the_limit_is_not_begun(server: FileServer, target: Target) -> None:
    assert "has 300.0 kB, over the limit of 1.0 kB" in target.refused(server.url(PATH), max_bytes=1000)


@a_fault
def test_a_full_disk_is_said_before_the_download(
    server: FileServer, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))

    assert "1.0 kB are free and 300.0 kB needed for main.parquet" in target.refused(server.url(PATH))


def test_a_folder_that_cannot_be_written(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"main\.parquet"):
        http.download(server.url(PATH), tmp_path / "no" / "main.parquet", settings=SETTINGS, log=print)


# Error statuses and storms


@a_fault
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (401, "credentials"),
        (403, "access is refused"),
        (404, "nothing at this address"),
        (410, "removed for good"),
        (304, "cannot use"),
    ],
)
def test_a_status_that_a_retry_cannot_cure(server: FileServer, target: Target, code: int, words: str) -> None:
    server.misbehave(PATH, status(code))

    said = target.refused(server.url(PATH))

    assert f"status {code}" in said
    assert words in said
    assert len(server.seen) == 1


@a_fault
@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504])
def test_a_storm_that_passes(server: FileServer, target: Target, code: int) -> None:
    server.misbehave(PATH, status(code), times=2)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert len(server.seen) == 3


@a_fault
def test_a_storm_that_does_not_pass(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, status(503))

    assert "the server is in trouble; gave up after attempt 3 of 3" in target.refused(server.url(PATH))
    assert len(server.seen) == 3


def test_retry_after_is_honoured_and_logged(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, status(429, {"Retry-After": "1"}), times=1)

    target.download(server.url(PATH))

    assert target.is_whole()
    assert any("status 429" in line and "waiting 1 second, as the server asks" in line for line in target.said)


@a_fault
def test_retry_after_beyond_the_cap_is_an_error_at_once(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, status(429, {"Retry-After": "3600"}))

    said = target.refused(server.url(PATH))

    assert "status 429" in said
    assert "1 hour is longer than HTTP_MAX_WAIT_SECONDS=2 allows" in said
    assert len(server.seen) == 1


# Slow, absent and untrustworthy servers


@a_fault
def test_a_slow_drip_is_cut_and_resumed(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, drip(pause_seconds=0.02, at=100_000), times=1)

    target.download(server.url(PATH), IMPATIENT)

    assert target.is_whole()
    assert any("too slow, stopped after" in line for line in target.said)
    assert int((ranges(server)[1] or "").removeprefix("bytes=").removesuffix("-")) >= 100_000


@a_fault
@pytest.mark.parametrize("fault", [drip(pause_seconds=0.02), drip_headers(pause_seconds=0.02)], ids=["body", "headers"])
def test_a_server_that_stays_slow_is_given_up(server: FileServer, target: Target, fault: Fault) -> None:
    server.misbehave(PATH, fault)

    said = target.refused(server.url(PATH), IMPATIENT)

    assert "too slow" in said or "no answer within 0.3 seconds" in said
    assert len(server.seen) == 2


@a_fault
def test_a_server_that_says_nothing(target: Target) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = target.refused(f"http://127.0.0.1:{silent.getsockname()[1]}/a", IMPATIENT)

    assert "no answer within 0.3 seconds" in said


@a_fault
def test_nobody_listens(target: Target) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert "the connection was refused" in target.refused(f"http://127.0.0.1:{port}/a")


@a_fault
def test_a_host_name_that_does_not_resolve(target: Target) -> None:
    assert "host name cannot be resolved" in target.refused("http://no-such-host.invalid/data.parquet?sig=5ecret")


@a_fault
def test_a_certificate_that_nobody_trusts(target: Target, tmp_path: Path) -> None:
    with FileServer({PATH: BODY}, certificate=self_signed_certificate(tmp_path)) as server:
        said = target.refused(server.url(PATH))

    assert "TLS certificate is not trusted (self-signed certificate)" in said
    assert target.said == []
    assert server.seen == []


@a_fault
def test_a_server_that_speaks_no_tls(server: FileServer, target: Target) -> None:
    assert "no TLS connection could be made" in target.refused(server.url(PATH).replace("http:", "https:"))


@pytest.mark.parametrize("url", ["http://", "ftp://example.org/a", "http://[::1/a", "http://a:b:c/"])
def test_an_address_that_is_none(target: Target, url: str) -> None:
    assert "not an address that can be fetched" in target.refused(url)


# Redirects and credentials


@a_fault
def test_a_redirect_loop(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, redirect(PATH))

    assert "more than 10 redirects" in target.refused(server.url(PATH))
    assert len(server.seen) == 11


@a_fault
@pytest.mark.parametrize("framing", [{"Content-Length": "1000000"}, {"Transfer-Encoding": "chunked"}], ids=str)
def test_a_redirect_whose_own_body_never_comes(
    server: FileServer, target: Target, framing: dict[str, str | None]
) -> None:
    def announce(exchange: Exchange, file: File) -> None:
        exchange.close_connection = True
        exchange.head(302, {"Location": PATH} | framing)
        exchange.server.owner.stopping.wait(30)

    server.misbehave("/start", announce)

    target.download(server.url("/start"), IMPATIENT)

    assert target.is_whole()
    assert len(server.seen) == 2


@a_fault
def test_an_unsafe_redirect(
    server: FileServer, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    with FileServer({PATH: BODY}, certificate=certificate) as secure:
        target.download(secure.url(PATH))
        assert target.is_whole()
        target.path.unlink()
        secure.misbehave(PATH, redirect(server.url(PATH)))

        assert "redirects from https to" in target.refused(secure.url(PATH))

    assert server.seen == []


@a_fault
def test_a_redirect_to_a_local_file(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, redirect("file:///etc/hostname"))

    assert "not an address that can be fetched" in target.refused(server.url(PATH))


@a_fault
@pytest.mark.parametrize("elsewhere", ["port", "host"])
def test_no_credential_follows_a_redirect_to_another_origin(server: FileServer, target: Target, elsewhere: str) -> None:
    with FileServer() as first:
        if elsewhere == "port":
            second, place = server, server.url(PATH)
        else:  # the same port of the same machine under another name
            second, place = first, first.url("/moved", host="localhost")
            first.files["/moved"] = File.of(BODY)
        first.misbehave("/start", redirect(first.url("/hop")))
        first.misbehave("/hop", redirect(place))
        secrets = {"Authorization": f"Bearer {TOKEN}", "X-Api-Key": TOKEN, "Cookie": f"session={TOKEN}"}

        target.download(first.url("/start"), headers=secrets)

        assert target.is_whole()
        assert [request.headers.get("authorization") for request in first.seen[:2]] == [f"Bearer {TOKEN}"] * 2
        assert first.seen[1].headers["x-api-key"] == TOKEN
        assert TOKEN not in str(second.seen[-1])
        assert second.seen[-1].headers["accept-encoding"] == "identity"


@a_fault
def test_a_credential_does_not_come_back_after_a_detour(server: FileServer, target: Target) -> None:
    with FileServer() as first:
        first.files["/end"] = File.of(BODY)
        first.misbehave("/start", redirect(server.url("/detour")))
        server.misbehave("/detour", redirect(first.url("/end")))

        target.download(first.url("/start"), headers={"Authorization": f"Bearer {TOKEN}"})

        assert [request.headers.get("authorization") for request in first.seen] == [f"Bearer {TOKEN}", None]


def test_the_range_follows_a_redirect(server: FileServer, target: Target) -> None:
    with FileServer() as first:
        first.misbehave("/start", redirect(server.url(PATH)))
        server.misbehave(PATH, cut_body(at=100_000), times=1)

        target.download(first.url("/start"))

    assert target.is_whole()
    assert ranges(server) == [None, "bytes=100000-"]


def test_a_netrc_does_not_overrule_the_given_token(
    server: FileServer, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    target.download(server.url(PATH), headers={"Authorization": f"Bearer {TOKEN}"})

    assert server.seen[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_cookies_are_not_kept(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, status(503, {"Set-Cookie": "a=b; Path=/"}), times=1)

    target.download(server.url(PATH))

    assert "cookie" not in server.seen[1].headers


@pytest.mark.parametrize(
    "fault", [status(401), status(503), cut_body(at=10), html(), redirect("/loop"), gzipped(), close_delimited(at=3)]
)
def test_no_secret_is_ever_said(
    server: FileServer,
    target: Target,
    fault: Fault,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    server.misbehave(PATH, fault)
    server.misbehave("/loop", redirect("/loop"))
    url = server.url(PATH + "?sig=5ecretQuery").replace("127.0.0.1", "me:5ecretPassword@127.0.0.1")

    said = target.refused(url, headers={"Authorization": f"Bearer {TOKEN}"}, expected_bytes=len(BODY))

    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("urllib3")]
    kept = [path.read_text(errors="replace") for path in target.folder.iterdir()]
    everything = "\n".join([said, *target.said, *ours, *kept, *capfd.readouterr()])
    assert TOKEN not in everything + caplog.text
    assert "5ecret" not in everything


def test_a_token_that_cannot_be_sent_is_not_shown(server: FileServer, target: Target) -> None:
    said = target.refused(server.url(PATH), headers={"Authorization": f"Bearer {TOKEN}\nX: y"})

    assert "a request header cannot be sent" in said
    assert TOKEN not in said


# A server or a process that dies


@a_fault
def test_a_server_that_dies_mid_file_and_comes_back(target: Target) -> None:
    with FileServer({PATH: BODY}) as server:
        server.misbehave(PATH, cut_body(at=123_456), times=1)
        server.misbehave(PATH, cut_body(at=0))
        target.refused(server.url(PATH))
    assert "the connection was refused" in target.refused(server.url(PATH))

    with FileServer({PATH: BODY}, port=server.port) as again:
        target.download(again.url(PATH))

    assert target.is_whole()
    assert ranges(again) == ["bytes=123456-"]


@a_fault
def test_a_process_that_is_killed_mid_file_is_resumed_by_the_next(server: FileServer, target: Target) -> None:
    server.misbehave(PATH, drip(at=200_000), times=1)
    script = f"""
        from pathlib import Path
        from pipelines.config.settings import Settings
        from pipelines.sources import http
        http.download({server.url(PATH)!r}, Path({str(target.path)!r}), settings=Settings(), log=print)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=PROJECT_DIR, start_new_session=True, env=os.environ
    )
    part = target.folder / "main.parquet.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    arrived = part.stat().st_size

    target.download(server.url(PATH))

    assert target.is_whole()
    assert ranges(server) == [None, f"bytes={arrived}-"]


# The `files` source over HTTP


def fetch_url(url: str, into: Path, landed: frozenset[tuple[str, str]] = frozenset()) -> Fetched | None:
    source = FilesSource(kind="files", url=url)
    return files.fetch(source, into, settings=SETTINGS, landed=landed, log=lambda line: None)


def test_files_by_url(server: FileServer, target: Target) -> None:
    fetched = fetch_url(server.url(PATH), target.folder)

    assert fetched is not None
    (file,) = fetched.files
    assert (file.name, file.path, file.url) == ("main.parquet", target.path, server.url(PATH))
    assert (fetched.etag, fetched.as_of) == (f'"{SHA256}"', LAST_MODIFIED)
    assert target.is_whole()


def test_files_by_url_unchanged(server: FileServer, target: Target) -> None:
    assert fetch_url(server.url(PATH), target.folder, frozenset({("main.parquet", SHA256)})) is None
    assert target.left == []


@pytest.mark.parametrize("path", ["/", "/download/", "/..%2Fevil", "/.hidden", "/snapshot.json", "/a%00b", "/a%5Cb"])
def test_files_by_url_with_a_path_that_gives_no_name(server: FileServer, target: Target, path: str) -> None:
    for served in ("/", "/download/", "/../evil", "/.hidden", "/snapshot.json", "/a\x00b", "/a\\b"):
        server.files[served] = File.of(BODY)

    fetched = fetch_url(server.url(path), target.folder)

    assert fetched is not None
    assert fetched.files[0].name == ("evil" if "evil" in path else "data.parquet")
    assert target.left == [fetched.files[0].name]


# The Hub


def from_hub(
    hub: HubServer, into: Path, landed: frozenset[tuple[str, str]] = frozenset(), log: Any = print, **changes: Any
) -> Fetched | None:
    source = HuggingFaceSource(**({"kind": "hugging_face", "dataset": DATASET, "base_url": hub.url("")} | changes))
    return hugging_face.fetch(source, into, settings=SETTINGS, landed=landed, log=log)


def hub_error(hub: HubServer, into: Path, **changes: Any) -> str:
    with pytest.raises(LandingError) as caught:
        from_hub(hub, into, **changes)
    assert list(into.iterdir()) == []
    assert caught.value.__cause__ is None
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def test_the_hub_files_of_a_revision(hub: HubServer, target: Target) -> None:
    date = datetime(2025, 11, 21, 3, 4, 5, tzinfo=UTC)
    commit = hub.publish(DATASET, {"README.md": b"# hello", "data/main.parquet": BODY, "data/b.csv": b"1"}, date=date)

    fetched = from_hub(hub, target.folder)

    assert fetched is not None
    (file,) = fetched.files
    assert (file.name, file.path) == ("main.parquet", target.path)
    assert file.url == fetched.url == hub.url(f"/datasets/{DATASET}/resolve/{commit}/data/main.parquet")
    assert (fetched.revision, fetched.as_of) == (commit, date)
    assert target.is_whole()
    assert [request.path for request in hub.seen] == [
        f"/api/datasets/{DATASET}/revision/main",
        hub.resolve_path(DATASET, commit, "data/main.parquet"),
    ]


def test_the_hub_files_are_fetched_at_the_commit_that_was_looked_up(
    hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = hub.publish(DATASET, {"data/main.parquet": BODY})
    download = http.download

    def publish_meanwhile(*arguments: Any, **options: Any) -> http.Download:
        hub.publish(DATASET, {"data/main.parquet": b"PAR1 newer PAR1"})
        return download(*arguments, **options)

    monkeypatch.setattr(http, "download", publish_meanwhile)

    fetched = from_hub(hub, target.folder)

    assert fetched is not None
    assert fetched.revision == first
    assert target.is_whole()


@pytest.mark.parametrize("revision", ["v1.0", "refs/convert/parquet"])
def test_the_hub_at_another_revision(hub: HubServer, target: Target, revision: str) -> None:
    commit = hub.publish(DATASET, {"data/main.parquet": BODY}, revision=revision)
    hub.publish(DATASET, {"data/main.parquet": b"newer"})

    assert (fetched := from_hub(hub, target.folder, revision=revision)) is not None
    assert fetched.revision == commit
    assert target.is_whole()

    target.path.unlink()
    assert (fetched := from_hub(hub, target.folder, revision=commit)) is not None
    assert fetched.revision == commit
    assert target.is_whole()


def test_the_hub_unchanged_is_not_downloaded(hub: HubServer, target: Target) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY})
    hub.publish(DATASET, {"data/main.parquet": BODY, "README.md": b"a new commit, the same data"})

    assert from_hub(hub, target.folder, frozenset({("main.parquet", SHA256)})) is None
    assert hub.cdn.seen == []
    assert from_hub(hub, target.folder, frozenset({("main.parquet", SHA256), ("old.parquet", SHA256)})) is not None


def test_the_hub_with_several_files_and_equal_names(hub: HubServer, target: Target) -> None:
    bodies = {f"{split}/0 0.parquet": split.encode() for split in ("test", "train")} | {"data/é+#.parquet": b"odd"}
    hub.publish(DATASET, bodies)

    fetched = from_hub(hub, target.folder, files="*.parquet")

    assert fetched is not None
    assert {file.name: file.path.read_bytes() for file in fetched.files} == {
        "test__0 0.parquet": b"test",
        "train__0 0.parquet": b"train",
        "é+#.parquet": b"odd",
    }


def test_the_hub_keeps_what_one_run_has_fetched_for_the_next(hub: HubServer, target: Target) -> None:
    other = b"another file"
    hub.publish(DATASET, {"data/a.parquet": other, "data/main.parquet": BODY})
    hub.cdn.misbehave(hub.cdn_path(BODY), cut_body(at=1000))
    with pytest.raises(LandingError):
        from_hub(hub, target.folder)
    hub.cdn.behave()
    hub.cdn.seen.clear()

    assert from_hub(hub, target.folder) is not None

    assert target.left == ["a.parquet", "main.parquet"]
    assert [(request.path, request.headers.get("range")) for request in hub.cdn.seen] == [
        (hub.cdn_path(BODY), "bytes=1000-")
    ]


@a_fault
@pytest.mark.parametrize("spoilt", [BODY[:-1] + b"2", BODY[:-1]], ids=["wrong hash", "wrong size"])
def test_the_hub_sends_other_bytes(hub: HubServer, target: Target, spoilt: bytes) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY})
    hub.cdn.misbehave(hub.cdn_path(BODY), other_bytes(spoilt))

    assert "announced" in hub_error(hub, target.folder)


def test_the_hub_small_files_are_verified_by_their_git_id(hub: HubServer, target: Target) -> None:
    small = frozenset({"data/main.parquet"})
    commit = hub.publish(DATASET, {"data/main.parquet": BODY}, small=small)
    assert from_hub(hub, target.folder) is not None
    assert target.is_whole()
    target.path.unlink()
    assert from_hub(hub, target.folder, frozenset({("main.parquet", SHA256)})) is None
    assert target.left == []

    hub.misbehave(
        hub.resolve_path(DATASET, commit, "data/main.parquet"),
        lambda exchange, file: exchange.answer(200, {}, BODY[:-1] + b"2"),
    )
    assert "not those of the commit" in hub_error(hub, target.folder)


def test_the_hub_token_stays_with_the_hub(
    hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("HF_TOKEN", f" {TOKEN}\n")
    hub.tokens.add(TOKEN)
    hub.publish(DATASET, {"data/main.parquet": BODY})
    hub.datasets[DATASET].access = "private"
    said: list[str] = []

    fetched = from_hub(hub, target.folder, log=said.append)

    assert target.is_whole()
    assert {request.headers.get("authorization") for request in hub.seen} == {f"Bearer {TOKEN}"}
    assert len(hub.cdn.seen) == 1
    assert TOKEN not in str(hub.cdn.seen)
    assert TOKEN not in "\n".join([*said, caplog.text, repr(fetched)])
    assert "5ecret5ignature" not in "\n".join([*said, repr(fetched)])


def test_the_hub_endpoint_comes_from_the_environment(
    hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url("/"))
    hub.publish(DATASET, {"data/main.parquet": BODY})

    assert from_hub(hub, target.folder, base_url=None) is not None
    assert target.is_whole()


def test_the_hub_password_in_an_address_is_not_recorded(hub: HubServer, target: Target) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY, "data/b.parquet": b"another"})
    said: list[str] = []

    hub.tokens.add("Basic " + b64encode(b"me:5ecretPassword").decode())
    address = hub.url("").replace("127.0.0.1", "me:5ecretPassword@127.0.0.1")
    one = from_hub(hub, target.folder, log=said.append, base_url=address, files="data/main.parquet")
    both = from_hub(hub, target.folder, log=said.append, base_url=address)

    assert "5ecret" not in "\n".join([*said, repr(one), repr(both)])
    assert one is not None
    assert both is not None
    assert both.url == hub.url(f"/datasets/{DATASET}/tree/{both.revision}")


def test_the_hub_is_asked_for_nothing_else(hub: HubServer, target: Target) -> None:
    """No telemetry: a fresh process talks to the configured endpoint and the store only."""
    hub.publish(DATASET, {"data/main.parquet": BODY})
    script = f"""
        import os, socket, sys
        ports, connect = [], socket.socket.connect
        def noted(self, address):
            ports.append(address)
            return connect(self, address)
        socket.socket.connect = noted
        from pathlib import Path
        from pipelines.config.editions import HuggingFaceSource
        from pipelines.config.settings import Settings
        from pipelines.sources import hugging_face
        assert "huggingface_hub" not in sys.modules and ports == []
        source = HuggingFaceSource(kind="hugging_face", dataset={DATASET!r}, base_url={hub.url("")!r})
        hugging_face.fetch(source, Path({str(target.folder)!r}), settings=Settings(), landed=frozenset(), log=print)
        assert {{port for _, port in ports}} == {{{hub.port}, {hub.cdn.port}}}, ports
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment["HF_HOME"] = str(target.folder.parent / "hf-home")
    # An agent is what the client would look up; this one's variable makes it think that one is running.
    environment["CLAUDECODE"] = "1"

    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=PROJECT_DIR, check=True, env=environment)

    assert target.is_whole()
    assert [request.method for request in hub.seen] == ["GET", "GET"]
    assert not (target.folder.parent / "hf-home").exists()


def test_the_hub_has_no_file_that_matches(hub: HubServer, target: Target) -> None:
    hub.publish(DATASET, {"README.md": b"#", "data/main.parquet": BODY})

    said = hub_error(hub, target.folder, files="*.csv")

    assert said.endswith("no file matches '*.csv'; it has 'README.md', 'data/main.parquet'.")


@pytest.mark.parametrize("path", ["../main.parquet", "data/.main.parquet", "data//main.parquet", "a\x1b[2J.parquet"])
def test_the_hub_names_a_file_that_could_be_misread(hub: HubServer, target: Target, path: str) -> None:
    hub.publish(DATASET, {path: BODY})

    said = hub_error(hub, target.folder, files="*")

    assert "cannot be" in said or "is no path" in said
    assert "\x1b" not in said
    assert hub.cdn.seen == []


def test_the_hub_does_not_know_the_dataset(hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not exist or is private; check the spelling of 'dataset', or set HF_TOKEN" in hub_error(
        hub, target.folder
    )
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert "HF_TOKEN is not accepted" in hub_error(hub, target.folder)
    hub.tokens.add(TOKEN)
    assert "or use an HF_TOKEN that may read it" in hub_error(hub, target.folder)


def test_the_hub_wants_its_terms_accepted(hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY})
    hub.datasets[DATASET].access = "gated"
    hub.tokens.add(TOKEN)

    assert "is gated: accept its terms in a browser and set HF_TOKEN" in hub_error(hub, target.folder)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert "is gated: accept its terms in a browser with the account of HF_TOKEN" in hub_error(hub, target.folder)
    hub.datasets[DATASET].accepted.add(TOKEN)
    assert from_hub(hub, target.folder) is not None
    assert target.is_whole()


def test_the_hub_does_not_know_the_revision(hub: HubServer, target: Target) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY})

    assert "has no revision 'v9'; set 'revision'" in hub_error(hub, target.folder, revision="v9")


def test_the_hub_refuses_the_token(hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.misbehave(f"/api/datasets/{DATASET}/revision/main", status(403))
    monkeypatch.setenv("HF_TOKEN", TOKEN)

    assert "HF_TOKEN may not read it" in hub_error(hub, target.folder)


@pytest.mark.parametrize("token", ["hf_a b", "hf_a\nb", "hf_é"])
def test_the_hub_token_is_broken(hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("HF_TOKEN", token)

    assert "HF_TOKEN holds a blank" in hub_error(hub, target.folder)
    assert hub.seen == []


@a_fault
@pytest.mark.parametrize("stage", ["look up", "file"])
def test_the_hub_limits_requests(hub: HubServer, target: Target, stage: str) -> None:
    commit = hub.publish(DATASET, {"data/main.parquet": BODY})
    path = {
        "look up": f"/api/datasets/{DATASET}/revision/main",
        "file": hub.resolve_path(DATASET, commit, "data/main.parquet"),
    }[stage]
    said: list[str] = []
    hub.misbehave(path, status(429, {"RateLimit": '"api";r=0;t=1'}), times=1)
    assert from_hub(hub, target.folder, log=said.append) is not None
    assert any("waiting 1 second, as the server asks" in line for line in said)
    assert target.is_whole()

    target.path.unlink()
    hub.misbehave(path, status(429, {"RateLimit": '"api";r=0;t=290'}))
    assert "too many requests to the Hub; try again in 4 minutes and 50 seconds, or set HF_TOKEN" in hub_error(
        hub, target.folder
    )


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(503), "the server is in trouble; gave up after attempt 3 of 3"),
        (html(), "an HTML page instead of JSON"),
        (status(200, {}, b'{"id": "a/b", "sha"'), "not JSON, or was cut short; gave up after attempt 3 of 3"),
        (gzipped(at=30), "not JSON, or was cut short; gave up after attempt 3 of 3"),
        (endless(), "sends more than"),
        (status(200, {}, b'{"id": "x"}'), "the answer is not one of a Hugging Face Hub"),
        (status(200, {}, b'[{"sha": 1}]'), "the answer is not one of a Hugging Face Hub"),
        (cut_body(at=0), "the connection broke"),
        (redirect(f"/api/datasets/{DATASET}/revision/main"), "more than 10 redirects"),
        (drip_headers(pause_seconds=0.02), "no answer within"),
        (drip(pause_seconds=0.02), "too slow"),
    ],
)
def test_the_hub_answers_nonsense(
    hub: HubServer, target: Target, monkeypatch: pytest.MonkeyPatch, fault: Fault, words: str
) -> None:
    hub.publish(DATASET, {"data/main.parquet": BODY})
    path = f"/api/datasets/{DATASET}/revision/main"
    hub.files[path] = File.of(b'{"id": ' + bytes(1000) + b"}")
    hub.misbehave(path, fault)
    monkeypatch.setattr(f"{__name__}.SETTINGS", SETTINGS.model_copy(update={"http_timeout_seconds": 0.5}))

    assert words in hub_error(hub, target.folder)


def test_the_hub_is_not_there(hub: HubServer, target: Target) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert "the connection was refused" in hub_error(hub, target.folder, base_url=f"http://127.0.0.1:{port}")
    assert "cannot be resolved" in hub_error(hub, target.folder, base_url="http://no-such-host.invalid")
