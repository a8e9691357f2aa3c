"""Staging: an edition's landed snapshots become its rows of the schema `raw` in the working database.

Here belongs which snapshots are staged, when, and that all of an edition is replaced or nothing. What the tables are
belongs in `raw.py`, how rows and records get into them in `parquet_rows.py` and `json_rows.py`, what a source's files
must look like in `contracts.py` and `checks.py`, what the values mean in the dbt project.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

import duckdb

from pipelines.config.editions import Edition, Editions
from pipelines.formats.records import RecordsError
from pipelines.land import landing
from pipelines.land.landing import Snapshot
from pipelines.sources.fetched import LandingError, Log
from pipelines.stage import raw
from pipelines.stage.checks import CheckedFile, check_files, check_records
from pipelines.stage.contracts import CONTRACTS, PARQUET_CONTRACTS, AnyContract, ContractError, JsonContract
from pipelines.stage.json_rows import insert_records
from pipelines.stage.parquet_rows import insert_file, replace_view, staged_files
from pipelines.warehouse import Warehouse, first_line


class NothingLanded(LandingError):
    """An edition has no snapshot of any source."""


@dataclass(frozen=True)
class Staged:
    """What staging one edition did.

    `rows` is per source; `unknown_columns` names `file: column`; `missing_sources` are those that never landed;
    `lost_editions` say which others could not be staged again after the working database was lost, and why.
    """

    edition_id: str
    has_changed: bool
    rows: dict[str, int]
    snapshot_ids: dict[str, str]
    unknown_columns: list[str]
    missing_sources: list[str]
    lost_editions: list[str] = field(default_factory=list)


def stage(edition: Edition, editions: Editions, *, warehouse: Warehouse, log: Log) -> Staged:
    """Bring one edition's current snapshots into `raw`; nothing is written if they stand there already.

    Where the working database is new (first run, or set aside as damaged), every other edition that has landed is
    staged too: a release never shrinks because a cache was lost. Of a source that broke its contract meanwhile, the
    last snapshot that did not is what stood there; an edition without one does not hold up the others.

    Raises:
        ContractError: a file breaks its source's contract.
        LandingError: nothing has landed for a source of the edition, or a landed file was altered.
    """
    with warehouse.writing(f"stage {edition.id}"):
        warehouse.set_aside_if_damaged(warehouse.working_database, log)
        # A mark that stands until the last edition is in; what it was left beside is begun anew.
        rebuilding = warehouse.root / ".rebuilding"
        lost: list[str] = []
        if rebuilding.exists() or not raw.has_this_layout(warehouse):
            warehouse.working_database.unlink(missing_ok=True)
        is_new = not warehouse.working_database.exists()
        if is_new:
            rebuilding.touch()
            others = [other for other in editions.editions if other.id != edition.id and _has_landed(warehouse, other)]
            for other in others:
                log(f"The working database is new: staging {other.id} from landing as well.")
                try:
                    _stage(other, warehouse, _last_sound(other, warehouse, log))
                except (ContractError, LandingError, RecordsError, duckdb.Error) as error:
                    lost.append(f"{other.id}: {first_line(error)}")
                    log(f"It cannot be staged: {lost[-1]}")
            # Before the edition itself, which may fail and would have all others staged again each time.
            rebuilding.unlink()
        try:
            staged = _stage(edition, warehouse, _current(edition, warehouse))
        except (ContractError, LandingError, RecordsError):
            if is_new:
                # What stood there before, so that the failure costs the release nothing.
                with suppress(ContractError, LandingError, RecordsError, duckdb.Error):
                    _stage(edition, warehouse, _last_sound(edition, warehouse, lambda message: None))
            raise
        return replace(staged, lost_editions=lost)


def _has_landed(warehouse: Warehouse, edition: Edition) -> bool:
    return any(landing.current_snapshot(warehouse, edition.id, source.name) for source in edition.sources)


_Sources = dict[str, tuple[AnyContract, Snapshot]]


def _current(edition: Edition, warehouse: Warehouse) -> _Sources:
    """The snapshot that each source shows now, with its contract, by the source's name."""
    return {
        source.name: (CONTRACTS[source.dataset_schema], snapshot)
        for source in edition.sources
        if (snapshot := landing.current_snapshot(warehouse, edition.id, source.name))
    }


def _last_sound(edition: Edition, warehouse: Warehouse, log: Log) -> _Sources:
    """The same, but of each source the last snapshot that can be staged; the current one where none can."""
    chosen = _current(edition, warehouse)
    for name, (contract, current) in chosen.items():
        for snapshot in landing.pulled(warehouse, edition.id, name):
            try:
                snapshot.verify()
                _check(contract, snapshot, warehouse)
            except (ContractError, LandingError, RecordsError, duckdb.Error) as error:
                log(f"{edition.id}/{name}: snapshot {snapshot.record.snapshot_id} is left out: {error}")
                continue
            chosen[name] = (contract, snapshot)
            break
        else:
            chosen[name] = (contract, current)
    return chosen


@dataclass(frozen=True)
class _Checked:
    """A snapshot that obeys its contract: its Parquet files, what is unknown, and whether a line of it was too long."""

    files: list[CheckedFile]
    unknown: list[str]
    is_cut: bool = False


def _check(contract: AnyContract, snapshot: Snapshot, warehouse: Warehouse) -> _Checked:
    if isinstance(contract, JsonContract):
        records = check_records(snapshot, contract, warehouse.settings.max_batch_bytes)
        return _Checked([], records.unknown, records.is_cut)
    sound = [file.name for file in snapshot.record.files if file.texts_with_nul == 0]
    files = check_files(snapshot.paths(), contract, warehouse, sound=sound)
    return _Checked(files, [f"{file.path.name}: {column}" for file in files for column in file.unknown])


def _stage(edition: Edition, warehouse: Warehouse, current: _Sources) -> Staged:
    if not current:
        raise NothingLanded(f"Nothing has landed for {edition.id}; materialise that edition's asset 'landed' first.")
    missing = [source.name for source in edition.sources if source.name not in current]
    _refuse_twins(edition, current)
    rows = {name: snapshot.record.rows for name, (_, snapshot) in current.items()}
    ids = {name: snapshot.record.snapshot_id for name, (_, snapshot) in current.items()}
    limit = warehouse.settings.max_batch_bytes
    if staged := raw.staged_rows(warehouse, edition.id):
        # A line that was too long for the limit of then may not be for that of now.
        cut = {row[1]: limit for row in staged["snapshots"] if row[7] is not None}
        if staged == _wanted_rows(edition, current, missing, cut):
            return Staged(edition.id, False, rows, ids, [], missing)
    checked: dict[str, _Checked] = {}
    for name, (contract, snapshot) in current.items():
        snapshot.verify()
        checked[name] = _check(contract, snapshot, warehouse)
    cut = {name: limit for name, check in checked.items() if check.is_cut}
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute(raw.SCHEMA)
        connection.execute("create or replace table raw.layout as select ? as layout", [raw.layout(warehouse)])
        connection.begin()
        try:
            for table in raw.EDITION_TABLES:
                connection.execute(f"delete from raw.{table} where edition_id = ?", [edition.id])
            for table, inserted in _wanted_rows(edition, current, missing, cut).items():
                marks = ", ".join("?" * len(inserted[0]))
                connection.executemany(f"insert into raw.{table} values ({marks})", inserted)
            for name, (contract, snapshot) in current.items():
                if isinstance(contract, JsonContract):
                    insert_records(connection, edition.id, name, contract, snapshot, limit)
                else:
                    for file in staged_files(edition.id, name, contract, snapshot, checked[name].files):
                        insert_file(connection, file)
            for parquet_contract in PARQUET_CONTRACTS:
                replace_view(connection, parquet_contract)
            connection.commit()
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction
                connection.rollback()
            raise
        connection.execute("checkpoint")
    unknown = [column for check in checked.values() for column in check.unknown]
    return Staged(edition.id, True, rows, ids, unknown, missing)


def _refuse_twins(edition: Edition, current: _Sources) -> None:
    """Snapshot and row number tell an edition's rows apart, so the same bytes cannot be two of its sources."""
    by_snapshot: dict[str, str] = {}
    for name, (_, snapshot) in current.items():
        twin = by_snapshot.setdefault(snapshot.record.snapshot_id, name)
        if twin != name:
            raise ContractError(
                f"{edition.id}: the sources {twin!r} and {name!r} are the same bytes (snapshot "
                f"{snapshot.record.snapshot_id}); take one of them out of the editions file."
            )


def _wanted_rows(
    edition: Edition, current: _Sources, missing: list[str], cut: dict[str, int]
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of `raw.editions` and `raw.snapshots` that say what should be staged.

    `cut` has the limit by which records of a source are set aside, where there are any.
    """
    row = (edition.id, edition.venue, edition.year, edition.venue_id, edition.is_synthetic, missing)
    by_pull = sorted(current, key=lambda name: (current[name][1].pulled_at or "", name))
    snapshots = []
    for name, (contract, snapshot) in sorted(current.items()):
        as_of = snapshot.record.as_of
        naive_utc = as_of.astimezone(UTC).replace(tzinfo=None) if as_of else None
        record = snapshot.record
        place = (edition.id, name, contract.name, contract.fingerprint, record.snapshot_id)
        snapshots.append((*place, naive_utc, record.rows, cut.get(name), by_pull.index(name) + 1))
    return {"editions": [row], "snapshots": snapshots}
