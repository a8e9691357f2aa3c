"""The benchmark: every candidate as a whole process, in turn, on the same input, with the same tables to show for it.

Here belongs which candidates run on what and how often, and what must be equal. How a process is measured is
`measure.py`'s, what becomes of the results `report.py`'s.

    python -m benchmarks.run               sample, S, twenty editions of S, and M for the budgets (`make bench`)
    python -m benchmarks.run --large       memory limits at M and L, then that with M as twenty (`make bench-large`)
    python -m benchmarks.run --only limit polars --sizes S --runs 1

Results go to `benchmarks/results/`; inputs are made once and kept in `benchmarks/data/`. Memory and threads of every
DuckDB are what the environment says (DUCKDB_MEMORY_LIMIT, DUCKDB_THREADS), the pipeline's defaults otherwise.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import fingerprint, generate, inputs, limit, measure, ours
from benchmarks.fingerprint import Fingerprint, Mismatch
from benchmarks.inputs import Input
from benchmarks.measure import Measured

HERE = Path(__file__).parent
PROJECT = HERE.parent
PYTHON = sys.executable
BENCH_PYTHON = PROJECT / ".venv-bench" / "bin" / "python"

# The marts that this input fills.
FILLED = ("reviews", "papers", "paper_authors", "paper_links", "authors", "editions", "row_conservation")
FUNCTION_COLUMNS = {"papers": {"abstract_text"}, "reviews": {"word_count", "has_text"}}
SAMPLE = "sample"


@dataclass
class Bench:
    """One benchmark: where its inputs and scratch folders are, what was measured so far."""

    data: Path
    runs: list[dict[str, Any]] = field(default_factory=list)
    expected: dict[str, dict[str, Fingerprint]] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    profiles: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A new folder beside the inputs, gone at the end."""
        with tempfile.TemporaryDirectory(prefix="scratch-", dir=self.data) as folder:
            yield Path(folder)

    def input(self, size: str) -> list[Input]:
        """The editions of `S`, `M`, `L`, or of `S20`, `M20`: the same papers as twenty editions; made if need be."""
        papers, is_split = inputs.SIZES[size.removesuffix("20")], size.endswith("20")
        path = self.data / (size if is_split else f"{size}.parquet")
        if is_split and len(inputs.folder(path)) < inputs.EDITIONS:
            say(f"making {size}")
            generate.write_editions(papers, inputs.EDITIONS, path)
        elif not is_split and not path.exists():
            say(f"making {size}")
            generate.write(papers, path)
        return inputs.at(path)

    def note(self, candidate: str, size: str, measured: Measured) -> None:
        """Keep a measurement."""
        self.runs.append({"candidate": candidate, "size": size, **asdict(measured)})
        say(
            f"{candidate:<34} {size:<7}{measured.wall:8.1f} s wall {measured.cpu:8.1f} s CPU "
            f"{measured.peak_bytes / 2**20:8.0f} MiB peak   load before {measured.load:.1f}"
        )

    def expect(self, size: str) -> dict[str, Fingerprint]:
        """The fingerprints of the limit's Parquet files, which all others must equal; without it, an extra run's."""
        if size not in self.expected:
            with self.scratch() as folder:
                limit.run(self.input(size), folder / "out", database=False)
                self.expected[size] = fingerprint.of_folder(folder / "out", limit.MARTS)
        return self.expected[size]


@dataclass(frozen=True)
class Candidate:
    """`command(input, out)` is what is measured; `check(bench, size, out)` raises `Mismatch` if its work differs."""

    name: str
    command: Callable[[Path, Path], list[str]]
    check: Callable[[Bench, str, Path], str]
    prepare: Callable[[list[Input], Path], None] = lambda given, out: None
    environment: Callable[[Path], dict[str, str]] = lambda out: {}


def say(message: str) -> None:
    """A line for whoever watches."""
    print(f"{datetime.now(UTC):%H:%M:%S} {message}", flush=True)


# --- what must be equal -----------------------------------------------------------------------------------------------


def same_marts(*, tables: tuple[str, ...] = limit.MARTS, database: bool = False, functions: bool = True) -> Any:
    """A check that the Parquet files, and the database if there is one, hold the tables expected."""

    def check(bench: Bench, size: str, out: Path) -> str:
        expected = {table: bench.expect(size)[table] for table in tables}
        if not functions:
            expected = {table: print_.without(FUNCTION_COLUMNS.get(table, ())) for table, print_ in expected.items()}
        left_out = {} if functions else FUNCTION_COLUMNS
        fingerprint.require_equal(expected, fingerprint.of_folder(out, tables, left_out), f"Parquet files, {size}")
        if database:
            found = fingerprint.of_database(out / limit.DATABASE, tables, left_out)
            fingerprint.require_equal(expected, found, f"database, {size}")
        return f"{len(tables)} tables equal, {sum(print_.rows for print_ in expected.values()):,} rows" + (
            ", in Parquet files and database" if database else ", in Parquet files"
        )

    return check


def sets_the_mark(bench: Bench, size: str, out: Path) -> str:
    """The limit's own check, which makes its Parquet files what the others must equal."""
    bench.expected.setdefault(size, fingerprint.of_folder(out, limit.MARTS))
    return str(same_marts(database=True)(bench, size, out))


def same_raw_rows(bench: Bench, size: str, out: Path) -> str:
    """A check that dlt's tables hold every raw row, review and author, and every raw column of theirs."""
    import duckdb

    paths = ", ".join(limit.quoted(given.path) for given in bench.input(size))
    raw = f"read_parquet([{paths}])"
    nested = {
        "papers": f"(select * exclude (authors, reviews) from {raw})",
        "papers__reviews": f"(select unnest(item) from (select unnest(reviews) as item from {raw}))",
        "papers__authors": f"(select unnest(authors) as value from {raw})",
    }
    with duckdb.connect(out / "dlt.duckdb", read_only=True) as connection:
        expected = {table: fingerprint.of_relation(connection, relation) for table, relation in nested.items()}
        found = {
            table: fingerprint.of_relation(connection, f"raw.{table}", only=expected[table].columns) for table in nested
        }
    fingerprint.require_equal(expected, found, f"dlt, {size}")
    return f"{len(nested)} tables hold the raw rows, {sum(print_.rows for print_ in expected.values()):,} rows"


def ours_equal(bench: Bench, size: str, out: Path) -> str:
    return str(same_marts(database=True)(bench, size, ours.release(out)))


# --- the candidates ---------------------------------------------------------------------------------------------------


def module(name: str, *more: str, python: Path | str = PYTHON) -> Callable[[Path, Path], list[str]]:
    return lambda given, out: [str(python), "-m", f"benchmarks.{name}", str(given), str(out / "out"), *more]


def peer(check: Callable[[Bench, str, Path], str]) -> Callable[[Bench, str, Path], str]:
    return lambda bench, size, out: check(bench, size, out / "out")


def landed(given: list[Input], folder: Path) -> None:
    """Our folder with everything landed, for the candidate that begins after that."""
    ours.prepare(folder, given)
    command = [PYTHON, "-m", "benchmarks.ours", "land", str(folder)]
    subprocess.run(command, env=ours.environment(folder), check=True, stdout=subprocess.DEVNULL)


def run_pipeline(edition: str) -> list[str]:
    return [PYTHON, "-m", "pipelines", "run", "--edition", edition]


CANDIDATES = [
    Candidate("limit", module("limit"), peer(sets_the_mark)),
    Candidate(
        "limit_without_functions",
        module("limit", "--without-functions"),
        peer(same_marts(tables=("reviews", "papers", "paper_links", "editions"), database=True, functions=False)),
    ),
    Candidate("limit_parquet", module("limit", "--no-database"), peer(same_marts())),
    Candidate(
        "limit_parquet_without_functions",
        module("limit", "--no-database", "--without-functions"),
        peer(same_marts(tables=("reviews", "papers", "paper_links", "editions"), functions=False)),
    ),
    Candidate(
        "data_work",
        lambda given, out: [PYTHON, "-m", "benchmarks.ours", "data-work", str(out)],
        ours_equal,
        landed,
        ours.environment,
    ),
    Candidate(
        "whole",
        lambda given, out: run_pipeline("all"),
        ours_equal,
        lambda given, folder: ours.prepare(folder, given),
        ours.environment,
    ),
    Candidate("polars", module("peers.with_polars", python=BENCH_PYTHON), peer(same_marts())),
    Candidate("pandas", module("peers.with_pandas", python=BENCH_PYTHON), peer(same_marts())),
    Candidate("plain_dbt", module("peers.with_dbt"), peer(same_marts(tables=FILLED, database=True))),
    Candidate("dlt", module("peers.with_dlt", python=BENCH_PYTHON), peer(same_raw_rows)),
    Candidate(
        "dlt_with_defaults",
        module("peers.with_dlt", python=BENCH_PYTHON),
        peer(same_raw_rows),
        environment=lambda out: {"DLT_DEFAULTS": "1"},
    ),
]  # fmt: skip
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}
NEEDED_BY_BUDGETS = ["limit", "data_work", "whole", "polars", "dlt"]
RUNS = {SAMPLE: 3, "XS": 3, "S": 3}


def base_environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(PROJECT), "DO_NOT_TRACK": "1"}


def compare(bench: Bench, size: str, names: list[str], runs: int) -> None:
    """Each candidate once a round, so that a busy minute falls on all of them."""
    given = bench.input(size)
    path = Path(given[0].path).parent if len(given) > 1 else Path(given[0].path)
    for round_ in range(runs):
        # What no budget is about is run once.
        in_this_round = names if round_ == 0 else [name for name in names if name in NEEDED_BY_BUDGETS]
        for name in in_this_round:
            candidate = BY_NAME[name]
            with bench.scratch() as out:
                candidate.prepare(given, out)
                environment = base_environment() | candidate.environment(out)
                command = candidate.command(path, out)
                measured = measure.run(command, environment=environment, folder=out, log=out / "log.txt")
                if round_ == 0:
                    said = candidate.check(bench, size, out)
                    bench.checks.append(f"{name}, {size}: {said}")
                if name == "whole":
                    bench.profiles[size] = ours.profile((out / "log.txt").read_text(encoding="utf-8"))
                bench.note(name, size, measured)


def sample(bench: Bench, runs: int) -> None:
    """The built-in sample: a first run, a second with nothing new, and the imports that no run of this stack avoids."""
    dbt = str(Path(PYTHON).parent / "dbt")
    imports = f"{PYTHON} -c 'import dagster_dbt' && {dbt} --version && {PYTHON} -c 'import great_expectations'"
    for _ in range(runs):
        with bench.scratch() as out:
            ours.prepare_sample(out)
            environment = base_environment() | ours.environment(out)
            log = out / "log.txt"
            measured = measure.run(["sh", "-c", imports], environment=environment, folder=out, log=log)
            bench.note("imports", SAMPLE, measured)
            measured = measure.run(run_pipeline(SAMPLE), environment=environment, folder=out, log=log)
            bench.note("whole", SAMPLE, measured)
            bench.profiles[SAMPLE] = ours.profile(log.read_text(encoding="utf-8"))
            before = state(out / "warehouse")
            measured = measure.run(run_pipeline(SAMPLE), environment=environment, folder=out, log=log)
            bench.note("nothing_new", SAMPLE, measured)
            changed = sorted(name for name, what in state(out / "warehouse").items() if before.get(name) != what)
            if changed:
                raise Mismatch(f"A run with nothing new changed files of the warehouse: {', '.join(changed)}.")
            bench.checks.append(f"nothing new, sample: none of {len(before)} files changed")


def state(warehouse: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file of a warehouse, its locks excepted."""
    files = [path for path in warehouse.rglob("*") if path.is_file() and ".locks" not in path.parts]
    return {str(path.relative_to(warehouse)): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def twenty(bench: Bench, size: str, runs: int, *, verify: bool) -> None:
    """All of twenty editions, then all again when the file of one has changed."""
    for round_ in range(runs):
        with bench.scratch() as out:
            copies = out / "upstream"
            copies.mkdir()
            given = []
            for edition in bench.input(size):
                copy = copies / Path(edition.path).name
                copy.hardlink_to(edition.path)
                given.append(Input(**asdict(edition) | {"path": str(copy)}))
            ours.prepare(out, given)
            environment = base_environment() | ours.environment(out)
            run = run_pipeline("all")
            measured = measure.run(run, environment=environment, folder=out, log=out / "log.txt")
            if round_ == 0:
                bench.checks.append(f"twenty editions, {size}: {ours_equal(bench, size, out)}")
            bench.note("twenty_all", size, measured)
            one = copies / f"{given[len(given) // 2].edition_id}.parquet"
            new = out / "new.parquet"
            generate.write_changed(one, new)
            new.replace(one)
            measured = measure.run(run, environment=environment, folder=out, log=out / "log.txt")
            if round_ == 0 and verify:
                limit.run(given, out / "limit", database=False)
                expected = fingerprint.of_folder(out / "limit", limit.MARTS)
                found = fingerprint.of_folder(ours.release(out), limit.MARTS)
                fingerprint.require_equal(expected, found, f"one edition changed, {size}")
                found = fingerprint.of_database(ours.release(out) / limit.DATABASE, limit.MARTS)
                fingerprint.require_equal(expected, found, f"one edition changed, database, {size}")
                bench.checks.append(f"one edition of twenty changed, {size}: {len(found)} tables equal")
            bench.note("twenty_one_changed", size, measured)


def limited_memory(bench: Bench, size: str, memory: str) -> None:
    """A whole run under a memory limit; what DuckDB puts aside on disk is watched."""
    given = bench.input(size)
    raw = sum(Path(edition.path).stat().st_size for edition in given)
    free = shutil.disk_usage(bench.data).free
    # Landed copy, marts, Parquet files, released database.
    if free < 6 * raw:
        say(f"{size} with {memory} is left out: it needs {6 * raw / 1e9:.0f} GB of disk, {free / 1e9:.0f} GB are free")
        return
    with bench.scratch() as out:
        ours.prepare(out, given)
        environment = base_environment() | ours.environment(out, DUCKDB_MEMORY_LIMIT=memory)
        temporary = out / "warehouse" / ".tmp"
        measured = measure.run(
            run_pipeline("all"), environment=environment, folder=out, log=out / "log.txt", temporary=temporary
        )
        import duckdb

        with duckdb.connect(ours.release(out) / limit.DATABASE, read_only=True) as connection:
            (papers,) = connection.execute("select count(*) from papers").fetchone() or (0,)
        if papers != inputs.SIZES[size]:
            raise Mismatch(f"{size} with {memory}: {papers} papers, not {inputs.SIZES[size]}.")
        bench.checks.append(f"whole run of {size} with {memory}: {papers:,} papers")
        bench.note(f"whole_{memory}", size, measured)


# --- what is known about the machine and the inputs -------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """What a reader needs to judge the figures; no names, no paths."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor() or platform.machine(),
    )
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Of what is compared, from both environments."""
    found = {
        name: metadata.version(name) for name in ("dagster", "dbt-core", "dbt-duckdb", "duckdb", "great-expectations")
    }
    names = ("dlt", "pandas", "polars", "pyarrow")
    asked = f"from importlib.metadata import version; print(*map(version, {names}))"
    said = subprocess.run([str(BENCH_PYTHON), "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    return found | dict(zip(names, said, strict=True))


def describe(bench: Bench, size: str) -> dict[str, Any]:
    """Counts and bytes of an input, and how far its review text compresses."""
    import duckdb
    import pyarrow as pa

    given = bench.input(size)
    with duckdb.connect() as connection:
        papers, reviews, text_bytes = connection.execute(
            "select count(*), sum(len(reviews)), sum(list_sum(list_transform(reviews, lambda item: "
            "strlen(item.summary) + strlen(item.strengths) + strlen(item.weaknesses)))) from read_parquet(?)",
            [[edition.path for edition in given]],
        ).fetchall()[0]
        some = connection.execute(
            "select item.weaknesses from (select unnest(reviews) as item from read_parquet(?) limit 2000)",
            [given[0].path],
        ).fetchall()
    text = "\n".join(words for (words,) in some).encode()
    return {
        "editions": len(given),
        "papers": papers,
        "reviews": int(reviews),
        "raw_bytes": sum(Path(edition.path).stat().st_size for edition in given),
        "text_bytes_per_review": round(int(text_bytes) / int(reviews)),
        "zstd_ratio_of_text": round(len(text) / len(pa.compress(text, "zstd")), 2),
    }


def commit() -> str:
    command = ["git", "-C", str(PROJECT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def onto(earlier: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Earlier results with sizes measured anew, say since the machine was busy; the page names both commits."""
    sizes = {run["size"] for run in results["runs"]}
    commits = dict.fromkeys([*earlier["commit"].split(" and "), results["commit"]])
    return earlier | {
        "ended": results["ended"],
        "commit": " and ".join(commits),
        "inputs": earlier["inputs"] | results["inputs"],
        "checks": [check for check in earlier["checks"] if check not in results["checks"]] + results["checks"],
        "profiles": earlier["profiles"] | results["profiles"],
        "runs": [run for run in earlier["runs"] if run["size"] not in sizes] + results["runs"],
    }


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="twenty editions at M, L, the memory limits")
    parser.add_argument("--sizes", nargs="+", help="only these: sample XS S M XS20 S20 M20 memory; XS is to try out")
    parser.add_argument("--only", nargs="+", choices=sorted(BY_NAME), help="only these candidates, at S and M")
    parser.add_argument("--runs", type=int, help="default: 3 at sample and S, of what budgets need; 1 otherwise")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where inputs are kept and scratch folders go")
    parser.add_argument("--results", type=Path, help="default: a new file in benchmarks/results")
    parser.add_argument("--onto", type=Path, help="a results file: what is measured now takes that size's place in it")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md from the results")
    given = parser.parse_args(arguments)
    # The memory limits first: should a run not fit into one, whoever watches knows it early.
    sizes = given.sizes or (["memory"] if given.large else []) + [SAMPLE, "S", "M", "M20" if given.large else "S20"]
    everything = given.only or [candidate.name for candidate in CANDIDATES]
    at_m = given.only or [name for name in NEEDED_BY_BUDGETS if name != "dlt"]
    given.data.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.data.absolute())
    started, load = datetime.now(UTC), os.getloadavg()
    failures = []
    try:
        # dbt's parsed project is part of the set-up and not of a run.
        with bench.scratch() as out:
            ours.prepare_sample(out)
            environment = base_environment() | ours.environment(out)
            measure.run(run_pipeline(SAMPLE), environment=environment, folder=out, log=out / "log.txt")
        for size in sizes:
            runs = given.runs or RUNS.get(size, 1)
            if size == SAMPLE:
                sample(bench, runs)
            elif size == "memory":
                limited_memory(bench, "M", "1GB")
                limited_memory(bench, "L", "2GB")
            elif size.endswith("20"):
                twenty(bench, size, runs, verify=inputs.SIZES[size.removesuffix("20")] <= inputs.SIZES["S"])
            else:
                compare(bench, size, at_m if size == "M" else everything, runs)
    except (Mismatch, measure.Failed) as error:
        # What was measured before is kept, on a page that says that it is a part.
        print(f"Error: {error}", file=sys.stderr)
        failures.append(str(error))
    measured = sorted({run["size"] for run in bench.runs} - {SAMPLE})
    results = {
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "is_complete": given.large and not (given.sizes or given.only or given.runs or failures),
        "commit": commit(),
        "machine": machine() | {"load_at_start": [round(value, 2) for value in load]},
        "versions": versions(),
        "inputs": {size: describe(bench, size) for size in measured},
        "checks": bench.checks,
        "profiles": bench.profiles,
        "runs": bench.runs,
    }
    if given.onto:
        results = onto(json.loads(given.onto.read_text(encoding="utf-8")), results)
    file = given.results or HERE / "results" / f"{started:%Y%m%dT%H%M%SZ}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    command = [str(BENCH_PYTHON), "-m", "benchmarks.report", str(file), *(["--page"] if given.page else [])]
    return subprocess.run(command, env=base_environment()).returncode or bool(failures)


if __name__ == "__main__":
    raise SystemExit(main())
