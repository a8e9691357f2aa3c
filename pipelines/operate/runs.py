"""Dagster runs and the processes that execute them: which runs are dead, and their end.

Here belongs how a run that `kill -9` or a power cut ended is recognised and marked as failed: Dagster itself shows it
as started for ever, and with one run at a time nothing queued behind it would begin. What is deleted of old runs
belongs in `maintenance.py`.

The sign of life is a lock of the operating system on `<DAGSTER_HOME>/run_locks/<run id>.lock`, held by the process that
executes the run. The kernel frees it when that process ends, however it ends; unlike a process id it cannot be taken
over by a stranger, and it is seen from another container on the same machine. A run without such a file was started by
something else, and nothing is said about it here.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import dagster as dg

from pipelines.config.settings import Settings
from pipelines.model import dbt_process
from pipelines.sources.fetched import Log

# Set on a run whose failure somebody was told, so that the daemon's sensor does not tell it again.
TOLD_TAG = "peer_reviews/told"
_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def _lock_file(instance: dg.DagsterInstance, run_id: str) -> Path:
    return Path(instance.root_directory) / "run_locks" / f"{run_id}.lock"


@contextmanager
def alive(instance: dg.DagsterInstance, run_id: str) -> Iterator[None]:
    """Show that a run is alive for as long as the block, or this process, lasts."""
    file = _lock_file(instance, run_id)
    file.parent.mkdir(parents=True, exist_ok=True)
    # Locked before it has its name: a file by that name that is not locked always means a dead process.
    unnamed = file.with_suffix(f".{os.getpid()}")
    handle = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        unnamed.rename(file)
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(handle)


def fail_dead_runs(instance: dg.DagsterInstance, log: Log) -> list[dg.DagsterRun]:
    """Mark every unfinished run as failed whose process is gone; returns those runs."""
    dead = []
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=_UNFINISHED)):
        file = _lock_file(instance, run.run_id)
        try:
            handle = os.open(file, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It may have ended properly since it was read.
            now = instance.get_run_by_id(run.run_id)
            if now is not None and not now.is_finished:
                instance.report_run_failed(
                    now, "The process of this run is gone (killed, or the machine stopped). What it had done stays."
                )
                log(f"Run {run.run_id} ({run.job_name}) was marked as failed: its process is gone.")
                dead.append(now)
            file.unlink(missing_ok=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
    return dead


class _ShownAlive(dg.Executor):
    """Dagster's executor of one process, under the lock that shows that the run is alive."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def retries(self) -> Any:
        return self._inner.retries

    @property
    def step_dependency_config(self) -> Any:
        return self._inner.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        builds = "modelled" in execution_plan.step_keys_to_execute
        ahead = dbt_process.started_ahead(Settings()) if builds else nullcontext()
        with alive(plan_context.instance, plan_context.run_id), ahead:
            yield from self._inner.execute(plan_context, execution_plan)


_DAGSTERS: Any = dg.in_process_executor


@dg.executor(name=_DAGSTERS.name, config_schema=_DAGSTERS.config_schema)
def in_process(context: dg.InitExecutorContext) -> dg.Executor:
    """One process for all steps, since every further one would import everything again."""
    return _ShownAlive(_DAGSTERS.executor_creation_fn(context))
