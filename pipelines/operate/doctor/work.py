"""Checks of what is at work in a warehouse, and of what killed runs left: locks, processes, databases, leftovers.

A lock is held for no longer than it takes to try it.
"""

from collections.abc import Iterator

import filelock
import psutil

from pipelines.operate.doctor.finding import Finding
from pipelines.operate.maintenance import disk_use
from pipelines.sources.http import size_text
from pipelines.warehouse import Warehouse, WarehouseError, holder


def check_locks(warehouse: Warehouse) -> Iterator[Finding]:
    held = []
    for file in sorted(warehouse.locks.glob("*.lock")):
        try:
            filelock.FileLock(file, timeout=0).acquire().lock.release()
        except filelock.Timeout:
            held.append(f"{file.name} by {holder(file)}")
    if held:
        yield Finding("warning", "locks", f"held: {'; '.join(held)}. A run waits for them; that is so while one runs.")
    else:
        yield Finding("ok", "locks", "none is held")


def check_processes(warehouse: Warehouse) -> Iterator[Finding]:
    """dbt processes on this warehouse whose parent is gone: what a killed run leaves, holding the database."""
    orphans = [
        process.pid
        for process in psutil.process_iter(["cmdline", "environ", "ppid"])  # None where we may not look
        if process.info["ppid"] == 1
        and "pipelines.model.dbt_process" in (process.info["cmdline"] or ())
        and (process.info["environ"] or {}).get("WAREHOUSE_DIR") == str(warehouse.root)
    ]
    if orphans:
        ids = " ".join(str(pid) for pid in sorted(orphans))
        yield Finding(
            "problem", "processes", f"dbt was left by a run that was killed (process {ids}); end it: kill {ids}"
        )
    else:
        yield Finding("ok", "processes", "no dbt was left by a killed run")


def check_databases(warehouse: Warehouse) -> Iterator[Finding]:
    there = [database for database in (warehouse.working_database, warehouse.marts_database) if database.exists()]
    at_once = Warehouse(warehouse.settings.model_copy(update={"lock_wait_seconds": 0}))
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
