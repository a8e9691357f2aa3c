"""The process that builds all models: started before there is work for it, given its work, ended.

Python imports dbt and dbt reads its project for seconds before a model runs. A process of its own does that while this
one still imports Dagster and lands files. Here belongs only how it starts, waits and is told what to do; what Dagster
makes of its output belongs in `assets/modelled.py`.

    python -m pipelines.model.dbt_process        wait for one line of JSON, the work; without one, end
"""

import contextlib
import gc
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.model import dbt_manifest

# Unit tests are about the SQL and these tests about the seeds, not about the data; the test suite runs them.
TESTED_ELSEWHERE = "tag:fixed resource_type:unit_test"

# dbt would write two thousand debug lines a run; what it says at `info` is in the run's own log as well.
FLAGS = ("--no-use-colors", "--log-level-file", "info", "--log-format-file", "debug")

_waiting: "tuple[subprocess.Popen[bytes], float] | None" = None


def environment(settings: Settings, released: Path | None = None) -> dict[str, str]:
    """What `profiles.yml` and the plugin in it read from the environment."""
    return {
        "RELEASED_DATABASE": str(released or ""),
        "WAREHOUSE_DIR": str(settings.warehouse_dir),
        "DUCKDB_MEMORY_LIMIT": settings.memory_limit,
        "DUCKDB_THREADS": str(settings.threads),
        "DUCKDB_TEMP_DIR": str(settings.temp_dir or ""),
        "DO_NOT_TRACK": "1",
    }


@contextmanager
def started_ahead(settings: Settings) -> Iterator[None]:
    """Have a process ready for the `start_build` in the block; it ends with the block if there was none.

    It ends as well, by itself, when this process dies.
    """
    global _waiting
    _waiting = (start(settings), time.time())
    try:
        yield
    finally:
        if _waiting:
            _dismiss(_waiting[0])
            _waiting = None


def start_build(
    settings: Settings, target: Path, released: Path | None, selected: Sequence[str] = ()
) -> "subprocess.Popen[bytes]":
    """Have dbt build and test all models; its standard output is a JSON event a line.

    Args:
        target: A new folder for what dbt writes about this build.
        released: The database from which the models take what did not change, if there is one.
        selected: The names of models, seeds and tests: these alone, if there are any.
    """
    arguments = [*FLAGS, "--log-format", "json", "build", "--exclude", *TESTED_ELSEWHERE.split()]
    if selected:
        arguments += ["--indirect-selection", "empty", "--select", *selected]
    arguments += ["--project-dir", str(settings.dbt_project_dir), "--profiles-dir", str(settings.dbt_project_dir)]
    arguments += ["--target-path", str(target), "--log-path", str(target)]
    variables = os.environ | environment(settings, released)
    work = json.dumps({"arguments": arguments, "environment": variables}).encode() + b"\n"
    process = _take(settings)
    try:
        _give(process, work)
    except BrokenPipeError:  # it died while it waited
        process.wait()
        process = start(settings)
        _give(process, work)
    process.args = ["dbt", *arguments]
    return process


def _take(settings: Settings) -> "subprocess.Popen[bytes]":
    """The process that waits, unless what it has read of the project is out of date; else a new one."""
    global _waiting
    waiting, _waiting = _waiting, None
    if waiting is None:
        return start(settings)
    process, since = waiting
    if dbt_manifest.newest_source(settings.dbt_project_dir) < since:
        return process
    _dismiss(process)
    return start(settings)


def start(settings: Settings) -> "subprocess.Popen[bytes]":
    """A new process, which reads the project and then waits for its work."""
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-u", "-m", "pipelines.model.dbt_process", str(settings.dbt_project_dir)],
        cwd=PROJECT_DIR,  # so that it imports this very code
        env=os.environ | environment(settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _give(process: "subprocess.Popen[bytes]", work: bytes) -> None:
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(work)
    process.stdin = None  # or `communicate` would flush it


def _dismiss(process: "subprocess.Popen[bytes]") -> None:
    process.kill()  # it has opened nothing but the project's files, to read
    process.communicate()


def main(project: Path) -> int:
    """The process itself; returns dbt's exit code."""
    from dbt.cli.main import dbtRunner
    from dbt.contracts.graph.manifest import Manifest

    import pipelines.model.dbt_functions  # noqa: F401  # the plugin that the profile names

    os.chdir(project)
    parsed = None
    # Only where nothing needs to be parsed anew: whoever does that writes to the project's own target folder.
    if dbt_manifest.state(project) == "current":
        reading = ["parse", "--no-write-json", "--log-level-file", "none"]
        with contextlib.redirect_stdout(io.StringIO()):
            done = dbtRunner().invoke([*reading, "--project-dir", str(project), "--profiles-dir", str(project)])
        # Where it did not succeed, the build says what is wrong.
        parsed = done.result if done.success and isinstance(done.result, Manifest) else None
    line = sys.stdin.readline()
    if not line:
        return 0
    work = json.loads(line)
    os.environ.clear()
    os.environ.update(work["environment"])
    built = dbtRunner(manifest=parsed).invoke(work["arguments"])
    return 0 if built.success else 1 if built.exception is None else 2


if __name__ == "__main__":
    # As in `__main__.py`: most of what is made stays.
    gc.set_threshold(200_000)
    code = main(Path(sys.argv[1]))
    gc.freeze()
    raise SystemExit(code)
