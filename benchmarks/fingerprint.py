"""Order-free fingerprints of tables, so that a benchmark can refuse to compare unequal work.

Here belongs how tables are found, hashed and compared. What must be equal to what is `run.py`'s to say.

A table's fingerprint is its row count and the sum of the hashes of its rows, each the text form of the columns in
their names' order; a column's is the same of that column alone, which names the culprit where tables differ. Sums do
not depend on the rows' order. DuckDB's `hash` may change between versions: compare within one only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb


class Mismatch(Exception):
    """Two candidates did not make the same tables; names table, column and counts."""


@dataclass(frozen=True)
class Fingerprint:
    """Of one table: rows, the sum of the rows' hashes (None if not known), and of each column's values' hashes."""

    rows: int
    hash: int | None
    columns: Mapping[str, int]

    def without(self, columns: Iterable[str]) -> "Fingerprint":
        """The same without some columns; what is left can be compared column by column only."""
        kept = {name: value for name, value in self.columns.items() if name not in set(columns)}
        return self if len(kept) == len(self.columns) else Fingerprint(self.rows, None, kept)


def of_relation(
    connection: duckdb.DuckDBPyConnection, relation: str, leaving_out: Iterable[str] = (), only: Iterable[str] = ()
) -> Fingerprint:
    """The fingerprint of a table or a `read_parquet(...)`, without the columns `leaving_out` or of `only` some."""
    found = [name for name, *_ in connection.execute(f"describe select * from {relation}").fetchall()]
    wanted = sorted(set(only or found) - set(leaving_out))
    # `hash` of several arguments folds each in turn, so values cannot slip from one column into the next.
    row = ", ".join(f'"{name}"::varchar' for name in wanted)
    each = ", ".join(f'sum(hash("{name}"::varchar)::hugeint)' for name in wanted)
    sums = connection.execute(f"select count(*), sum(hash({row})::hugeint), {each} from {relation}").fetchall()[0]
    count, whole, *columns = (int(value or 0) for value in sums)
    return Fingerprint(count, whole, dict(zip(wanted, columns, strict=True)))


def of_folder(
    folder: Path, tables: Iterable[str], leaving_out: Mapping[str, set[str]] | None = None
) -> dict[str, Fingerprint]:
    """Of Parquet marts as a release has them: `<table>.parquet`, or a folder `<table>` with a file an edition."""
    with duckdb.connect() as connection:
        return {
            table: of_relation(
                connection, f"read_parquet('{_pattern(folder, table)}')", (leaving_out or {}).get(table, ())
            )
            for table in tables
        }


def of_database(
    file: Path, tables: Iterable[str], leaving_out: Mapping[str, set[str]] | None = None
) -> dict[str, Fingerprint]:
    """Of tables of a DuckDB database."""
    with duckdb.connect(file, read_only=True) as connection:
        return {table: of_relation(connection, table, (leaving_out or {}).get(table, ())) for table in tables}


def require_equal(expected: Mapping[str, Fingerprint], found: Mapping[str, Fingerprint], who: str) -> None:
    """Compare the tables of `found` with those expected.

    Raises:
        Mismatch: a table is missing or differs.
    """
    differing = [_difference(table, expected[table], found.get(table)) for table in expected]
    if problems := [problem for problem in differing if problem]:
        raise Mismatch(f"{who}: {'; '.join(problems)}. The candidates must make the same tables to be compared.")


def _difference(table: str, expected: Fingerprint, found: Fingerprint | None) -> str | None:
    if found is None:
        return f"{table} is missing"
    if found.columns.keys() != expected.columns.keys():
        return f"{table} has other columns ({', '.join(sorted(found.columns.keys() ^ expected.columns.keys()))})"
    if found.rows != expected.rows:
        return f"{table} has {found.rows} rows, not {expected.rows}"
    columns = [name for name, value in expected.columns.items() if found.columns[name] != value]
    if columns:
        return f"{table} differs in {', '.join(columns)}"
    if expected.hash is not None and found.hash != expected.hash:
        return f"{table} has the same values in each column, put together in other rows"
    return None


def _pattern(folder: Path, table: str) -> str:
    single = folder / f"{table}.parquet"
    return str(single if single.is_file() else folder / table / "*.parquet").replace("'", "''")
