"""Staging: landed snapshots as tables and views of the schema `raw` in the working database.

Here belongs what dbt reads: edition, snapshot and row number on every row. What a source's files must look like
belongs in `contracts.py`, what the values mean in the dbt project.

Text stays in the landed Parquet files: `raw.hub_dataset` is a view over them with explicit columns. Beside it,
`raw.hub_rows` holds what finding, ranking and counting rows needs, so that no text is read for that.
"""

import hashlib
import itertools
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

import duckdb

from pipelines.config.editions import Edition, Editions
from pipelines.formats.records import RecordsError, read_records
from pipelines.land import landing
from pipelines.land.landing import Snapshot
from pipelines.sources.fetched import LandingError, Log
from pipelines.stage.contracts import (
    CONTRACTS,
    HUB_DATASET,
    REVIEW_FIELDS,
    AnyContract,
    CheckedFile,
    ContractError,
    JsonContract,
    check_files,
    check_records,
    mended,
)
from pipelines.warehouse import Warehouse, first_line, sql_string

# What ranking and counting rows needs; the reviews' texts are not among it.
_NARROW_COLUMNS = ("title", "year", "url", "authors", "venue", "invitation", "num_reviews")
_NARROW_REVIEW_FIELDS = ("confidence", "rating", "review_id", "reviewer")

_SCHEMA = f"""
create schema if not exists raw;
create table if not exists raw.editions (
    edition_id varchar primary key, venue varchar, year integer, venue_id varchar, is_synthetic boolean,
    missing_sources varchar[]
);
create table if not exists raw.snapshots (
    edition_id varchar, source varchar, dataset_schema varchar, contract varchar, snapshot_id varchar,
    as_of_at timestamp, row_count bigint, primary key (edition_id, source)
);
create table if not exists raw.files (
    edition_id varchar, source varchar, snapshot_id varchar, file_number integer, path varchar, first_row bigint,
    row_count bigint, projection varchar,
    primary key (edition_id, source, file_number)
);
create table if not exists raw.hub_rows (
    edition_id varchar, source varchar, snapshot_id varchar, row_number bigint, file_number integer,
    file_row_number bigint, {", ".join(f"{column} {HUB_DATASET.columns[column]}" for column in _NARROW_COLUMNS)},
    reviews struct({", ".join(f"{f} {REVIEW_FIELDS[f]}" for f in _NARROW_REVIEW_FIELDS)})[]
);
create table if not exists raw.released_editions (edition_id varchar primary key, fingerprint varchar);
create table if not exists raw.json_records (
    edition_id varchar, source varchar, dataset_schema varchar, snapshot_id varchar, row_number bigint, record varchar,
    problem varchar
);
"""


class NothingLanded(LandingError):
    """An edition has no snapshot of any source."""


# A source's name decides only its place among the edition's snapshots, as `stg_snapshots` numbers them.
_NUMBERED_SNAPSHOTS = """
select
    * exclude (source), row_number() over (partition by edition_id order by dataset_schema, source) as number
from raw.snapshots
order by all
"""


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
        if rebuilding.exists() or not _has_this_layout(warehouse):
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


def _layout(warehouse: Warehouse) -> str:
    """A hash of what the working database takes for granted: its tables, and where the files of its views are."""
    return hashlib.sha256(f"{_SCHEMA}{warehouse.landing}".encode()).hexdigest()


def _has_this_layout(warehouse: Warehouse) -> bool:
    """Whether the working database, if there is one, is of this version and of a warehouse that did not move."""
    if not warehouse.working_database.exists():
        return True
    try:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return connection.execute("select layout from raw.layout").fetchall() == [(_layout(warehouse),)]
    except duckdb.CatalogException:
        return False


def staged_fingerprint(connection: duckdb.DuckDBPyConnection) -> str:
    """One hash over what is staged: editions, snapshots with their dates, contracts. Paths and times stay out."""
    rows = connection.execute("select * from raw.editions order by all").fetchall()
    rows += connection.execute(_NUMBERED_SNAPSHOTS).fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def synthetic_notice(warehouse: Warehouse) -> str | None:
    """A sentence to show where synthetic editions are staged beside real ones, which keeps them out of releases."""
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        rows = connection.execute("select edition_id, is_synthetic from raw.editions order by 1").fetchall()
    synthetic = [edition_id for edition_id, is_synthetic in rows if is_synthetic]
    if not synthetic or len(synthetic) == len(rows):
        return None
    return f"Synthetic editions stay out of releases now that real ones are staged: {', '.join(synthetic)}."


def verify_staged_files(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse) -> None:
    """Hash every landed file that the views read, since a disk can rot without changing a size or a time.

    JSON sources need none of this: their records stand in tables, whose blocks DuckDB verifies as it reads them.

    Raises:
        LandingError: a landed file was altered or is gone.
    """
    query = "select distinct edition_id, source, snapshot_id from raw.files order by all"
    for edition_id, source, snapshot_id in connection.execute(query).fetchall():
        landing.find(warehouse, edition_id, snapshot_id, source).verify()


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


def _check(contract: AnyContract, snapshot: Snapshot, warehouse: Warehouse) -> tuple[list[CheckedFile], list[str]]:
    """A snapshot against its contract: its Parquet files checked, and what is unknown in it, as `file: column`."""
    if isinstance(contract, JsonContract):
        return [], check_records(snapshot, contract, warehouse.settings.max_batch_bytes)
    sound = [file.name for file in snapshot.record.files if file.texts_with_nul == 0]
    checked = check_files(snapshot.paths(), contract, warehouse, sound=sound)
    return checked, [f"{check.path.name}: {column}" for check in checked for column in check.unknown]


def _stage(edition: Edition, warehouse: Warehouse, current: _Sources) -> Staged:
    if not current:
        raise NothingLanded(f"Nothing has landed for {edition.id}; materialise that edition's asset 'landed' first.")
    missing = [source.name for source in edition.sources if source.name not in current]
    _refuse_twins(edition, current)
    wanted = _wanted_rows(edition, current, missing)
    rows = {name: snapshot.record.rows for name, (_, snapshot) in current.items()}
    ids = {name: snapshot.record.snapshot_id for name, (_, snapshot) in current.items()}
    if warehouse.working_database.exists():
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            if _staged_rows(connection, edition.id) == wanted:
                return Staged(edition.id, False, rows, ids, [], missing)
    files = []
    unknown: list[str] = []
    for name, (contract, snapshot) in current.items():
        snapshot.verify()
        checked, kept_out = _check(contract, snapshot, warehouse)
        files += _file_rows(edition.id, name, snapshot, checked) if checked else []
        unknown += kept_out
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute(_SCHEMA)
        connection.execute("create or replace table raw.layout as select ? as layout", [_layout(warehouse)])
        connection.begin()
        try:
            for table in ("editions", "snapshots", "files", "hub_rows", "json_records"):
                connection.execute(f"delete from raw.{table} where edition_id = ?", [edition.id])
            for table, inserted in {**wanted, "files": files}.items():
                if not inserted:
                    continue
                marks = ", ".join("?" * len(inserted[0]))
                connection.executemany(f"insert into raw.{table} values ({marks})", inserted)
            for row in files:
                _insert_narrow_rows(connection, row)
            for name, (contract, snapshot) in current.items():
                if isinstance(contract, JsonContract):
                    max_bytes = warehouse.settings.max_batch_bytes
                    _insert_records(connection, edition.id, name, contract, snapshot, max_bytes)
            _replace_hub_view(connection)
            connection.commit()
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction
                connection.rollback()
            raise
        connection.execute("checkpoint")
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


def _wanted_rows(edition: Edition, current: _Sources, missing: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of `raw.editions` and `raw.snapshots` that say what should be staged."""
    row = (edition.id, edition.venue, edition.year, edition.venue_id, edition.is_synthetic, missing)
    snapshots = []
    for name, (contract, snapshot) in sorted(current.items()):
        as_of = snapshot.record.as_of
        naive_utc = as_of.astimezone(UTC).replace(tzinfo=None) if as_of else None
        record = snapshot.record
        snapshots.append(
            (edition.id, name, contract.name, contract.fingerprint, record.snapshot_id, naive_utc, record.rows)
        )
    return {"editions": [row], "snapshots": snapshots}


def _staged_rows(connection: duckdb.DuckDBPyConnection, edition_id: str) -> dict[str, list[tuple[Any, ...]]] | None:
    try:
        return {
            table: connection.execute(
                f"select * from raw.{table} where edition_id = ? order by all", [edition_id]
            ).fetchall()
            for table in ("editions", "snapshots")
        }
    except duckdb.CatalogException:
        return None


def _file_rows(edition_id: str, source: str, snapshot: Snapshot, checked: list[CheckedFile]) -> list[tuple[Any, ...]]:
    rows = []
    first_row = 1
    for number, (file, check) in enumerate(zip(snapshot.record.files, checked, strict=True), start=1):
        place = (edition_id, source, snapshot.record.snapshot_id, number, str(check.path))
        rows.append((*place, first_row, file.rows, check.projection))
        first_row += file.rows or 0
    return rows


def _insert_narrow_rows(connection: duckdb.DuckDBPyConnection, file: tuple[Any, ...]) -> None:
    """Copy a file's narrow columns into `raw.hub_rows`.

    pyarrow reads single leaves of the reviews' structs; DuckDB would decompress the review texts beside them.

    Raises:
        ContractError: the file is damaged in a way that only pyarrow minds.
    """
    import pyarrow

    try:
        _copy_narrow_rows(connection, file)
    except (pyarrow.ArrowException, OSError) as error:
        raise ContractError(f"{file[4]}: is a damaged Parquet file: {first_line(error)}") from None


def _copy_narrow_rows(connection: duckdb.DuckDBPyConnection, file: tuple[Any, ...]) -> None:
    import pyarrow.parquet

    edition_id, source, snapshot_id, file_number, path, first_row = file[:6]
    with pyarrow.parquet.ParquetFile(path) as parquet:
        leaves = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
        wanted = [leaf for leaf in leaves if _is_narrow(leaf)]
        present = {leaf.split(".")[0] for leaf in wanted}
        columns = ", ".join(
            mended(column, str(HUB_DATASET.columns[column])) if column in present else "null"
            for column in _NARROW_COLUMNS
        )
        fields = ", ".join(f"'{f}': {mended(f'item.{f}', REVIEW_FIELDS[f])}" for f in _NARROW_REVIEW_FIELDS)
        offset = 0
        for batch in parquet.iter_batches(batch_size=20_000, columns=wanted):
            connection.register("narrow_batch", pyarrow.Table.from_batches([batch]))
            connection.execute(
                f"""
                insert into raw.hub_rows
                select ?, ?, ?, ? + place, ?, ? + place, {columns},
                    list_transform(reviews, lambda item: case when item is not null then {{{fields}}} end)
                from (select row_number() over () - 1 as place, * from narrow_batch)
                """,
                [edition_id, source, snapshot_id, first_row + offset, file_number, offset],
            )
            connection.unregister("narrow_batch")
            offset += batch.num_rows


def _is_narrow(leaf: str) -> bool:
    """Whether a Parquet leaf such as `title`, `authors.list.element` or `reviews.list.element.rating` is narrow."""
    parts = leaf.split(".")
    return parts[0] in _NARROW_COLUMNS or (parts[0] == "reviews" and parts[-1] in _NARROW_REVIEW_FIELDS)


def _insert_records(
    connection: duckdb.DuckDBPyConnection,
    edition_id: str,
    source: str,
    contract: JsonContract,
    snapshot: Snapshot,
    max_bytes: int,
) -> None:
    """Copy a snapshot's records into `raw.json_records`, numbered from 1."""
    import pyarrow

    numbered = enumerate(read_records(contract.name, snapshot.paths(), max_bytes), start=1)
    while batch := list(itertools.islice(numbered, 5_000)):
        columns = {
            "row_number": [number for number, _ in batch],
            "record": [record.text for _, record in batch],
            "problem": pyarrow.array([record.problem for _, record in batch], pyarrow.string()),
        }
        connection.register("record_batch", pyarrow.table(columns))
        connection.execute(
            "insert into raw.json_records select ?, ?, ?, ?, row_number, record, problem from record_batch",
            [edition_id, source, contract.name, snapshot.record.snapshot_id],
        )
        connection.unregister("record_batch")


def _replace_hub_view(connection: duckdb.DuckDBPyConnection) -> None:
    """`raw.hub_dataset`: every staged file, its own checked columns, one `union all` arm a file."""
    files = connection.execute(
        "select edition_id, source, snapshot_id, file_number, path, first_row, projection from raw.files order by all"
    ).fetchall()
    arms = [
        f"""select {sql_string(edition_id)} as edition_id, {sql_string(source)} as source,
            {sql_string(snapshot_id)} as snapshot_id, {first_row} + file_row_number as row_number,
            {file_number} as file_number, file_row_number, {projection}
        from read_parquet({sql_string(path)}, file_row_number = true)"""
        for edition_id, source, snapshot_id, file_number, path, first_row, projection in files
    ]
    if not arms:
        columns = ", ".join(f'null::{HUB_DATASET.sql_type(column)} as "{column}"' for column in HUB_DATASET.columns)
        arms = [
            "select null::varchar as edition_id, null::varchar as source, null::varchar as snapshot_id, "
            f"0::bigint as row_number, 0 as file_number, 0::bigint as file_row_number, {columns} where false"
        ]
    connection.execute("create or replace view raw.hub_dataset as " + " union all ".join(arms))
