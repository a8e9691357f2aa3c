"""What a benchmark's results say: the figures with their budgets, a page and a chart.

Here belongs how results are read; every number on the page is computed from the results file. Runs in the peers'
environment (altair, vl-convert): `python -m benchmarks.report RESULTS [--page]`.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
SAMPLE = "sample"
SIZES = {"XS": "400 papers", "S": "20,000 papers", "M": "200,000 papers"}
QUIET_LOAD = 1.0

# What each candidate is, in the page's order.
CANDIDATES = {
    "limit_parquet_without_functions": "bare DuckDB, Parquet only, without the Python functions",
    "limit_parquet": "bare DuckDB, Parquet only",
    "limit_without_functions": "bare DuckDB, Parquet and database, without the Python functions",
    "limit": "**the limit**: bare DuckDB, Parquet and database",
    "polars": "polars, Parquet only",
    "pandas": "pandas, Parquet only",
    "plain_dbt": "plain dbt project with wide staging, Parquet and database",
    "dlt": "dlt, raw rows in child tables, tuned",
    "dlt_with_defaults": "dlt, raw rows in child tables, its defaults",
    "data_work": "**this pipeline**, data work: Parquet and database",
    "whole": "**this pipeline**, whole run: land to publish",
}
OTHERS = {
    "imports": "import dagster_dbt, `dbt --version`, import great_expectations",
    "nothing_new": "whole run with nothing new",
    "twenty_all": "whole run of twenty editions",
    "twenty_one_changed": "whole run after one edition of the twenty changed",
    "whole_1GB": "whole run with `DUCKDB_MEMORY_LIMIT=1GB`",
    "whole_2GB": "whole run with `DUCKDB_MEMORY_LIMIT=2GB`",
}


@dataclass(frozen=True)
class Budget:
    """One row of the table of budgets: a ratio of two medians, or one median in GiB, and the most it may be."""

    name: str
    over: tuple[str, str]
    under: tuple[str, str] | None
    measure: str
    most: float
    unit: str = ""


BUDGETS = [
    Budget("data work at M / the limit (Parquet and database), CPU", ("data_work", "M"), ("limit", "M"), "cpu", 1.5),
    Budget(
        "whole run of the sample / (import dagster_dbt + `dbt --version` + import great_expectations), wall",
        ("whole", SAMPLE), ("imports", SAMPLE), "wall", 1.2,
    ),
    Budget("whole run at S / dlt on the same rows, tuned, CPU", ("whole", "S"), ("dlt", "S"), "cpu", 0.35),
    Budget(
        "whole run at S / dlt on the same rows, its defaults, CPU",
        ("whole", "S"), ("dlt_with_defaults", "S"), "cpu", 0.35,
    ),
    Budget("whole run at M / polars script at M, CPU", ("whole", "M"), ("polars", "M"), "cpu", 2.5),
    Budget("M / S, data work, CPU", ("data_work", "M"), ("data_work", "S"), "cpu", 11),
    Budget("nothing new / full, sample, wall", ("nothing_new", SAMPLE), ("whole", SAMPLE), "wall", 0.7),
    Budget(
        "one edition of twenty changed / all twenty, M, wall",
        ("twenty_one_changed", "M20"), ("twenty_all", "M20"), "wall", 0.4,
    ),
    Budget(
        "one edition of twenty changed / all twenty, S, wall",
        ("twenty_one_changed", "S20"), ("twenty_all", "S20"), "wall", 0.4,
    ),
    Budget("peak memory of a whole run of L with a limit of 2 GB", ("whole_2GB", "L"), None, "peak_bytes", 3, "GiB"),
    Budget("peak memory of a whole run of M with a limit of 1 GB", ("whole_1GB", "M"), None, "peak_bytes", 3, "GiB"),
]  # fmt: skip


def medians(results: dict[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """The median of each measure by candidate and size, and how many `runs` it is of."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in results["runs"]:
        runs.setdefault((run["candidate"], run["size"]), []).append(run)
    measures = ("wall", "cpu", "peak_bytes", "temporary_bytes")
    return {
        key: {measure: median(run[measure] for run in group) for measure in measures} | {"runs": len(group)}
        for key, group in runs.items()
    }


def figures(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Each budget with its value and whether it is met; None where it was not measured."""
    found = medians(results)
    rows = []
    for budget in BUDGETS:
        above = found.get(budget.over)
        below = found.get(budget.under) if budget.under else {budget.measure: 2**30}
        value = above[budget.measure] / below[budget.measure] if above and below else None
        rows.append(
            {
                "figure": budget.name,
                "value": value,
                "at_most": budget.most,
                "unit": budget.unit,
                "is_met": None if value is None else value <= budget.most,
            }
        )
    return rows


def budget_table(results: dict[str, Any]) -> str:
    lines = ["| figure | at most | measured | |", "|---|---|---|---|"]
    for row in figures(results):
        unit = f" {row['unit']}" if row["unit"] else ""
        measured = "not measured" if row["value"] is None else f"{row['value']:.2f}{unit}"
        mark = {None: "", True: "met", False: "**missed**"}[row["is_met"]]
        lines.append(f"| {row['figure']} | {row['at_most']:g}{unit} | {measured} | {mark} |")
    return "\n".join(lines)


def size_table(results: dict[str, Any], size: str) -> str:
    found = medians(results)
    limit = found.get(("limit", size))
    lines = ["| candidate | wall, s | CPU, s | CPU / limit | peak memory, MiB | runs |", "|---|---|---|---|---|---|"]
    for name, what in CANDIDATES.items():
        if row := found.get((name, size)):
            ratio = f"{row['cpu'] / limit['cpu']:.2f}" if limit else ""
            lines.append(
                f"| {what} | {row['wall']:.1f} | {row['cpu']:.1f} | {ratio} | {row['peak_bytes'] / 2**20:.0f} | "
                f"{row['runs']} |"
            )
    return "\n".join(lines)


def other_table(results: dict[str, Any]) -> str:
    lines = [
        "| what | input | wall, s | CPU, s | peak memory, MiB | temporary files, MiB | runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, size), row in medians(results).items():
        if name in OTHERS or size == SAMPLE:
            what = OTHERS.get(name, "whole run, the first")
            lines.append(
                f"| {what} | {size} | {row['wall']:.1f} | {row['cpu']:.1f} | {row['peak_bytes'] / 2**20:.0f} | "
                f"{row['temporary_bytes'] / 2**20:.0f} | {row['runs']} |"
            )
    return "\n".join(lines)


def page(results: dict[str, Any]) -> str:
    """`docs/performance.md`."""
    machine, inputs = results["machine"], results["inputs"]
    loads = [run["load"] for run in results["runs"]]
    is_quiet = median(loads) <= QUIET_LOAD + 1 and results["machine"]["load_at_start"][0] <= QUIET_LOAD
    marks = []
    if not results["is_complete"]:
        marks.append("This page is from a part of the benchmark only; `make bench-large` makes the whole.")
    if not is_quiet:
        marks.append("The machine was busy with other work meanwhile: times are too long, and ratios uncertain.")
    notice = "".join(f"\n> **Preliminary.** {mark}\n" for mark in marks)
    shapes = "\n".join(
        f"| {size} | {made['editions']} | {made['papers']:,} | {made['reviews']:,} | {made['raw_bytes'] / 1e6:,.0f} | "
        f"{made['text_bytes_per_review']:,} | {made['zstd_ratio_of_text']} |"
        for size, made in inputs.items()
    )
    compared = [size for size in SIZES if any(run["size"] == size for run in results["runs"])]
    tables = "\n\n".join(f"### {size}\n\n{size_table(results, size)}" for size in compared)
    checks = "\n".join(f"* {check}" for check in results["checks"])
    profiles = "\n".join(f"{size}:\n\n```\n{table}\n```\n" for size, table in results["profiles"].items() if table)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results["versions"].items()))
    return f"""<!-- Made by benchmarks/report.py from a results file; `make bench-large` makes it anew. -->
# Performance
{notice}
What a run costs, beside the least that DuckDB can do and beside what else people would use. Every candidate is a whole
process on the same raw files; medians of runs that took turns. CPU is user and system time of the process and all its
children, memory the largest sum of resident memory over them.

{machine["cpu"]}, {machine["cores"]} cores, {machine["memory_gib"]} GiB, {machine["system"]}, Python
{machine["python"]}. From {results["started"]} to {results["ended"]}, commit {results["commit"]}. Load over one minute
before each run: {min(loads):.1f} to {max(loads):.1f}, median {median(loads):.1f}. {versions}.

## Budgets

{budget_table(results)}

## Candidates

![CPU seconds of each candidate](performance.svg)

{tables}

* **The limit** is `benchmarks/limit.py`: the same marts by one script of bare DuckDB that knows this input; it leaves
  out landing, hashes, contracts, other sources, merging, tests and the gate. No SQL reads LaTeX, so it calls the
  pipeline's own Python functions (`plain_text`, `word_count`, `name_key`); without them their columns are NULL.
* **Data work** is stage + model + export: from landed files to a release candidate, with the start of Python and of
  dbt, the contract check, the hash of every file read and written, dbt's tests. The gate, the manifest and Dagster come
  on top in the **whole run**, which also copies and hashes the raw files.
* polars and pandas write the same Parquet files and no database. dlt loads the raw rows into child tables and makes no
  marts; "tuned" is Parquet between its steps, pages of rows and as many processes as cores. The plain dbt project keeps
  wide staging tables, de-duplicates by window, and exports by a hook.

## Where our time goes

What a whole run prints at its end, of the last run at each size.

{profiles}
## Other runs

{other_table(results)}

## Inputs

| input | editions | papers | reviews | raw, MB | text per review, bytes | zstd makes the text smaller by |
|---|---|---|---|---|---|---|
{shapes}

`benchmarks/generate.py` makes them: the Hub dataset's schema, word frequencies by Zipf's law, lengths as in ICLR 2026.

## What was equal

A fingerprint (rows, and the sum of the hashes of rows as text) that does not depend on order; a difference ends the
benchmark.

{checks}
"""


def chart(results: dict[str, Any]) -> str:
    """An SVG with the CPU seconds of each candidate, a panel for each size."""
    import altair
    import vl_convert

    plain = {name: what.replace("*", "") for name, what in CANDIDATES.items()}
    rows = [
        {
            "candidate": plain[name],
            "CPU seconds": row["cpu"],
            "size": size,
            "who": "this pipeline" if name in ("data_work", "whole") else "the limit" if "limit" in name else "peers",
        }
        for (name, size), row in medians(results).items()
        if name in plain and size in SIZES
    ]
    order = list(plain.values())
    colours = altair.Scale(domain=["this pipeline", "the limit", "peers"], range=["#0072B2", "#009E73", "#999999"])
    # Rows as they are: altair's own data transformer would want a data frame.
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("candidate:N", sort=order, title=None, axis=altair.Axis(labelLimit=420)),
        x=altair.X("CPU seconds:Q", title="CPU seconds, median"),
    )
    bars = base.mark_bar().encode(color=altair.Color("who:N", scale=colours, title=None))
    labels = base.mark_text(align="left", dx=3).encode(text=altair.Text("CPU seconds:Q", format=".1f"))
    panels = [
        (bars + labels).transform_filter(f"datum.size == '{size}'").properties(width=420, title=title)
        for size, title in SIZES.items()
        if any(row["size"] == size for row in rows)
    ]
    whole = altair.vconcat(*panels).resolve_scale(x="independent", y="independent").configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(whole.to_json()))


def main(arguments: list[str] | None = None) -> int:
    """Print the figures of a results file; with `--page`, write the page and the chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--page", action="store_true", help="write docs/performance.md and docs/performance.svg")
    given = parser.parse_args(arguments)
    results = json.loads(given.results.read_text(encoding="utf-8"))
    print(f"\n{budget_table(results)}\n")
    for size in SIZES:
        if any(run["size"] == size for run in results["runs"]):
            print(f"{size}\n{size_table(results, size)}\n")
    print(f"{other_table(results)}\n\nResults: {given.results}")
    if given.page:
        (DOCS / "performance.md").write_text(page(results), encoding="utf-8")
        (DOCS / "performance.svg").write_text(chart(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
