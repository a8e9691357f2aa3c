"""The sample through the whole model: the figures that its builders know, and disagreements where they are meant."""

from collections import Counter

import pytest

from pipelines.config.editions import load_editions
from pipelines.config.settings import PROJECT_DIR
from pipelines.sources.sample.decided import papers
from pipelines.sources.sample.tallies import Tally, statuses, tallies
from tests.model_runs import ModelRun

pytestmark = pytest.mark.slow

EDITIONS = load_editions(PROJECT_DIR / "pipelines" / "config" / "editions.yaml")
YEARS = {edition_id: EDITIONS[edition_id].year for edition_id in EDITIONS.run_together("sample")}


def sources(edition_id: str) -> list[str]:
    return [source.dataset_schema for source in EDITIONS[edition_id].sources]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ModelRun:
    run = ModelRun(tmp_path_factory.mktemp("sample"))
    run.stage(*(EDITIONS[edition_id] for edition_id in YEARS))
    run.build()
    return run


@pytest.mark.parametrize("edition_id", YEARS)
def test_every_row_becomes_what_it_must(run: ModelRun, edition_id: str) -> None:
    found = run.marts(
        "select row_kind, sum(rows_in), sum(rows_in_marts), sum(rows_merged), sum(rows_quarantined) "
        "from row_conservation where edition_id = ? group by row_kind",
        [edition_id],
    )
    figures = {kind: Tally(*map(int, counts)) for kind, *counts in found}
    assert figures == tallies(YEARS[edition_id], sources(edition_id))


@pytest.mark.parametrize("edition_id", YEARS)
def test_every_paper_has_the_status_of_who_knows_it(run: ModelRun, edition_id: str) -> None:
    found = run.marts("select status, count(*) from papers where edition_id = ? group by status", [edition_id])
    assert dict(found) == statuses(YEARS[edition_id], sources(edition_id))
    decisions = run.marts(
        "select decision, count(*) from papers where edition_id = ? and decision is not null group by decision",
        [edition_id],
    )
    assert dict(decisions) == Counter(
        paper.site_decision for paper in papers(YEARS[edition_id]) if paper.site_decision is not None
    )


# What `decided.py` promises of every year: source and column, and the papers in which it is not what is published.
DISAGREEMENTS = {
    ("openreview", "status"): 2,  # the site lists a rejected paper
    ("openreview", "decision"): 3,  # the site promotes a poster
    ("paper_copilot", "decision"): 3,
    ("paper_copilot", "status"): 2 + 3,  # and the archive still has a rejection
    ("paper_copilot", "title"): 5,
    ("paper_copilot", "rating_mean"): 6,
}


@pytest.mark.parametrize("edition_id", YEARS)
def test_sources_disagree_where_they_must_and_nowhere_else(run: ModelRun, edition_id: str) -> None:
    found = run.marts(
        "select source, column_name, count(*) from paper_source_values "
        "where edition_id = ? and not is_published group by all",
        [edition_id],
    )
    expected = dict(DISAGREEMENTS)
    if "hub_dataset" in sources(edition_id):
        late = sum(paper.published_status != "withdrawn" for paper in papers(YEARS[edition_id]))
        # Papers that are in the dataset alone have no other source to disagree with.
        expected |= {("hub_dataset", "title"): 4, ("hub_dataset", "rating_mean"): 6, ("hub_dataset", "status"): late}
    assert {(source, column): count for source, column, count in found} == expected


def test_the_newer_abstract_and_the_full_names_are_published(run: ModelRun) -> None:
    for year in YEARS.values():
        for paper in papers(year):
            if paper.odd in ("the abstract changed after the dataset", "the site abbreviates first names"):
                (found,) = run.marts("select abstract from papers where paper_id = ?", [paper.forum_id])
                assert found == (paper.abstract,)
                names = run.marts(
                    "select name from paper_authors where paper_id = ? order by position", [paper.forum_id]
                )
                assert tuple(name for (name,) in names) == paper.authors


def test_discussion_and_keywords_are_there_in_every_kind(run: ModelRun) -> None:
    for edition_id in YEARS:
        kinds = {kind for (kind,) in run.marts("select kind from discussion where edition_id = ?", [edition_id])}
        assert kinds == {
            *("meta_review", "decision", "author_response", "comment", "public_comment", "withdrawal"),
            "desk_rejection",
        }
    assert run.marts("select count(distinct edition_id) from paper_keywords") == [(2,)]
