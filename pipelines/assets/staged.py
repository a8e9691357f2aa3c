"""`staged`: landed snapshots as checked tables and views in the working database, partitioned by edition."""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets import OWNERS
from pipelines.assets.costs import as_metadata, measured
from pipelines.assets.parts import Parts
from pipelines.stage import raw, staging


def staged_asset(parts: Parts, partitions: dg.PartitionsDefinition[str]) -> dg.AssetsDefinition:
    """The asset `staged`."""

    @dg.asset(
        group_name="stage",
        description="Landed rows in `working.duckdb`, schema `raw`, checked against each source's contract.",
        deps=["landed"],
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        owners=OWNERS,
        kinds={"duckdb"},
    )
    def staged(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        metadata: dict[str, dg.MetadataValue] = {}
        ids: list[str] = []
        row_count = 0
        with measured() as cost:
            for edition_id in context.partition_keys:
                edition = parts.editions[edition_id]
                try:
                    result = staging.stage(edition, parts.editions, warehouse=parts.warehouse, log=context.log.info)
                except staging.NothingLanded as error:
                    # In a back-fill an edition all of whose sources were skipped does not hold up the others.
                    if len(context.partition_keys) == 1:
                        raise
                    context.log.warning(f"{error} The edition is left out.")
                    continue
                for lost in result.lost_editions:
                    context.log.warning(f"Not staged after the working database was lost: {lost}")
                if result.missing_sources:
                    context.log.warning(f"{edition_id}: nothing ever landed of {', '.join(result.missing_sources)}.")
                if result.unknown_columns:
                    context.log.warning(f"{edition_id}: kept out columns unknown: {', '.join(result.unknown_columns)}")
                metadata[edition_id] = dg.MetadataValue.json(
                    {"rows": result.rows, "snapshots": result.snapshot_ids, "unknown_columns": result.unknown_columns}
                )
                ids += result.snapshot_ids.values()
                row_count += sum(result.rows.values())
        if notice := raw.synthetic_notice(parts.warehouse):
            context.log.warning(notice)
        metadata["dagster/row_count"] = dg.MetadataValue.int(row_count)
        yield dg.MaterializeResult(
            metadata=metadata | as_metadata({"stage": cost}), data_version=dg.DataVersion("-".join(ids))
        )

    return staged
