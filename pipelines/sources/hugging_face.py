"""A dataset on the Hugging Face Hub: which files it has at which commit, and those files, unchanged.

Here belongs the Hub's protocol and what its answers mean. How bytes travel belongs in `http/`, what is inside them
in `contracts.py`.

Addresses and the reading of answers are huggingface_hub's; the requests go through `http/`, because its client
(2.4) does less than landing promises. Its downloader (`file_download.py`) writes a new temporary file in each call
and removes it on failure, so the next process resumes nothing; it compares the size but not the sha256; it sleeps
through a 429 for as long as the server asks, without a limit; and it fetches a file in Xet storage by another
protocol from hosts that the configured endpoint does not name. Its API calls have a time limit on each read but none
on an answer. The plain `resolve` address serves every file over HTTP at its commit, with Range.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import sha1
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipelines.config.editions import HuggingFaceSource
from pipelines.config.settings import Settings
from pipelines.sources import http
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log
from pipelines.sources.files import snapshot_names
from pipelines.warehouse import sha256

DEFAULT_ENDPOINT = "https://huggingface.co"
_LISTED = 10


@dataclass(frozen=True)
class _HubFile:
    """One file of a commit. Large files carry the sha256 of their bytes, small ones their git blob id (sha1)."""

    path: str
    name: str
    bytes: int | None
    sha256: str | None
    blob_id: str | None


def fetch(
    source: HuggingFaceSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the files of the commit that the source's revision names now into the folder `into`.

    The endpoint is the source's `base_url`, else HF_ENDPOINT, else the public Hub; the token is HF_TOKEN, sent to the
    endpoint only.

    Args:
        source: dataset id, file pattern (fnmatch on the path in the repository), revision.
        into: an existing folder; what a broken download left there is continued.
        landed: (file name, sha256) of the current snapshot.

    Returns:
        None where the commit's files are exactly the landed ones; nothing is downloaded to find that out if the Hub
        tells their sha256. `as_of` is the commit's date (UTC) as the Hub tells it.

    Raises:
        LandingError: in one sentence that says what to do.
    """
    endpoint = (source.base_url or os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
    hub = _Hub(endpoint, source, _token())
    commit, as_of, files = hub.look_up(settings=settings, log=log)
    size = http.size_text(sum(file.bytes or 0 for file in files))
    log(f"{source.dataset} at {commit[:12]}: {len(files)} file(s), {size}.")
    if landed and landed == {(file.name, file.sha256) for file in files}:
        log(f"{source.dataset}: unchanged, the same bytes are landed already.")
        return None
    fetched = [_download(hub, commit, file, into, settings=settings, log=log) for file in files]
    if landed and landed == {(file.name, sha256(file.path)) for file in fetched}:
        for file in fetched:
            file.path.unlink()
        log(f"{source.dataset}: unchanged, the same bytes are landed already.")
        return None
    url = fetched[0].url if len(fetched) == 1 else f"{endpoint}/datasets/{source.dataset}/tree/{commit}"
    return Fetched(fetched, http.shown(url), revision=commit, as_of=as_of)


def _token() -> str | None:
    token = os.environ.get("HF_TOKEN", "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise LandingError("HF_TOKEN holds a blank, a line break or a character outside ASCII; copy the token again.")
    return token or None


@dataclass(frozen=True, repr=False)  # it holds the token
class _Hub:
    """One dataset at one endpoint, as seen with one token."""

    endpoint: str
    source: HuggingFaceSource
    token: str | None

    def look_up(self, *, settings: Settings, log: Log) -> tuple[str, datetime | None, list[_HubFile]]:
        """The commit, its date, and those of its files that the source wants."""
        from huggingface_hub import DatasetInfo

        revision = quote(self.source.revision, safe="")
        answer = http.get_json(
            f"{self.endpoint}/api/datasets/{self.source.dataset}/revision/{revision}?blobs=true",
            settings=settings,
            log=log,
            headers=self.headers,
            explain=self.explain,
        )
        try:
            info = DatasetInfo(**answer)  # type: ignore[no-untyped-call]
            commit, as_of, siblings = str(info.sha), info.last_modified, info.siblings or []
        except (ValueError, KeyError, TypeError, AttributeError):
            commit = ""
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise LandingError(
                f"{self._page}: the answer is not one of a Hugging Face Hub; correct base_url or HF_ENDPOINT."
            )
        return commit, as_of.astimezone(UTC) if as_of else None, self._wanted(siblings)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def _page(self) -> str:
        return f"{http.shown(self.endpoint)}/datasets/{self.source.dataset}"

    def address(self, commit: str, path: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.source.dataset, path, repo_type="dataset", revision=commit, endpoint=self.endpoint)

    def explain(self, status: int, headers: Mapping[str, str]) -> str | None:
        """What an error of the Hub means and what to do, without a full stop; None for one that is not its own.

        401 stands for missing, private and gated alike; `X-Error-Code` tells them apart where the Hub wants to.
        """
        code, message = headers.get("X-Error-Code", ""), headers.get("X-Error-Message", "")
        page = self._page
        if code == "GatedRepo":
            use = "with the account of HF_TOKEN" if self.token else "and set HF_TOKEN to a token of that account"
            return f"{page} is gated: accept its terms in a browser {use}"
        if code == "RevisionNotFound":
            return f"{page} has no revision {self.source.revision!r}; set 'revision' to a branch, tag or commit of it"
        if code == "EntryNotFound":
            return f"{page} no longer has the file at this commit; run again"
        if "disabled" in message.lower():
            return f"{page} has been disabled by the Hub; look there for the reason"
        if status == 401 and self.token and code != "RepoNotFound":
            return f"{page}: HF_TOKEN is not accepted; it is mistyped, expired or revoked, make a new one"
        if status in {401, 404}:
            remedy = "use an HF_TOKEN that may read it" if self.token else "set HF_TOKEN if it is private"
            return f"{page} does not exist or is private; check the spelling of 'dataset', or {remedy}"
        if status == 403:
            return f"{page}: HF_TOKEN may not read it; give the token read access to this dataset"
        if status == 429:
            hint = "" if self.token else ", or set HF_TOKEN, which has a higher limit"
            wait = http.asked_wait(status, headers)
            when = f"in {http.duration_text(wait)}" if wait is not None else "in some minutes"
            return f"{page}: too many requests to the Hub; try again {when}{hint}"
        return None

    def _wanted(self, siblings: list[Any]) -> list[_HubFile]:
        there = sorted(siblings, key=lambda sibling: sibling.rfilename)
        chosen = [sibling for sibling in there if fnmatchcase(sibling.rfilename, self.source.files)]
        if not chosen:
            paths = [sibling.rfilename for sibling in there]
            more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
            listed = ", ".join(repr(path) for path in paths[:_LISTED]) + more if paths else "no files"
            raise LandingError(f"{self._page}: no file matches {self.source.files!r}; it has {listed}.")
        for sibling in chosen:
            if {"", ".", ".."} & set(sibling.rfilename.split("/")):
                raise LandingError(f"{self._page}: {sibling.rfilename!r} is no path that can be fetched.")
        names = snapshot_names([sibling.rfilename for sibling in chosen])
        return [
            _HubFile(
                path=sibling.rfilename,
                name=name,
                bytes=sibling.lfs.size if sibling.lfs else sibling.size,
                sha256=sibling.lfs.sha256 if sibling.lfs else None,
                blob_id=sibling.blob_id,
            )
            for sibling, name in zip(chosen, names, strict=True)
        ]


def _download(hub: _Hub, commit: str, file: _HubFile, into: Path, *, settings: Settings, log: Log) -> FetchedFile:
    got = http.download(
        hub.address(commit, file.path),
        into / file.name,
        settings=settings,
        log=log,
        headers=hub.headers,
        expected_sha256=file.sha256,
        expected_bytes=file.bytes,
        explain=hub.explain,
    )
    if file.sha256 is None and file.blob_id is not None and _git_blob_id(got.path) != file.blob_id:
        got.path.unlink()
        raise LandingError(f"{got.url}: the bytes are not those of the commit (git blob {file.blob_id}); run again.")
    return FetchedFile(file.name, got.path, got.url)


def _git_blob_id(path: Path) -> str:
    """The sha1 by which git names these bytes; the Hub keeps no sha256 of files outside LFS, which are small."""
    content = path.read_bytes()
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
