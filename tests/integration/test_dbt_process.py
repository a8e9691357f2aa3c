"""dbt's process, started ahead: it takes the work, ends without any, outlives nobody, reads no project too early."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.model.dbt_process import start_build, started_ahead
from tests.faults.runs import children, is_alive, wait_until


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project of one model, so that there is something to build without a warehouse's tables."""
    project = tmp_path / "dbt_project"
    leave = shutil.ignore_patterns("models", "seeds", "tests", "target", "logs")
    shutil.copytree(PROJECT_DIR / "dbt_project", project, ignore=leave)
    (project / "models").mkdir()
    (project / "models" / "one.sql").write_text("select 1 as number")
    (tmp_path / "warehouse").mkdir()
    return Settings(dbt_project_dir=project)


@pytest.fixture
def started() -> Callable[[], list[int]]:
    """The processes that the test has started and that are still there; other tests may have left this one some."""
    before = set(children(os.getpid()))
    return lambda: [pid for pid in children(os.getpid()) if pid not in before]


def ended(process: "subprocess.Popen[bytes]") -> list[str]:
    """What dbt said, once it has ended well."""
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return [json.loads(line)["info"]["msg"] for line in said.splitlines()]


def test_it_builds_whether_or_not_it_was_started_ahead(
    settings: Settings, tmp_path: Path, started: Callable[[], list[int]]
) -> None:
    with started_ahead(settings):
        (ahead,) = started()
        process = start_build(settings, tmp_path / "target", None)
        assert process.pid == ahead
        assert any(said.startswith("Done. PASS=1 ") for said in ended(process))
        another = start_build(settings, tmp_path / "target", None)
        assert another.pid != ahead
        assert any(said.startswith("Done. PASS=1 ") for said in ended(another))
    assert (tmp_path / "target" / "run_results.json").exists()


def test_without_work_it_ends_with_the_block(settings: Settings, started: Callable[[], list[int]]) -> None:
    with started_ahead(settings):
        assert len(started()) == 1
    assert started() == []


def test_it_outlives_nobody(settings: Settings) -> None:
    code = (
        "import sys, time; from pipelines.model.dbt_process import started_ahead\n"
        "from pipelines.config.settings import Settings\n"
        "with started_ahead(Settings()): print(flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=PROJECT_DIR)
    assert parent.stdout is not None
    with parent.stdout:
        parent.stdout.readline()
    (waiting,) = children(parent.pid)
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not is_alive(waiting), 120)


def change_the_project(settings: Settings, waiting: int) -> None:
    file = settings.dbt_project_dir / "models" / "one.sql"
    os.utime(file, (time.time() + 1,) * 2)


def kill_it(settings: Settings, waiting: int) -> None:
    os.kill(waiting, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(waiting), 60)


@pytest.mark.parametrize("what", [change_the_project, kill_it])
def test_another_takes_the_work_of_one_that_is_of_no_use(
    settings: Settings, tmp_path: Path, started: Callable[[], list[int]], what: Callable[[Settings, int], None]
) -> None:
    with started_ahead(settings):
        (waiting,) = started()
        what(settings, waiting)
        process = start_build(settings, tmp_path / "target", None)
        assert process.pid != waiting
        assert any(said.startswith("Done. PASS=1 ") for said in ended(process))
    assert started() == []


def test_what_cannot_be_built_is_said_in_its_output(settings: Settings, tmp_path: Path) -> None:
    (settings.dbt_project_dir / "models" / "one.sql").write_text("select {{ nothing() }}")
    with started_ahead(settings):
        process = start_build(settings, tmp_path / "target", None)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert b"'nothing' is undefined" in said
