"""Jobs and schedules. Here belongs when things run; what runs belongs in the assets."""

from collections.abc import Iterator

import dagster as dg

from pipelines.editions import Editions


def refresh_job(partitions: dg.PartitionsDefinition[str]) -> dg.JobDefinition:
    """The one job: everything, for one edition."""
    return dg.define_asset_job(  # type: ignore[return-value]
        "refresh",
        selection=dg.AssetSelection.all(),
        partitions_def=partitions,
        description="Land, stage, model, validate and publish, for one edition.",
    )


def daily_schedule(job: dg.JobDefinition, editions: Editions) -> dg.ScheduleDefinition:
    """Every morning, each edition marked `active: true`; off until someone switches it on."""

    @dg.schedule(
        job=job,
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
