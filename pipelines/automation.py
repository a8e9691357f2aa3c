"""Jobs and schedules. Here belongs when things run; what runs belongs in the assets."""

from collections.abc import Iterator

import dagster as dg

from pipelines.editions import Editions

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
