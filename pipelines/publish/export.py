"""The marts as files: Parquet, one file an edition, and one database.

Here belongs how bytes are written (docs/decisions/0003 and 0005). Which files a release keeps is in `candidate.py`.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from pipelines.publish.store import CONTRACT_VERSION
from pipelines.warehouse import Warehouse, sha256, sql_string

# The row group is the unit that readers hold in memory: 122,880 rows, the default, spill at a limit of 1 GB.
ROW_GROUP_ROWS = 16_384


def export_parquet(
    connection: duckdb.DuckDBPyConnection, target: Path, kept: Mapping[str, tuple[Path, str]]
) -> dict[str, str]:
    """Write each mart, one file or one per edition where rows have one; returns the hashes by path in the release.

    Files that are `kept` are linked, if they are still what they were.
    """
    hashes = {}
    editions = [id_ for (id_,) in connection.execute("select edition_id from editions order by 1").fetchall()]
    for mart, description, per_edition in marts_in(connection):
        if per_edition:
            (target / mart).mkdir()
        for edition_id in editions if per_edition else [None]:
            path = f"{mart}/{edition_id}.parquet" if edition_id else f"{mart}.parquet"
            before, hash_ = kept.get(path, (None, ""))
            if before and before.is_file() and sha256(before) == hash_:
                os.link(before, target / path)
                hashes[path] = hash_
                continue
            where = f"where edition_id = {sql_string(edition_id)}" if edition_id else ""
            connection.execute(
                f"""
                copy (select * from {mart} {where}) to {sql_string(target / path)} (
                    format parquet, compression zstd, compression_level 3, row_group_size {ROW_GROUP_ROWS},
                    kv_metadata {{
                        title: {sql_string(f"peer-review-warehouse: {mart}")},
                        description: {sql_string(description)},
                        contract_version: {sql_string(CONTRACT_VERSION)}
                    }}
                )
                """
            )
            hashes[path] = sha256(target / path)
    return hashes


def marts_in(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, bool]]:
    """Name, description, and whether the mart is split by edition, of every mart."""
    return connection.execute(
        """
        select
            table_name,
            coalesce(comment, ''),
            table_name != 'editions' and table_name in (
                select table_name from duckdb_columns() where column_name = 'edition_id' and not internal
            )
        from duckdb_tables()
        where table_name not in ('build', 'publication') and not internal and database_name = current_database()
        order by table_name
        """
    ).fetchall()


def content_hash(files: Mapping[str, str]) -> str:
    """One hash over those of the Parquet files: releases with the same are the same, whenever they were made."""
    hashes = [f"{path} {files[path]}\n" for path in sorted(files) if path.endswith(".parquet")]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


_PUBLICATION = {
    "release_id": "The release; `releases/<release_id>/manifest.json` says what it was built from.",
    "is_synthetic": "Whether the release is made up.",
    "contract_version": "Version of the tables' contract; it rises when a column goes or changes its meaning.",
    "licence": "Under which terms the data may be used.",
}


def write_database(warehouse: Warehouse, target: Path, release_id: str) -> None:
    """Copy the marts' database, which is closed and checkpointed, and say in it which release it is."""
    shutil.copyfile(warehouse.marts_database, target)
    with warehouse.connect(target) as connection:
        connection.execute("drop table build")
        connection.execute(
            """
            create table publication as
            select
                ? as release_id,
                (select bool_or(is_synthetic) from editions) as is_synthetic,
                ?::integer as contract_version,
                'Reviews are CC BY 4.0 (OpenReview); see README.md beside this file.' as licence
            """,
            [release_id, CONTRACT_VERSION],
        )
        connection.execute("comment on table publication is 'One release: which one this database is.'")
        for column, said in _PUBLICATION.items():
            connection.execute(f"comment on column publication.{column} is {sql_string(said)}")
        connection.execute("checkpoint")


def row_counts(warehouse: Warehouse) -> dict[str, int]:
    """Rows of each mart in the marts' database, as far as it is built."""
    with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
        names = [name for name, _, _ in marts_in(connection)]
        return {name: rows_of(connection, f"select count(*) as rows from {name}")[0]["rows"] for name in names}


def rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    plain = [
        [value.isoformat() if isinstance(value, datetime) else value for value in row] for row in result.fetchall()
    ]
    return [dict(zip(names, row, strict=True)) for row in plain]
