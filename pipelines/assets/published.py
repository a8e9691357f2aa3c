"""`published`: the current release; its own gate holds whichever way it is invoked."""

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from pipelines import publish
from pipelines.assets import OWNERS
from pipelines.assets.costs import as_metadata, measured
from pipelines.assets.parts import Parts


def published_asset(parts: Parts) -> dg.AssetsDefinition:
    """The asset `published`."""

    @dg.asset(
        group_name="publish",
        description="The newest candidate as the current release, if the gate passed these very files.",
        deps=["candidate"],
        freshness_policy=dg.FreshnessPolicy.time_window(fail_window=timedelta(days=8), warn_window=timedelta(days=2)),
        owners=OWNERS,
        kinds={"parquet", "duckdb"},
        output_required=False,
    )
    def published(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        with measured() as cost:
            release_id = publish.promote(parts.warehouse, context.log.info)
        if release_id is None:
            return
        manifest = publish.read_manifest(parts.warehouse.releases / release_id)
        yield dg.MaterializeResult(
            metadata={
                "release_id": release_id,
                "path": dg.MetadataValue.path(str(parts.warehouse.releases / release_id)),
                "rows": dg.MetadataValue.json({name: mart["rows"] for name, mart in manifest["marts"].items()}),
                "conservation": dg.MetadataValue.json(manifest["conservation"]),
                **as_metadata({"publish": cost}),
            },
            data_version=dg.DataVersion(release_id),
        )

    return published
