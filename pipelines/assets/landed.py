"""The upstreams, as external assets, and `landed`: their bytes in the landing folder, partitioned by edition."""

from collections.abc import Iterator

import dagster as dg

from pipelines import landing
from pipelines.assets import OWNERS
from pipelines.parts import Parts

_UPSTREAMS = {
    "hugging_face": "Parquet datasets on the Hugging Face Hub.",
    "files": "Parquet files in the Hub dataset's schema, on disk or at a web address.",
    "sample": "The built-in synthetic edition.",
    "paper_copilot": "The Paper Copilot archive: JSON lines of any venue and year.",
    "openreview": "The OpenReview API: papers, reviews and discussion.",
    "conference_site": "The conference site's list of accepted papers.",
}


def upstream_specs(parts: Parts) -> list[dg.AssetSpec]:
    """One external asset for each kind of source that some edition has, so that lineage starts there."""
    sources = [source for edition in parts.editions.editions for source in edition.sources]
    formats = {source.kind: source.file_format for source in sources}
    return [
        dg.AssetSpec(
            ["upstream", kind], group_name="upstream", description=_UPSTREAMS[kind], owners=OWNERS, kinds={file_format}
        )
        for kind, file_format in sorted(formats.items())
    ]


def landed_asset(parts: Parts, partitions: dg.PartitionsDefinition[str]) -> dg.AssetsDefinition:
    """The asset `landed`."""

    @dg.asset(
        group_name="land",
        description="Each source's bytes as received, one immutable, hashed snapshot a pull.",
        deps=[spec.key for spec in upstream_specs(parts)],
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        owners=OWNERS,
        kinds={"parquet"},
    )
    def landed(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        metadata: dict[str, dg.MetadataValue] = {}
        ids: list[str] = []
        row_count = 0
        failures: list[str] = []
        for edition_id in context.partition_keys:
            edition = parts.editions[edition_id]
            for source in edition.sources:
                place = f"{edition_id}/{source.name}"
                try:
                    snapshot, is_new = landing.land(
                        edition,
                        source,
                        parts.fetchers[source.kind],
                        warehouse=parts.warehouse,
                        settings=parts.settings,
                        log=context.log.info,
                    )
                except landing.SourceSkipped as error:
                    context.log.warning(f"{place} is skipped: {error}")
                    metadata[place] = dg.MetadataValue.text(f"skipped: {error}")
                    continue
                except landing.LandingError as error:
                    # The other sources still land; the run fails in the end, and names every source that did.
                    context.log.error(f"{place}: {error}")
                    failures.append(f"{place}: {error}")
                    continue
                record = snapshot.record
                context.log.info(
                    f"{place}: snapshot {record.snapshot_id} ({'new' if is_new else 'as before'}), {record.rows} rows"
                )
                metadata[place] = dg.MetadataValue.json(record.model_dump(mode="json"))
                ids.append(record.snapshot_id)
                row_count += record.rows
        if failures:
            raise landing.LandingError("; ".join(failures))
        metadata["dagster/row_count"] = dg.MetadataValue.int(row_count)
        yield dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion("-".join(ids)))

    return landed
