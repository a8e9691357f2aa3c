"""Upstreams on 127.0.0.1: a file server that can misbehave, and a Hugging Face Hub whose bytes come from it.

Here belongs what a real server would do, well or badly; what the pipeline makes of it belongs in the tests. Each
server is a context manager on a free port, answers in daemon threads, stops by itself, and records what it was asked.

    with FileServer({"/data.parquet": body}) as server:
        server.misbehave("/data.parquet", cut_body(at=1000), times=1)   # the first answer only
        ... server.url("/data.parquet") ... server.seen[0].headers ...

    with HubServer() as hub:                                            # with a CDN of its own on another port
        commit = hub.publish("owner/name", {"data/main.parquet": body})
        hub.cdn.misbehave(hub.cdn_path(body), cut_body(at=1000))
        ... HuggingFaceSource(kind="hugging_face", dataset="owner/name", base_url=hub.url("")) ...
"""

import contextlib
import email.utils
import gzip
import hashlib
import json
import re
import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

LAST_MODIFIED = datetime(2025, 11, 21, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    query: str
    headers: dict[str, str]


@dataclass(frozen=True)
class File:
    """What is served at one path. `etag` goes out as it is, quotes included; None sends no validator."""

    body: bytes
    etag: str | None
    content_type: str = "application/octet-stream"
    last_modified: datetime | None = LAST_MODIFIED

    @classmethod
    def of(cls, body: bytes, **changes: Any) -> "File":
        return cls(body, **({"etag": f'"{hashlib.sha256(body).hexdigest()}"'} | changes))


class Exchange(BaseHTTPRequestHandler):
    """One connection; the primitives that good and bad answers are made of."""

    protocol_version = "HTTP/1.1"
    server: "_Listener"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.handle(self, Seen(self.command, unquote(parts.path), parts.query, headers))

    do_HEAD = do_GET  # noqa: N815 (the name that http.server looks for)

    def head(self, status: int, headers: dict[str, str | None]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()

    def answer(self, status: int, headers: dict[str, str | None], body: bytes = b"") -> None:
        """A complete and honest answer."""
        self.head(status, headers | {"Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self) -> None:
        """End the connection as a dying server does: what was sent arrives, and nothing more."""
        self.close_connection = True
        self.wfile.flush()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def serve(self, file: File, *, ranges: bool = True) -> None:
        """The file, or the part of it that Range and If-Range ask for (RFC 9110, one open-ended range)."""
        status, start, headers = ranged(file, self) if ranges else (200, 0, described(file))
        self.answer(status, headers, b"" if status == 416 else file.body[start:])

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


Fault = Callable[[Exchange, File], None]


def described(file: File) -> dict[str, str | None]:
    modified = email.utils.format_datetime(file.last_modified, usegmt=True) if file.last_modified else None
    return {"Content-Type": file.content_type, "ETag": file.etag, "Last-Modified": modified, "Accept-Ranges": "bytes"}


def ranged(file: File, exchange: Exchange) -> tuple[int, int, dict[str, str | None]]:
    """Status, first byte and headers for the request's Range."""
    headers, size = described(file), len(file.body)
    match = re.fullmatch(r"bytes=(\d+)-", exchange.headers.get("Range", ""))
    if not match or exchange.headers.get("If-Range", file.etag) != file.etag:
        return 200, 0, headers
    start = int(match[1])
    if start >= size:
        return 416, 0, headers | {"Content-Range": f"bytes */{size}"}
    return 206, start, headers | {"Content-Range": f"bytes {start}-{size - 1}/{size}"}


# Faults: each is one way in which a server answers wrongly.


def status(code: int, headers: dict[str, str | None] | None = None, body: bytes = b"") -> Fault:
    """An error status, such as 429 with `{"Retry-After": "3600"}`."""
    return lambda exchange, file: exchange.answer(code, headers or {}, body)


def cut_body(at: int) -> Fault:
    """The connection ends after byte `at` of the file although Content-Length promises the rest; ranges work."""

    def answer(exchange: Exchange, file: File) -> None:
        code, start, headers = ranged(file, exchange)
        exchange.head(code, headers | {"Content-Length": str(len(file.body) - start)})
        exchange.wfile.write(file.body[start : max(at, start)])
        exchange.hang_up()

    return answer


def close_delimited(at: int | None = None) -> Fault:
    """HTTP/1.0 style: no length, the end of the connection is the end of the body, here after byte `at`."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.head(200, described(file) | {"Connection": "close"})
        exchange.wfile.write(file.body[:at])
        exchange.hang_up()

    return answer


def chunked(at: int | None = None) -> Fault:
    """A chunked body; with `at`, the connection ends inside the chunk that holds that byte."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.head(200, described(file) | {"Transfer-Encoding": "chunked"})
        middle = len(file.body) // 2
        for piece in (file.body[:middle], file.body[middle:]):
            exchange.wfile.write(b"%x\r\n" % len(piece))
            if at is not None and at < len(piece):
                exchange.wfile.write(piece[:at])
                return exchange.hang_up()
            exchange.wfile.write(piece + b"\r\n")
        exchange.wfile.write(b"0\r\n\r\n")

    return answer


def gzipped(at: int | None = None) -> Fault:
    """A gzip body without a length, whatever the client accepts; with `at`, cut after that compressed byte."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.head(200, described(file) | {"Content-Encoding": "gzip", "Connection": "close"})
        exchange.wfile.write(gzip.compress(file.body)[:at])
        exchange.hang_up()

    return answer


def html(content_type: str = "text/html; charset=utf-8") -> Fault:
    """A page with status 200, as a login wall or a maintenance notice gives."""
    page = b"<!DOCTYPE html><html><body>Please log in.</body></html>"
    return lambda exchange, file: exchange.answer(200, {"Content-Type": content_type}, page)


def ignore_range() -> Fault:
    """200 and the whole file, whatever range is asked for."""
    return lambda exchange, file: exchange.serve(file, ranges=False)


def wrong_range(shift: int = 1) -> Fault:
    """206 with another range than the one asked for."""

    def answer(exchange: Exchange, file: File) -> None:
        code, start, headers = ranged(file, exchange)
        start = max(0, start - shift)
        size = len(file.body)
        exchange.answer(code, headers | {"Content-Range": f"bytes {start}-{size - 1}/{size}"}, file.body[start:])

    return answer


def other_bytes(body: bytes) -> Fault:
    """Other bytes than the file has, whole and under its validators: a wrong hash, or a wrong size too."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.serve(File(body, file.etag, file.content_type, file.last_modified))

    return answer


def drip(pause_seconds: float = 0.05, at: int = 0) -> Fault:
    """Byte `at` is reached at once; from there one byte at a time, with a pause after each."""

    def answer(exchange: Exchange, file: File) -> None:
        code, start, headers = ranged(file, exchange)
        exchange.head(code, headers | {"Content-Length": str(len(file.body) - start)})
        exchange.wfile.write(file.body[start : max(at, start)])
        with contextlib.suppress(OSError):
            for position in range(max(at, start), len(file.body)):
                exchange.wfile.write(file.body[position : position + 1])
                if exchange.server.owner.stopping.wait(pause_seconds):
                    return

    return answer


def drip_headers(pause_seconds: float = 0.05) -> Fault:
    """Response headers that never end."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.close_connection = True
        with contextlib.suppress(OSError):
            exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not exchange.server.owner.stopping.wait(pause_seconds):
                exchange.wfile.write(b"x")

    return answer


def endless() -> Fault:
    """A body without length that goes on until the client leaves."""

    def answer(exchange: Exchange, file: File) -> None:
        exchange.head(200, described(file) | {"Connection": "close"})
        exchange.close_connection = True
        with contextlib.suppress(OSError):
            while not exchange.server.owner.stopping.is_set():
                exchange.wfile.write(bytes(1 << 16))

    return answer


def redirect(to: str, code: int = 302) -> Fault:
    """A redirect; to its own path it is a loop."""
    return lambda exchange, file: exchange.answer(code, {"Location": to})


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    owner: "_Server"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news."""


class _Server:
    """A listening server that ends with its `with` block; `port` 0 takes a free one."""

    def __init__(self, port: int = 0, certificate: tuple[Path, Path] | None = None) -> None:
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._listener = _Listener(("127.0.0.1", port), Exchange)
        self._listener.owner = self
        self.port: int = self._listener.server_address[1]
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._listener.socket = context.wrap_socket(self._listener.socket, server_side=True)

    def __enter__(self) -> Self:
        threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._listener.shutdown()
        self._listener.server_close()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def handle(self, exchange: Exchange, request: Seen) -> None:
        self.seen.append(request)
        if self.stopping.is_set():
            return exchange.hang_up()
        self.respond(exchange, request)

    def respond(self, exchange: Exchange, request: Seen) -> None:
        raise NotImplementedError


class FileServer(_Server):
    """Files by path, with Range, ETag and Last-Modified, and the faults that a test plans."""

    def __init__(self, files: dict[str, bytes | File] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.files = {path: file if isinstance(file, File) else File.of(file) for path, file in (files or {}).items()}
        self._planned: dict[str, list[Fault]] = defaultdict(list)
        self._always: dict[str, Fault] = {}

    def misbehave(self, path: str, fault: Fault, *, times: int | None = None) -> None:
        """Answer requests for `path` with this fault: the next `times` ones, after those planned before, or all."""
        if times is None:
            self._always[path] = fault
        else:
            self._planned[path] += [fault] * times

    def behave(self) -> None:
        """Forget every fault."""
        self._planned.clear()
        self._always.clear()

    def respond(self, exchange: Exchange, request: Seen) -> None:
        file = self.files.get(request.path)
        planned = self._planned[request.path]
        fault = planned.pop(0) if planned else self._always.get(request.path)
        if fault:
            fault(exchange, file or File.of(b""))
        elif file:
            exchange.serve(file)
        else:
            exchange.answer(404, {"Content-Type": "text/plain"}, b"not found")


class Cdn(FileServer):
    """The store that the Hub redirects to: signed addresses, and, as S3 does, no second credential beside them."""

    def respond(self, exchange: Exchange, request: Seen) -> None:
        if "authorization" in request.headers:
            return exchange.answer(400, {}, b"Only one auth mechanism allowed")
        if "X-Amz-Signature" not in parse_qs(request.query):
            return exchange.answer(403, {}, b"AccessDenied")
        super().respond(exchange, request)


@dataclass
class Commit:
    """One commit of a dataset: its files, its date, and which of them are large (LFS)."""

    files: dict[str, bytes]
    date: datetime
    small: frozenset[str] = frozenset()


@dataclass
class Dataset:
    """A dataset repository. `access` is "public", "private" or "gated"; `accepted` says who may read a gated one."""

    commits: dict[str, Commit] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)
    access: str = "public"
    accepted: set[str] = field(default_factory=set)


class HubServer(FileServer):
    """The Hub's dataset protocol: repository info at a revision, and `resolve` with a redirect to the CDN.

    What it answers follows huggingface_hub 2.4 (`hf_api.py`, `file_download.py`, `utils/_http.py`). Tokens in
    `tokens` are valid; any other is refused. Faults can be planned for its own paths as on any file server.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cdn = Cdn()
        self.datasets: dict[str, Dataset] = {}
        self.tokens: set[str] = set()

    def __enter__(self) -> Self:
        self.cdn.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.cdn.__exit__(*exception)

    def publish(
        self,
        dataset: str,
        files: dict[str, bytes],
        *,
        revision: str = "main",
        date: datetime = LAST_MODIFIED,
        small: frozenset[str] = frozenset(),
    ) -> str:
        """Commit these files (all of the commit's) and point `revision` at it; returns the commit's 40 hex digits."""
        repository = self.datasets.setdefault(dataset, Dataset())
        content = repr((sorted(files.items()), date, len(repository.commits)))
        commit = hashlib.sha1(content.encode()).hexdigest()
        repository.commits[commit] = Commit(dict(files), date, small)
        repository.revisions[revision] = commit
        for body in files.values():
            self.cdn.files[self.cdn_path(body)] = File.of(body, content_type="binary/octet-stream")
        return commit

    @staticmethod
    def cdn_path(body: bytes) -> str:
        return f"/blobs/{hashlib.sha256(body).hexdigest()}"

    @staticmethod
    def resolve_path(dataset: str, commit: str, path: str) -> str:
        return f"/datasets/{dataset}/resolve/{commit}/{path}"

    def respond(self, exchange: Exchange, request: Seen) -> None:
        api = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(.+))?", request.path)
        resolve = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", request.path)
        if request.path in self._always or self._planned[request.path] or not (api or resolve):
            return super().respond(exchange, request)
        name, revision = (api or resolve).group(1, 2)  # type: ignore[union-attr]
        token = request.headers.get("authorization", "").removeprefix("Bearer ") or None
        repository = self.datasets.get(name)
        if token and token not in self.tokens:
            return _refuse(exchange, 401, None, "Invalid credentials in Authorization header")
        if repository is None or (repository.access == "private" and not token):
            return _refuse(exchange, 404 if token else 401, "RepoNotFound", "Repository not found")
        if resolve and repository.access == "gated" and token not in repository.accepted:
            return _refuse(exchange, 403 if token else 401, "GatedRepo", f"Access to dataset {name} is restricted.")
        commit = repository.revisions.get(revision or "main", revision or "main")
        if commit not in repository.commits:
            return _refuse(exchange, 404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if api:
            blobs = parse_qs(request.query).get("blobs", ["false"])[0].lower() in {"true", "1"}
            info = _info(name, repository, commit, blobs)
            return exchange.answer(200, {"Content-Type": "application/json"}, json.dumps(info).encode())
        self._resolve(exchange, repository.commits[commit], commit, resolve.group(3))  # type: ignore[union-attr]

    def _resolve(self, exchange: Exchange, commit: Commit, commit_id: str, path: str) -> None:
        headers: dict[str, str | None] = {"X-Repo-Commit": commit_id}
        if path not in commit.files:
            return _refuse(exchange, 404, "EntryNotFound", "Entry not found", headers)
        body = commit.files[path]
        if path in commit.small:
            return exchange.answer(200, headers | {"ETag": f'"{_blob_id(body)}"'}, body)
        exchange.answer(
            302,
            headers
            | {
                "X-Linked-Etag": f'"{hashlib.sha256(body).hexdigest()}"',
                "X-Linked-Size": str(len(body)),
                "Location": self.cdn.url(self.cdn_path(body) + "?X-Amz-Signature=5ecret5ignature"),
            },
        )


def _refuse(
    exchange: Exchange, code: int, error: str | None, message: str, headers: dict[str, str | None] | None = None
) -> None:
    said: dict[str, str | None] = {"X-Error-Code": error, "X-Error-Message": message}
    body = json.dumps({"error": message}).encode()
    exchange.answer(code, (headers or {}) | said | {"Content-Type": "application/json"}, body)


def _info(name: str, repository: Dataset, commit_id: str, blobs: bool) -> dict[str, Any]:
    commit = repository.commits[commit_id]
    siblings: list[dict[str, Any]] = []
    for path, body in commit.files.items():
        sibling: dict[str, Any] = {"rfilename": path}
        if blobs:
            sibling |= {"size": len(body), "blobId": _blob_id(body)}
            if path not in commit.small:
                sibling["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 134}
        siblings.append(sibling)
    return {
        "_id": commit_id[:24],
        "id": name,
        "author": name.partition("/")[0],
        "sha": commit_id,
        "lastModified": commit.date.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "private": repository.access == "private",
        "gated": "auto" if repository.access == "gated" else False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": siblings,
    }


def _blob_id(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def self_signed_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody trusts, and its key, made on the spot."""
    import ipaddress
    from datetime import timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "server.crt", folder / "server.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files
