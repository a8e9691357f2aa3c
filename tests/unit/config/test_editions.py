"""`pipelines/config/editions.py`: what a person may write in an editions file, and how a mistake in it is explained."""

from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from pipelines.config.editions import (
    ConferenceSiteSource,
    EditionsError,
    FilesSource,
    HuggingFaceSource,
    OpenReviewSource,
    PaperCopilotSource,
    SampleSource,
    load_editions,
)
from pipelines.config.settings import PROJECT_DIR
from pipelines.stage.contracts import HUB_DATASET

EDITION = """\
editions:
  - id: test-2026
    venue: TEST
    year: 2026
    venue_id: TEST.cc/2026/Conference
    sources:
      - kind: hugging_face
        dataset: someone/test-2026
"""
SYNTHETIC = """\
editions:
  - id: {id}
    venue: Synthetic
    year: 2025
    venue_id: Synthetic.example/2025/Conference
    sources: [{{kind: sample}}, {{kind: sample, imitates: openreview}}]
"""
FILES = EDITION.replace("kind: hugging_face\n        dataset: someone/test-2026", "kind: files")
VENUE = (
    EDITION
    + """\
venues:
  - venue: OTHER
    years: [2026, 2024]
    venue_id: OTHER.cc/{year}/Conference
    sources:
      - {kind: openreview, name: withdrawn, submissions: "OTHER.cc/{year}/Conference/-/Withdrawn"}
      - kind: paper_copilot
"""
)
NO_SOURCES = EDITION.split("    sources:")[0]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some editions.yaml"


def mistake(file: Path, text: str | bytes) -> str:
    """The message for a file with this text; it is one line that begins with the file."""
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(EditionsError) as caught:
        load_editions(file)
    message = caught.value.format_message()
    assert message.startswith(f"{file}: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_the_projects_own_file_is_valid() -> None:
    editions = load_editions(PROJECT_DIR / "pipelines" / "config" / "editions.yaml")
    assert editions.ids[0] == "sample"
    assert editions["sample"].is_synthetic
    assert not editions["iclr-2026"].is_synthetic
    assert editions.run_together("sample") == ["sample", "sample-2025"]
    assert editions.run_together("sample-2025") == ["sample-2025"]
    assert editions.run_together("iclr-2026") == ["iclr-2026"]
    assert editions.run_together("all") == editions.ids
    (source,) = (source for source in editions["iclr-2026"].sources if isinstance(source, HuggingFaceSource))
    assert (source.dataset, source.files, source.revision) == ("davidheineman/iclr-2026", "data/*.parquet", "main")


def test_an_edition_that_is_called_sample_and_is_real_is_run_alone(file: Path) -> None:
    file.write_text(EDITION.replace("test-2026", "sample"))
    assert load_editions(file).run_together("sample") == ["sample"]
    with pytest.raises(EditionsError, match="There is no edition 'nope'"):
        load_editions(file).run_together("nope")


def test_a_source_of_the_sample_is_called_and_read_like_the_one_that_it_imitates(file: Path) -> None:
    file.write_text(SYNTHETIC.format(id="made-up"))
    sources = load_editions(file)["made-up"].sources
    assert [(one.name, one.dataset_schema, one.file_format) for one in sources] == [
        ("sample", "hub_dataset", "parquet"),
        ("openreview", "openreview", "json"),
    ]
    assert [one.year for one in sources if isinstance(one, SampleSource)] == [2025, 2025]


def test_defaults(file: Path) -> None:
    file.write_text(EDITION)
    edition = load_editions(file)["test-2026"]
    (source,) = edition.sources
    assert isinstance(source, HuggingFaceSource)
    assert (source.name, source.files, source.revision, source.as_of) == (
        "hugging_face",
        "data/*.parquet",
        "main",
        None,
    )
    assert source.dataset_schema == HUB_DATASET.name
    assert not edition.active


# Each case: text, then what the message must name beside the file.
MISTAKES = {
    "unknown field of an edition": (EDITION + "    yaer: 2026\n", ["edition 'test-2026'", "'yaer'", "spelling"]),
    "unknown field of a source": (
        EDITION + "        revison: main\n",
        ["edition 'test-2026'", "source number 1", "field 'revison'", "spelling"],
    ),
    "unknown field of the file": (EDITION + "edition: 1\n", ["field 'edition'", "spelling"]),
    "unknown kind": (
        EDITION.replace("hugging_face", "pigeon"),
        ["edition 'test-2026'", "source number 1", "kind 'pigeon' does not exist", "'hugging_face', 'files', 'sample'"],
    ),
    "no kind": (EDITION.replace("kind: hugging_face", "name: hub"), ["edition 'test-2026'", "source number 1", "kind"]),
    "field with the name of a kind": (
        EDITION + "        files: 5\n",
        ["edition 'test-2026'", "source number 1", "field 'files'", "valid string", "found 5"],
    ),
    "no dataset": (EDITION.replace("        dataset: someone/test-2026\n", ""), ["'dataset'", "required"]),
    "bad dataset": (EDITION.replace("someone/", ""), ["field 'dataset'", "'test-2026' does not match"]),
    "bad base_url": (EDITION + "        base_url: ftp://hub\n", ["field 'base_url'", "^https?://"]),
    "no sources": (NO_SOURCES, ["edition 'test-2026'", "field 'sources'", "required"]),
    "empty sources": (NO_SOURCES + "    sources: []\n", ["field 'sources'", "at least 1"]),
    "a source that is a word": (NO_SOURCES + "    sources: [sample]\n", ["'test-2026'", "source number 1", "'sample'"]),
    "no id": (EDITION.replace("  - id: test-2026\n    venue", "  - venue"), ["edition number 1", "field 'id'"]),
    "capital id": (EDITION.replace("id: test", "id: Test"), ["edition 'Test-2026'", "field 'id'", "[a-z]"]),
    "id that leads elsewhere": (EDITION.replace("id: test-2026", "id: ../x"), ["edition '../x'", "field 'id'"]),
    "number as id": (EDITION.replace("id: test-2026", "id: 2026"), ["edition 2026", "field 'id'", "valid string"]),
    "year out of range": (EDITION.replace("year: 2026", "year: 26"), ["field 'year'", "1990", "found 26"]),
    "year in words": (EDITION.replace("year: 2026", "year: next"), ["field 'year'", "integer", "found 'next'"]),
    "active in words": (EDITION + "    active: perhaps\n", ["field 'active'", "boolean", "found 'perhaps'"]),
    "empty venue": (EDITION.replace("venue: TEST", "venue: ''"), ["field 'venue'", "at least 1 character"]),
    "two mistakes": (
        EDITION.replace("year: 2026", "year: 26").replace("venue: TEST", "venue: ''"),
        ["field 'venue'", "; ", "field 'year'"],
    ),
    "edition listed twice": (EDITION + EDITION.removeprefix("editions:\n"), ["'test-2026' is listed twice"]),
    "source name used twice": (
        EDITION + "      - kind: hugging_face\n        dataset: someone/else\n",
        ["edition 'test-2026'", "'hugging_face' is used twice", "another 'name'"],
    ),
    "synthetic editions apart": (
        SYNTHETIC.format(id="a") + EDITION.removeprefix("editions:\n") + SYNTHETIC.format(id="b").split("\n", 1)[1],
        ["synthetic editions must stand one after the other"],
    ),
    "synthetic beside real": (EDITION + "      - kind: sample\n", ["edition 'test-2026'", "synthetic"]),
    "files without a place": (FILES, ["edition 'test-2026'", "exactly one of 'path'", "'url'"]),
    "files with two places": (
        FILES + "        path: x.parquet\n        url: https://example.org/x.parquet\n",
        ["exactly one of 'path'"],
    ),
    "files with an empty path": (FILES + "        path: ''\n", ["field 'path'", "at least 1 character"]),
    "url of another scheme": (FILES + "        url: ftp://example.org/x\n", ["field 'url'", "^https?://"]),
    "no date": (EDITION + "        as_of: soon\n", ["edition 'test-2026'", "field 'as_of'", "soon"]),
    "year as date": (EDITION + "        as_of: 2025\n", ["field 'as_of'", "2025-11-21", "found 2025"]),
    "nothing": ("", ["dictionary", "found None"]),
    "no editions": ("editions:\n", ["field 'editions'", "list"]),
    "zero editions": ("editions: []\n", ["field 'editions'", "at least 1"]),
    "list at the top": ("- id: x\n", ["dictionary"]),
    "repeated key of an edition": (EDITION + "    year: 2027\n", ["line 9", "'year' appears twice"]),
    "repeated key at the top": (EDITION + "editions: []\n", ["line 9", "'editions' appears twice"]),
    "tab": ("editions:\n\t- id: x\n", ["not valid YAML at line 2", "\\t"]),
    "bad characters": (b"editions: [\x00]\n", ["not valid YAML", "special characters"]),
    "not UTF-8": (b"editions: [\xff]\n", ["not valid YAML", "utf-8"]),
    "too deep": ("editions: " + "[" * 20_000, ["not valid YAML"]),
    "within itself": ("editions: &all [*all]\n", ["not valid YAML"]),
    "unknown field of a venue": (VENUE + "    yaers: [1]\n", ["venue 'OTHER' (number 1)", "'yaers'", "spelling"]),
    "venue without a name": (VENUE.replace("  - venue: OTHER\n    years", "  - years"), ["venue number 1", "'venue'"]),
    "venue with a blank": (
        VENUE.replace("venue: OTHER", "venue: O T"),
        ["venue 'O T'", "field 'venue'", "[A-Za-z0-9]"],
    ),
    "venue without years": (VENUE.replace("[2026, 2024]", "[]"), ["venue 'OTHER'", "field 'years'", "at least 1"]),
    "one year and no list": (VENUE.replace("[2026, 2024]", "2026"), ["venue 'OTHER'", "field 'years'", "list", "2026"]),
    "year of a venue in words": (VENUE.replace("2024]", "next]"), ["venue 'OTHER'", "'years.1'", "integer", "'next'"]),
    "year of a venue out of range": (VENUE.replace("2024]", "24]"), ["venue 'OTHER'", "'years.1'", "1990", "found 24"]),
    "year of a venue twice": (VENUE.replace("2024]", "2026]"), ["venue 'OTHER'", "year 2026 is listed twice"]),
    "venue id of no year": (
        VENUE.replace("venue_id: OTHER.cc/{year}", "venue_id: O"),
        ["'OTHER'", "'venue_id'", "{year}"],
    ),
    "venue id is a number": (
        VENUE.replace("OTHER.cc/{year}/Conference\n", "5\n"),
        ["'OTHER'", "'venue_id'", "found 5"],
    ),
    "venue without sources": (VENUE.split("    sources:\n      - {")[0], ["venue 'OTHER'", "'sources'", "required"]),
    "unknown kind at a venue": (
        VENUE.replace("kind: paper_copilot", "kind: pigeon"),
        ["venue 'OTHER' (number 1)", "source number 2", "kind 'pigeon' does not exist", "'paper_copilot'"],
    ),
    "unknown field at a venue": (
        VENUE + "        fiel: x\n",
        ["venue 'OTHER'", "source number 2", "'fiel'", "spelling"],
    ),
    "a venue's source that is a word": (VENUE + "      - sample\n", ["'OTHER'", "source number 3", "'sample'"]),
    "mistake in an edition above venues": (
        VENUE.replace("year: 2026", "year: 26"),
        ["edition 'test-2026'", "field 'year'", "found 26"],
    ),
    "year in two entries of a venue": (
        VENUE + VENUE.partition("venues:\n")[2],
        ["edition 'other-2024' is listed twice"],
    ),
    "a venue that is a word": (EDITION + "venues: [ICLR]\n", ["venue number 1", "found 'ICLR'"]),
    "venues that are no list": (EDITION + "venues: ICLR\n", ["field 'venues'", "list", "found 'ICLR'"]),
    "venues within themselves": ("venues: &all [*all]\n", ["not valid YAML"]),
    "venues beside editions that are no list": ("editions: 5\nvenues: []\n", ["field 'editions'", "list", "found 5"]),
    "two documents": (EDITION + "---\n" + EDITION, ["not valid YAML at line 9"]),
}


@pytest.mark.parametrize(("text", "named"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence_that_names_the_place(file: Path, text: str | bytes, named: list[str]) -> None:
    message = mistake(file, text)
    for words in named:
        assert words in message


@pytest.mark.parametrize("tag", ["object/apply:os.mkdir", "object:pathlib.Path", "name:os.system", "module:os"])
def test_python_objects_are_refused(file: Path, tag: str) -> None:
    planted = file.parent / "planted"
    assert "python/" in mistake(file, f"editions: !!python/{tag} ['{planted}']\n")
    assert not planted.exists()


def test_a_missing_file_and_a_folder_name_the_variable_to_set(tmp_path: Path) -> None:
    for place, reason in ((tmp_path / "nope.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(EditionsError, match="EDITIONS_FILE") as caught:
            load_editions(place)
        assert f"{place}: cannot be read ({reason}" in caught.value.format_message()


def test_the_error_is_one_that_click_prints_by_itself() -> None:
    assert issubclass(EditionsError, click.ClickException)


def test_an_unknown_edition_lists_those_there_are(file: Path) -> None:
    file.write_text(EDITION + EDITION.removeprefix("editions:\n").replace("test-2026", "other-2026"))
    with pytest.raises(EditionsError) as caught:
        load_editions(file)["nope"]
    said = caught.value.format_message()
    assert said == "There is no edition 'nope'; the editions file has: test-2026, other-2026."


def test_anchors_aliases_and_merge_keys_work(file: Path) -> None:
    file.write_text(
        EDITION.replace("- id", "- &first\n    id").replace("sources:", "sources: &hub")
        + "  - {id: alias-2026, venue: TEST, year: 2026, venue_id: TEST.cc, sources: *hub}\n"
        + "  - <<: *first\n    id: merged-2026\n    year: 2027\n"
    )
    editions = load_editions(file)
    assert editions.ids == ["test-2026", "alias-2026", "merged-2026"]
    assert editions["alias-2026"].sources == editions["test-2026"].sources
    assert (editions["merged-2026"].year, editions["merged-2026"].venue) == (2027, "TEST")


def test_a_venue_stands_for_one_edition_a_year(file: Path) -> None:
    file.write_text(VENUE)
    editions = load_editions(file)
    assert editions.ids == ["test-2026", "other-2026", "other-2024"]
    for year in (2026, 2024):
        edition = editions[f"other-{year}"]
        assert (edition.venue, edition.year, edition.venue_id) == ("OTHER", year, f"OTHER.cc/{year}/Conference")
        withdrawn, archive = edition.sources
        assert isinstance(withdrawn, OpenReviewSource)
        assert withdrawn.submissions == f"OTHER.cc/{year}/Conference/-/Withdrawn"
        assert isinstance(archive, PaperCopilotSource)
        assert archive.file == f"venues/other/other{year}.jsonl"
        assert not edition.active


def test_an_edition_that_is_written_out_wins_over_its_venue(file: Path) -> None:
    file.write_text(VENUE.replace("test-2026", "other-2024"))
    editions = load_editions(file)
    assert editions.ids == ["other-2024", "other-2026"]
    assert editions["other-2024"].venue == "TEST"


def test_venues_alone_are_enough_and_a_name_may_begin_with_a_digit(file: Path) -> None:
    file.write_text(VENUE.removeprefix(EDITION).replace("OTHER", "3DV"))
    assert load_editions(file).ids == ["3dv-2026", "3dv-2024"]


def test_a_mistake_of_a_venue_is_said_once_and_not_for_each_year(file: Path) -> None:
    assert mistake(file, VENUE.replace("kind: paper_copilot", "kind: pigeon")).count("pigeon") == 1


def test_what_upstreams_call_a_venue(file: Path) -> None:
    site = "      - kind: conference_site\n"
    file.write_text(VENUE.removeprefix(EDITION).replace("OTHER", "NeurIPS") + site)
    _, archive, listed = load_editions(file)["neurips-2024"].sources
    assert isinstance(archive, PaperCopilotSource)
    assert archive.file == "venues/nips/nips2024.jsonl"
    assert isinstance(listed, ConferenceSiteSource)
    assert (listed.base_url, listed.file) == (
        "https://neurips.cc",
        "static/virtual/data/neurips-2024-orals-posters.json",
    )


@pytest.mark.parametrize(
    ("api", "host", "invitation"), [("v1", "api", "Blind_Submission"), ("v2", "api2", "Submission")]
)
def test_the_address_and_the_invitation_follow_the_api_that_is_given(
    file: Path, api: str, host: str, invitation: str
) -> None:
    file.write_text(
        EDITION.replace("kind: hugging_face", f"kind: openreview\n        api: {api}").split("        data")[0]
    )
    (source,) = load_editions(file)["test-2026"].sources
    assert isinstance(source, OpenReviewSource)
    assert source.base_url == f"https://{host}.openreview.net"
    assert source.submissions == f"TEST.cc/2026/Conference/-/{invitation}"


def path_of(file: Path, given: str) -> str | None:
    file.write_text(FILES + f"        path: '{given}'\n")
    (source,) = load_editions(file)["test-2026"].sources
    assert isinstance(source, FilesSource)
    return source.path


def test_a_relative_path_counts_from_the_files_own_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert path_of(file, "data/*.parquet") == str(file.parent / "data" / "*.parquet")
    assert path_of(file, "/data/x.parquet") == "/data/x.parquet"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert path_of(file, "~/x.parquet") == str(tmp_path / "home" / "x.parquet")


MIDNIGHT, TEN = datetime(2025, 11, 21, tzinfo=UTC), datetime(2025, 11, 21, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2025-11-21", MIDNIGHT),
        ("'2025-11-21'", MIDNIGHT),
        ("2025-11-21 10:00:00", TEN),
        ("2025-11-21T10:00:00Z", TEN),
        ("'2025-11-21T10:00'", TEN),
        ("2025-11-21T12:00:00+02:00", TEN),
        ("'2025-11-21T05:00:00-0500'", TEN),
        ("", None),
    ],
)
def test_dates_with_and_without_a_time_zone(file: Path, given: str, meant: datetime | None) -> None:
    file.write_text(EDITION + f"        as_of: {given}\n")
    (source,) = load_editions(file)["test-2026"].sources
    assert source.as_of == meant
