"""A run in a process that was forked where everything that each run imports is imported already.

That is a third of a small run's processor time, and a kill in it meets nothing; the runs of `tests/integration` start
as a user's do. Here belongs only how such a process comes about: it has a session, an output and an environment of its
own, and imports the project's code itself, from the folder that its PYTHONPATH names.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["dagster_dbt", "great_expectations", "pyarrow.parquet", "pydantic", "requests"])


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

    sys.exit(main(words))
