"""Reads the files of a candidate: narrow tables in memory, which the suites' queries select from.

Here belongs how Parquet files and the database are read and compared with the contract. A table that could not be read
is remembered with the reason, and whatever needs it cannot be checked.

The suites' queries see these tables, all in memory:

    <mart>         the suite's `columns` of every row, `row_hash`, and `misfiled_edition_id`, which is
                   NULL where the row is in the file of its edition
    file_rows      mart, edition_id, row_count, fingerprint: of the Parquet files
    database_rows  the same of `peer_reviews.duckdb`
    previous       mart, edition_id, row_count: of the previous release
    volumes        mart, edition_id (each edition of `editions`), row_count, share_of_previous
    marts          mart (of the contract, the registry and the candidate), has_suite

`edition_id` is "*" for a mart that is one file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from expectations import CANDIDATE, SUITE_MODULES, Suite
from pipelines.warehouse import Warehouse, first_line, sql_string

if TYPE_CHECKING:
    import pandas as pd

DATABASE = "peer_reviews.duckdb"
WHOLE = "*"


class GateError(Exception):
    """Something that keeps an expectation from being checked; the message says what."""


def contract_of(warehouse: Warehouse) -> dict[str, dict[str, str]]:
    """Columns and DuckDB types of every mart, from the dbt project's YAML."""
    path = warehouse.settings.dbt_project_dir / "models" / "marts" / "_marts.yml"
    models = yaml.safe_load(path.read_text(encoding="utf-8"))["models"]
    return {
        model["name"]: {column["name"]: column["data_type"].upper() for column in model["columns"]} for model in models
    }


class Tables:
    """The candidate's rows, narrow, in the memory of one connection."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, candidate: Path, contract: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._connection = connection
        self._candidate = candidate
        self._contract = contract
        # Why a table is not there.
        self._missing: dict[str, str] = {}

    def read(self, suites: Mapping[str, Suite], previous: Mapping[str, Mapping[str, int]]) -> None:
        counted = "(mart varchar, edition_id varchar, row_count bigint, fingerprint varchar)"
        self._connection.execute(f"create table file_rows {counted}")
        read = {mart: suite.columns for mart, suite in suites.items() if suite.columns}
        for mart, columns in read.items():
            with self._explaining(mart):
                self._read_files(mart, columns)
        self._list_marts(set(suites))
        with self._explaining("database_rows"):
            self._connection.execute(f"create table database_rows {counted}")
            self._read_database([mart for mart in read if mart in self._contract])
        with self._explaining("previous"):
            self._read_previous(previous)
        with self._explaining("volumes"):
            self._read_volumes([mart for mart in read if mart in self._contract])

    def select(self, query: str) -> pd.DataFrame:
        """The query's rows as an Arrow-backed frame.

        Raises:
            GateError: a table that it reads is not there, or the query does not fit the files.
        """
        import pandas as pd

        lost = [reason for table, reason in self._missing.items() if re.search(rf"\b{table}\b", query)]
        if lost:
            raise GateError("; ".join(lost))
        try:
            table = self._connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise GateError(first_line(error)) from error
        return _for_great_expectations(table).to_pandas(types_mapper=pd.ArrowDtype)

    @contextmanager
    def _explaining(self, table: str) -> Iterator[None]:
        try:
            yield
        except (GateError, duckdb.Error) as error:
            self._missing[table] = first_line(error)
            self._connection.execute(f"drop table if exists {table}")

    def _is_whole(self, mart: str) -> bool:
        return mart == "editions" or "edition_id" not in self._contract[mart]

    def _files(self, mart: str) -> list[Path]:
        if mart not in self._contract:
            raise GateError(f"the contract of the marts does not know the mart {mart}")
        pattern = f"{mart}.parquet" if self._is_whole(mart) else f"{mart}/*.parquet"
        files = sorted(self._candidate.glob(pattern))
        if not files:
            raise GateError(f"the candidate has no file {pattern}")
        return files

    def _read_files(self, mart: str, columns: str) -> None:
        files = self._files(mart)
        for file in files:
            self._check_columns(mart, file)
        # Each file is read once, the text for its length and hash only. A list of files would take its types from the
        # first one, but they have just been compared with the contract.
        names = ", ".join(sql_string(file) for file in files)
        misfiled = (
            "case when edition_id is distinct from parse_filename(filename, true) then coalesce(edition_id, 'null') end"
        )
        self._connection.execute(
            f"""
            create table {mart} as
            select
                {columns},
                {"null" if self._is_whole(mart) else misfiled} as misfiled_edition_id,
                {self._row_hash(mart)} as row_hash
            from read_parquet([{names}], filename = true)
            """
        )
        self._connection.execute(f"insert into file_rows {self._counts(mart, mart, 'row_hash')}")

    def _check_columns(self, mart: str, file: Path) -> None:
        found = self._describe(f"from read_parquet({sql_string(file)})")
        name = str(file.relative_to(self._candidate))
        for column, expected in self._contract[mart].items():
            if column not in found:
                raise GateError(f"{name} has no column {column}; the contract of {mart} promises it")
            if found[column] != expected:
                raise GateError(f"column {column} of {name} is {found[column]}, not {expected} as its contract says")
        if extra := sorted(set(found) - set(self._contract[mart])):
            raise GateError(f"{name} has the column {extra[0]}, which the contract of {mart} does not know")

    def _describe(self, source: str) -> dict[str, str]:
        rows = self._connection.execute(f"describe select * {source}").fetchall()
        return {name: type_ for name, type_, *_ in rows}

    def _row_hash(self, mart: str) -> str:
        return f"hash({', '.join(self._contract[mart])})"

    def _counts(self, mart: str, table: str, row_hash: str) -> str:
        """Rows and a fingerprint that no order of rows changes, by edition."""
        edition = sql_string(WHOLE) if self._is_whole(mart) else "edition_id"
        grouped = "" if self._is_whole(mart) else "group by edition_id"
        return f"""
            select {sql_string(mart)}, {edition}, count(*), coalesce(sum({row_hash}::hugeint), 0)::varchar
            from {table}
            {grouped}
        """

    def _read_database(self, marts: Sequence[str]) -> None:
        path = self._candidate / DATABASE
        if not path.is_file():
            raise GateError(f"the candidate has no file {DATABASE}")
        self._connection.execute(f"attach {sql_string(path)} as released (read_only)")
        try:
            for mart in marts:
                # All columns, so that the database is read as a whole once: it is what most people will query.
                counts = self._counts(mart, f"released.{mart}", self._row_hash(mart))
                self._connection.execute(f"insert into database_rows {counts}")
        except duckdb.Error as error:
            raise GateError(f"{mart} in {DATABASE} does not fit its contract: {first_line(error)}") from error
        finally:
            self._connection.execute("detach released")

    def _list_marts(self, with_suite: set[str]) -> None:
        """A mart that nobody looks at would pass."""
        there = {path.stem for path in self._candidate.glob("*.parquet")}
        there |= {path.parent.name for path in self._candidate.glob("*/*.parquet")}
        marts = sorted(there.union(self._contract, SUITE_MODULES) - {CANDIDATE})
        self._connection.execute("create table marts (mart varchar, has_suite boolean)")
        self._connection.executemany("insert into marts values (?, ?)", [(mart, mart in with_suite) for mart in marts])

    def _read_previous(self, previous: Mapping[str, Mapping[str, int]]) -> None:
        self._connection.execute("create table previous (mart varchar, edition_id varchar, row_count bigint)")
        rows = [
            (mart, edition_id, row_count)
            for mart, counts in previous.items()
            for edition_id, row_count in counts.items()
        ]
        if rows:
            self._connection.executemany("insert into previous values (?, ?, ?)", rows)

    def _read_volumes(self, marts: Sequence[str]) -> None:
        if "editions" in self._missing:
            raise GateError(self._missing["editions"])
        whole = [(mart, self._is_whole(mart)) for mart in marts]
        values = ", ".join(f"({sql_string(mart)}, {is_whole})" for mart, is_whole in whole)
        self._connection.execute(
            f"""
            create table volumes as
            with ids as (
                select distinct edition_id from editions
            ),
            grain as (
                select mart, edition_id from (values {values}) as marts (mart, is_whole), ids where not is_whole
                union all
                select mart, '{WHOLE}' from (values {values}) as marts (mart, is_whole) where is_whole
            ),
            -- A mart over all editions can be compared only where they are the same ones.
            comparable as (
                select * from previous
                where
                    edition_id != '{WHOLE}'
                    or (select list_sort(list(edition_id)) from previous where mart = 'papers')
                    = (select list_sort(list(edition_id)) from ids)
            )
            select
                grain.mart,
                grain.edition_id,
                coalesce(file_rows.row_count, 0) as row_count,
                coalesce(file_rows.row_count, 0) / nullif(comparable.row_count, 0) as share_of_previous
            from grain
            left join file_rows using (mart, edition_id)
            left join comparable using (mart, edition_id)
            """
        )


def _for_great_expectations(table: Any) -> Any:
    """The Arrow table in forms that Great Expectations reads quickly and shows safely.

    It converts decimals, which DuckDB's sums of integers become, one by one with a look at the call stack (a minute
    for 77,000 rows), and it writes sample values into its pages without escaping them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        column = table.column(position)
        if pa.types.is_decimal(field.type):
            column = column.cast(pa.float64())
        elif pa.types.is_string(field.type):
            for character in "&<>\"'":
                column = pc.replace_substring(column, character, html.escape(character))
        table = table.set_column(position, field.name, column)
    return table
