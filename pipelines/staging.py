"""Staging: landed snapshots as tables and views of the schema `raw` in the working database.

Here belongs the schema contract of each source (declared once, below), the check of every file against it, and what
dbt reads: edition, snapshot and row number on every row. What the values mean belongs in the dbt project.

Text stays in the landed Parquet files: `raw.hub_dataset` is a view over them with explicit columns. Beside it,
`raw.hub_rows` holds what finding, ranking and counting rows needs, so that no text is read for that.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import duckdb

from pipelines import landing
from pipelines.editions import Edition, Editions
from pipelines.landing import Log, Snapshot
from pipelines.warehouse import Warehouse, sql_string

_TEXT, _NUMBER = "VARCHAR", "BIGINT"


class ContractError(Exception):
    """A landed file does not have the columns that its source promises; names file, column, expected and found."""


@dataclass(frozen=True)
class Contract:
    """The columns of one source's files, in order, as DuckDB types; a `reviews`-like list of structs by its fields.

    Columns outside `required` may be missing (they read as NULL then); columns that are not named here at all are
    kept out and reported.
    """

    name: str
    columns: dict[str, str | dict[str, str]]
    required: frozenset[str]

    def sql_type(self, column: str) -> str:
        kind = self.columns[column]
        if isinstance(kind, str):
            return kind
        return "STRUCT(" + ", ".join(f'"{field}" {field_type}' for field, field_type in kind.items()) + ")[]"

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(repr((self.columns, sorted(self.required))).encode()).hexdigest()[:16]


_REVIEW = {
    "confidence": _NUMBER,
    "date": _NUMBER,
    "rating": _NUMBER,
    "review": _TEXT,
    "review_id": _TEXT,
    "reviewer": _TEXT,
    "strengths": _TEXT,
    "summary": _TEXT,
    "weaknesses": _TEXT,
}

# https://huggingface.co/datasets/davidheineman/iclr-2026, as of 2025-11-21.
HUB_DATASET = Contract(
    name="hub_dataset",
    columns={
        "title": _TEXT,
        "abstract": _TEXT,
        "year": _NUMBER,
        "url": _TEXT,
        "pdf": _TEXT,
        "authors": "VARCHAR[]",
        "venue": _TEXT,
        "venueid": _TEXT,
        "invitation": _TEXT,
        "venue_type": _TEXT,
        "reviews": _REVIEW,
        "num_reviews": _NUMBER,
        "_bibtex": _TEXT,
        "_bibkey": _TEXT,
    },
    required=frozenset({"title", "abstract", "url", "authors", "venue", "invitation", "reviews"}),
)

# What ranking and counting rows needs; the reviews' texts are not among it.
_NARROW_COLUMNS = ("title", "year", "url", "authors", "venue", "invitation", "num_reviews")
_NARROW_REVIEW_FIELDS = ("confidence", "rating", "review_id", "reviewer")

_SCHEMA = f"""
create schema if not exists raw;
create table if not exists raw.editions (
    edition_id varchar primary key, venue varchar, year integer, venue_id varchar, is_synthetic boolean
);
create table if not exists raw.snapshots (
    edition_id varchar, source varchar, dataset_schema varchar, contract varchar, snapshot_id varchar,
    as_of_at timestamp, row_count bigint, primary key (edition_id, source)
);
create table if not exists raw.files (
    edition_id varchar, source varchar, snapshot_id varchar, file_number integer, path varchar, first_row bigint,
    row_count bigint, byte_count bigint, modified_ns bigint, projection varchar,
    primary key (edition_id, source, file_number)
);
create table if not exists raw.hub_rows (
    edition_id varchar, source varchar, snapshot_id varchar, row_number bigint, file_number integer,
    file_row_number bigint, {", ".join(f"{column} {HUB_DATASET.columns[column]}" for column in _NARROW_COLUMNS)},
    reviews struct({", ".join(f"{f} {_REVIEW[f]}" for f in _NARROW_REVIEW_FIELDS)})[]
);
"""


@dataclass(frozen=True)
class Staged:
    """What staging one edition did. `rows` is per source; `unknown_columns` names `file: column`."""

    edition_id: str
    has_changed: bool
    rows: dict[str, int]
    snapshot_ids: dict[str, str]
    unknown_columns: list[str]


def stage(edition: Edition, editions: Editions, *, warehouse: Warehouse, log: Log) -> Staged:
    """Bring one edition's current snapshots into `raw`; nothing is written if they stand there already.

    Where the working database is new (first run, or set aside as damaged), every other edition that has landed is
    staged too: a release never shrinks because a cache was lost.

    Raises:
        ContractError: a file breaks its source's contract.
        LandingError: nothing has landed for a source of the edition, or a landed file was altered.
    """
    with warehouse.writing(f"stage {edition.id}"):
        warehouse.set_aside_if_damaged(warehouse.working_database, log)
        if not warehouse.working_database.exists():
            others = [other for other in editions.editions if other.id != edition.id and _has_landed(warehouse, other)]
            for other in others:
                log(f"The working database is new: staging {other.id} from landing as well.")
                _stage(other, warehouse)
        return _stage(edition, warehouse)


def staged_fingerprint(connection: duckdb.DuckDBPyConnection) -> str:
    """One hash over what is staged: editions, snapshots with their dates, contracts. Paths and times stay out."""
    rows = connection.execute("select * from raw.editions order by all").fetchall()
    rows += connection.execute("select * exclude (source) from raw.snapshots order by all").fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def verify_staged_files(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse) -> None:
    """Make sure that the views still read the bytes that were staged: size and time, and the hash where these moved.

    Raises:
        LandingError: a landed file was altered or is gone.
    """
    query = "select edition_id, source, snapshot_id, path, byte_count, modified_ns from raw.files"
    for edition_id, source, snapshot_id, path, byte_count, modified_ns in connection.execute(query).fetchall():
        file = Path(path)
        if file.is_file() and (file.stat().st_size, file.stat().st_mtime_ns) == (byte_count, modified_ns):
            continue
        landing.find(warehouse, edition_id, source, snapshot_id).verify()


def _has_landed(warehouse: Warehouse, edition: Edition) -> bool:
    return all(landing.current_snapshot(warehouse, edition.id, source.name) for source in edition.sources)


def _stage(edition: Edition, warehouse: Warehouse) -> Staged:
    current: dict[str, tuple[Contract, Snapshot]] = {}
    for source in edition.sources:
        snapshot = landing.current_snapshot(warehouse, edition.id, source.name)
        if snapshot is None:
            raise landing.LandingError(
                f"Nothing has landed for {edition.id}/{source.name}; materialise that edition's asset 'landed' first."
            )
        current[source.name] = (HUB_DATASET, snapshot)
    wanted = _wanted_rows(edition, current)
    rows = {name: snapshot.record.rows for name, (_, snapshot) in current.items()}
    ids = {name: snapshot.record.snapshot_id for name, (_, snapshot) in current.items()}
    if warehouse.working_database.exists():
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            if _staged_rows(connection, edition.id) == wanted:
                return Staged(edition.id, False, rows, ids, [])
    files = []
    unknown: list[str] = []
    for name, (contract, snapshot) in current.items():
        snapshot.verify()
        checked = check_files(snapshot.paths(), contract, warehouse)
        files += _file_rows(edition.id, name, snapshot, checked)
        unknown += [f"{check.path.name}: {column}" for check in checked for column in check.unknown]
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute(_SCHEMA)
        connection.begin()
        try:
            for table in ("editions", "snapshots", "files", "hub_rows"):
                connection.execute(f"delete from raw.{table} where edition_id = ?", [edition.id])
            for table, inserted in {**wanted, "files": files}.items():
                marks = ", ".join("?" * len(inserted[0]))
                connection.executemany(f"insert into raw.{table} values ({marks})", inserted)
            for row in files:
                _insert_narrow_rows(connection, row)
            _replace_hub_view(connection)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        connection.execute("checkpoint")
    return Staged(edition.id, True, rows, ids, unknown)


def _wanted_rows(edition: Edition, current: dict[str, tuple[Contract, Snapshot]]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of `raw.editions` and `raw.snapshots` that say what should be staged."""
    row = (edition.id, edition.venue, edition.year, edition.venue_id, edition.is_synthetic)
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


@dataclass(frozen=True)
class CheckedFile:
    """A file that obeys its contract: the select list that reads exactly the contract's columns from it."""

    path: Path
    projection: str
    unknown: list[str]


def check_files(paths: Iterable[Path], contract: Contract, warehouse: Warehouse) -> list[CheckedFile]:
    """Check each file's own schema against the contract (a list of files would take its types from the first).

    Raises:
        ContractError: names the file, the column, what was expected and what was found.
    """
    with warehouse.memory() as connection:
        return [_check_file(connection, path, contract) for path in paths]


def _check_file(connection: duckdb.DuckDBPyConnection, path: Path, contract: Contract) -> CheckedFile:
    relation = connection.sql(f"from read_parquet({sql_string(path)})")
    found = dict(zip(relation.columns, relation.types, strict=True))
    unknown = [column for column in found if column not in contract.columns]
    selected = []
    for column, expected in contract.columns.items():
        if column not in found:
            if column in contract.required:
                raise ContractError(
                    f"{path}: column {column!r} is missing; expected {contract.sql_type(column)}, found the columns "
                    f"{', '.join(found)}. If the upstream changed its schema, change the contract in staging.py."
                )
            selected.append(f'null::{contract.sql_type(column)} as "{column}"')
        elif isinstance(expected, str):
            _check_type(path, column, expected, str(found[column]))
            selected.append(f'"{column}"')
        else:
            fields = _struct_fields(path, column, contract, found[column])
            for name, field_type in expected.items():
                if name not in fields:
                    raise ContractError(
                        f"{path}: column {column!r} has no field {name!r}; expected {field_type}, found the fields "
                        f"{', '.join(fields)}. If the upstream changed its schema, change the contract in staging.py."
                    )
                _check_type(path, f"{column}.{name}", field_type, fields[name])
            unknown += [f"{column}.{name}" for name in fields if name not in expected]
            if list(fields) == list(expected):
                selected.append(f'"{column}"')
            else:
                packed = ", ".join(f'"{name}" := item."{name}"' for name in expected)
                selected.append(
                    f'list_transform("{column}", lambda item: case when item is not null then struct_pack({packed}) '
                    f'end) as "{column}"'
                )
    return CheckedFile(path, ", ".join(selected), unknown)


def _struct_fields(path: Path, column: str, contract: Contract, found: Any) -> dict[str, str]:
    if found.id != "list" or found.children[0][1].id != "struct":
        _check_type(path, column, contract.sql_type(column), str(found))
    return {name: str(kind) for name, kind in found.children[0][1].children}


def _check_type(path: Path, column: str, expected: str, found: str) -> None:
    if expected != found:
        raise ContractError(
            f"{path}: column {column!r} has another type; expected {expected}, found {found}. "
            "If the upstream changed its schema, change the contract in staging.py."
        )


def _file_rows(edition_id: str, source: str, snapshot: Snapshot, checked: list[CheckedFile]) -> list[tuple[Any, ...]]:
    rows = []
    first_row = 1
    for number, (file, check) in enumerate(zip(snapshot.record.files, checked, strict=True), start=1):
        modified = check.path.stat().st_mtime_ns
        place = (edition_id, source, snapshot.record.snapshot_id, number, str(check.path))
        rows.append((*place, first_row, file.rows, file.bytes, modified, check.projection))
        first_row += file.rows
    return rows


def _insert_narrow_rows(connection: duckdb.DuckDBPyConnection, file: tuple[Any, ...]) -> None:
    """Copy a file's narrow columns into `raw.hub_rows`.

    pyarrow reads single leaves of the reviews' structs; DuckDB would decompress the review texts beside them.
    """
    import pyarrow.parquet

    edition_id, source, snapshot_id, file_number, path, first_row = file[:6]
    with pyarrow.parquet.ParquetFile(path) as parquet:
        leaves = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
        wanted = [leaf for leaf in leaves if _is_narrow(leaf)]
        present = {leaf.split(".")[0] for leaf in wanted}
        columns = ", ".join(column if column in present else f"null as {column}" for column in _NARROW_COLUMNS)
        fields = ", ".join(f"'{field}': item.{field}" for field in _NARROW_REVIEW_FIELDS)
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
