"""The rows of Parquet sources: a view over the landed files, and beside it a table of what needs no text.

Here belongs what a checked file becomes in schema `raw`, the same for every source whose files are Parquet. Which
columns there are, and which of them the table holds, belongs in `contracts.py`.

Text stays in the landed files: the view, called as its contract, reads them with explicit columns. Its numbers are
BIGINT as long as every staged file's numbers fit that; once one does not, they are JSON in all of them, as they stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from pipelines.land.landing import Snapshot
from pipelines.stage.checks import CheckedFile
from pipelines.stage.contracts import Contract, ContractError
from pipelines.warehouse import first_line, sql_string


@dataclass(frozen=True)
class StagedFile:
    """One checked file of a snapshot; `first_row` is the number of its first row among the snapshot's."""

    edition_id: str
    source: str
    contract: Contract
    snapshot_id: str
    number: int
    first_row: int
    row_count: int | None
    checked: CheckedFile


def staged_files(
    edition_id: str, source: str, contract: Contract, snapshot: Snapshot, checked: list[CheckedFile]
) -> list[StagedFile]:
    """A snapshot's files, numbered from 1, each with the number of its first row."""
    files = []
    first_row = 1
    for number, (file, check) in enumerate(zip(snapshot.record.files, checked, strict=True), start=1):
        snapshot_id = snapshot.record.snapshot_id
        files.append(StagedFile(edition_id, source, contract, snapshot_id, number, first_row, file.rows, check))
        first_row += file.rows or 0
    return files


def insert_file(connection: duckdb.DuckDBPyConnection, file: StagedFile) -> None:
    """Note a file in `raw.files` and copy its rows, without their texts, into the contract's table of rows.

    Raises:
        ContractError: the file is damaged in a way that only pyarrow minds.
    """
    import pyarrow

    checked = file.checked
    connection.execute(
        "insert into raw.files values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            file.edition_id, file.source, file.contract.name, file.snapshot_id, file.number, str(checked.path),
            file.first_row, file.row_count, checked.relation, checked.projection, checked.json_projection,
            checked.is_plain,
        ],
    )  # fmt: skip
    try:
        if checked.suits_pyarrow:
            for offset in _narrow_batches(connection, checked):
                _insert_rows(
                    connection, file, "(select row_number() over () - 1 as file_row_number, * from narrow)", offset
                )
        else:
            _insert_rows(connection, file, checked.relation, 0)
    except (pyarrow.ArrowException, OSError) as error:
        raise ContractError(f"{checked.path}: is a damaged Parquet file: {first_line(error)}") from None


def _insert_rows(connection: duckdb.DuckDBPyConnection, file: StagedFile, relation: str, offset: int) -> None:
    connection.execute(
        f"""
        insert into raw.{file.contract.rows_table}
        select
            ?, ?, ?, {file.first_row + offset} + file_row_number, {file.number}, {offset} + file_row_number,
            {file.checked.row_projection}
        from {relation}
        """,
        [file.edition_id, file.source, file.snapshot_id],
    )


def _narrow_batches(connection: duckdb.DuckDBPyConnection, checked: CheckedFile) -> Iterator[int]:
    """Register the file's narrow columns as `narrow`, some thousand rows at a time; gives each batch's first place."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(checked.path) as parquet:
        leaves = [parquet.schema.column(index).path for index in range(len(parquet.schema))]
        offset = 0
        for batch in parquet.iter_batches(
            batch_size=20_000, columns=[leaf for leaf in leaves if _is_narrow(leaf, checked)]
        ):
            connection.register("narrow", pyarrow.Table.from_batches([batch]))
            yield offset
            connection.unregister("narrow")
            offset += batch.num_rows


def _is_narrow(leaf: str, checked: CheckedFile) -> bool:
    """Whether a Parquet leaf such as `title`, `authors.list.element` or `reviews.list.element.rating` is narrow."""
    column, _, rest = leaf.partition(".")
    return column in checked.row_types or f"{column}.{rest.rpartition('.')[2]}" in checked.row_types


def replace_view(connection: duckdb.DuckDBPyConnection, contract: Contract) -> None:
    """The contract's view: every staged file, its own checked columns, one `union all` arm a file."""
    files = connection.execute(
        """
        select edition_id, source, snapshot_id, file_number, first_row, relation,
            case when (select bool_and(is_plain) from raw.files where dataset_schema = $contract) then projection
            else json_projection end
        from raw.files where dataset_schema = $contract order by all
        """,
        {"contract": contract.name},
    ).fetchall()
    arms = [
        f"""select {sql_string(edition_id)} as edition_id, {sql_string(source)} as source,
            {sql_string(snapshot_id)} as snapshot_id, {first_row} + file_row_number as row_number,
            {file_number} as file_number, file_row_number, {projection}
        from {relation}"""
        for edition_id, source, snapshot_id, file_number, first_row, relation, projection in files
    ]
    if not arms:
        columns = ", ".join(f'null::{contract.sql_type(column)} as "{column}"' for column in contract.columns)
        arms = [
            "select null::varchar as edition_id, null::varchar as source, null::varchar as snapshot_id, "
            f"0::bigint as row_number, 0 as file_number, 0::bigint as file_row_number, {columns} where false"
        ]
    connection.execute(f"create or replace view raw.{contract.name} as " + " union all ".join(arms))
