"""Checks of the place where a warehouse is: its folder, the file system, the room on the disk.

The files by which the file system is tried are removed again.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import psutil

from pipelines import publish
from pipelines.operate.doctor.finding import Finding
from pipelines.operate.maintenance import disk_use
from pipelines.sources.http import size_text
from pipelines.warehouse import Warehouse, sync

# Where locks between machines, atomic renames or links cannot be relied upon.
_DOUBTFUL = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "vboxsf", "drvfs", "ceph", "glusterfs"}
_RELEASES_OF_ROOM = 4  # working and marts database, the candidate, and what DuckDB spills


def check_folder(warehouse: Warehouse) -> Iterator[Finding]:
    root = warehouse.root
    if not root.exists():
        parent = next(folder for folder in root.parents if folder.exists())
        if os.access(parent, os.W_OK):
            yield Finding("ok", "folder", f"{root} is made by the first run")
        else:
            yield Finding(
                "problem", "folder", f"{root} is not there and {parent} cannot be written; set WAREHOUSE_DIR."
            )
    elif not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("problem", "folder", f"{root} cannot be written; change its owner or its permissions.")
    else:
        yield Finding("ok", "folder", str(root))


def mount_of(path: Path) -> tuple[str, str]:
    """Where the file system of a path is mounted, and its kind."""
    # Of two mounts at one place the later one counts, which the system lists last.
    mounts = [mount for mount in reversed(psutil.disk_partitions(all=True)) if path.is_relative_to(mount.mountpoint)]
    nearest = max(mounts, key=lambda mount: len(mount.mountpoint), default=None)
    return (nearest.mountpoint, nearest.fstype) if nearest else ("/", "unknown")


def check_file_system(warehouse: Warehouse) -> Iterator[Finding]:
    """Its kind by the kernel's word, and what the warehouse needs of it by trying."""
    root = next(folder for folder in (warehouse.root, *warehouse.root.parents) if folder.exists()).resolve()
    place, kind = mount_of(root)
    if kind in _DOUBTFUL or kind.partition(".")[0] == "fuse":
        yield Finding(
            "warning",
            "file system",
            f"{root} is on {kind} ({place}), where locks and renames between machines cannot be relied upon; use a "
            "local disk, or let one machine only write.",
        )
    elif kind == "overlay":
        yield Finding(
            "warning",
            "file system",
            f"{root} is in a container's own layer ({place}) and is gone with the container; mount a volume.",
        )
    elif kind in {"tmpfs", "ramfs"}:
        yield Finding("warning", "file system", f"{root} is in memory ({kind}) and is gone after a restart.")
    if not os.access(root, os.W_OK | os.X_OK):
        return  # another check says so
    failed = list(_try_file_system(root))
    for sentence in failed:
        yield Finding("problem", "file system", f"{root} ({kind}): {sentence}; use a local disk.")
    if not failed:
        yield Finding("ok", "file system", f"{kind}: locks, hard links, symbolic links, renames and fsync work")


def _try_file_system(root: Path) -> Iterator[str]:
    trial = root / f".doctor-{os.getpid()}"
    trial.mkdir()
    try:
        file, other, link = trial / "file", trial / "other", trial / "link"
        file.write_bytes(b"x")
        try:
            with (
                filelock.FileLock(trial / "lock"),
                contextlib.suppress(filelock.Timeout),
                filelock.FileLock(trial / "lock", timeout=0),
            ):
                yield "two holders got one lock"
            sync(file)
        except (OSError, NotImplementedError) as error:
            yield f"locks or fsync do not work ({error})"
        tried: list[tuple[str, Callable[[], object]]] = [
            ("hard links", lambda: os.link(file, other)),
            ("symbolic links", lambda: link.symlink_to("file")),
            ("renames over a file", lambda: file.replace(other)),
        ]
        for name, action in tried:
            try:
                action()
            except OSError as error:
                yield f"{name} do not work ({error.strerror})"
    finally:
        shutil.rmtree(trial)


def check_disk(warehouse: Warehouse) -> Iterator[Finding]:
    root = next(folder for folder in (warehouse.root, *warehouse.root.parents) if folder.exists())
    free = shutil.disk_usage(root).free
    current = publish.current_id(warehouse)
    last = disk_use(warehouse.releases / current) if current else 0
    room = f"{size_text(free)} are free, the last release takes {size_text(last)}"
    if free < last:
        yield Finding("problem", "disk", f"{room}; make room ('python -m pipelines maintain' may help).")
    elif free < _RELEASES_OF_ROOM * last:
        yield Finding("warning", "disk", f"{room}; a run may need {_RELEASES_OF_ROOM} times that.")
    else:
        yield Finding("ok", "disk", room)
