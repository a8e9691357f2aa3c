"""`candidate`: the files of a release to be, with the gate's expectations as its asset checks."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import dagster as dg

from expectations import SUITE_MODULES
from pipelines import publish
from pipelines.assets import OWNERS
from pipelines.assets.costs import as_metadata, measured
from pipelines.assets.parts import Parts

if TYPE_CHECKING:
    from expectations.gate import GroupResult, Verdict


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
        accepted = {one["finding"]: one for one in publish.note_acceptances(built)}
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
        command = publish.how_to_accept(built.release_id, verdict.model_dump(mode="json"))
        blocking = [mart for mart in SUITE_MODULES if mart in asked and _blocks(mart, verdict, accepted)]
        for mart in SUITE_MODULES:
            if mart in asked:
                yield _check(mart, verdict, accepted, command if [mart] == blocking[-1:] else None)

    return candidate


def _check(
    mart: str, verdict: "Verdict", accepted: Mapping[str, Mapping[str, str]], command: str | None
) -> dg.AssetCheckResult:
    """One asset check a mart, its groups as metadata: Dagster stores each check in transactions of its own.

    What an operator accepted is shown and does not block. The last mart that blocks gets the command that accepts all
    that does, so that a failed run says it once.
    """
    groups = [result for result in verdict.results if result.mart == mart]
    findings = [finding for result in groups for finding in result.findings]
    said = [
        f"{finding.text} (accepted by {accepted[finding.id]['by']}: {accepted[finding.id]['reason']})"
        if finding.id in accepted
        else finding.text
        for finding in findings
    ]
    if command:
        said.append(f"if this is right, accept it: {command}")
    blocks = _blocks(mart, verdict, accepted)
    return dg.AssetCheckResult(
        asset_key="candidate",
        check_name=mart,
        passed=all(result.passed for result in groups),
        severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
        description="; ".join(said) or None,
        metadata={
            result.group: dg.MetadataValue.json([e.model_dump(mode="json") for e in result.expectations])
            for result in groups
        }
        | {"findings": dg.MetadataValue.json([finding.model_dump(mode="json") for finding in findings])},
    )


def _blocks(mart: str, verdict: "Verdict", accepted: Collection[str]) -> bool:
    return any(
        result.mart == mart and result.blocks and not _is_accepted(result, accepted) for result in verdict.results
    )


def _is_accepted(result: "GroupResult", accepted: Collection[str]) -> bool:
    blocking = [finding for finding in result.findings if finding.blocks]
    return bool(blocking) and all(finding.id in accepted for finding in blocking)
