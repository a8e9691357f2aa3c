"""The editions and seeds that the project ships: complete, consistent, and as the upstreams name things."""

import csv
import re
from collections import Counter
from datetime import date

import pytest

from pipelines.config.editions import (
    ConferenceSiteSource,
    Edition,
    HuggingFaceSource,
    OpenReviewSource,
    PaperCopilotSource,
    SampleSource,
    load_editions,
)
from pipelines.config.settings import PROJECT_DIR
from pipelines.sources import FETCHERS

EDITIONS = {
    edition.id: edition for edition in load_editions(PROJECT_DIR / "pipelines" / "config" / "editions.yaml").editions
}
ICLR_YEARS = (2013, 2014, *range(2017, 2027))
OPENREVIEW, HUB, ARCHIVE, SITE = "openreview", "hugging_face", "paper_copilot", "conference_site"
BLIND = "Blind_Submission"

# What each edition must have: the venue's group on OpenReview, the invitation of its papers, and its sources in order.
EXPECTED: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "iclr-2013": ("ICLR.cc/2013/conference", "submission", (OPENREVIEW, ARCHIVE)),
    "iclr-2014": ("ICLR.cc/2014/conference", "submission", (OPENREVIEW, ARCHIVE)),
    "iclr-2017": ("ICLR.cc/2017/conference", "submission", (OPENREVIEW, ARCHIVE)),
    **{
        f"iclr-{year}": (f"ICLR.cc/{year}/Conference", "Blind_Submission", (OPENREVIEW, ARCHIVE, SITE))
        for year in range(2018, 2024)
    },
    "iclr-2024": ("ICLR.cc/2024/Conference", "Submission", (OPENREVIEW, ARCHIVE, SITE)),
    "iclr-2025": ("ICLR.cc/2025/Conference", "Submission", (OPENREVIEW, ARCHIVE, SITE)),
    "iclr-2026": ("ICLR.cc/2026/Conference", "Submission", (OPENREVIEW, HUB, ARCHIVE, SITE)),
    **{
        f"neurips-{year}": (f"NeurIPS.cc/{year}/Conference", invitation, (OPENREVIEW, ARCHIVE, SITE))
        for year, invitation in {2021: BLIND, 2022: BLIND, 2023: "Submission", 2024: "Submission"}.items()
    },
    "neurips-2025": ("NeurIPS.cc/2025/Conference", "Submission", (OPENREVIEW, HUB, SITE)),
    **{
        f"icml-{year}": (f"ICML.cc/{year}/Conference", "Submission", (OPENREVIEW, ARCHIVE, SITE))
        for year in range(2023, 2026)
    },
    "colm-2024": ("colmweb.org/COLM/2024/Conference", "Submission", (OPENREVIEW, ARCHIVE)),
    "colm-2025": ("colmweb.org/COLM/2025/Conference", "Submission", (OPENREVIEW, HUB, ARCHIVE)),
    **{
        f"corl-{year}": (f"robot-learning.org/CoRL/{year}/Conference", invitation, (OPENREVIEW, ARCHIVE))
        for year, invitation in {2021: BLIND, 2022: BLIND, 2023: BLIND, 2024: "Submission", 2025: "Submission"}.items()
    },
    "emnlp-2023": ("EMNLP/2023/Conference", "Submission", (OPENREVIEW, ARCHIVE)),
    "acmmm-2024": ("acmmm.org/ACMMM/2024/Conference", "Submission", (OPENREVIEW, ARCHIVE)),
    "www-2024": ("ACM.org/TheWebConf/2024/Conference", "Submission", (OPENREVIEW, ARCHIVE)),
    "aistats-2025": ("aistats.org/AISTATS/2025/Conference", "Submission", (OPENREVIEW, ARCHIVE)),
    "aistats-2026": ("aistats.org/AISTATS/2026/Conference", None, (ARCHIVE,)),
    **{f"www-{year}": (f"ACM.org/TheWebConf/{year}/Conference", None, (ARCHIVE,)) for year in (2025, 2026)},
    **{
        f"alt-{year}": (f"algorithmiclearningtheory.org/ALT/{year}/Conference", None, (ARCHIVE,))
        for year in (2025, 2026)
    },
    **{f"3dv-{year}": (f"3DV/{year}/Conference", None, (ARCHIVE,)) for year in (2025, 2026)},
    **{f"ai4x-{year}": (f"AI4X.cc/{year}/Conference", None, (ARCHIVE,)) for year in (2025, 2026)},
}
# What was withdrawn or rejected at the desk has an invitation of its own in version 1 of the API.
WITHDRAWN = {f"iclr-{year}" for year in range(2018, 2024)} | {"neurips-2021", "neurips-2022"}
WITHDRAWN |= {f"corl-{year}" for year in range(2021, 2024)}
DESK_REJECTED = WITHDRAWN - {"iclr-2018", "iclr-2019"}
# Venues that were on the second API in the course of 2023.
EARLY = {"neurips-2023", "icml-2023", "emnlp-2023"}
WITHOUT_SCALE = {"COLM", "EMNLP", "ACMMM", "WWW", "AISTATS", "ALT", "3DV", "AI4X"}
STATUSES = {"under_review", "accepted", "rejected", "withdrawn", "desk_rejected", "workshop"}
FIGURES = {
    "submission_count",
    "accepted_count",
    "withdrawn_count",
    "desk_rejected_count",
    "review_count",
    "rating_mean",
}


def seed(name: str) -> list[dict[str, str]]:
    with (PROJECT_DIR / "dbt_project" / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


# Editions


def test_every_edition_that_the_project_promises_is_there_and_no_other() -> None:
    assert set(EDITIONS) == {"sample", "sample-2025", *EXPECTED}
    assert {f"iclr-{year}" for year in ICLR_YEARS} <= set(EDITIONS)


@pytest.mark.parametrize(("sample", "real"), [("sample", "iclr-2026"), ("sample-2025", "iclr-2025")])
def test_the_sample_has_the_sources_of_a_real_year(sample: str, real: str) -> None:
    def read(edition_id: str) -> list[tuple[str, str]]:
        return [(source.dataset_schema, source.file_format) for source in EDITIONS[edition_id].sources]

    assert read(sample) == read(real)
    assert EDITIONS[sample].year == EDITIONS[real].year
    assert {source.year for source in EDITIONS[sample].sources if isinstance(source, SampleSource)} == {
        EDITIONS[sample].year
    }


def test_only_the_current_year_is_on_the_schedule() -> None:
    assert [edition.id for edition in EDITIONS.values() if edition.active] == ["iclr-2026"]


@pytest.mark.parametrize("edition_id", EXPECTED)
def test_an_edition_has_the_sources_of_its_year(edition_id: str) -> None:
    edition = EDITIONS[edition_id]
    venue_id, invitation, kinds = EXPECTED[edition_id]

    assert edition_id == f"{edition.venue.lower()}-{edition.year}"
    assert edition.venue_id == venue_id
    assert tuple(dict.fromkeys(source.kind for source in edition.sources)) == kinds
    notes = {source.name: source for source in edition.sources if isinstance(source, OpenReviewSource)}
    if invitation:
        assert notes["openreview"].submissions == f"{venue_id}/-/{invitation}"
    asides = {name: source.submissions for name, source in notes.items() if name != "openreview"}
    assert ("openreview_withdrawn" in asides) == (edition_id in WITHDRAWN)
    assert ("openreview_desk_rejected" in asides) == (edition_id in DESK_REJECTED)
    assert all(submissions.startswith(f"{venue_id}/-/") for submissions in asides.values())


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=EDITIONS)
def test_a_source_has_the_address_of_its_venue_and_year(edition: Edition) -> None:
    stem = f"{edition.venue.lower()}-{edition.year}"
    for source in edition.sources:
        if isinstance(source, OpenReviewSource):
            api = "v1" if edition.year < 2024 and edition.id not in EARLY else "v2"
            assert (source.api, source.base_url) == (api, f"https://api{'2' * (api == 'v2')}.openreview.net")
        elif isinstance(source, PaperCopilotSource):
            folder = "nips" if edition.venue == "NeurIPS" else edition.venue.lower()
            assert source.file == f"venues/{folder}/{folder}{edition.year}.jsonl"
            assert source.base_url == "https://raw.githubusercontent.com/papercopilot/openreview/main"
        elif isinstance(source, ConferenceSiteSource):
            assert source.base_url == f"https://{edition.venue.lower()}.cc"
            assert source.file == f"static/virtual/data/{stem}-orals-posters.json"
            sidecar = f"static/virtual/data/{stem}-abstracts.json" if edition.year >= 2026 else None
            assert source.abstracts_file == sidecar
        elif isinstance(source, HuggingFaceSource):
            assert source.dataset == f"davidheineman/{stem}"
        assert getattr(source, "path", None) is None
        assert getattr(source, "url", None) is None


def test_every_kind_of_source_can_be_fetched() -> None:
    assert {source.kind for edition in EDITIONS.values() for source in edition.sources} <= set(FETCHERS)


# Rating scales


def test_a_years_ratings_have_one_scale() -> None:
    scales = seed("rating_scales")
    # No form that could be cited was found (docs/editions.md), or there were no ratings.
    without = {
        "iclr-2013",
        "iclr-2014",
        "neurips-2021",
        "neurips-2023",
        "icml-2023",
        "icml-2024",
        "corl-2024",
        "corl-2025",
    }
    without |= {edition.id for edition in EDITIONS.values() if edition.venue in WITHOUT_SCALE}

    for edition in EDITIONS.values():
        found = [
            row
            for row in scales
            if row["venue"] == edition.venue and int(row["first_year"]) <= edition.year <= int(row["last_year"])
        ]
        assert len(found) == (edition.id not in without), edition.id
    for row in scales:
        ratings = [int(rating) for rating in row["allowed_ratings"].split(" ")]
        assert ratings == sorted(set(ratings))
        assert row["score_field"] in {"rating", "recommendation", "overall_recommendation"}


def test_a_scale_says_where_it_can_be_read_and_belongs_to_an_edition() -> None:
    venues = {edition.venue for edition in EDITIONS.values()}

    for row in seed("rating_scales"):
        assert len(row["source"]) > 20
        assert row["venue"] in venues
        assert row["first_year"] <= row["last_year"]


def test_the_docs_name_every_edition_without_a_scale() -> None:
    scales = seed("rating_scales")
    page = (PROJECT_DIR / "docs" / "editions.md").read_text(encoding="utf-8")
    said = page.partition("## Rating scales")[2].partition("\n## ")[0]

    for edition in EDITIONS.values():
        if not any(
            row["venue"] == edition.venue and int(row["first_year"]) <= edition.year <= int(row["last_year"])
            for row in scales
        ):
            assert re.search(rf"\b{edition.venue}\b[^,;.\n]*\b{edition.year}\b", said), edition.id


# Venue labels


def test_labels_are_unique_and_in_the_form_that_texts_are_brought_to() -> None:
    rows = seed("venue_labels")

    assert [label for label, count in Counter(row["label"] for row in rows).items() if count > 1] == []
    for row in rows:
        assert row["label"] == " ".join(row["label"].lower().split()) != ""
        assert not re.search(r"\b(iclr|colm|corl|neurips) \d{4}\b", row["label"])
        assert row["status"] in STATUSES
        assert row["decision"] in {"", "oral", "spotlight", "poster", "workshop"}
        assert (row["status"] == "workshop") == (row["decision"] == "workshop")
        assert row["status"] in {"accepted", "workshop"} or row["decision"] == ""


# Published figures


def test_published_figures_are_bands_of_known_figures_of_real_editions() -> None:
    rows = seed("published_figures")

    assert max(Counter((row["edition_id"], row["figure"]) for row in rows).values()) == 1
    for row in rows:
        assert row["edition_id"] in EDITIONS
        assert row["figure"] in FIGURES
        assert 0 < float(row["value_low"]) <= float(row["value_high"])
        assert row["source"]
        assert date(2026, 1, 1) < date.fromisoformat(row["published_on"])
        assert row["figure"] == "rating_mean" or row["value_low"].isdecimal()
        assert row["figure"] == "rating_mean" or row["value_high"].isdecimal()


def test_every_decided_iclr_on_openreview_has_figures_to_compare_with() -> None:
    figures = Counter(row["edition_id"] for row in seed("published_figures"))

    assert set(figures) == {f"iclr-{year}" for year in ICLR_YEARS}
    # 2014 shows no decisions.
    assert all("submission_count" in _figures_of(edition_id) for edition_id in figures)
    assert all("accepted_count" in _figures_of(edition_id) for edition_id in figures if edition_id != "iclr-2014")


def _figures_of(edition_id: str) -> set[str]:
    return {row["figure"] for row in seed("published_figures") if row["edition_id"] == edition_id}


@pytest.mark.parametrize(
    ("figure", "value"), [("submission_count", 490), ("accepted_count", 198), ("review_count", 1489)]
)
def test_the_figures_of_2017_are_those_of_its_file(figure: str, value: float) -> None:
    (row,) = (row for row in seed("published_figures") if (row["edition_id"], row["figure"]) == ("iclr-2017", figure))

    assert float(row["value_low"]) == float(row["value_high"]) == value


def test_a_rounded_mean_is_the_band_that_rounds_to_it() -> None:
    bands = {
        row["edition_id"]: (float(row["value_low"]), float(row["value_high"]))
        for row in seed("published_figures")
        if row["figure"] == "rating_mean"
    }

    assert bands == {"iclr-2017": (5.6795, 5.6805), "iclr-2018": (5.3555, 5.3565)}
    assert bands["iclr-2017"][0] <= 8458 / 1489 <= bands["iclr-2017"][1]
