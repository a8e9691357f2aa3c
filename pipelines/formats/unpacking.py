"""What a Parquet file becomes when it is read, found out before it lands: how large, and whether it can be read at all.

Here belongs what is true of any Parquet file from outside. Which columns it must have belongs in `contracts.py`.

A few kilobytes can stand for terabytes: pages compress, and a dictionary page stores a text once that a million rows
then refer to, which neither the file's size nor its footer shows. So nothing is read that has not been measured: first
the footer's own figures, then the lengths of the texts, for which DuckDB (2.0) copies no text out of a flat column's
dictionary and stops at its memory limit in a nested one, and only then the texts themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines.formats.parquet import ROW_NUMBER_COLUMN, Column, has_row_number, names_in, quoted, read_parquet
from pipelines.warehouse import first_line

# DuckDB reads, copies and writes this many rows at a time, and nobody knows how to read fewer.
BATCH_ROWS = 2048
# What a value takes besides its text, whatever it is: nulls and repeated values cost next to nothing in a file.
_BYTES_PER_VALUE = 16
_Figure = Callable[[str], str]


class UnpackingError(Exception):
    """A Parquet file that cannot be read, or not within the limits; words that follow the file's name."""


@dataclass(frozen=True)
class Unpacked:
    """A file's rows, the bytes that its texts take, and how many of its texts hold NUL."""

    rows: int
    bytes: int
    texts_with_nul: int


def measure(path: Path, connection: duckdb.DuckDBPyConnection, *, max_bytes: int, max_batch_bytes: int) -> Unpacked:
    """Read a file to its end; `connection` has to be able to read it.

    Args:
        path: the file, which begins and ends as a Parquet file does.
        connection: one whose memory is limited.
        max_bytes: how large all of it may be, unpacked.
        max_batch_bytes: how large the texts of 2,048 rows may be, which are in memory at once.

    Raises:
        UnpackingError: it is damaged, holds text that is not UTF-8, or is larger than that.
    """
    try:
        return _measured(path, connection, max_bytes, max_batch_bytes)
    except duckdb.OutOfMemoryException:
        raise UnpackingError(
            "needs more memory than DUCKDB_MEMORY_LIMIT allows to be read; a decompression bomb, or raise the limit"
        ) from None
    except duckdb.Error as error:
        raise UnpackingError(f"is a damaged Parquet file: {first_line(error)}") from None


def _measured(path: Path, connection: duckdb.DuckDBPyConnection, max_bytes: int, max_batch_bytes: int) -> Unpacked:
    ((rows,),) = connection.execute("select num_rows from parquet_file_metadata(?)", [str(path)]).fetchall()
    query = f"""
        select coalesce(sum(abs(total_uncompressed_size) + {_BYTES_PER_VALUE} * abs(num_values)), 0)::hugeint
        from parquet_metadata(?)
    """
    ((stated,),) = connection.execute(query, [str(path)]).fetchall()
    if stated > max_bytes:
        raise UnpackingError(f"unpacks to {stated} bytes, more than MAX_UNPACKED_BYTES={max_bytes} allows")
    names = names_in(path, connection)
    columns = {found: kind for _, found, kind in names}
    lengths = _per_row(columns, lambda text: f"strlen({text})")
    query = f"""
        select coalesce(sum(row_count), 0), coalesce(sum(bytes), 0)::hugeint, coalesce(max(bytes), 0)::hugeint
        from (
            select count(*) as row_count, sum(bytes) as bytes from {_lengths_by_row(path, names, lengths)}
            group by place // {BATCH_ROWS}
        )
    """
    ((found, size, largest),) = connection.execute(query).fetchall()
    if size > max_bytes:
        raise UnpackingError(f"unpacks to {size} bytes of text, more than MAX_UNPACKED_BYTES={max_bytes} allows")
    if largest > max_batch_bytes:
        raise UnpackingError(
            f"holds {largest} bytes of text in {BATCH_ROWS} rows, more than MAX_BATCH_BYTES={max_batch_bytes} allows"
        )
    if found != rows:
        raise UnpackingError(f"is a damaged Parquet file: it has {found} rows where its footer counts {rows}")
    # Looking into a text is what shows whether it is UTF-8; its length is known without.
    with_nul = _per_row(columns, lambda text: f"contains({text}, chr(0))::integer")
    query = f"select coalesce(sum({with_nul}), 0)::hugeint from {read_parquet(path)}"
    ((texts_with_nul,),) = connection.execute(query).fetchall()
    return Unpacked(int(rows), int(size), int(texts_with_nul))


def _lengths_by_row(path: Path, names: Sequence[Column], lengths: str) -> str:
    if has_row_number(names):
        # The lengths are below the window, which so holds no text.
        measured = f"(select {lengths} as bytes from {read_parquet(path)})"
        return f"(select bytes, row_number() over () - 1 as place from {measured})"
    numbered = read_parquet(path, f", {ROW_NUMBER_COLUMN} = true")
    return f"(select {lengths} as bytes, {ROW_NUMBER_COLUMN} as place from {numbered})"


def _per_row(columns: Mapping[str, Any], figure: _Figure) -> str:
    """SQL for the sum of a figure over all texts of a row; whatever is no text is read too, and counts nothing."""
    return " + ".join(["0", *(_summed(quoted(name), kind, figure, 0) for name, kind in columns.items())])


def _summed(value: str, kind: Any, figure: _Figure, depth: int) -> str:
    if kind.id == "varchar":
        return f"coalesce({figure(value)}, 0)"
    if kind.id == "list":
        item = f"item_{depth}"
        inner = _summed(item, kind.children[0][1], figure, depth + 1)
        return f"coalesce(list_sum(list_transform({value}, lambda {item}: {inner})), 0)"
    if kind.id == "struct":
        return " + ".join(["0", *(_summed(f"{value}.{quoted(n)}", k, figure, depth) for n, k in kind.children)])
    return f"0 * ({value} is null)::integer"
