"""Keeping the disk use bounded: what has outlived the limits in the settings is deleted, by hand or once a day.

Here belongs what may go and when; who calls it belongs in `automation.py` and the launcher. What has landed is never
touched, nor the current release, nor anything that a run under way may need: everything in the warehouse is deleted
under the lock of its writers, and of Dagster's history only runs that have ended.
"""

import contextlib
import itertools
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import publish
from pipelines.sources.fetched import Log
from pipelines.sources.http import size_text
from pipelines.warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from dagster import DagsterInstance

_DAY = 86_400.0
_SPILL_DAYS = 1.0  # longer than any run may take
_DBT_TARGETS_KEPT = 1  # what the last dbt build compiled and logged, to look at
_FREE_SHARE = 0.2  # of a SQLite file; beyond it the file is written anew
SQLITE_WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Freed:
    """What one kind of rubbish came to: how many things were deleted, and the bytes on disk that this freed."""

    what: str
    count: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.what}: {self.count} deleted, {size_text(self.bytes)} freed"


def maintain(warehouse: Warehouse, instance: "DagsterInstance", log: Log, *, now: float | None = None) -> list[Freed]:
    """Delete what the settings no longer keep; returns what that freed, kind by kind.

    Args:
        instance: whose history is pruned.
        now: the time from which ages count, in seconds since the epoch; default: the clock.

    Raises:
        WarehouseError: another process still writes after `LOCK_WAIT_SECONDS`.
    """
    now = time.time() if now is None else now
    kept = warehouse.settings.leftovers_kept_days * _DAY
    freed = []
    with warehouse.writing("maintain the warehouse"):
        freed.append(_measured("releases", warehouse.releases, lambda: _prune_releases(warehouse, log, now)))
        freed.append(_measured("candidates", warehouse.candidates, lambda: _prune_candidates(warehouse)))
        freed.append(_delete("set-aside databases", _set_aside(warehouse, now - kept)))
        freed.append(_delete("temporary files", _temporary(warehouse, now - _SPILL_DAYS * _DAY)))
        freed.append(_delete("dbt's output", _dbt_output(warehouse, instance, now)))
    freed.append(_delete("partial downloads", _partial_downloads(warehouse, now - kept)))
    freed.append(_measured("Dagster runs", Path(instance.root_directory), lambda: prune_runs(warehouse, instance, now)))
    freed.append(compact(Path(instance.root_directory), log))
    for one in freed:
        if one.count:
            log(f"{one}.")
    return freed


def disk_use(*places: Path) -> int:
    """Bytes on disk below some folders or of some files; a file with several names counts once, what is gone not."""
    seen: dict[tuple[int, int], int] = {}
    for place in places:
        # Unlike `Path.rglob`, `os.walk` minds no folder that goes away meanwhile.
        below = (Path(folder, name) for folder, *names in os.walk(place) for name in itertools.chain(*names))
        for path in itertools.chain([place], below):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                status = path.lstat()
                seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def _measured(what: str, place: Path, prune: Callable[[], int]) -> Freed:
    before = disk_use(place)
    count = prune()
    return Freed(what, count, max(0, before - disk_use(place)) if count else 0)


def _delete(what: str, paths: Iterable[Path]) -> Freed:
    count = size = 0
    for path in paths:
        size += disk_use(path)
        count += 1
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return Freed(what, count, size)


# --- the warehouse ----------------------------------------------------------------------------------------------------


def _prune_releases(warehouse: Warehouse, log: Log, now: float) -> int:
    # A promotion that died between the folder and the link left a release without readers; it counts like any other.
    return len(publish.prune(warehouse, warehouse.settings.releases_kept, log, now=now))


def _prune_candidates(warehouse: Warehouse) -> int:
    """What `publish.prune` leaves of candidates is what people look at; half a candidate is nobody's."""
    building = warehouse.candidates / ".building"
    return _delete("", [building] if building.exists() else []).count


def _set_aside(warehouse: Warehouse, before: float) -> list[Path]:
    """Databases that were moved away as damaged, of each the newest kept: it may be needed to see what happened."""
    old = []
    for database in (warehouse.working_database, warehouse.marts_database):
        by_stamp: dict[str, list[Path]] = {}
        for path in warehouse.root.glob(f"{database.name}*.damaged-*"):
            by_stamp.setdefault(path.name.rpartition("-")[2], []).append(path)
        for stamp in sorted(by_stamp)[:-1]:
            old += [path for path in by_stamp[stamp] if path.lstat().st_mtime < before]
    return old


def _temporary(warehouse: Warehouse, before: float) -> list[Path]:
    """What DuckDB spilled before it was killed, and links that were never put in place."""
    spilled = [path for path in warehouse.temporary.glob("duckdb_temp*") if _newest(path) < before]
    links = [path for path in warehouse.root.glob(".*.new") if path.is_symlink()]
    return spilled + links


def _partial_downloads(warehouse: Warehouse, before: float) -> Iterator[Path]:
    """Downloads that nothing has continued for long; a source that is being pulled is left alone."""
    for incoming in warehouse.landing.glob("*/*/.incoming"):
        if not any(incoming.iterdir()) or _newest(incoming) >= before:
            continue
        edition, source = incoming.parts[-3:-1]
        with (
            contextlib.suppress(WarehouseError),
            warehouse.lock(f"landing-{edition}-{source}", "delete partial downloads", wait_seconds=0),
        ):
            # A download and the note that lets it go on belong together.
            yield from list(incoming.iterdir())


def _dbt_output(warehouse: Warehouse, instance: "DagsterInstance", now: float) -> list[Path]:
    """What earlier dbt builds compiled and logged; of a build whose run is not known to have ended only after a day.

    Other warehouses may share the project, so the writer lock of this one does not mean that no dbt is at work.
    """
    target = warehouse.settings.dbt_project_dir / "target"
    ended = {run.run_id[:7] for run in instance.get_runs() if run.is_finished}
    # Named in assets/modelled.py: the step, seven characters of the run, seven of its own.
    folders = sorted(target.glob("modelled-???????-???????"), key=lambda folder: folder.stat().st_mtime)
    old = [
        folder
        for folder in folders[:-_DBT_TARGETS_KEPT]
        if folder.name.split("-")[1] in ended or _newest(folder) < now - _DAY
    ]
    logs = warehouse.settings.dbt_project_dir / "logs"
    return old + [log for log in logs.glob("dbt.log*") if log.stat().st_mtime < now - _DAY]


def _newest(path: Path) -> float:
    """When something in a folder changed last, in seconds since the epoch."""
    times = []
    for each in [path, *path.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):
            times.append(each.lstat().st_mtime)
    return max(times, default=0.0)


# --- Dagster's history ------------------------------------------------------------------------------------------------


def prune_runs(warehouse: Warehouse, instance: "DagsterInstance", now: float) -> int:
    """Delete runs that ended, beyond the number and the age that are kept.

    The last run that materialised an asset, or a partition of it, stays: with it would go the asset's state in the UI.
    """
    settings = warehouse.settings
    ended = [record for record in instance.get_run_records() if record.dagster_run.is_finished]  # the newest first
    limit = now - settings.dagster_runs_kept_days * _DAY
    old = [
        record.dagster_run.run_id
        for place, record in enumerate(ended)
        if place >= settings.dagster_runs_kept or (record.end_time or record.create_timestamp.timestamp()) < limit
    ]
    if not old:
        return 0
    needed = _runs_behind_the_assets(instance)
    gone = [run_id for run_id in old if run_id not in needed]
    for run_id in gone:
        instance.delete_run(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        # What steps printed, from when the instance still kept that.
        shutil.rmtree(Path(instance.root_directory) / "storage" / run_id, ignore_errors=True)
    _forget(Path(instance.root_directory) / "history" / "runs", gone)
    return len(gone)


def _runs_behind_the_assets(instance: "DagsterInstance") -> set[str]:
    import dagster as dg

    needed: set[str] = set()
    keys = list(instance.get_asset_keys())
    for record in instance.get_asset_records(keys) if keys else []:
        if record.asset_entry.last_run_id:
            needed.add(record.asset_entry.last_run_id)
        if last := record.asset_entry.last_materialization_record:
            needed.add(last.run_id)
    for key in keys:
        for partition in instance.get_materialized_partitions(key):
            wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition])
            needed |= {found.run_id for found in instance.fetch_materializations(wanted, limit=1).records}
    return needed


def _forget(folder: Path, run_ids: list[str]) -> None:
    """Delete what `delete_run` leaves in Dagster's SQLite storage: the run's emptied file, and its check results.

    The last result of each check stays, since the UI shows it. Other storages have neither.
    """
    for run_id in run_ids:
        for suffix in ("", "-wal", "-shm"):
            (folder / f"{run_id}.db{suffix}").unlink(missing_ok=True)
    index = folder / "index.db"
    if not run_ids or not index.exists():
        return
    with contextlib.closing(sqlite3.connect(index, timeout=SQLITE_WAIT_SECONDS)) as connection, connection:
        connection.execute("create temporary table gone (run_id text)")
        connection.executemany("insert into gone values (?)", [(run_id,) for run_id in run_ids])
        connection.execute(
            """
            delete from asset_check_executions
            where
                run_id in (select run_id from gone)
                and id not in (
                    select max(id) from asset_check_executions group by asset_key, check_name, partition
                )
            """
        )


def compact(home: Path, log: Log, wait_seconds: float = SQLITE_WAIT_SECONDS) -> Freed:
    """Give the disk back what deleted rows took in Dagster's SQLite files; one in use waits for the next time."""
    count = size = 0
    for path in (
        home / "history" / "runs" / "index.db",
        home / "history" / "runs.db",
        home / "schedules" / "schedules.db",
    ):
        if not path.exists():
            continue
        files = [path, path.with_name(f"{path.name}-wal")]
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=wait_seconds)) as connection:
                (pages,), (free,) = (
                    connection.execute(f"pragma {name}").fetchone() for name in ("page_count", "freelist_count")
                )
                if not pages or free / pages < _FREE_SHARE:
                    continue
                before = disk_use(*files)
                connection.execute("vacuum")
                connection.execute("pragma wal_checkpoint(truncate)")
        except sqlite3.OperationalError as error:
            log(f"{path} was not compacted ({error}); the next maintenance tries again.")
            continue
        count += 1
        size += max(0, before - disk_use(*files))
    return Freed("compacted history files", count, size)


def total(freed: Iterable[Freed]) -> int:
    """All bytes that were freed."""
    return sum(one.bytes for one in freed)
