"""The upstreams, as external assets, and `landed`: their bytes in the landing folder, partitioned by edition."""

import traceback
from collections.abc import Iterator

import dagster as dg

from pipelines.assets import OWNERS
from pipelines.assets.costs import as_metadata, measured
from pipelines.assets.parts import Parts
from pipelines.config.settings import without_secrets
from pipelines.land import landing
from pipelines.sources.fetched import LandingError, SourceSkipped
from pipelines.warehouse import WarehouseError, first_line

_UPSTREAMS = {
    "hugging_face": "Parquet datasets on the Hugging Face Hub.",
    "files": "Parquet files in the Hub dataset's schema, on disk or at a web address.",
    "sample": "The built-in synthetic editions, in the form of any other source.",
    "paper_copilot": "The Paper Copilot archive: JSON lines of any venue and year.",
    "openreview": "The OpenReview API: papers, reviews and discussion.",
    "conference_site": "The conference site's list of accepted papers.",
}


def upstream_specs(parts: Parts) -> list[dg.AssetSpec]:
    """One external asset for each kind of source that some edition has, so that lineage starts there."""
    sources = [source for edition in parts.editions.editions for source in edition.sources]
    formats: dict[str, set[str]] = {}
    for source in sources:
        formats.setdefault(source.kind, set()).add(source.file_format)
    return [
        dg.AssetSpec(
            ["upstream", kind], group_name="upstream", description=_UPSTREAMS[kind], owners=OWNERS, kinds=kinds
        )
        for kind, kinds in sorted(formats.items())
    ]


def _explained(error: Exception) -> str:
    """One sentence; what nobody foresaw is named by its kind, and its traceback is in the debug log."""
    if isinstance(error, LandingError | WarehouseError):
        return without_secrets(str(error))
    said = without_secrets(f"{type(error).__name__}: {first_line(error)}")
    return f"failed in a way that was not foreseen ({said}); nothing was kept. Please report it with the debug log."


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
        with measured() as cost:
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
                            log=lambda message: context.log.info(without_secrets(message)),
                        )
                    except SourceSkipped as error:
                        reason = without_secrets(str(error))
                        context.log.warning(f"{place} is skipped: {reason}")
                        metadata[place] = dg.MetadataValue.text(f"skipped: {reason}")
                        continue
                    except Exception as error:
                        # Whatever it is, the other sources still land; the run fails in the end, and names every source
                        # that did.
                        failures.append(f"{place}: {_explained(error)}")
                        context.log.error(failures[-1])
                        context.log.debug(without_secrets("".join(traceback.format_exception(error))))
                        continue
                    record = snapshot.record
                    if is_new and record.mended:
                        context.log.warning(
                            f"{place}: {record.mended} texts or records hold NUL or half a surrogate pair; the marts "
                            "have U+FFFD in its place."
                        )
                    age = "new" if is_new else "as before"
                    context.log.info(f"{place}: snapshot {record.snapshot_id} ({age}), {record.rows} rows")
                    metadata[place] = dg.MetadataValue.json(record.model_dump(mode="json"))
                    ids.append(record.snapshot_id)
                    row_count += record.rows
        if failures:
            raise LandingError("; ".join(failures))
        metadata["dagster/row_count"] = dg.MetadataValue.int(row_count)
        yield dg.MaterializeResult(
            metadata=metadata | as_metadata({"land": cost}), data_version=dg.DataVersion("-".join(ids))
        )

    return landed
