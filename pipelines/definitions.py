"""The code location: `build_definitions(**overrides)` and `defs`, nothing else but how a failure to load reads."""

from typing import Any

import click
import dagster as dg

from pipelines.assets.landed import landed_asset, upstream_specs
from pipelines.assets.modelled import ModelsError, modelled_assets
from pipelines.assets.parts import Parts
from pipelines.assets.published import published_asset
from pipelines.assets.staged import staged_asset
from pipelines.assets.validated import candidate_asset
from pipelines.config.editions import EditionsError
from pipelines.config.settings import SettingsError
from pipelines.operate.accept_job import accept_job
from pipelines.operate.automation import (
    REFRESH,
    daily_schedule,
    dead_runs_sensor,
    failure_sensor,
    maintenance_job,
    maintenance_schedule,
)
from pipelines.operate.runs import in_process


def build_definitions(**overrides: Any) -> dg.Definitions:
    """Fresh definitions; `overrides` replace fields of `Parts`, so that a test can swap any of them.

    Raises:
        EditionsError: the editions file has a mistake.
        ModelsError: the dbt project has a mistake.
    """
    parts = Parts(**overrides)
    partitions = dg.StaticPartitionsDefinition(parts.editions.ids)
    modelled = modelled_assets(parts)
    marts = sorted(key for key in modelled.keys if key.path[0] == "marts")
    maintain = maintenance_job(parts)
    return dg.Definitions(
        assets=[
            *upstream_specs(parts),
            landed_asset(parts, partitions),
            staged_asset(parts, partitions),
            modelled,
            candidate_asset(parts, marts),
            published_asset(parts),
        ],
        jobs=[REFRESH, maintain, accept_job(parts)],
        schedules=[daily_schedule(parts.editions), maintenance_schedule(maintain)],
        sensors=[failure_sensor(parts), dead_runs_sensor()],
        executor=in_process,
    )


class LoadError(click.ClickException, dg.DagsterInvalidDefinitionError):
    """A mistake in a file or variable, as Dagster's own kind of error: its UI shows that sentence, not a wrapper's."""


try:
    defs = build_definitions()
except (EditionsError, ModelsError, SettingsError) as error:
    raise LoadError(error.message) from None
