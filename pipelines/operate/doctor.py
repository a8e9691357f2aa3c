"""The doctor: is everything in place for a run, and if not, what to do. `python -m pipelines doctor`.

Here belongs looking: each check is a function that yields findings. Nothing is repaired, and nothing stays written; the
files by which the file system is tried are removed again, and a lock is held for no longer than it takes to try it.
"""

import contextlib
import fcntl
import importlib.metadata
import os
import platform
import re
import shutil
import stat
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click

from pipelines import publish
from pipelines.config.editions import load_editions
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.land import landing
from pipelines.model import manifest
from pipelines.operate.maintenance import disk_use
from pipelines.sources.fetched import LandingError
from pipelines.sources.http import size_text
from pipelines.warehouse import Warehouse, WarehouseError, holder

Level = Literal["ok", "warning", "problem"]

# Where locks between machines, atomic renames or links cannot be relied upon.
_DOUBTFUL = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "vboxsf", "drvfs", "ceph", "glusterfs"}
_RELEASES_OF_ROOM = 4  # working and marts database, the candidate, and what DuckDB spills


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's: what was looked at, and what was found, with what to do about it."""

    level: Level
    what: str
    said: str

    def __str__(self) -> str:
        return f"{self.level:<8} {self.what}: {self.said}"


def examine(settings: Settings, *, deep: bool = False) -> Iterator[Finding]:
    """All checks, one after another. `deep` also hashes every landed file and every release, not only the last."""
    warehouse = Warehouse(settings)
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", check_python),
        ("packages", check_packages),
        ("settings", lambda: check_settings(settings)),
        ("secrets", lambda: check_secrets(PROJECT_DIR / ".env")),
        ("dagster home", check_dagster_home),
        ("dbt", lambda: check_dbt(settings)),
        ("folder", lambda: check_folder(warehouse)),
        ("file system", lambda: check_file_system(warehouse)),
        ("disk", lambda: check_disk(warehouse)),
        ("locks", lambda: check_locks(warehouse)),
        ("processes", lambda: check_processes(warehouse)),
        ("databases", lambda: check_databases(warehouse)),
        ("leftovers", lambda: check_leftovers(warehouse)),
        ("release", lambda: check_releases(warehouse, deep=deep)),
        ("landing", lambda: check_landing(warehouse, deep=deep)),
    ]
    for what, check in checks:
        try:
            yield from check()
        except Exception as error:  # one check that cannot look must not hide the others
            yield Finding("problem", what, f"could not be looked at ({type(error).__name__}: {error}).")


def main(settings: Settings, *, deep: bool = False) -> int:
    """Print the findings; 1 where there is a problem, else 0."""
    levels: list[Level] = []
    for finding in examine(settings, deep=deep):
        print(finding, flush=True)
        levels.append(finding.level)
    problems, warnings = levels.count("problem"), levels.count("warning")
    print(f"{problems} problem(s), {warnings} warning(s).")
    return 1 if problems else 0


# --- the installation -------------------------------------------------------------------------------------------------


def check_python(oldest: tuple[int, int] = (3, 11)) -> Iterator[Finding]:
    found = platform.python_version()
    if sys.version_info[:2] < oldest:
        yield Finding(
            "problem", "python", f"{found} is too old; make a new .venv with Python {oldest[0]}.{oldest[1]} or newer."
        )
    else:
        yield Finding("ok", "python", found)


def check_packages(lock: Path = PROJECT_DIR / "requirements.lock") -> Iterator[Finding]:
    """What is installed against the lock file, and the project's own version against what was installed of it."""
    pins = dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\\n]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    project = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[<>=!~\[; ]", requirement)[0].lower() for requirement in project["dependencies"]}
    missing, other = [], []
    for name, pinned in pins.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # The lock also holds what only developers need, and what other platforms do.
            if name.lower() in needed:
                missing.append(name)
            continue
        if found != pinned:
            other.append(f"{name} {found} instead of {pinned}")
    if missing:
        yield Finding("problem", "packages", f"not installed: {', '.join(missing)}; run 'make setup'.")
    if other:
        yield Finding("warning", "packages", f"{', '.join(other)}; run 'make clean setup' for what was tested.")
    if not missing and not other:
        yield Finding("ok", "packages", f"as in {lock.name}")


def check_settings(settings: Settings) -> Iterator[Finding]:
    try:
        editions = load_editions(settings.editions_file)
    except click.ClickException as error:
        yield Finding("problem", "settings", error.message)
        return
    active = [edition.id for edition in editions.editions if edition.active]
    yield Finding("ok", "settings", f"{len(editions.ids)} editions, {len(active)} of them active")
    if not re.fullmatch(r"\d+(\.\d+)?\s*([KMGT]i?B)", settings.memory_limit, re.IGNORECASE):
        yield Finding("problem", "settings", f"DUCKDB_MEMORY_LIMIT={settings.memory_limit!r} is not one such as 4GB.")
    low = [name for name in ("http_attempts", "threads", "releases_kept") if getattr(settings, name) < 1]
    if low:
        yield Finding("problem", "settings", f"{', '.join(name.upper() for name in low)} must be 1 or more.")
    if not settings.notify_webhook_url:
        yield Finding("warning", "settings", "NOTIFY_WEBHOOK_URL is not set; nobody is told when a run fails.")


def check_secrets(file: Path) -> Iterator[Finding]:
    if not file.exists():
        yield Finding("ok", "secrets", f"there is no {file.name}")
    elif file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        yield Finding("warning", "secrets", f"{file} can be read by other users; run 'chmod 600 {file}'.")
    else:
        yield Finding("ok", "secrets", f"{file.name} is its owner's alone")


def check_dagster_home(template: Path = PROJECT_DIR / "dagster.yaml") -> Iterator[Finding]:
    given = os.environ.get("DAGSTER_HOME")
    home = Path(given).expanduser() if given else PROJECT_DIR / ".dagster"
    if not home.is_absolute():
        yield Finding(
            "warning",
            "dagster home",
            f"DAGSTER_HOME={given} is relative; the launcher counts it from the current folder, Dagster's own commands "
            "refuse it. Write it in full.",
        )
        home = home.absolute()
    if not home.exists():
        yield Finding("ok", "dagster home", f"{home} is made by the first run")
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("problem", "dagster home", f"{home} cannot be written; change its owner or its permissions.")
        return
    config = home / "dagster.yaml"
    if not config.exists():
        yield Finding("ok", "dagster home", f"{config} is made by the next run")
    elif config.read_bytes() != template.read_bytes():
        yield Finding(
            "warning",
            "dagster home",
            f"{config} differs from the project's {template.name}: an older version, or your own changes. To take the "
            f"project's: cp {template} {config}",
        )
    else:
        yield Finding("ok", "dagster home", str(home))


def check_dbt(settings: Settings) -> Iterator[Finding]:
    file = manifest.path(settings.dbt_project_dir)
    said = {
        "missing": "is not there; the next run makes it, which takes longer.",
        "unusable": "is half a file, another dbt's or another folder's; the next run makes it anew.",
        "outdated": "is older than the models; the next run makes it anew.",
    }
    state = manifest.state(settings.dbt_project_dir)
    if state == "current":
        yield Finding("ok", "dbt", "the manifest is up to date")
    else:
        yield Finding("warning", "dbt", f"{file} {said[state]}")


# --- the warehouse's folder -------------------------------------------------------------------------------------------


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


def mount_of(path: Path, mounts: str) -> tuple[str, str]:
    """Where the file system of a path is mounted, and its kind, from the text of /proc/mounts."""
    best = ("/", "unknown")
    for line in mounts.splitlines():
        place, kind = (word.encode().decode("unicode_escape") for word in line.split()[1:3])
        # Of two mounts at one place the later one counts.
        if path.is_relative_to(place) and len(place) >= len(best[0]):
            best = (place, kind)
    return best


def check_file_system(warehouse: Warehouse, mounts: Path = Path("/proc/mounts")) -> Iterator[Finding]:
    """Its kind by the kernel's word, and what the warehouse needs of it by trying."""
    root = next(folder for folder in (warehouse.root, *warehouse.root.parents) if folder.exists()).resolve()
    place, kind = mount_of(root, mounts.read_text(encoding="utf-8")) if mounts.exists() else ("/", "unknown")
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
        first, second = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield "two holders got one lock"
            os.fsync(first)
        except OSError as error:
            yield f"locks or fsync do not work ({error.strerror})"
        finally:
            os.close(first)
            os.close(second)
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


# --- what is at work, and what was left -------------------------------------------------------------------------------


def check_locks(warehouse: Warehouse) -> Iterator[Finding]:
    held = []
    for file in sorted(warehouse.locks.glob("*.lock")):
        handle = os.open(file, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            held.append(f"{file.name} by {holder(file)}")
        finally:
            os.close(handle)
    if held:
        yield Finding("warning", "locks", f"held: {'; '.join(held)}. A run waits for them; that is so while one runs.")
    else:
        yield Finding("ok", "locks", "none is held")


def check_processes(warehouse: Warehouse, processes: Path = Path("/proc")) -> Iterator[Finding]:
    """dbt processes on this warehouse whose parent is gone: what a killed run leaves, holding the database."""
    orphans = []
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            is_dbt = (
                any(word.rsplit(b"/")[-1] == b"dbt" for word in words[:2]) or b"pipelines.model.dbt_process" in words
            )
            variables = (folder / "environ").read_bytes().split(b"\0")
            if not is_dbt or f"WAREHOUSE_DIR={warehouse.root}".encode() not in variables:
                continue
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == 1:
                orphans.append(int(folder.name))
    if orphans:
        ids = " ".join(str(pid) for pid in sorted(orphans))
        yield Finding(
            "problem", "processes", f"dbt was left by a run that was killed (process {ids}); end it: kill {ids}"
        )
    else:
        yield Finding("ok", "processes", "no dbt was left by a killed run")


def check_databases(warehouse: Warehouse) -> Iterator[Finding]:
    there = [database for database in (warehouse.working_database, warehouse.marts_database) if database.exists()]
    at_once = Warehouse(replace(warehouse.settings, lock_wait_seconds=0))
    failed = False
    for database in there:
        try:
            with at_once.connect(database, read_only=True):
                continue
        except WarehouseError as error:
            failed = True
            said = str(error).rstrip(".")
            remedy = (
                "look again after the run" if "is held by" in said else "the next run sets it aside and rebuilds it"
            )
            yield Finding("warning", "databases", f"{said.partition(';')[0]}; {remedy}.")
    if not failed:
        yield Finding("ok", "databases", f"{len(there)} of 2 are there and open")


def check_leftovers(warehouse: Warehouse) -> Iterator[Finding]:
    damaged = list(warehouse.root.glob("*.damaged-*"))
    found = [
        (damaged, "set-aside database file(s)"),
        ([warehouse.candidates / ".building"], "half a candidate"),
        (list(warehouse.temporary.glob("duckdb_temp*")), "file(s) that DuckDB spilled"),
        ([path for path in warehouse.landing.glob("*/*/.incoming") if any(path.iterdir())], "partial download(s)"),
        ([warehouse.root / ".rebuilding"], "an unfinished rebuild, which the next run begins anew"),
    ]
    said = []
    for paths, name in found:
        there = [path for path in paths if path.exists()]
        if there:
            count = f"{len(there)} " if name.endswith("(s)") else ""
            said.append(f"{count}{name} ({size_text(disk_use(*there))})")
    if said:
        yield Finding(
            "warning",
            "leftovers",
            f"{', '.join(said)}: of a run at work, or of one that was killed. The next run goes on from them; "
            "'python -m pipelines maintain' deletes what is old.",
        )
    else:
        yield Finding("ok", "leftovers", "none")


# --- what is kept -----------------------------------------------------------------------------------------------------


def check_releases(warehouse: Warehouse, *, deep: bool = False) -> Iterator[Finding]:
    ids, current = publish.release_ids(warehouse), publish.current_id(warehouse)
    if current is None:
        level: Level = "warning" if ids else "ok"
        remedy = "; 'python -m pipelines.releases rollback' makes one current" if ids else ""
        yield Finding(level, "release", f"none is current, {len(ids)} are there{remedy}")
    elif current not in ids:
        yield Finding(
            "problem",
            "release",
            f"{warehouse.current} leads to {current}, which is not there; run 'python -m pipelines.releases rollback'.",
        )
    if current in ids and not warehouse.database.exists():
        yield Finding(
            "problem", "release", f"{warehouse.database} leads nowhere; run 'python -m pipelines.releases rollback'."
        )
    judged = ids if deep else [current] if current in ids else []
    for release_id in judged:
        try:
            count = publish.verify(warehouse.releases / str(release_id))
            yield Finding("ok", "release", f"{release_id}: {count} files are as published")
        except publish.ReleaseError as error:
            yield Finding("problem", "release", str(error))


def check_landing(warehouse: Warehouse, *, deep: bool = False) -> Iterator[Finding]:
    """Every snapshot has its files in their sizes; with `deep` every file has its hash."""
    count = bad = 0
    for record in sorted(warehouse.landing.glob("*/*/*/snapshot.json")):
        edition_id, source, snapshot_id = record.parts[-4:-1]
        count += 1
        try:
            snapshot = landing.find(warehouse, edition_id, snapshot_id, source)
            sizes = zip(snapshot.paths(), snapshot.record.files, strict=True)
            if deep or not all(path.is_file() and path.stat().st_size == file.bytes for path, file in sizes):
                snapshot.verify()
        except LandingError as error:
            bad += 1
            yield Finding("problem", "landing", str(error))
    if not bad:
        how = "every file has its hash" if deep else "sizes agree; --deep compares hashes"
        yield Finding("ok", "landing", f"{count} snapshot(s), {how}")
