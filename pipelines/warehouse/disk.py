"""Files as every step treats them: hashed, flushed, replaced whole; and what a disk refuses, in words.

Here belongs nothing that knows what a file holds.
"""

import errno
import hashlib
import os
import re
import shutil
from pathlib import Path

import duckdb


def sha256(path: Path) -> str:
    """A file's sha256 as 64 hex digits, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Flush a file or a folder's entries to disk, so that a rename after it never shows half a file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# What a disk can refuse, and what helps. DuckDB gives the system's words and, as a rule, the file in quotes.
_REFUSALS = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room within that quota",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "give the user who runs this the right to write there",
    errno.EPERM: "give the user who runs this the right to write there",
    errno.EFBIG: "raise the limit on the size of a file",
    errno.EIO: "check that disk",
}


def disk_trouble(error: OSError | duckdb.Error, root: Path) -> str | None:
    """What the disk refused, where, and what to do, without a full stop; None for any other error."""
    if isinstance(error, OSError):
        code, places = error.errno, [name for name in (error.filename2, error.filename) if name]
    else:
        code = next((code for code in _REFUSALS if os.strerror(code) in str(error)), None)
        places = re.findall(r'"(/[^"\\]+)', str(error))
    if code not in _REFUSALS:
        return None
    return f"{places[0] if places else root}: {os.strerror(code)}; {_REFUSALS[code]}"


def write_whole(file: Path, text: str) -> None:
    """Replace a small file so that a crash or a full disk leaves the one or the other, never a part."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    sync(new)
    new.replace(file)


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
