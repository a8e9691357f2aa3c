"""The gate: runs every suite on the files of a candidate release and returns a verdict.

Here belongs how files are read, how Great Expectations is run, and how its results become a verdict that cannot be a
success by accident: whatever could not be checked fails. What is expected belongs in the suites.

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
import logging
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import yaml
from pydantic import BaseModel, computed_field

from expectations import CANDIDATE, CHECKS, SUITE_MODULES, Batch, Check, Suite, load_suites
from pipelines.warehouse import Warehouse, first_line, sql_string

if TYPE_CHECKING:
    import pandas as pd

DATABASE = "peer_reviews.duckdb"
SAMPLE_KEYS = 20
WHOLE = "*"


class ExpectationResult(BaseModel):
    """What one expectation found; finite, plain values only."""

    type: str
    columns: list[str]
    description: str
    severity: Literal["critical", "warning"]
    success: bool
    observed: str
    unexpected_count: int
    element_count: int
    row: str
    key: str
    sample_keys: list[str]


class GroupResult(BaseModel):
    """What one group of a mart's expectations found.

    `passed` is false as soon as anything failed, a warning included; `severity` tells whether that blocks. `error` is
    something that could not be checked, which always blocks.
    """

    name: str
    mart: str
    group: str
    passed: bool
    severity: Literal["critical", "warning"] | None
    error: str | None
    expectations: list[ExpectationResult]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def messages(self) -> list[str]:
        """One sentence for the error and for each failure, naming suite, column and a key."""
        errors = [f"{self.mart}: {self.group} {self.error}"] if self.error else []
        return errors + [_sentence(self.mart, found) for found in self.expectations if not found.success]

    @property
    def blocks(self) -> bool:
        return self.error is not None or self.severity == "critical"


class Verdict(BaseModel):
    """Whether the candidate may be published, and every check's result in the registry's order."""

    passed: bool
    results: list[GroupResult]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def messages(self) -> list[str]:
        """What blocks first, then the warnings."""
        ordered = sorted(self.results, key=lambda result: not result.blocks)
        return [message for result in ordered for message in result.messages]


class GateError(Exception):
    """Something that keeps an expectation from being checked; the message says what."""


def run(
    candidate: Path,
    *,
    warehouse: Warehouse,
    previous: Mapping[str, Mapping[str, int]] | None = None,
    data_docs: Path | None = None,
    suites: Mapping[str, Suite] | None = None,
) -> Verdict:
    """Check the files in the folder `candidate` and return the verdict; nothing in that folder changes.

    `previous` holds the previous release's row counts by mart and edition ("*" for authors and editions). `data_docs`
    is a folder that gets a web site of the results. `suites` replaces the registered ones. Trouble with the files or
    with Great Expectations does not raise: it is an error in the verdict.
    """
    suites = load_suites() if suites is None else suites
    found = _Findings()
    # Most of the memory is for the frames that Great Expectations looks at.
    with warehouse.memory(candidate, share=0.25) as connection, _quiet():
        contract = _contract(warehouse)
        tables = _Tables(connection, candidate, contract)
        tables.read(suites, previous or {})
        try:
            runner = _Runner()
        except Exception as error:  # whatever Great Expectations raises is an error of every check, never a success
            found.error_everywhere(f"could not be checked: Great Expectations does not start: {first_line(error)}")
        else:
            for mart, suite in suites.items():
                for batch in suite.batches:
                    _check_batch(mart, batch, tables, runner, found)
            if data_docs:
                try:
                    runner.write_data_docs(data_docs)
                except Exception as error:  # the verdict is worth more than its pages
                    found.error(CANDIDATE, ["contents"], f"cannot be shown: no Data Docs: {first_line(error)}")
    return found.verdict()


class _Findings:
    """Results and errors by mart and group, until they are a verdict."""

    def __init__(self) -> None:
        self._results: defaultdict[tuple[str, str], list[ExpectationResult]] = defaultdict(list)
        self._errors: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, mart: str, group: str, results: Iterable[ExpectationResult]) -> None:
        self._results[mart, group] += results

    def error(self, mart: str, groups: Iterable[str], text: str) -> None:
        for group in groups:
            if text not in self._errors[mart, group]:
                self._errors[mart, group].append(text)

    def error_everywhere(self, text: str) -> None:
        for check in CHECKS:
            self.error(check.mart, [check.group], text)

    def verdict(self) -> Verdict:
        unknown = set(self._results).union(self._errors) - {(check.mart, check.group) for check in CHECKS}
        if unknown:
            names = ", ".join(sorted(f"{mart}_{group}" for mart, group in unknown))
            self.error(CANDIDATE, ["contents"], f"could not be checked: {names} is not in the registry")
        results = [self._result(check) for check in CHECKS]
        return Verdict(passed=not any(result.blocks for result in results), results=results)

    def _result(self, check: Check) -> GroupResult:
        results = self._results[check.mart, check.group]
        errors = self._errors[check.mart, check.group]
        if not results and not errors:
            errors = ["could not be checked: no expectation was evaluated"]
        failed = {result.severity for result in results if not result.success}
        return GroupResult(
            name=check.name,
            mart=check.mart,
            group=check.group,
            passed=not failed and not errors,
            severity="critical" if "critical" in failed else "warning" if failed else None,
            error="; ".join(errors) or None,
            expectations=results,
        )


# --- reading ----------------------------------------------------------------------------------------------------------


def _contract(warehouse: Warehouse) -> dict[str, dict[str, str]]:
    """Columns and DuckDB types of every mart, from the dbt project's YAML."""
    path = warehouse.settings.dbt_project_dir / "models" / "marts" / "_marts.yml"
    models = yaml.safe_load(path.read_text(encoding="utf-8"))["models"]
    return {
        model["name"]: {column["name"]: column["data_type"].upper() for column in model["columns"]} for model in models
    }


class _Tables:
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


# --- running ----------------------------------------------------------------------------------------------------------


def _check_batch(mart: str, batch: Batch, tables: _Tables, runner: _Runner, found: _Findings) -> None:
    all_groups = [check.group for check in CHECKS if check.mart == mart]
    groups: Sequence[str] = all_groups
    try:
        expectations = batch.expectations()
        groups = list(expectations) or all_groups
        if not any(expectations.values()):
            raise GateError(f"the suite {mart}_{batch.name} is empty")
        frame = tables.select(batch.query)
        results = runner.validate(f"{mart}_{batch.name}", expectations, frame)
    except Exception as error:  # an exception anywhere is an error of these checks, never a success
        found.error(mart, groups, f"could not be checked: {first_line(error)}")
        return
    for group in groups:
        judged = []
        for result in results[group]:
            if raised := _raised(result):
                column = ", ".join(_columns(result))
                found.error(mart, [group], f"could not be checked: {result.expectation_config.type} {column}: {raised}")
            else:
                judged.append(_judge(result, batch, frame))
        if frame.empty and not batch.may_be_empty:
            # An empty frame satisfies everything but a row count.
            judged = [result for result in judged if not result.success]
            if not judged:
                found.error(mart, [group], f"could not be checked: there is no {batch.row} to look at")
        if len(results[group]) != len(expectations[group]):
            found.error(mart, [group], "could not be checked: Great Expectations returned fewer results than asked for")
        found.add(mart, group, judged)


class _Runner:
    """Great Expectations, in memory: no project folder, no telemetry, no progress bars."""

    def __init__(self) -> None:
        import great_expectations as gx
        from great_expectations.core.run_identifier import RunIdentifier
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )

        self._gx = gx
        self._context: Any = gx.get_context(
            mode="ephemeral",
            project_config=DataContextConfig(
                store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
                analytics_enabled=False,
                progress_bars=ProgressBarsConfig(globally=False),
            ),
        )
        # One for all suites: each new one makes Great Expectations write its whole configuration anew.
        asset = self._context.data_sources.add_pandas("candidate").add_dataframe_asset("frame")
        self._data = asset.add_batch_definition_whole_dataframe("all")
        self._run_id = RunIdentifier(run_time=datetime.now(UTC))
        self._succeeded: dict[str, bool] = {}

    def validate(
        self, name: str, expectations: Mapping[str, Sequence[Any]], frame: pd.DataFrame
    ) -> dict[str, list[Any]]:
        """Great Expectations' results by group; details only where the suite did not succeed."""
        suite = self._gx.ExpectationSuite(name=name)
        for group, members in expectations.items():
            for expectation in members:
                expectation.meta = {"group": group}
                suite.add_expectation(expectation)
        definition = self._context.validation_definitions.add(
            self._gx.ValidationDefinition(name=name, data=self._data, suite=self._context.suites.add(suite))
        )
        # Details double the time. The second run has the identity of the first, so it takes its place in the pages.
        # They are a few positions: asking for the values of key columns would look up each unexpected row by itself.
        for result_format in ("BOOLEAN_ONLY", "SUMMARY"):
            found = definition.run(
                batch_parameters={"dataframe": frame},
                result_format={"result_format": result_format, "partial_unexpected_count": SAMPLE_KEYS},
                run_id=self._run_id,
            )
            if found.success:
                break
        results: dict[str, list[Any]] = {group: [] for group in expectations}
        for result in found.results:
            results[result.expectation_config.meta["group"]].append(result)
        self._succeeded[name] = found.success
        return results

    def write_data_docs(self, folder: Path) -> None:
        """A web site of the results that loads nothing from elsewhere and runs no script."""
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
        self._context.add_data_docs_site(
            "gate",
            {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": store,
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
                # A result's page shows its suite as well.
                "site_section_builders": {"expectations": "none", "profiling": "none"},
            },
        )
        self._context.build_data_docs(site_names=["gate"])
        for page in folder.glob("validations/**/*.html"):
            page.write_text(_without_remote_parts(page.read_text(encoding="utf-8")), encoding="utf-8")
        self._write_index(folder)

    def _write_index(self, folder: Path) -> None:
        """Great Expectations' own index is empty without scripts from elsewhere."""
        items = []
        for name, succeeded in self._succeeded.items():
            for page in sorted(folder.glob(f"validations/{name}/**/*.html")):
                link = f'<a href="{page.relative_to(folder)}">{html.escape(name)}</a>'
                items.append(f"<li>{link}: {'all expectations met' if succeeded else 'not all expectations met'}</li>")
        listed = "\n".join(items)
        (folder / "index.html").write_text(
            f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>{_POLICY}<title>Gate</title></head>\n"
            f"<body><h1>What Great Expectations found in the candidate</h1>\n<ul>\n{listed}\n</ul></body></html>\n",
            encoding="utf-8",
        )


# Sample values come from strangers; the pages are published, and a release must not phone anywhere.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'\">"
)
_REMOTE = re.compile(
    r"<script\b.*?</script>|<(?:link|img)\b[^>]*https?://[^>]*>|url\(['\"]?https?://[^)]*\)", re.DOTALL
)


def _without_remote_parts(page: str) -> str:
    return _REMOTE.sub("", page).replace("<head>", f"<head>{_POLICY}", 1)


def _raised(result: Any) -> str | None:
    """The exception inside Great Expectations, if there was one: it looks like a failed expectation otherwise."""
    info = result.exception_info or {}
    details = [info] if "raised_exception" in info else list(info.values())
    messages = [str(detail["exception_message"]) for detail in details if detail["raised_exception"]]
    return first_line(messages[0]) if messages else None


def _columns(result: Any) -> list[str]:
    kwargs = result.expectation_config.kwargs
    return [kwargs[name] for name in ("column", "column_A", "column_B") if name in kwargs] + [
        *kwargs.get("column_list", [])
    ]


def _judge(result: Any, batch: Batch, frame: pd.DataFrame) -> ExpectationResult:
    config, outcome = result.expectation_config, result.result
    columns = _columns(result)
    positions = outcome.get("partial_unexpected_index_list") or []
    rows = frame.loc[positions, list(dict.fromkeys([*batch.key, *columns]))].to_dict("records") if positions else []
    if "observed_value" in outcome:
        observed = _plain(outcome["observed_value"])
    elif rows:
        shown = [column for column in columns if column not in batch.key]
        observed = ", ".join(f"{column} {_plain(rows[0][column])}" for column in shown)
    else:
        observed = ""
    return ExpectationResult(
        type=config.type,
        columns=columns,
        description=config.description,
        severity="warning" if config.severity.value == "warning" else "critical",
        success=bool(result.success),
        observed=observed,
        unexpected_count=int(outcome.get("unexpected_count") or 0),
        element_count=int(outcome.get("element_count") or len(frame)),
        row=batch.row,
        key=":".join(batch.key),
        sample_keys=[":".join(_plain(row[column]) for column in batch.key) for row in rows],
    )


def _plain(value: Any) -> str:
    """A value as short text."""
    if isinstance(value, float):
        return "null" if math.isnan(value) else f"{value:g}"
    text = "null" if value is None or str(value) == "<NA>" else html.unescape(str(value))
    return text if len(text) <= 200 else f"{text[:200]}…"


def _sentence(mart: str, found: ExpectationResult) -> str:
    if not found.sample_keys:
        return f"{mart}: {found.description}: found {found.observed or 'otherwise'}."
    count = found.unexpected_count
    fails = f"1 {found.row} fails" if count == 1 else f"{count} {found.row}s fail"
    observed = f" ({found.observed})" if found.observed else ""
    return f"{mart}: {found.description}: {fails}, e.g. {found.key}={found.sample_keys[0]}{observed}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations logs what ends up in the verdict; it would appear twice."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
