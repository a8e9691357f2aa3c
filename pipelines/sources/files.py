"""Files from a local path or from one URL, unchanged, and the rule that names a file inside a snapshot.

Here belongs the source kind `files` (Parquet), and what other kinds share with it: `bring` one file, and safe names.
How HTTP behaves belongs in `http/`, what must be inside a file in `contracts.py`.
"""

import glob
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from pipelines.config.editions import FilesSource
from pipelines.config.settings import Settings
from pipelines.sources import http
from pipelines.sources.fetched import Fetched, FetchedFile, LandingError, Log, SourceSkipped
from pipelines.warehouse import sha256

DEFAULT_NAME = "data.parquet"
_LISTED = 10


def fetch(
    source: FilesSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Bring the source's files into the folder `into`.

    Args:
        source: a path, a glob, or a URL.
        into: an existing folder; what a broken download left there is continued.
        landed: (file name, sha256) of the current snapshot.

    Returns:
        None where the upstream's files are exactly the landed ones. `as_of` is the Last-Modified of a URL; a file's
        modification time says nothing about its content, so a path has none.

    Raises:
        LandingError: nothing matches, a file changes while it is read, or the download fails.
    """
    if source.url:
        return _from_url(source.url, into, settings=settings, landed=landed, log=log)
    assert source.path is not None
    return _from_path(source.path, into, landed=landed, log=log)


def snapshot_names(paths: Sequence[str]) -> list[str]:
    """Names inside a snapshot for files at these `/`-separated paths: the last part, or all parts where two collide.

    `data/main.parquet` becomes `main.parquet`, and `data__main.parquet` if another folder has a `main.parquet` too.
    Case does not tell two names apart, since some file systems cannot.

    Raises:
        LandingError: a name is hidden, too long, reserved, or holds something that a path or a terminal could
            misread; or two names stay the same.
    """
    parts = [PurePosixPath(path).parts for path in paths]
    lasts = Counter(part[-1].casefold() for part in parts if part)
    names = ["__".join(part) if part and lasts[part[-1].casefold()] > 1 else "".join(part[-1:]) for part in parts]
    for path, name in zip(paths, names, strict=True):
        if not is_safe_name(name):
            raise LandingError(f"{path!r} cannot be the name of a landed file; rename it at its source.")
    if twice := [name for name, count in Counter(name.casefold() for name in names).items() if count > 1]:
        raise LandingError(f"Two files would both be landed as {twice[0]!r}; rename one of them at its source.")
    return names


def bring(
    path: str | None,
    url: str,
    target: Path,
    *,
    settings: Settings,
    log: Log,
    explain: http.Explain | None = None,
) -> http.Download:
    """One file, whole, at `target`: the only local file that `path` (or glob) names, else what `url` serves.

    A local file has no etag and no date: its modification time says nothing about its content.

    Raises:
        LandingError: no file or several match, it changes while it is read, or the download fails (`explain` as in
            `http.download`).
    """
    if path is None:
        return http.download(url, target, settings=settings, log=log, explain=explain)
    original = only_match(path)
    try:
        _copy([original], [target])
    except OSError as error:
        raise LandingError(f"{error.filename or path}: cannot be copied ({error.strerror or error}).") from None
    size = target.stat().st_size
    log(f"{original}: copied, {size} bytes.")
    return http.Download(target, original.absolute().as_uri(), sha256(target), size)


def skip_if_absent(status: int, headers: Mapping[str, str]) -> None:
    """For `explain`: an archive that has no file (yet) for an edition does not fail the run.

    Raises:
        SourceSkipped: the server says that there is no such file.
    """
    if status in {404, 410}:
        raise SourceSkipped("there is no such file upstream, perhaps not yet; set 'file' or 'url' if it moved.")


def only_match(pattern: str) -> Path:
    """The one file that a path or glob names.

    Raises:
        LandingError: there is none, there are several, or it is a folder.
    """
    if Path(pattern).is_dir():
        raise LandingError(f"{pattern} is a folder; this source takes one file, name it.")
    found = _matching(pattern)
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:_LISTED])
        raise LandingError(f"{pattern}: names {len(found)} files ({names}); this source takes one, name it.")
    return found[0]


def is_safe_name(name: str) -> bool:
    """Whether a landed file may have this name: nothing hidden, reserved, or misread by a path or a terminal."""
    reserved = name.casefold() == "snapshot.json" or name.casefold().endswith((".part", ".part.json"))
    return (
        name.isprintable()
        and 0 < len(name.encode("utf-8", "replace")) <= 200
        and not name.startswith((".", "-", " "))
        and not any(character in '/\\:*?"<>|' for character in name)
        and not reserved
    )


def _from_url(
    url: str, into: Path, *, settings: Settings, landed: frozenset[tuple[str, str]], log: Log
) -> Fetched | None:
    last = unquote(urlsplit(url).path).rpartition("/")[2]
    name = last if is_safe_name(last) else DEFAULT_NAME
    got = http.download(url, into / name, settings=settings, log=log)
    if landed == {(name, got.sha256)}:
        got.path.unlink()
        log(f"{got.url}: unchanged, the same bytes are landed already.")
        return None
    return Fetched([FetchedFile(name, got.path, got.url)], got.url, etag=got.etag, as_of=got.last_modified)


def _from_path(pattern: str, into: Path, *, landed: frozenset[tuple[str, str]], log: Log) -> Fetched | None:
    originals = _matching(pattern)
    folder = os.path.commonpath([original.parent for original in originals])
    names = snapshot_names([original.relative_to(folder).as_posix() for original in originals])
    try:
        if landed and landed == {(name, sha256(path)) for name, path in zip(names, originals, strict=True)}:
            log(f"{pattern}: unchanged, the same bytes are landed already.")
            return None
        size = _copy(originals, [into / name for name in names])
    except OSError as error:
        raise LandingError(f"{error.filename or pattern}: cannot be copied ({error.strerror or error}).") from None
    log(f"{pattern}: copied {len(names)} file(s), {size} bytes.")
    files = [
        FetchedFile(name, into / name, original.absolute().as_uri())
        for name, original in zip(names, originals, strict=True)
    ]
    return Fetched(files, files[0].url if len(files) == 1 else pattern)


def _copy(originals: Sequence[Path], targets: Sequence[Path]) -> int:
    """Copy the files, all whole or none; gives their size in bytes."""
    parts = [target.with_name(f"{target.name}.part") for target in targets]
    before = [_state(original) for original in originals]
    for original, part in zip(originals, parts, strict=True):
        shutil.copyfile(original, part)
    for original, part, state in zip(originals, parts, before, strict=True):
        if _state(original) != state or part.stat().st_size != state[1]:
            raise LandingError(f"{original} changed while it was copied; run again when it is complete.")
    for part, target in zip(parts, targets, strict=True):
        part.replace(target)
    return sum(state[1] for state in before)


def _matching(pattern: str) -> list[Path]:
    """The files that a path or glob names, in order."""
    if Path(pattern).is_dir():
        raise LandingError(f"{pattern} is a folder; write {pattern.rstrip('/')}/*.parquet for the files in it.")
    found = [pattern] if Path(pattern).exists() else glob.glob(pattern, recursive=True)  # noqa: PTH207 (Path.glob needs a split)
    if files := sorted(Path(path) for path in found if Path(path).is_file()):
        return files
    looked_in = Path(pattern).parent
    while glob.has_magic(str(looked_in)) or not looked_in.is_dir():
        looked_in = looked_in.parent
    there = sorted(entry.name + "/" * entry.is_dir() for entry in looked_in.iterdir())
    more = f" and {len(there) - _LISTED} more" if len(there) > _LISTED else ""
    listed = ", ".join(there[:_LISTED]) + more if there else "nothing"
    raise LandingError(f"{pattern}: no file matches; {looked_in} holds {listed}.")


def _state(path: Path) -> tuple[int, int, int]:
    """What changes when someone writes to a file or replaces it: time in ns, size in bytes, inode."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
