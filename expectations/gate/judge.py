"""Judges a candidate: runs every suite on what was read, so that nothing is a success by accident.

Here belongs the order of the steps, and what a result of Great Expectations means: whatever could not be checked fails.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectations import CANDIDATE, CHECKS, Batch, Suite, expect, load_suites
from expectations.gate.read import GateError, Tables, contract_of
from expectations.gate.report import Collected, ExpectationResult, FailingRow, Verdict
from expectations.gate.runner import SAMPLE_KEYS, Runner, quiet
from pipelines.warehouse import Warehouse, first_line

if TYPE_CHECKING:
    import pandas as pd


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
    found = Collected()
    # Most of the memory is for the frames that Great Expectations looks at.
    with warehouse.memory(candidate, share=0.25) as connection, quiet():
        contract = contract_of(warehouse)
        tables = Tables(connection, candidate, contract)
        tables.read(suites, previous or {})
        try:
            runner = Runner()
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


def _check_batch(mart: str, batch: Batch, tables: Tables, runner: Runner, found: Collected) -> None:
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
    failing = [_failing(row, batch.key, columns) for row in rows]
    if "observed_value" in outcome:
        observed = _plain(outcome["observed_value"])
    else:
        observed = failing[0].observed if failing else ""
    unexpected_count = int(outcome.get("unexpected_count") or 0)
    # Only what is known row by row can be accepted row by row.
    is_acceptable = expect.is_plausibility(config.meta) and len(failing) == unexpected_count
    return ExpectationResult(
        type=config.type,
        columns=columns,
        description=config.description,
        severity="warning" if config.severity.value == "warning" else "critical",
        success=bool(result.success),
        observed=observed,
        unexpected_count=unexpected_count,
        element_count=int(outcome.get("element_count") or len(frame)),
        row=batch.row,
        key=":".join(batch.key),
        sample_keys=[row.key for row in failing[:SAMPLE_KEYS]],
        failing=failing if is_acceptable else [],
    )


def _failing(row: Mapping[str, Any], key: Sequence[str], columns: Sequence[str]) -> FailingRow:
    shown = [column for column in columns if column not in key]
    return FailingRow(
        key=":".join(_plain(row[column]) for column in key),
        observed=", ".join(f"{column} {_plain(row[column])}" for column in shown),
        values=", ".join(f"{column} {row[column]}" for column in shown),
    )


def _plain(value: Any) -> str:
    """A value as short text."""
    if isinstance(value, float):
        return "null" if math.isnan(value) else f"{value:g}"
    text = "null" if value is None or str(value) == "<NA>" else html.unescape(str(value))
    return text if len(text) <= 200 else f"{text[:200]}…"
