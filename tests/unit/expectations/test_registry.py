"""The registry: complete, and cheap to import."""

import subprocess
import sys
from collections import defaultdict

from expectations import CANDIDATE, CHECKS, GROUPS, SUITE_MODULES, expect, load_suites
from pipelines.config.settings import PROJECT_DIR
from tests.candidates import contract


def test_every_mart_of_the_contract_has_a_suite() -> None:
    assert set(SUITE_MODULES) - {CANDIDATE} == set(contract())


def test_check_names_are_unique_and_say_mart_and_group() -> None:
    names = [check.name for check in CHECKS]

    assert len(set(names)) == len(names)
    assert "papers_volume" in names
    assert all(check.description for check in CHECKS)


def test_each_mart_has_every_group_and_no_group_is_empty() -> None:
    groups: defaultdict[str, set[str]] = defaultdict(set)
    for mart, suite in load_suites().items():
        for batch in suite.batches:
            for group, expectations in batch.expectations().items():
                assert expectations, f"{mart} {batch.name} {group}"
                groups[mart].add(group)

    assert groups.pop(CANDIDATE) == {"contents", "database"}
    assert groups == {mart: set(GROUPS) for mart in contract()}


def test_only_figures_of_whole_editions_are_plausibilities() -> None:
    """What an operator may accept: never a key, a shape, or marts that disagree."""
    marked = {
        (mart, group, expectation.column)
        for mart, suite in load_suites().items()
        for batch in suite.batches
        for group, expectations in batch.expectations().items()
        for expectation in expectations
        if expect.is_plausibility(expectation.meta)
    }

    compared = {"papers", "reviews", "authors", "paper_authors", "discussion"}
    assert marked == {(mart, "volume", "share_of_previous") for mart in compared} | {
        ("reviews", "completeness", "rated_count"),
        ("reviews", "values", "off_scale_share"),
        ("quarantined_rows", "distributions", "quarantined_share"),
    }


def test_every_expectation_has_a_sentence_and_a_severity() -> None:
    for mart, suite in load_suites().items():
        for batch in suite.batches:
            for expectations in batch.expectations().values():
                for expectation in expectations:
                    assert expectation.description, f"{mart} {batch.name} {expectation}"
                    assert expectation.severity.value in ("critical", "warning")


def test_registry_suites_and_gate_load_without_the_heavy_libraries() -> None:
    code = (
        "import sys; import expectations, expectations.gate; expectations.load_suites(); "
        "print([m for m in ('great_expectations', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_DIR, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
