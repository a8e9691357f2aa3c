"""The gate on real files with the real Great Expectations: what passes, what blocks, what cannot pass by accident."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from expectations import CANDIDATE, CHECKS, Batch, Suite, expect, gate, load_suites
from expectations.gate import GroupResult, Verdict
from pipelines.config.settings import PROJECT_DIR
from pipelines.warehouse import Warehouse
from tests.candidates import rewrite, write_candidate

if TYPE_CHECKING:
    from expectations import Groups


def check(
    candidate: Path,
    warehouse: Warehouse,
    mart: str,
    *groups: str,
    previous: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, GroupResult]:
    """The results of one mart by group; what is not asked for is read but not checked, which saves seconds."""
    suites = {name: Suite(suite.columns, ()) for name, suite in load_suites().items()}
    batches = load_suites()[mart].batches
    if groups:
        batches = tuple(only(batch, groups) for batch in batches if set(groups) & set(batch.expectations()))
    suites[mart] = replace(suites[mart], batches=batches)
    verdict = gate.run(candidate, warehouse=warehouse, previous=previous, suites=suites)
    assert not verdict.passed, "what was not checked must fail"
    return {result.group: result for result in verdict.results if result.mart == mart}


def only(batch: Batch, groups: tuple[str, ...]) -> Batch:
    """The batch with some of its expectations."""

    def expectations() -> Groups:
        return {group: members for group, members in batch.expectations().items() if group in groups}

    return replace(batch, expectations=expectations)


def by_name(verdict: Verdict) -> dict[str, GroupResult]:
    return {result.name: result for result in verdict.results}


def swapped(suites: Mapping[str, Suite], mart: str, *batches: Batch) -> dict[str, Suite]:
    return {**suites, mart: replace(suites[mart], batches=batches)}


# --- a candidate that is fine -----------------------------------------------------------------------------------------


def test_a_right_candidate_passes_every_check(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", editions={"iclr-2021": 60, "iclr-2022": 60})
    before = {path: path.read_bytes() for path in candidate.rglob("*.*")}
    previous = {"papers": {"iclr-2021": 60, "iclr-2022": 60}, "reviews": {"iclr-2021": 240}, "authors": {"*": 17}}

    verdict = gate.run(candidate, warehouse=warehouse, previous=previous)

    assert verdict.messages == []
    assert verdict.passed
    assert [result.name for result in verdict.results] == [check.name for check in CHECKS]
    assert all(result.expectations for result in verdict.results)
    assert "NaN" not in json.dumps(verdict.model_dump(mode="json"), allow_nan=False)
    assert {path: path.read_bytes() for path in candidate.rglob("*.*")} == before


def test_blind_papers_need_no_authors_and_no_links(tmp_path: Path, warehouse: Warehouse) -> None:
    emptied = "paper_authors", "paper_links", "quarantined_rows", "paper_keywords", "discussion", "paper_source_values"
    changes = [
        "update papers set is_blind = true",
        *(f"delete from {mart}" for mart in emptied),
        "update row_conservation set rows_in = 0, rows_in_marts = 0 where row_kind in ('author', 'note')",
    ]
    candidate = write_candidate(tmp_path / "candidate", changes=changes)

    verdict = gate.run(candidate, warehouse=warehouse)

    assert verdict.messages == []
    assert verdict.passed


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_rating_of_99_blocks_and_names_suite_column_and_key(tmp_path: Path, warehouse: Warehouse) -> None:
    change = "update reviews set rating = 99 where review_id = 'r1-0000073'"
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    verdict = gate.run(candidate, warehouse=warehouse)

    assert not verdict.passed
    assert (
        "reviews: rating must be between 0 and 10: 1 row fails, e.g. review_id=r1-0000073 (rating 99)"
        in verdict.messages
    )
    values = by_name(verdict)["reviews_values"]
    assert (values.passed, values.severity, values.error) == (False, "critical", None)
    (rating,) = [found for found in values.expectations if found.columns == ["rating"]]
    assert (rating.unexpected_count, rating.element_count, rating.sample_keys) == (1, 200, ["r1-0000073"])


def test_a_duplicated_review_id_blocks(tmp_path: Path, warehouse: Warehouse) -> None:
    change = "update reviews set review_id = 'r1-0000011' where review_id = 'r1-0000022'"
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    keys = check(candidate, warehouse, "reviews", "keys")["keys"]

    assert keys.severity == "critical"
    assert keys.messages == ["reviews: review_id must be unique: 2 rows fail, e.g. review_id=r1-0000011"]


@pytest.mark.parametrize(("off_scale", "severity"), [(0, None), (1, "warning"), (2, "warning"), (5, "critical")])
def test_off_scale_ratings_warn_and_block_above_one_percent(
    tmp_path: Path, warehouse: Warehouse, off_scale: int, severity: str | None
) -> None:
    change = (
        f"update reviews set rating = 5, is_rating_off_scale = true where item_number = 1 and row_number <= {off_scale}"
    )
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    values = check(candidate, warehouse, "reviews", "values")["values"]

    assert values.severity == severity
    assert values.error is None
    if severity == "critical":
        assert any(
            "share of ratings off the edition's scale must be at most 0.01: edition_id=iclr-2021 (off_scale_share 0.02"
            in message
            for message in values.messages
        )


def test_samples_stop_at_twenty_keys(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", changes=["update reviews set confidence = 9"])

    values = check(candidate, warehouse, "reviews", "values")["values"]

    (confidence,) = [found for found in values.expectations if not found.success]
    assert confidence.columns == ["confidence"]
    assert confidence.unexpected_count == 200
    assert len(confidence.sample_keys) == 20


@pytest.mark.parametrize(
    ("mart", "change", "group", "severity", "message"),
    [
        ("reviews", "update reviews set source = null where row_number = 1 and item_number = 1", "completeness",
         "critical",
         "reviews: required columns must not be null: 1 row fails, e.g. review_id=r1-0000011 (missing source)"),
        ("reviews", "update reviews set word_count = -1 where row_number = 1 and item_number = 1", "values", "critical",
         "reviews: counts and positions must not be below their lowest value: 1 row fails, "
         "e.g. review_id=r1-0000011 (too_small word_count)"),
        ("reviews", "update reviews set paper_id = 'p9-999999' where row_number = 1 and item_number = 1", "cross_table",
         "critical", "reviews: paper_id must be in papers: 1 row fails, "
         "e.g. review_id=r1-0000011 (paper_id_without_paper p9-999999)"),
        ("papers", "update papers set status = 'maybe' where row_number = 2", "values", "critical",
         "papers: status must be one of under_review, accepted, rejected, withdrawn, desk_rejected, workshop: 1 row "
         "fails, e.g. paper_id=p1-000002 (status maybe)"),
        ("papers", "update papers set has_unknown_status = true where row_number = 2", "distributions", "warning",
         "papers: share of papers of unknown status must be at most 0: 1 edition fails, "
         "e.g. edition_id=iclr-2021 (unknown_status_share 0.02)"),
        ("papers", "update papers set pdf_url = 'javascript:alert(1)' where row_number = 2", "values", "critical",
         "papers: pdf_url must be an http(s) URL: 1 row fails, e.g. paper_id=p1-000002 (pdf_url javascript:alert(1))"),
        ("papers", "update papers set title = ' ' where row_number = 2", "completeness", "critical",
         "papers: title_length must be at least 1: 1 row fails, e.g. paper_id=p1-000002 (title_length 0)"),
        ("paper_authors", "update paper_authors set name = 'ada@example.org' where row_number = 1 and position = 1",
         "values", "critical",
         "paper_authors: name must hold no e-mail address: 1 row fails, "
         "e.g. paper_id:position=p1-000001:1 (is_free_of_emails False)"),
        ("paper_links", "update paper_links set link_type = 'blog'", "values", "critical",
         "paper_links: link_type must be one of code, anonymous_code, data, model, project, other: 1 row fails, "
         "e.g. paper_id:url=p1-000001:https://github.com/a/b (link_type blog)"),
        ("quarantined_rows", "update quarantined_rows set row_kind = 'other'", "values", "critical",
         "quarantined_rows: row_kind must be one of paper, review, author, note: 1 row fails, "
         "e.g. edition_id:snapshot_number:row_number:row_kind:item_number="
         "iclr-2021:1:100000:other:3"),
        ("quarantined_rows", "delete from reviews where row_number > 1; delete from paper_authors where row_number > 1",
         "distributions", "warning",
         "quarantined_rows: share of the edition's own rows that were set aside must be at most 0.01: 1 edition fails, "
         "e.g. edition_id=iclr-2021 (quarantined_share 0.0149254)"),
        ("snapshots", "update snapshots set snapshot_id = 'latest'", "values", "critical",
         "snapshots: snapshot_id must be 16 hex digits: 1 snapshot fails, "
         "e.g. edition_id:snapshot_number=iclr-2021:1 (snapshot_id latest)"),
        ("snapshots", "update snapshots set snapshot_number = 2", "cross_table", "critical",
         "snapshots: the snapshot must be in row_conservation: 1 row fails, "
         "e.g. edition_id:snapshot_number=iclr-2021:2 (is_counted False)"),
        ("row_conservation", "update row_conservation set rows_in = rows_in + 1 where row_kind = 'review'", "values",
         "critical",
         "row_conservation: rows in must be those in marts, merged and quarantined together: nothing is lost: 1 row "
         "fails, e.g. edition_id:snapshot_number:row_kind=iclr-2021:1:review (rows_in 202, rows_out 201)"),
        ("row_conservation", "delete from reviews where row_number = 1", "cross_table", "critical",
         "row_conservation: rows_in_marts must be as many as in the mart: 1 row fails, "
         "e.g. edition_id:row_kind=iclr-2021:review (rows_in_marts 200, mart_row_count 196)"),
        ("edition_figures", "update edition_figures set value = 40, is_in_agreement = false", "distributions",
         "warning",
         "edition_figures: value should agree with the published figure: 1 figure fails, "
         "e.g. edition_id:figure:published_by=iclr-2021:submission_count:The chairs "
         "(disagreement 40.0 instead of 49.0 to 51.0)"),
        ("discussion", "update discussion set kind = 'rumour' where row_number = 1", "values", "critical",
         "discussion: kind must be one of meta_review, decision, author_response, comment, public_comment, withdrawal, "
         "desk_rejection: 1 row fails, e.g. note_id=np1-000001 (kind rumour)"),
        ("paper_keywords", "update paper_keywords set keyword = ' ' where paper_id = 'p1-000001'", "completeness",
         "critical",
         "paper_keywords: keyword_length must be at least 1: 1 row fails, "
         "e.g. paper_id:position=p1-000001:1 (keyword_length 0)"),
        ("paper_source_values", "update paper_source_values set is_published = true", "values", "critical",
         "paper_source_values: is_published must say whether the values are the same: 1 row fails, "
         "e.g. paper_id:source:column_name=p1-000001:hub_dataset:status (is_sameness_told False)"),
        ("editions", "update editions set is_synthetic = null", "completeness", "critical",
         "editions: required columns must not be null: 1 edition fails, "
         "e.g. edition_id=iclr-2021 (missing is_synthetic)"),
    ],
)  # fmt: skip
def test_a_wrong_value_fails_its_group(
    tmp_path: Path, warehouse: Warehouse, mart: str, change: str, group: str, severity: str, message: str
) -> None:
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    result = check(candidate, warehouse, mart, group)[group]

    assert result.severity == severity
    assert message in result.messages


@pytest.mark.parametrize(
    ("reason", "severity"),
    [
        ("the URL holds no OpenReview forum id", "critical"),
        ("its paper was set aside: the row is of another track: workshop", None),
        ("the event is of another track or venue", None),
        # Many rows of another year mean that the wrong file was given.
        ("the venue text names another venue or year than ICLR 2021", "critical"),
    ],
)
def test_rows_of_workshops_are_no_sign_of_damage(
    tmp_path: Path, warehouse: Warehouse, reason: str, severity: str | None
) -> None:
    changes = [
        "insert into quarantined_rows select quarantined_rows.* replace (i as row_number) "
        "from quarantined_rows, range(1, 100) as numbers (i)",
        f"update quarantined_rows set reason = '{reason}'",
    ]
    candidate = write_candidate(tmp_path / "candidate", changes=changes)

    distributions = check(candidate, warehouse, "quarantined_rows", "distributions")["distributions"]

    assert distributions.severity == severity


@pytest.mark.parametrize(
    ("mart", "late_change", "message"),
    [
        ("papers", "update papers set review_count = 5 where row_number = 3",
         "papers: review_count must be the paper's rows in reviews: 1 row fails, "
         "e.g. paper_id=p1-000003 (review_count 5, counted_reviews 4)"),
        ("papers", "update papers set rating_mean = rating_mean + 1e-6 where row_number = 3",
         "papers: difference of rating_mean to that of reviews must be between 0 and 1e-09: 1 row fails, "
         "e.g. paper_id=p1-000003 (rating_mean_error 1e-06)"),
        ("papers", "update papers set rating_mean = null where row_number = 3",
         "papers: difference of rating_mean to that of reviews must be between 0 and 1e-09: 1 row fails, "
         "e.g. paper_id=p1-000003 (rating_mean_error 10)"),
        ("authors", "update authors set paper_count = 40 where author_id = 'name:ada author 3'",
         "authors: paper_count must be the papers in paper_authors: 1 row fails, "
         "e.g. author_id=name:ada author 3 (paper_count 40, counted_papers 4)"),
        ("paper_authors", "delete from authors where author_id = 'name:ada author 3'",
         "paper_authors: author_id must be in authors: 4 rows fail, "
         "e.g. paper_id:position=p1-000001:1 (author_id_without_author name:ada author 3)"),
        ("paper_authors", "update papers set is_blind = true where row_number = 1",
         "paper_authors: a blind paper must have no authors: 2 rows fail, "
         "e.g. paper_id:position=p1-000001:1 (blind_paper_id p1-000001)"),
        ("editions", "update editions set submission_count = 49, quarantined_row_count = 0",
         "editions: counts must be those of the rows in the other marts: 1 edition fails, e.g. edition_id=iclr-2021 "
         "(wrong_counts submission_count 49 but counted 50, quarantined_row_count 0 but counted 1)"),
    ],
)  # fmt: skip
def test_marts_that_disagree_fail(
    tmp_path: Path, warehouse: Warehouse, mart: str, late_change: str, message: str
) -> None:
    candidate = write_candidate(tmp_path / "candidate", late_changes=[late_change])

    result = check(candidate, warehouse, mart, "cross_table")["cross_table"]

    assert result.severity == "critical"
    assert message in result.messages


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("delete from paper_links", "candidate: rows must be as many as in peer_reviews.duckdb: 1 file fails, "
         "e.g. mart:edition_id=paper_links:iclr-2021 (row_count 1, database_row_count 0)"),
        ("update reviews set summary = 'other' where review_id = 'r1-0000011'",
         "candidate: rows must be those of peer_reviews.duckdb: 1 file fails, e.g. mart:edition_id=reviews:iclr-2021"),
    ],
)  # fmt: skip
def test_a_database_that_differs_from_the_files_blocks(
    tmp_path: Path, warehouse: Warehouse, change: str, message: str
) -> None:
    candidate = write_candidate(tmp_path / "candidate", database_changes=[change])

    result = check(candidate, warehouse, CANDIDATE, "database")["database"]

    assert result.severity == "critical"
    assert any(found.startswith(message) for found in result.messages)


def test_rows_in_the_file_of_another_edition_block(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", editions={"iclr-2021": 50, "iclr-2022": 50})
    (candidate / "papers" / "iclr-2022.parquet").rename(candidate / "papers" / "iclr-2023.parquet")

    keys = check(candidate, warehouse, "papers", "keys")["keys"]

    assert keys.severity == "critical"
    assert "papers: edition_id must be that of the file: 50 rows fail, e.g. paper_id=p2-000001" in keys.messages[0]


def test_an_edition_without_papers_blocks(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", editions={"iclr-2021": 50, "iclr-2022": 0})

    volume = check(candidate, warehouse, "papers", "volume")["volume"]

    assert volume.severity == "critical"
    assert volume.messages == [
        "papers: papers of an edition must be at least 1: 1 edition fails, e.g. edition_id=iclr-2022 (row_count 0)"
    ]


def test_named_papers_without_any_author_block(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", changes=["delete from paper_authors"])

    volume = check(candidate, warehouse, "authors", "volume")["volume"]

    assert volume.severity == "critical"


def test_synthetic_and_real_editions_do_not_mix(tmp_path: Path, warehouse: Warehouse) -> None:
    change = "update editions set is_synthetic = true where edition_id = 'sample'"
    candidate = write_candidate(tmp_path / "candidate", editions={"iclr-2021": 50, "sample": 50}, changes=[change])

    values = check(candidate, warehouse, "editions", "values")["values"]

    assert values.severity == "critical"
    assert values.messages == ["editions: synthetic and real editions must not be in one release: found 2."]


# --- findings ---------------------------------------------------------------------------------------------------------


def test_each_edition_that_shrank_is_a_finding_of_its_own_that_may_be_accepted(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    editions = {f"iclr-20{year}": 50 for year in (21, 22, 23)}
    candidate = write_candidate(tmp_path / "candidate", editions=editions)

    def found(previous: dict[str, int]) -> dict[str, str]:
        volume = check(candidate, warehouse, "papers", "volume", previous={"papers": previous})["volume"]
        assert volume.severity == "critical"
        assert all(finding.is_acceptable and finding.blocks for finding in volume.findings)
        assert volume.messages == [f"{finding.message} [{finding.id}]" for finding in volume.findings]
        return {finding.message: finding.id for finding in volume.findings}

    one, again, other = (
        found({"iclr-2021": 100, "iclr-2023": 200}),
        found({"iclr-2021": 100}),
        found({"iclr-2021": 101}),
    )

    text = "papers: rows as a share of the previous release's must be at least 0.9: edition_id="
    assert list(one) == [
        f"{text}iclr-2021 (share_of_previous 0.5)",
        f"{text}iclr-2023 (share_of_previous 0.25)",
    ]
    assert len(set(one.values())) == 2
    assert all(re.fullmatch(r"papers\.volume\.share_of_previous-[0-9a-f]{8}", id_) for id_ in one.values())
    # The same finding has the same id, in whatever company; another figure is another finding.
    assert set(again.items()) < set(one.items())
    assert not set(other.values()) & set(one.values())


def test_more_findings_than_samples_are_all_told(tmp_path: Path, warehouse: Warehouse) -> None:
    editions = {f"iclr-{number}": 2 for number in range(2001, 2026)}
    candidate = write_candidate(tmp_path / "candidate", editions=editions, reviews_per_paper=1)
    previous = {"papers": dict.fromkeys(editions, 4)}

    volume = check(candidate, warehouse, "papers", "volume", previous=previous)["volume"]

    assert len({finding.id for finding in volume.findings}) == 25
    assert all(len(result.sample_keys) <= 20 for result in volume.expectations)


def test_keys_and_what_could_not_be_checked_cannot_be_accepted(tmp_path: Path, warehouse: Warehouse) -> None:
    change = "update reviews set review_id = 'r1-0000011' where review_id = 'r1-0000022'"
    candidate = write_candidate(tmp_path / "candidate", changes=[change])
    (candidate / "authors.parquet").unlink()

    (doubled,) = check(candidate, warehouse, "reviews", "keys")["keys"].findings
    (missing,) = check(candidate, warehouse, "authors", "keys")["keys"].findings

    assert (doubled.blocks, doubled.is_acceptable) == (True, False)
    assert (missing.blocks, missing.is_acceptable) == (True, False)
    assert doubled.id.startswith("reviews.keys.review_id-")
    assert missing.id.startswith("authors.keys.error-")


@pytest.mark.parametrize(
    ("label", "warns"),
    [
        ("Reviewer_NkPg", True),
        ("AnonReviewer3", True),
        ("anonymous reviewer 8a58", True),
        ("~Ada_Example1", True),
        ("Authors", False),
        ("Program_Chairs", False),
        ("Area_Chair_AbCd", False),
        ("Reviewers", False),
        (None, False),
    ],
)
def test_a_label_that_names_one_reviewer_is_expected_once_a_paper(
    tmp_path: Path, warehouse: Warehouse, label: str | None, warns: bool
) -> None:
    given = "null" if label is None else f"'{label}'"
    named = f"reviewer_label = {given}, is_reviewer_named = {warns}"
    change = f"update reviews set {named} where paper_id = 'p1-000001' and item_number <= 2"
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    keys = check(candidate, warehouse, "reviews", "keys")["keys"]

    assert keys.severity == ("warning" if warns else None)
    assert keys.messages == (
        [
            "reviews: paper_id and a reviewer_label that names one reviewer together should be unique: 2 rows fail, "
            f"e.g. review_id=r1-0000011 (paper_id p1-000001, single_reviewer {label})"
        ]
        if warns
        else []
    )


# --- against the previous release -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("previous", "severity"), [(55, None), (56, "critical"), (100, "critical"), (17, None), (16, "warning"), (0, None)]
)
def test_volume_is_compared_with_the_previous_release(
    tmp_path: Path, warehouse: Warehouse, previous: int, severity: str | None
) -> None:
    candidate = write_candidate(tmp_path / "candidate")

    volume = check(candidate, warehouse, "papers", "volume", previous={"papers": {"iclr-2021": previous}})["volume"]

    assert volume.severity == severity
    if severity:
        assert "papers: rows as a share of the previous release's must be at" in volume.messages[0]
        assert "edition_id=iclr-2021" in volume.messages[0]


def test_authors_are_compared_only_over_the_same_editions(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")

    same = check(
        candidate, warehouse, "authors", "volume", previous={"papers": {"iclr-2021": 50}, "authors": {"*": 1000}}
    )
    other = check(
        candidate, warehouse, "authors", "volume", previous={"papers": {"sample": 500}, "authors": {"*": 1000}}
    )

    assert same["volume"].severity == "critical"
    assert other["volume"].passed


def test_a_release_never_loses_an_edition(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")

    volume = check(candidate, warehouse, "editions", "volume", previous={"papers": {"iclr-2020": 9, "iclr-2021": 50}})[
        "volume"
    ]

    assert volume.severity == "critical"
    assert "e.g. edition_id=iclr-2020" in volume.messages[0]


# --- no success by accident -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mart", ["editions", "papers", "reviews"])
def test_an_empty_mart_fails_every_group(tmp_path: Path, warehouse: Warehouse, mart: str) -> None:
    candidate = write_candidate(tmp_path / "candidate", changes=[f"delete from {mart}"])

    results = check(candidate, warehouse, mart)

    assert not any(result.passed for group, result in results.items() if group != "distributions" or mart == "editions")
    assert f"{mart}: there must be rows: found 0." in results["volume"].messages
    assert (
        results["keys"].error
        == f"could not be checked: there is no {'edition' if mart == 'editions' else 'row'} to look at"
    )


def test_an_all_null_rating_blocks(tmp_path: Path, warehouse: Warehouse) -> None:
    change = "update reviews set rating = null, is_rating_off_scale = null where edition_id = 'iclr-2022'"
    candidate = write_candidate(tmp_path / "candidate", editions={"iclr-2021": 50, "iclr-2022": 50}, changes=[change])

    completeness = check(candidate, warehouse, "reviews", "completeness")["completeness"]

    assert completeness.severity == "critical"
    assert completeness.messages[0].startswith(
        "reviews: reviews with a rating, of an edition with reviews, must be at least 1: edition_id=iclr-2022 "
        "(rated_count 0) [reviews.completeness.rated_count-"
    )


def test_an_all_null_required_column_blocks(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate", changes=["update papers set forum_url = null"])

    completeness = check(candidate, warehouse, "papers", "completeness")["completeness"]

    assert completeness.severity == "critical"
    assert any("(missing forum_url)" in message for message in completeness.messages)


def test_a_mart_without_a_suite_blocks(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    (candidate / "gossip").mkdir()
    (candidate / "gossip" / "iclr-2021.parquet").write_bytes((candidate / "editions.parquet").read_bytes())
    suites = {mart: suite for mart, suite in load_suites().items() if mart != "paper_links"}

    verdict = gate.run(candidate, warehouse=warehouse, suites=suites)

    results = by_name(verdict)
    assert not verdict.passed
    (contents,) = results["candidate_contents"].expectations
    assert contents.sample_keys == ["gossip", "paper_links"]
    assert results["paper_links_keys"].error == "could not be checked: no expectation was evaluated"
    assert results["papers_keys"].passed


@pytest.mark.parametrize("groups", [{}, {"keys": []}])
def test_an_empty_suite_blocks(tmp_path: Path, warehouse: Warehouse, groups: Groups) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    empty = Batch("rows", ("review_id",), "select review_id from reviews", lambda: groups)

    verdict = gate.run(candidate, warehouse=warehouse, suites=swapped(load_suites(), "reviews", empty))

    results = by_name(verdict)
    assert not verdict.passed
    assert results["reviews_keys"].error == "could not be checked: the suite reviews_rows is empty"
    assert results["reviews_volume"].error is not None
    assert results["papers_keys"].passed


def test_a_missing_file_is_an_error(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    (candidate / "authors.parquet").unlink()
    (candidate / "peer_reviews.duckdb").unlink()

    verdict = gate.run(candidate, warehouse=warehouse)

    results = by_name(verdict)
    assert not verdict.passed
    assert results["authors_keys"].error == "could not be checked: the candidate has no file authors.parquet"
    assert results["authors_keys"].severity is None
    assert (
        results["paper_authors_cross_table"].error == "could not be checked: the candidate has no file authors.parquet"
    )
    assert results["candidate_database"].error == "could not be checked: the candidate has no file peer_reviews.duckdb"


def test_a_folder_with_nothing_in_it_fails_everywhere(tmp_path: Path, warehouse: Warehouse) -> None:
    (tmp_path / "candidate").mkdir()

    verdict = gate.run(tmp_path / "candidate", warehouse=warehouse)

    assert not verdict.passed
    assert {result.name for result in verdict.results if result.passed} <= {"candidate_contents"}


def test_a_renamed_column_reads_as_an_error(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    rewrite(candidate / "reviews" / "iclr-2021.parquet", "select * rename (rating as score) from {file}")

    results = check(candidate, warehouse, "reviews")

    assert {result.error for result in results.values()} == {
        "could not be checked: reviews/iclr-2021.parquet has no column rating; the contract of reviews promises it"
    }
    assert all(result.severity is None and not result.expectations for result in results.values())


@pytest.mark.parametrize(
    ("select", "error"),
    [
        ("select * replace (rating::varchar as rating) from {file}",
         "column rating of reviews/iclr-2021.parquet is VARCHAR, not DOUBLE as its contract says"),
        ("select *, 1 as extra from {file}",
         "reviews/iclr-2021.parquet has the column extra, which the contract of reviews does not know"),
    ],
)  # fmt: skip
def test_columns_off_the_contract_are_errors(tmp_path: Path, warehouse: Warehouse, select: str, error: str) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    rewrite(candidate / "reviews" / "iclr-2021.parquet", select)

    assert check(candidate, warehouse, "reviews", "keys")["keys"].error == f"could not be checked: {error}"


def test_a_file_that_is_not_parquet_is_an_error(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")
    (candidate / "reviews" / "iclr-2021.parquet").write_text("<html>not found</html>")

    error = check(candidate, warehouse, "reviews", "keys")["keys"].error

    assert error is not None
    assert "reviews/iclr-2021.parquet" in error


def test_an_exception_inside_great_expectations_is_an_error(
    tmp_path: Path, warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    candidate = write_candidate(tmp_path / "candidate")

    def broken() -> Groups:
        return {"values": [expect.between("rating", 0, 10), expect.between("no_such_column", 0, 10)]}

    batch = Batch("rows", ("review_id",), "select review_id, rating from reviews", broken)
    with caplog.at_level(logging.INFO):
        verdict = gate.run(candidate, warehouse=warehouse, suites=swapped(load_suites(), "reviews", batch))

    values = by_name(verdict)["reviews_values"]
    assert not verdict.passed
    assert values.error is not None
    assert values.error.startswith("could not be checked: expect_column_values_to_be_between no_such_column: ")
    assert values.severity is None
    assert [(found.columns, found.success) for found in values.expectations] == [(["rating"], True)]
    assert caplog.text == ""


def test_a_suite_that_cannot_be_built_is_an_error(tmp_path: Path, warehouse: Warehouse) -> None:
    candidate = write_candidate(tmp_path / "candidate")

    def broken() -> Groups:
        raise ValueError("no limits given\nand more")

    batch = Batch("rows", ("review_id",), "select review_id from reviews", broken)
    verdict = gate.run(candidate, warehouse=warehouse, suites=swapped(load_suites(), "reviews", batch))

    assert not verdict.passed
    assert by_name(verdict)["reviews_keys"].error == "could not be checked: no limits given"


# --- Data Docs and manners --------------------------------------------------------------------------------------------


def test_data_docs_escape_values_and_load_nothing_from_elsewhere(tmp_path: Path, warehouse: Warehouse) -> None:
    evil = "<script>alert(1)</script>&<b>"
    change = f"update papers set status = '{evil}' where row_number = 2"
    candidate = write_candidate(tmp_path / "candidate", changes=[change])

    verdict = gate.run(candidate, warehouse=warehouse, data_docs=tmp_path / "docs")

    assert any(f"(status {evil})" in message for message in verdict.messages)
    pages = {page: page.read_text(encoding="utf-8") for page in (tmp_path / "docs").rglob("*.html")}
    assert len(pages) > len(load_suites())
    assert any("&lt;script&gt;alert(1)" in page for page in pages.values())
    for page in pages.values():
        assert "<script" not in page
        assert 'src="http' not in page
        assert "stylesheet" not in page
        assert "url('http" not in page
        assert "default-src 'none'" in page
    index = pages[tmp_path / "docs" / "index.html"]
    assert "papers_rows</a>: not all expectations met" in index
    assert "reviews_rows</a>: all expectations met" in index


def test_the_gate_is_quiet_and_stays_off_the_network(tmp_path: Path) -> None:
    write_candidate(tmp_path / "candidate", changes=["update reviews set rating = 99 where row_number = 1"])
    code = f"""
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        print("NETWORK", event, arguments)
sys.addaudithook(refuse)
from pathlib import Path
from expectations import gate
from pipelines.config.settings import Settings
from pipelines.warehouse import Warehouse
folder = Path({str(tmp_path)!r})
warehouse = Warehouse(Settings(warehouse_dir=folder / "warehouse"))
print(gate.run(folder / "candidate", warehouse=warehouse, data_docs=folder / "docs").passed)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_DIR, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
    assert done.stderr == ""
