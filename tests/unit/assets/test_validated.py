"""The checks of `candidate`: what blocks, what was accepted, and what a failed run tells the operator to type."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from expectations.gate import ExpectationResult, FailingRow, GroupResult, Verdict
from pipelines import publish
from pipelines.assets.parts import Parts
from pipelines.assets.validated import candidate_asset
from pipelines.operate.failures import step_failures
from pipelines.warehouse import Warehouse
from tests.hub_files import editions_of, files_edition

RELEASE_ID = "20261130T120000Z-1a2b3c4d"


def shrink(mart: str, *, is_acceptable: bool = True) -> GroupResult:
    """An edition of a mart that has half of its rows."""
    row = FailingRow(key="x-2026", observed="share_of_previous 0.5", values="share_of_previous 0.5")
    failed = ExpectationResult(
        type="expect_column_values_to_be_between",
        columns=["share_of_previous"],
        description="rows must be at least 0.9",
        severity="critical",
        success=False,
        observed=row.observed,
        unexpected_count=1,
        element_count=1,
        row="edition",
        key="edition_id",
        sample_keys=[row.key],
        failing=[row] if is_acceptable else [],
    )
    return GroupResult(
        name=f"{mart}_volume",
        mart=mart,
        group="volume",
        passed=False,
        severity="critical",
        error=None,
        expectations=[failed],
    )


@pytest.fixture
def candidate(tmp_path: Path) -> publish.Candidate:
    made = publish.Candidate(RELEASE_ID, tmp_path / "warehouse" / "candidates" / RELEASE_ID)
    made.release.mkdir(parents=True)
    made.files_file.write_text("{}")
    return made


def run(warehouse: Warehouse, candidate: publish.Candidate, *results: GroupResult) -> Any:
    parts = Parts(
        settings=warehouse.settings,
        editions=editions_of(files_edition("x.parquet")),
        build_candidate=lambda *arguments: candidate,
        run_gate=lambda *arguments, **options: Verdict(passed=False, results=list(results)),
    )
    return dg.materialize([candidate_asset(parts, [])], raise_on_error=False)


def test_a_failed_run_says_once_what_to_type(warehouse: Warehouse, candidate: publish.Candidate) -> None:
    results = shrink("papers"), shrink("reviews")
    ids = [finding.id for result in results for finding in result.findings]
    failures = [str(failure) for failure in step_failures(run(warehouse, candidate, *results).all_events)]

    command = f"python -m pipelines.releases accept {candidate.release_id} --finding {ids[0]} --finding {ids[1]}"
    text = "rows must be at least 0.9: edition_id=x-2026 (share_of_previous 0.5)"
    assert failures == [
        f"candidate: papers: {text} [{ids[0]}]",
        f'candidate: reviews: {text} [{ids[1]}]; if this is right, accept it: {command} --reason "..."',
    ]


def test_nothing_is_offered_where_something_must_be_mended(warehouse: Warehouse, candidate: publish.Candidate) -> None:
    done = run(warehouse, candidate, shrink("papers"), shrink("reviews", is_acceptable=False))

    assert not any("accept it" in str(failure) for failure in step_failures(done.all_events))


def test_what_was_accepted_is_shown_and_does_not_block(warehouse: Warehouse, candidate: publish.Candidate) -> None:
    result = shrink("papers")
    run(warehouse, candidate, result)
    publish.accept(warehouse, "newest", [result.findings[0].id], reason="it is right", by="Ada")

    done = run(warehouse, candidate, result)

    assert done.success
    (papers,) = [one for one in done.get_asset_check_evaluations() if one.check_name == "papers"]
    assert (papers.passed, papers.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert papers.description is not None
    assert papers.description.endswith("(accepted by Ada: it is right)")
    assert papers.metadata["findings"].value[0]["id"] == result.findings[0].id
    told = json.loads(candidate.verdict_file.read_text())["verdict"]["acceptances"]
    assert [one["by"] for one in told] == ["Ada"]
