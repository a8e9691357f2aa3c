"""The schema `raw` of the working database: its tables, whether they are those of this version, and what stands there.

Here belongs what others ask about staged data. What fills the tables belongs in `staging.py`, and for rows and records
in `parquet_rows.py` and `json_rows.py`.
"""

import hashlib
from typing import Any

import duckdb

from pipelines.land import landing
from pipelines.stage.contracts import PARQUET_CONTRACTS, Contract
from pipelines.warehouse import Warehouse

Rows = list[tuple[Any, ...]]


def _rows_table(contract: Contract) -> str:
    columns = ", ".join(f"{column} {contract.row_type(column)}" for column in contract.rows)
    return f"""
create table if not exists raw.{contract.rows_table} (
    edition_id varchar, source varchar, snapshot_id varchar, row_number bigint, file_number integer,
    file_row_number bigint, {columns}, problem varchar
);
"""


# `cut_at_bytes` is MAX_BATCH_BYTES where it set records aside; `landed_number` orders an edition's snapshots as they
# were pulled.
SCHEMA = f"""
create schema if not exists raw;
create table if not exists raw.editions (
    edition_id varchar primary key, venue varchar, year integer, venue_id varchar, is_synthetic boolean,
    missing_sources varchar[]
);
create table if not exists raw.snapshots (
    edition_id varchar, source varchar, dataset_schema varchar, contract varchar, snapshot_id varchar,
    as_of_at timestamp, row_count bigint, cut_at_bytes bigint, landed_number bigint, primary key (edition_id, source)
);
create table if not exists raw.files (
    edition_id varchar, source varchar, dataset_schema varchar, snapshot_id varchar, file_number integer, path varchar,
    first_row bigint, row_count bigint, relation varchar, projection varchar, json_projection varchar,
    is_plain boolean, primary key (edition_id, source, file_number)
);
create table if not exists raw.released_editions (edition_id varchar primary key, fingerprint varchar);
create table if not exists raw.json_records (
    edition_id varchar, source varchar, dataset_schema varchar, snapshot_id varchar, row_number bigint, record varchar,
    problem varchar
);
{"".join(_rows_table(contract) for contract in PARQUET_CONTRACTS)}
"""
# What staging an edition replaces.
EDITION_TABLES = (
    "editions", "snapshots", "files", "json_records", *(contract.rows_table for contract in PARQUET_CONTRACTS)
)  # fmt: skip

# A source's name decides only its place among the edition's snapshots, as `stg_snapshots` numbers them.
_NUMBERED_SNAPSHOTS = """
select
    * exclude (source), row_number() over (partition by edition_id order by dataset_schema, source) as number
from raw.snapshots
order by all
"""


def layout(warehouse: Warehouse) -> str:
    """A hash of what the working database takes for granted: its tables, and where the files of its views are."""
    return hashlib.sha256(f"{SCHEMA}{warehouse.landing}".encode()).hexdigest()


def has_this_layout(warehouse: Warehouse) -> bool:
    """Whether the working database, if there is one, is of this version and of a warehouse that did not move."""
    if not warehouse.working_database.exists():
        return True
    try:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return connection.execute("select layout from raw.layout").fetchall() == [(layout(warehouse),)]
    except duckdb.CatalogException:
        return False


def staged_rows(warehouse: Warehouse, edition_id: str) -> dict[str, Rows] | None:
    """An edition's rows of `raw.editions` and `raw.snapshots`; None before anything was staged."""
    if not warehouse.working_database.exists():
        return None
    try:
        with warehouse.connect(warehouse.working_database, read_only=True) as connection:
            return {
                table: connection.execute(
                    f"select * from raw.{table} where edition_id = ? order by all", [edition_id]
                ).fetchall()
                for table in ("editions", "snapshots")
            }
    except duckdb.CatalogException:
        return None


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
