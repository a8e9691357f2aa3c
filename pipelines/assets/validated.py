"""`candidate`: the files of a release to be, with the gate's expectations as its asset checks."""

from collections.abc import Iterator

import dagster as dg

from expectations import CHECKS
from pipelines import releases
from pipelines.assets import OWNERS
from pipelines.parts import Parts


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
            dg.AssetCheckSpec(check.name, asset="candidate", description=check.description, blocking=True)
            for check in CHECKS
        ],
        can_subset=True,
    )
    def candidate(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        built = parts.build_candidate(parts.warehouse, context.log.info)
        if built is None:
            return
        verdict = parts.run_gate(
            built.release,
            warehouse=parts.warehouse,
            previous=releases.previous_rows(parts.warehouse),
            data_docs=built.data_docs,
        )
        releases.seal(built, verdict.model_dump(mode="json"))
        for message in verdict.messages:
            context.log.warning(message)
        # The gate always judges the whole; the UI can ask for the asset or some of its checks alone.
        if context.selected_asset_keys:
            yield dg.MaterializeResult(
                asset_key="candidate",
                metadata={"release_id": built.release_id, "passed": verdict.passed, "folder": str(built.folder)},
                data_version=dg.DataVersion(built.release_id),
            )
        asked = {key.name for key in context.selected_asset_check_keys}
        for result in verdict.results:
            if result.name not in asked:
                continue
            yield dg.AssetCheckResult(
                asset_key="candidate",
                check_name=result.name,
                passed=result.passed,
                severity=(dg.AssetCheckSeverity.WARN if result.severity == "warning" else dg.AssetCheckSeverity.ERROR),
                description="; ".join(result.messages) or None,
                metadata={
                    "expectations": dg.MetadataValue.json([e.model_dump(mode="json") for e in result.expectations])
                },
            )

    return candidate
