"""How the rows of one Parquet file are read, whatever its columns are called.

Here belongs what names do to DuckDB: it takes `Title` and `title` for one and gives the second another name, it reads
`year=2026` in a path as a column, and its numbers of rows are a column whose name an upstream may use as well.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipelines.warehouse import sql_string

# `read_parquet` can number the rows of a file from 0, under this name.
ROW_NUMBER_COLUMN = "file_row_number"
Column = tuple[str, str, Any]


def names_in(path: Path, connection: duckdb.DuckDBPyConnection) -> list[Column]:
    """The file's columns in order: the name in the file, the name that DuckDB gives it, and the type."""
    relation = connection.sql(f"from {read_parquet(path)}")
    rows = connection.execute("select name, num_children from parquet_schema(?)", [str(path)]).fetchall()
    names, skipped = [], 0
    for name, children in rows[1:]:  # the first is the root; then come the columns, each before what it holds
        if skipped == 0:
            names.append(str(name))
        else:
            skipped -= 1
        skipped += children or 0
    return list(zip(names, relation.columns, relation.types, strict=True))


def read_parquet(path: Path, options: str = "") -> str:
    """SQL for a file's columns alone."""
    return f"read_parquet({sql_string(path)}, hive_partitioning = false{options})"


def rows_of(path: Path, names: Sequence[Column], wanted: Collection[str]) -> str:
    """SQL for a file's rows: the wanted columns by their names in the file, and `file_row_number`, counted from 0."""
    is_taken = has_row_number(names)
    options = "" if is_taken else f", {ROW_NUMBER_COLUMN} = true"
    columns = {given: found for given, found, _ in names if given in wanted}
    if not is_taken and all(given == found for given, found in columns.items()):
        return read_parquet(path, options)
    selected = [f"{quoted(found)} as {quoted(given)}" for given, found in columns.items()]
    # Slower, since nothing can be skipped; DuckDB keeps the order of a file's rows.
    selected.append(f"row_number() over () - 1 as {ROW_NUMBER_COLUMN}" if is_taken else ROW_NUMBER_COLUMN)
    return f"(select {', '.join(selected)} from {read_parquet(path, options)})"


def has_row_number(names: Sequence[Column]) -> bool:
    """Whether the file has a column of that very name, in any case."""
    return any(found.casefold() == ROW_NUMBER_COLUMN for _, found, _ in names)


def pyarrow_types(path: Path, leaves: Collection[str], connection: duckdb.DuckDBPyConnection) -> dict[str, str] | None:
    """The types that DuckDB gives to columns, and to fields of lists of structs, as pyarrow reads them.

    pyarrow reads single leaves of structs, where DuckDB would decompress the texts beside them. But it also restores
    types that are in no Parquet file (arrays of one length, durations), and some that DuckDB does not take from it; in
    that case the answer is None. That error ends a transaction, so `connection` has none.
    """
    import pyarrow.parquet

    columns = {leaf.split(".")[0] for leaf in leaves}
    with pyarrow.parquet.ParquetFile(path) as file:
        schema = pyarrow.schema([field for field in file.schema_arrow if field.name in columns])
    try:
        connection.register("of_pyarrow", schema.empty_table())
        relation = connection.sql("from of_pyarrow")
        found: dict[str, str] = {}
        for name, kind in zip(relation.columns, relation.types, strict=True):
            found[name] = str(kind)
            item: Any = kind.children[0][1] if kind.id == "list" else None
            if item is not None and item.id == "struct":
                found |= {f"{name}.{field}": str(of_field) for field, of_field in item.children}
    except duckdb.NotImplementedException:
        return None
    connection.unregister("of_pyarrow")
    return {leaf: found[leaf] for leaf in leaves if leaf in found}


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
