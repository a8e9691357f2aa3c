"""Jobs, schedules and sensors. Here belongs when things run; what runs belongs in the assets and in the modules that
the sensors and the maintenance job call."""

from collections.abc import Iterator

import dagster as dg

from pipelines import publish
from pipelines.assets.parts import Parts
from pipelines.config.editions import Editions
from pipelines.operate import maintenance, notifications, runs
from pipelines.operate.failures import Failure, step_failures
from pipelines.warehouse import Warehouse

REFRESH = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all(),
    description="Land, stage, model, validate and publish, for one edition or a range of them.",
)


def daily_schedule(editions: Editions) -> dg.ScheduleDefinition:
    """Every morning, each edition marked `active: true`; off until someone switches it on."""

    @dg.schedule(
        job=REFRESH,
        name="daily_refresh",
        cron_schedule="15 5 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Refreshes the editions marked `active: true` at 05:15 UTC.",
    )
    def daily_refresh(
        context: dg.ScheduleEvaluationContext,
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        active = [edition.id for edition in editions.editions if edition.active]
        if not active:
            yield dg.SkipReason("No edition is marked 'active: true' in the editions file.")
        for edition_id in active:
            yield dg.RunRequest(
                run_key=f"{edition_id}-{context.scheduled_execution_time:%Y-%m-%d}", partition_key=edition_id
            )

    return daily_refresh


def maintenance_job(parts: Parts) -> dg.JobDefinition:
    """`maintain`: what `python -m pipelines maintain` does, in the daemon's history."""

    @dg.op(
        name="delete_what_is_old",
        description="Deletes what has outlived the limits in the settings; never what has landed.",
    )
    def maintain(context: dg.OpExecutionContext) -> None:
        freed = maintenance.maintain(parts.warehouse, context.instance, context.log.info)
        context.add_output_metadata({one.what: f"{one.count} ({one.bytes} bytes)" for one in freed})

    @dg.job(name="maintain", description="Keeps the disk use bounded.")
    def maintain_job() -> None:
        maintain()

    return maintain_job


def maintenance_schedule(job: dg.JobDefinition) -> dg.ScheduleDefinition:
    """Every day before the refresh; on from the start, since a full disk is found out too late.

    It needs no network and deletes only beyond the limits that the settings name.
    """
    return dg.ScheduleDefinition(
        name="daily_maintenance",
        job=job,
        cron_schedule="15 4 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Deletes old releases, runs and leftovers at 04:15 UTC, as far as the settings allow.",
    )


def failure_sensor(parts: Parts) -> dg.SensorDefinition:
    """Tells the webhook about every failed run, those of `dagster asset materialize` included.

    On from the start: whoever sets NOTIFY_WEBHOOK_URL expects messages, and without it nothing is sent. It tells one
    run a tick, so that a receiver that is down cannot use up the time that Dagster grants a tick.
    """

    @dg.run_failure_sensor(
        name="tell_failures",
        monitor_all_code_locations=True,  # runs from a command line belong to none
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=15,
        description="Tells failed runs to the webhook of NOTIFY_WEBHOOK_URL, if that is set.",
    )
    def tell_failures(context: dg.RunFailureSensorContext) -> dg.SkipReason:
        if not parts.settings.notify_webhook_url:
            return dg.SkipReason("NOTIFY_WEBHOOK_URL is not set, so nobody is told.")
        run = context.dagster_run
        if runs.TOLD_TAG in run.tags:
            return dg.SkipReason(f"The launcher told the failure of run {run.run_id} itself.")
        told = notifications.notify(failed_run(context.instance, run, parts.warehouse), parts.settings)
        context.log.info(told)
        return dg.SkipReason(told)

    return tell_failures


def failed_run(instance: dg.DagsterInstance, run: dg.DagsterRun, warehouse: Warehouse) -> notifications.RunFailure:
    """What there is to tell about a run that failed, read from Dagster's history."""
    kinds = {
        dg.DagsterEventType.STEP_FAILURE,
        dg.DagsterEventType.ASSET_CHECK_EVALUATION,
        dg.DagsterEventType.RUN_FAILURE,
    }
    events = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kinds) if entry.dagster_event]
    last = [event.message for event in events if event.event_type == dg.DagsterEventType.RUN_FAILURE and event.message]
    reasons = step_failures(events) or [Failure("run", last[-1] if last else "Dagster ended it outside its steps.")]
    first, end = (run.tags.get(f"dagster/asset_partition_range_{side}") for side in ("start", "end"))
    partition = run.tags.get("dagster/partition") or (f"{first} to {end}" if first else None)
    return notifications.RunFailure(run.run_id, run.job_name, partition, reasons, publish.current_id(warehouse))


def dead_runs_sensor() -> dg.SensorDefinition:
    """Marks runs as failed whose process is gone; on from the start.

    Dagster's run monitoring looks only at how long a run has gone on, hours, and with one run at a time a dead one
    holds up the queue, this project's maintenance included: so it has to be a sensor, which needs no run.
    """

    @dg.sensor(
        name="end_dead_runs",
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Marks runs as failed whose process was killed, so that the queue goes on.",
    )
    def end_dead_runs(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        dead = runs.fail_dead_runs(context.instance, context.log.info)
        ids = ", ".join(run.run_id for run in dead)
        return dg.SkipReason(f"Marked as failed: {ids}." if dead else "Every run that is started has its process.")

    return end_dead_runs
