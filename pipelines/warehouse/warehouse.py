"""The warehouse on disk: paths, the writer lock, connections. The only module that opens a database.

Here belongs where things are and who may touch them at a time. What is written into a database belongs in
`staging.py`, the dbt project and `releases.py`.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import filelock

from pipelines.config.settings import Settings
from pipelines.warehouse.confinement import NO_EXTENSIONS, confine
from pipelines.warehouse.disk import disk_trouble
from pipelines.warehouse.quoting import first_line, sql_string

# The oldest format that DuckDB 2.0 still writes; every client from 1.1 on opens it (docs/decisions/0003).
STORAGE_VERSION = "v1.0.0"

_LOCKED = re.compile(r"Could not set lock on file.*?(?:PID (?P<pid>\d+)|$)", re.DOTALL)


# What DuckDB says when a file that it could open is not what it wrote: cut, or with a block whose checksum is wrong.
_UNREADABLE = re.compile(r"Corrupt database file|checksum|Could not read enough bytes|[Dd]eserializ")


class WarehouseError(Exception):
    """The warehouse cannot be used as asked; the message says why and what to do."""


@dataclass(frozen=True)
class Warehouse:
    """Where everything of one warehouse is. Nothing is created by asking for a path."""

    settings: Settings

    @property
    def root(self) -> Path:
        return self.settings.warehouse_dir

    @property
    def landing(self) -> Path:
        return self.root / "landing"

    @property
    def working_database(self) -> Path:
        """Raw, staging and intermediate tables; a cache that can be rebuilt from landing."""
        return self.root / "working.duckdb"

    @property
    def marts_database(self) -> Path:
        """The marts as dbt builds them, a database of its own so that it can be released as it is."""
        return self.root / "marts.duckdb"

    @property
    def candidates(self) -> Path:
        return self.root / "candidates"

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def current(self) -> Path:
        """A symlink to the current release."""
        return self.root / "current"

    @property
    def database(self) -> Path:
        """The current release's database, by way of `current`: one flip switches both."""
        return self.root / "peer_reviews.duckdb"

    @property
    def temporary(self) -> Path:
        """What DuckDB spills to disk; never more than a query needs."""
        if self.settings.temp_dir is None:
            return self.root / ".tmp"
        # A folder of its own: maintenance deletes what is old in it.
        return self.settings.temp_dir / f"peer-review-warehouse-{hashlib.sha256(bytes(self.root)).hexdigest()[:8]}"

    @property
    def locks(self) -> Path:
        return self.root / ".locks"

    @contextmanager
    def lock(self, name: str, purpose: str, wait_seconds: float | None = None) -> Iterator[None]:
        """Hold one of the warehouse's locks; the operating system frees it when the process dies.

        Raises:
            WarehouseError: another process still holds it after the wait; the message names that process. Or the disk
                refused, here or to what is done under the lock: it is full, read-only, broken, or not ours to write.
        """
        wait = self.settings.lock_wait_seconds if wait_seconds is None else wait_seconds
        file = self.locks / f"{name}.lock"
        lock = filelock.FileLock(file, timeout=wait)
        try:
            self.locks.mkdir(parents=True, exist_ok=True)
            lock.acquire()
            yield
        except filelock.Timeout:
            raise WarehouseError(
                f"{holder(file)} holds {file}; waited {wait:g} s to {purpose}. Let it finish or end it, then run again."
            ) from None
        except (OSError, duckdb.Error) as error:
            if said := disk_trouble(error, self.root):
                raise WarehouseError(f"Could not {purpose}: {said}, then run again.") from None
            raise
        finally:
            lock.release()

    def writing(self, purpose: str) -> AbstractContextManager[None]:
        """Hold the one lock that every writer of the databases and releases takes."""
        return self.lock("writer", purpose)

    @contextmanager
    def connect(self, database: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to one of our databases, closed at the end whatever happens.

        A database that another process holds is waited for as long as the writer lock is.

        Raises:
            WarehouseError: the other process still holds it, or the file is damaged.
        """
        deadline = time.monotonic() + self.settings.lock_wait_seconds
        while True:
            try:
                connection = duckdb.connect(database, read_only=read_only, config=self.connection_settings)
                break
            except duckdb.IOException as error:
                locked = _LOCKED.search(str(error))
                if not locked or time.monotonic() > deadline:
                    raise WarehouseError(_explain_open(database, error, locked)) from error
                time.sleep(0.5)
            except duckdb.Error as error:
                raise WarehouseError(_explain_open(database, error, None)) from error
        try:
            confine(connection, [self.root, self.landing, database.parent])
            yield connection
        except duckdb.Error as error:
            if self.distrust(database, error):
                raise WarehouseError(
                    f"{database} is damaged ({first_line(error)}); run again, a working database is then "
                    "made anew from landing."
                ) from None
            raise
        finally:
            connection.close()

    def distrust(self, database: Path, error: Exception) -> bool:
        """Whether an error says that a database which opens cannot be read; leaves a mark for `set_aside_if_damaged`.

        Only our own two databases are marked: nothing else can be made anew.
        """
        if database not in (self.working_database, self.marts_database) or not _UNREADABLE.search(str(error)):
            return False
        _mark(database).touch()
        return True

    @contextmanager
    def memory(self, *folders: Path, share: float = 1) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to no database, for files of the warehouse and of `folders`.

        It takes a `share` of the memory limit, where something else needs the rest.
        """
        limit = re.sub(r"^[\d.]+", lambda number: f"{float(number[0]) * share:g}", self.settings.memory_limit)
        connection = duckdb.connect(config=self.connection_settings | {"memory_limit": limit})
        try:
            confine(connection, [self.root, self.landing, *folders])
            yield connection
        finally:
            connection.close()

    @property
    def connection_settings(self) -> dict[str, str | bool | int | float | list[str]]:
        """What every connection to the warehouse opens with; see DuckDB's configuration reference for the names."""
        return {
            "memory_limit": self.settings.memory_limit,
            "threads": self.settings.threads,
            "temp_directory": str(self.temporary),
            **NO_EXTENSIONS,
        }

    def set_aside_if_damaged(self, database: Path, log: Callable[[str], None]) -> None:
        """Move a database that cannot be opened or read out of the way, so that a run can rebuild it.

        Call under the lock.

        Raises:
            WarehouseError: another process holds it, or the disk refuses to give it.
        """
        if not database.exists():
            return
        try:
            with self.connect(database):
                if not _mark(database).exists():
                    return
        except WarehouseError as error:
            cause = error.__cause__
            if isinstance(cause, duckdb.Error) and (_LOCKED.search(str(cause)) or disk_trouble(cause, self.root)):
                raise
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        for file in (database, database.with_name(database.name + ".wal")):
            if file.exists():
                aside = file.with_name(f"{file.name}.damaged-{stamp}")
                file.rename(aside)
                log(f"{file} is damaged; it was set aside as {aside.name} and is rebuilt from landing.")
        _mark(database).unlink(missing_ok=True)

    def new_database(self, database: Path) -> None:
        """Create an empty database in the pinned storage format in place of any older one. Call under the lock."""
        for file in (database, database.with_name(database.name + ".wal")):
            file.unlink(missing_ok=True)
        with self.memory() as connection:
            connection.execute(f"attach {sql_string(database)} as made (storage_version {sql_string(STORAGE_VERSION)})")
            connection.execute("detach made")


def _mark(database: Path) -> Path:
    """Stands beside a database that opened and could not be read."""
    return database.with_name(f".{database.name}.damaged")


def holder(lock: Path) -> str:
    """Which process holds a lock, as Linux tells in /proc; asking the kernel needs no file that could be stale."""
    try:
        status = lock.stat()
        held = f":{status.st_ino} "
        lines = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines() if held in line]
        pid = next(fields[4] for fields in lines if "->" not in fields)
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return f"Process {pid} ({' '.join(command.split())[:120]})"
    except (OSError, StopIteration, IndexError):
        return "Another process"


def _explain_open(database: Path, error: duckdb.Error, locked: re.Match[str] | None) -> str:
    if locked:
        who = f"process {locked['pid']}" if locked["pid"] else "another process"
        return f"{database} is held by {who}; let it finish or end it, then run again."
    return f"{database} cannot be opened: {first_line(error)}"
