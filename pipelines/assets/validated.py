"""`candidate`: the files of a release to be, with the gate's expectations as its asset checks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from expectations import SUITE_MODULES
from pipelines import publish
from pipelines.assets import OWNERS
from pipelines.assets.costs import as_metadata, measured
from pipelines.assets.parts import Parts

if TYPE_CHECKING:
    from expectations.gate import Verdict


def candidate_asset(parts: Parts, marts: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """The asset `candidate`; every check blocks, so that `published` does not run in the same run as a failure."""

    spec = dg.AssetSpec(
        "candidate",
        group_name="validate",
        description="A release to be, exported from the marts and judged by Great Expectations.",
        deps=marts,
        owners=OWNERS,
        kinds={"parquet", "duckdb"},
    )

    # `can_subset` makes the asset and its checks optional: there are none where the content is that of a release.
    @dg.multi_asset(
        name="candidate",
        specs=[spec],
        check_specs=[
            dg.AssetCheckSpec(mart, asset="candidate", description=f"What `{mart}` must be.", blocking=True)
            for mart in SUITE_MODULES
        ],
        can_subset=True,
    )
    def candidate(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        with measured() as export:
            built = parts.build_candidate(parts.warehouse, context.log.info)
        if built is None:
            return
        with measured() as validate:
            verdict = parts.run_gate(
                built.release,
                warehouse=parts.warehouse,
                previous=publish.previous_rows(parts.warehouse, parts.editions.ids),
                data_docs=built.data_docs,
            )
            publish.seal(built, verdict.model_dump(mode="json"))
        for message in verdict.messages:
            context.log.warning(message)
        # The gate always judges the whole; the UI can ask for the asset or some of its checks alone.
        if context.selected_asset_keys:
            yield dg.MaterializeResult(
                asset_key="candidate",
                metadata={
                    "release_id": built.release_id,
                    "passed": verdict.passed,
                    "folder": str(built.folder),
                    **as_metadata({"export": export, "validate": validate}),
                },
                data_version=dg.DataVersion(built.release_id),
            )
        asked = {key.name for key in context.selected_asset_check_keys}
        yield from (_check(mart, verdict) for mart in SUITE_MODULES if mart in asked)

    return candidate


def _check(mart: str, verdict: "Verdict") -> dg.AssetCheckResult:
    """One asset check a mart, its groups as metadata: Dagster stores each check in transactions of its own."""
    groups = [result for result in verdict.results if result.mart == mart]
    blocks = any(result.blocks for result in groups)
    return dg.AssetCheckResult(
        asset_key="candidate",
        check_name=mart,
        passed=all(result.passed for result in groups),
        severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
        description="; ".join(message for result in groups for message in result.messages) or None,
        metadata={
            result.group: dg.MetadataValue.json([e.model_dump(mode="json") for e in result.expectations])
            for result in groups
        },
    )
