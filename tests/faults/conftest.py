"""What the fault tests count, and their report: faults injected, recoveries, rows lost, wrong reads.

Tests say what happened through the fixture `tally`; nothing is typed in. A test marked `faults` that counts nothing
itself is one fault and, where it passes, one recovery. `faults_full` tests run only where the marker is asked for.
The report appears at the end of every run that was asked for faults, and as JSON where FAULTS_REPORT names a file.
"""

import json
import os
import platform
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.faults.reader import Reader
from tests.faults.runs import Place, copy_project, wait_until
from tests.faults.tally import Tally


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Counters of this test, part of its report."""
    counted = Tally()
    yield counted
    request.node.user_properties.append(("tally", asdict(counted)))


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project for all tests that leave it as it is."""
    return copy_project(tmp_path_factory.mktemp("copy"))


@pytest.fixture(scope="module")
def place(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where whole runs happen: one edition, one release, and it is known how long a run takes."""
    place = Place(tmp_path_factory.mktemp("runs"), project)
    place.news()
    place.complete()
    return place


@pytest.fixture
def reader(place: Place, tmp_path: Path, tally: Tally) -> Iterator[Reader]:
    """Reads from before the fault until after the recovery; none of its readings may be wrong."""
    # Beside a run that takes many seconds; it should not take the processor from that.
    with Reader(place.root, tmp_path / "readings", pause=0.8) as reader:
        assert wait_until(lambda: reader.readings, 60)
        yield reader
    tally.reads, wrong = reader.judge()
    tally.wrong_reads = len(wrong)
    assert wrong == []


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that sees every test's outcome reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config), "fault report")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note each fault test's area, and leave the long ones out unless they are asked for."""
    kept, left = [], []
    for item in items:
        if marker := item.get_closest_marker("faults"):
            item.user_properties.append(("fault area", marker.args[0]))
        is_left = item.get_closest_marker("faults_full") and "faults_full" not in config.option.markexpr
        (left if is_left else kept).append(item)
    if left:
        items[:] = kept
        config.hook.pytest_deselected(items=left)


class _Report:
    def __init__(self, config: pytest.Config) -> None:
        self._is_asked = "faults" in config.option.markexpr
        self._is_full = "faults_full" in config.option.markexpr
        self._outcomes: dict[str, str] = {}
        self._areas: dict[str, dict[str, Any]] = defaultdict(
            lambda: {"tests": 0, "failed": 0, "skipped": 0} | asdict(Tally())
        )
        self._skips: dict[str, str] = {}
        self._began = datetime.now(UTC)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if "fault area" not in properties:
            return
        if not report.passed or report.when == "call":
            worst = self._outcomes.get(report.nodeid)
            self._outcomes[report.nodeid] = worst if worst == "failed" else report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skips[report.nodeid] = str(report.longrepr[2]).removeprefix("Skipped: ")
        if report.when != "teardown":
            return
        outcome = self._outcomes.get(report.nodeid, "failed")
        area = self._areas[str(properties["fault area"])]
        area["tests"] += 1
        area["failed"] += outcome == "failed"
        area["skipped"] += outcome == "skipped"
        passed = int(outcome == "passed")
        counted = properties.get("tally", asdict(Tally()))
        if not counted["injected"] and not counted["reads"] and outcome != "skipped":
            counted = asdict(Tally(injected=1, recovered=passed))
        for name, value in counted.items():
            area[name] += value

    def figures(self) -> dict[str, Any]:
        """The report as plain values."""
        areas = {name: self._areas[name] for name in sorted(self._areas)}
        names = ("tests", "failed", "skipped", *asdict(Tally()))
        return {
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round((datetime.now(UTC) - self._began).total_seconds()),
            "set": "full" if self._is_full else "fast",
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "versions": {name: metadata.version(name) for name in ("dagster", "dbt-core", "duckdb")},
            "total": {name: sum(area[name] for area in areas.values()) for name in names},
            "areas": areas,
            "skips": sorted(set(self._skips.values())),
        }

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._is_asked or not self._areas:
            return
        figures = self.figures()
        terminalreporter.section("faults")
        for name, area in [*figures["areas"].items(), ("total", figures["total"])]:
            terminalreporter.write_line(
                f"{name:<14}{area['tests']:>5} tests {area['failed']:>3} failed {area['skipped']:>3} skipped"
                f"{area['injected']:>6} faults injected{area['recovered']:>6} recoveries"
                f"{area['rows_lost']:>4} rows lost{area['wrong_reads']:>4} wrong of {area['reads']} reads"
            )
        for reason in figures["skips"]:
            terminalreporter.write_line(f"skipped: {reason}")
        if path := os.environ.get("FAULTS_REPORT"):
            Path(path).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
