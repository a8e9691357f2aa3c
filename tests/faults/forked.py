"""A run in a process that was forked where everything that each run imports is imported already, and its dbt likewise.

Importing is a good part of a small run's processor time, and a kill in it meets nothing; the runs of
`tests/integration` start as a user's do. Here belongs only how such processes come about: a run has a session, an
output and an environment of its own, and both import the project's code themselves, from the folder that PYTHONPATH
names.
"""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "dagster_dbt", "dbt.cli.main", "dbt.adapters.duckdb.impl", "great_expectations", "pyarrow.parquet", "pydantic",
        "pylatexenc.latex2text", "requests",
    ]
)  # fmt: skip


class Forked:
    """`python -m pipelines` with these words, with the part of `subprocess.Popen` that the tests use."""

    def __init__(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self._process = _FORKS.Process(target=_main, args=(list(words), str(cwd), dict(env), str(log)), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self.kill = self._process.kill

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("python -m pipelines", timeout)
        return self.returncode


class _ForkedDbt:
    """`pipelines.model.dbt_process` in a fork, with the part of `subprocess.Popen` that its callers use."""

    def __init__(self, project: Path) -> None:
        (given, giving), (hearing, said) = os.pipe(), os.pipe()
        self.args: object = None
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(giving)
            os.close(hearing)
            _be_dbt(project, given, said)
        os.close(given)
        os.close(said)
        self.stdin, self.stdout = os.fdopen(giving, "wb"), os.fdopen(hearing, "rb")

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (timeout or 0)
        while self._ended(0 if timeout is None else os.WNOHANG) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("dbt", timeout or 0)
            time.sleep(0.05)
        return self.returncode or 0

    def _ended(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> None:
        self.stdin.close()
        self.stdout.read()
        self.wait()


def _be_dbt(project: Path, given: int, said: int) -> NoReturn:
    code = 1
    try:
        for source, target in ((given, 0), (said, 1), (said, 2)):
            os.dup2(source, target)
        sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = sys.stdout
        from pipelines.model import dbt_process

        code = dbt_process.main(project)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _main(words: list[str], cwd: str, env: dict[str, str], log: str) -> None:
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = env["PYTHONPATH"].split(os.pathsep)
    sys.argv = ["python -m pipelines", *words]
    from pipelines.__main__ import main
    from pipelines.model import dbt_process

    gc.set_threshold(200_000)  # as a run that starts by itself has it
    dbt_process.start = lambda settings: _ForkedDbt(settings.dbt_project_dir)  # type: ignore[assignment]
    sys.exit(main(words))
