"""The launcher behind `make run` and `make dev`: a persistent Dagster home, one run, and what came of it.

Here belongs what a person at a terminal needs around a run. Dagster is imported where it is used, since the process
that builds the models is to start before that. The run itself is plain Dagster:
`dagster asset materialize -m pipelines.definitions --select '*' --partition sample` does the same.
"""

import contextlib
import dataclasses
import logging
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import publish
from pipelines.config.editions import load_editions
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.config.time_limits import interrupted_after
from pipelines.model import dbt_process
from pipelines.warehouse import Warehouse

if TYPE_CHECKING:
    import dagster as dg

    from pipelines.operate.failures import Failure

EXAMPLE = """\
select
    edition_id,
    status,
    count(*) as papers,
    round(avg(rating_mean), 2) as mean_rating
from papers
group by edition_id, status
order by edition_id, papers desc"""


def prepare_dagster_home() -> Path:
    """Create the Dagster home folder on first use and name it, as an absolute path, in the environment."""
    home = Path(os.environ.get("DAGSTER_HOME") or PROJECT_DIR / ".dagster").expanduser().absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(PROJECT_DIR / "dagster.yaml", home / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def run(settings: Settings, edition_id: str, load_definitions: Callable[[], "dg.Definitions"]) -> int:
    """Materialise everything for one edition, for `all` or for the `sample` of all years, and print the outcome.

    Returns the exit code. The definitions are loaded once the process that builds the models has been started.

    Raises:
        EditionsError: there is no such edition, or the editions file has a mistake.
    """
    warehouse = Warehouse(settings)
    editions = load_editions(settings.editions_file)
    ids = editions.run_together(edition_id)
    prepare_dagster_home()
    before = publish.current_id(warehouse)
    print(f"Running {edition_id} in {warehouse.root} ...", file=sys.stderr)
    with dbt_process.started_ahead(settings):
        failures = _materialise(ids, settings, load_definitions)
    if failures:
        print(f"The run failed; the current release is still {before or 'none'}.", file=sys.stderr)
        for failure in failures:
            print(f"Error: {failure}", file=sys.stderr)
        return 1
    _print_release(warehouse, before)
    return 0


def _materialise(
    edition_ids: list[str], settings: Settings, load_definitions: Callable[[], "dg.Definitions"]
) -> "list[Failure]":
    """Run the job in this process, with one model pass; returns one sentence for each step that failed.

    Nobody watches a launcher's run as the daemon's sensors watch theirs, so it tells its failure by itself, and that of
    an earlier one which was killed before it could.
    """
    import dagster as dg

    from pipelines.operate import runs
    from pipelines.operate.console import calm_stdout, short_lines
    from pipelines.operate.failures import INTERRUPTED, Failure, step_failures

    # An interrupt that meets SQLAlchemy as it closes a connection would be logged with a traceback.
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
    calm = dg.Definitions.merge(load_definitions(), dg.Definitions(loggers={"console": short_lines}))
    run_id = str(uuid.uuid4())
    with dg.DagsterInstance.get() as instance:
        for dead in runs.fail_dead_runs(instance, lambda message: print(message, file=sys.stderr)):
            _tell(instance, dead.run_id, settings)
        result = None
        with (
            interrupted_after(settings.run_seconds) as is_late,
            contextlib.suppress(KeyboardInterrupt, dg.DagsterExecutionInterruptedError),
            runs.alive(instance, run_id),
            calm_stdout(),
        ):
            result = calm.resolve_job_def("refresh").execute_in_process(
                run_id=run_id,
                partition_key=edition_ids[0] if len(edition_ids) == 1 else None,
                tags=_range_tags(edition_ids),
                instance=instance,
                run_config={"loggers": {"console": {}}},
                raise_on_error=False,
            )
        run = instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            # Interrupted before Dagster had begun, which then writes down no end.
            instance.report_run_failed(run, "The run was interrupted.")
        if result is not None and result.success:
            _print_profile(result)
            return []
        if is_late.is_set():
            limit = f"RUN_SECONDS={settings.run_seconds:g} seconds"
            failed = [Failure("run", f"it took longer than {limit} and was stopped; raise it if that is too short.")]
        elif result is None:
            return [Failure("run", INTERRUPTED)]  # somebody pressed Ctrl-C, and need not be told
        else:
            failed = step_failures(result.all_events) or [Failure("run", "Dagster ended it outside its steps.")]
        _tell(instance, run_id, settings, failed)
        print(f"\nTracebacks are in the UI (make dev), run {run_id}.", file=sys.stderr)
        return failed


def _print_profile(result: Any) -> None:
    """What each stage cost, as the assets' metadata have it, in the order of the run."""
    from pipelines.assets.costs import as_lines

    profile: dict[str, Any] = {}
    for event in result.all_events:
        if event.is_step_materialization and (found := event.materialization.metadata.get("profile")):
            profile |= found.value
    print("\n" + "\n".join(as_lines(profile)))


def _tell(instance: Any, run_id: str, settings: Settings, failed: "list[Failure] | None" = None) -> None:
    """Tell the webhook, if there is one, that a run failed; why, if it is not known here, is in Dagster's history."""
    from pipelines.operate import notifications, runs
    from pipelines.operate.automation import failed_run

    if not settings.notify_webhook_url:
        return
    if run := instance.get_run_by_id(run_id):
        instance.add_run_tags(run_id, {runs.TOLD_TAG: "launcher"})
        message = failed_run(instance, run, Warehouse(settings))
    else:  # interrupted before Dagster knew of it
        message = notifications.RunFailure(run_id, "refresh", None, [], publish.current_id(Warehouse(settings)))
    if failed:
        message = dataclasses.replace(message, failures=failed)
    print(notifications.notify(message, settings), file=sys.stderr)


def _range_tags(edition_ids: list[str]) -> dict[str, str]:
    """The tags by which Dagster's single-run back-fills name a range of partitions, here the whole file's."""
    if len(edition_ids) == 1:
        return {}
    first, last = edition_ids[0], edition_ids[-1]
    return {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}


def _print_release(warehouse: Warehouse, before: str | None) -> None:
    current = publish.current_id(warehouse)
    if current is None:
        return
    folder = warehouse.releases / current
    manifest = publish.read_manifest(folder)
    print(f"\nRelease {current} ({'as before, nothing is new' if current == before else 'new'})")
    if manifest["is_synthetic"]:
        print("It is SYNTHETIC: the built-in sample of made-up papers and reviews.")
    for name, mart in manifest["marts"].items():
        print(f"  {name:<20}{mart['rows']:>9,} rows")
    warnings = manifest["gate"].get("messages", [])
    accepted = manifest["gate"].get("acceptances", [])
    said = f"refused, {len(accepted)} finding(s) accepted by an operator" if accepted else "passed"
    print(f"Gate: {said}, {len(warnings) - len(accepted)} warning(s)")
    for message in warnings:
        print(f"  {message}")
    print(f"Parquet:  {folder}\nDuckDB:   {warehouse.database}\n")
    print(EXAMPLE + ";\n")
    with warehouse.connect(folder / publish.DATABASE, read_only=True) as connection:
        print(connection.sql(EXAMPLE))


def develop(settings: Settings, port: int) -> None:
    """Replace this process by the Dagster UI and daemon, on the loopback address.

    Raises:
        EditionsError: the editions file has a mistake.
    """
    load_editions(settings.editions_file)
    home = prepare_dagster_home()
    os.environ |= {"WAREHOUSE_DIR": str(settings.warehouse_dir), "EDITIONS_FILE": str(settings.editions_file)}
    os.environ.setdefault("PYTHONWARNINGS", "ignore:Function `dev_command` is superseded")
    # Dagster ends its services by this signal, which a shell's `&` and nohup leave ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # From a folder without .env: Dagster would let that file overrule the environment.
    os.chdir(home)
    command = [str(Path(sys.executable).parent / "dagster"), "dev", "--workspace", str(PROJECT_DIR / "workspace.yaml")]
    os.execv(command[0], [*command, "--host", "127.0.0.1", "--port", str(port)])  # noqa: S606


def maintain(settings: Settings) -> int:
    """Delete what has outlived its limits, mark dead runs as failed, and print what that freed; returns the exit code.

    Raises:
        WarehouseError: another process still writes after `LOCK_WAIT_SECONDS`.
    """
    import dagster as dg

    from pipelines.operate import maintenance, runs

    prepare_dagster_home()
    with dg.DagsterInstance.get() as instance:
        for dead in runs.fail_dead_runs(instance, print):
            _tell(instance, dead.run_id, settings)
        freed = maintenance.maintain(Warehouse(settings), instance, print)
    print(f"{maintenance.total(freed):,} bytes were freed.")
    return 0
