"""A dataset on the Hugging Face Hub: which files it has at which commit, and those files, unchanged.

Here belongs the Hub's protocol and what its answers mean. How bytes travel belongs in `http.py`, what is inside them
in `staging.py`.

The Hub's own client resolves revisions and lists files; the bytes are fetched by `http.download`. The client's
downloader (huggingface_hub 2.4, `file_download.py`) does less than landing promises: since 1.18 every call writes a
new temporary file and removes it on failure, so nothing is resumed in the next process; only the size is compared,
not the sha256; a 429 is slept through for as long as the server asks, without a limit; and a file in Xet storage is
fetched by another protocol from hosts that the configured endpoint does not name. The plain `resolve` address serves
every file over HTTP at its commit, with Range.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from hashlib import sha1
from pathlib import Path
from typing import Any

from pipelines.editions import HuggingFaceSource
from pipelines.landing import Fetched, FetchedFile, LandingError, Log, sha256
from pipelines.settings import Settings
from pipelines.sources import http
from pipelines.sources.files import snapshot_names

DEFAULT_ENDPOINT = "https://huggingface.co"
_LISTED = 10


@dataclass(frozen=True)
class _HubFile:
    """One file of a commit. Large files carry the sha256 of their bytes, small ones their git blob id (sha1)."""

    path: str
    name: str
    bytes: int
    sha256: str | None
    blob_id: str | None


def fetch(
    source: HuggingFaceSource, into: Path, *, settings: Settings, landed: frozenset[tuple[str, str]], log: Log
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
    hub = _Hub(endpoint, source, (os.environ.get("HF_TOKEN") or "").strip() or None)
    commit, as_of, files = http.retrying(lambda: hub.look_up(settings), settings=settings, log=log)
    size = http.size_text(sum(file.bytes for file in files))
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


@dataclass(frozen=True, repr=False)  # it holds the token
class _Hub:
    """One dataset at one endpoint, as seen with one token."""

    endpoint: str
    source: HuggingFaceSource
    token: str | None

    def look_up(self, settings: Settings) -> tuple[str, datetime | None, list[_HubFile]]:
        """The commit, its date, and those of its files that the source wants."""
        # Otherwise the client asks the public Hub which tools are running, to write them into its user agent.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import httpx2
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

        api = HfApi(endpoint=self.endpoint, token=self.token or False)
        try:
            info = api.dataset_info(
                self.source.dataset,
                revision=self.source.revision,
                files_metadata=True,
                timeout=settings.http_timeout_seconds,
            )
        except OfflineModeIsEnabled:
            raise LandingError(
                f"{self._place}: HF_HUB_OFFLINE is set, so nothing can be fetched; unset it or use 'files'."
            ) from None
        except HFValidationError:
            raise LandingError(f"{self.source.dataset!r} is no dataset id; write it as owner/name.") from None
        except HfHubHTTPError as error:
            raise self._refused(error.response.status_code, error.response.headers) from None
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from None
        except httpx2.InvalidURL:
            raise LandingError(f"{http.shown(self.endpoint)} is no address; correct base_url or HF_ENDPOINT.") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            info = None
        if info is None or not re.fullmatch(r"[0-9a-f]{40}", str(info.sha)):
            raise LandingError(
                f"{self._place}: the answer is not one of a Hugging Face Hub; correct base_url or HF_ENDPOINT."
            )
        # Read as UTC; the Hub writes the date of the revision's last commit here.
        as_of = info.last_modified.astimezone(UTC) if info.last_modified else None
        return str(info.sha), as_of, self._wanted(info.siblings or [])

    def address(self, commit: str, path: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.source.dataset, path, repo_type="dataset", revision=commit, endpoint=self.endpoint)

    def explain(self, status: int, headers: Mapping[str, str]) -> str | None:
        """What an error of the Hub means and what to do, without a full stop; None for one that is not its own.

        401 stands for missing, private and gated alike; `X-Error-Code` tells them apart where the Hub wants to.
        """
        code, message = headers.get("X-Error-Code", ""), headers.get("X-Error-Message", "")
        page = self._place
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

    @property
    def _place(self) -> str:
        return f"{http.shown(self.endpoint)}/datasets/{self.source.dataset}"

    def _refused(self, status: int, headers: Mapping[str, str]) -> Exception:
        sentence = self.explain(status, headers) or f"{self._place}: {http.status_sentence(status)}"
        if http.is_retried(status):
            return http.Transient(sentence, http.asked_wait(status, headers))
        return LandingError(f"{sentence}.")

    def _unreachable(self, error: Exception) -> Exception:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return LandingError(
                f"{self._place}: the server's TLS certificate is not trusted; check the address and the clock, or set "
                "SSL_CERT_FILE to the authority file of your network."
            )
        if type(error).__name__ in {"TooManyRedirects", "UnsupportedProtocol"}:
            return LandingError(f"{self._place}: redirects without end or to no web address; correct base_url.")
        if "Timeout" in type(error).__name__:
            return http.Transient(f"{self._place}: no answer in time")
        return http.Transient(
            f"{self._place}: cannot be reached ({type(error).__name__}); check the network, base_url and HF_ENDPOINT"
        )

    def _wanted(self, siblings: list[Any]) -> list[_HubFile]:
        there = sorted(siblings, key=lambda sibling: sibling.rfilename)
        chosen = [sibling for sibling in there if fnmatchcase(sibling.rfilename, self.source.files)]
        if not chosen:
            paths = [sibling.rfilename for sibling in there]
            more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
            listed = ", ".join(repr(path) for path in paths[:_LISTED]) + more if paths else "no files"
            raise LandingError(f"{self._place}: no file matches {self.source.files!r}; it has {listed}.")
        for sibling in chosen:
            if {"", ".", ".."} & set(sibling.rfilename.split("/")):
                raise LandingError(f"{self._place}: {sibling.rfilename!r} is no path that can be fetched.")
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
        headers={"Authorization": f"Bearer {hub.token}"} if hub.token else {},
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
