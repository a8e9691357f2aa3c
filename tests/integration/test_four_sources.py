"""All sources together: who wins where they disagree, what odd shapes become, and the archive's own true figures.

One edition has a paper for every combination of the four sources, each of which says something else in every column.
What must come of it is read from `docs/precedence.md`, so that the page is tested too.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pipelines import publish as releases
from pipelines.config.editions import Edition
from pipelines.config.settings import PROJECT_DIR
from tests.hub_files import hub_review, hub_row, write_hub_file
from tests.model_runs import ModelRun
from tests.openreview_server import (
    VENUE,
    VENUE_2017,
    Note,
    OpenReviewServer,
    author_response_v2,
    decision_v1,
    decision_v2,
    desk_rejection_v2,
    meta_review_v2,
    note_v1,
    note_v2,
    public_comment_v2,
    review_v1,
    review_v2,
    withdrawal_v2,
)
from tests.upstream_servers import FileServer

pytestmark = pytest.mark.slow

TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"
LETTERS = {"openreview": "O", "hub_dataset": "H", "paper_copilot": "P", "conference_site": "S"}
SUBSETS = [subset for size in range(1, 5) for subset in combinations(LETTERS, size)]

E_MAIL = re.compile(r"[\w.+-]{2,}@[\w-]{2,}(?:\.[\w-]+)*\.[A-Za-z]{2,}")


def paper_id(subset: tuple[str, ...]) -> str:
    """Such as `paper_O__S` for the paper that OpenReview and the conference site have."""
    return "paper_" + "".join(letter if source in subset else "_" for source, letter in LETTERS.items())


def forum(id: str) -> str:
    return f"https://openreview.net/forum?id={id}"


def precedence() -> dict[str, list[str]]:
    """The table of docs/precedence.md: the sources in their order, by what they decide."""
    page = (PROJECT_DIR / "docs" / "precedence.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| .* \| (`.*`) \|$", page, re.MULTILINE)
    return {name: re.findall(r"`(\w+)`", order) for name, order in rows}


def first_of(column: str, having: tuple[str, ...] | set[str]) -> str | None:
    return next((source for source in precedence()[column] if source in having), None)


# --- what each source says of paper number `number` -------------------------------------------------------------------


def openreview_notes(id: str, number: int) -> list[Note]:
    paper = note_v2(
        number,
        id=id,
        title=f"{number} as OpenReview has it",
        abstract=f"Paper {number} in the words of OpenReview, at some length.",
        authors=["Ada Openreview", "Bo Sample"],
        venue="Submitted to ICLR 2026",
        hidden=(),
        keywords=["of openreview"],
        primary_area="area of openreview",
        _bibtex="@openreview",
    )
    # Its confidence is hidden here, which the Hub's version of the same review has.
    return [paper, review_v2(paper, 1, id=f"{id}_a", rating=8, hidden=["confidence"])]


def hub_paper(id: str, number: int, **changes: Any) -> dict[str, Any]:
    given = {
        "url": forum(id),
        "title": f"{number} as the Hub has it",
        "abstract": f"Paper {number} in the words of the Hub, at some length.",
        "venue": "ICLR 2026 Conference Withdrawn Submission",
        "invitation": repr([f"{VENUE}/-/Submission", f"{VENUE}/Submission{1000 + number}/-/Full_Submission"]),
        "authors": ["Ada Hub"],
        "reviews": [hub_review(f"{id}_a", rating=2, confidence=1), hub_review(f"{id}_b", rating=4, confidence=5)],
        "_bibtex": "@hub",
    }
    return hub_row(number, **(given | changes))


def archive_record(id: str, number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "title": f"{number} as the archive has it",
        "track": "main",
        "status": "Desk Reject",
        "abstract": f"Paper {number} in the words of the archive, at some length.",
        "keywords": "of archive",
        "primary_area": "area of archive",
        "author": "Ada Archive;Bo Sample",
        "authorids": "ada@example.org;~Bo_Sample1",
        "aff": "University of A;University of B",
        "bibtex": "@archive",
        "rating": "0;6;6",
        "confidence": "3;3;3",
    } | changes


def site_event(id: str, number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "uid": f"uid{id}",
        "name": f"{number} as the site has it",
        "authors": [{"id": 1, "fullname": "Ada Site", "institution": "Institute of S"}],
        "topic": "area of site",
        "keywords": ["of site"],
        "decision": "Accept (Oral)",
        "eventtype": "Oral",
        "sourceurl": f"https://openreview.net/group?id={VENUE}",
        "paper_url": forum(id),
        "eventmedia": None,
        "visible": True,
    } | changes


def of_each(template: str, **known: str | None) -> dict[str, str | None]:
    """What each source says, from a template with its word for itself."""
    words = {"openreview": "OpenReview", "hub_dataset": "the Hub", "paper_copilot": "the archive"}
    return {source: template.format(word) for source, word in (words | {"conference_site": "the site"}).items()} | known


KEYWORDS = {"openreview": "openreview", "paper_copilot": "archive", "conference_site": "site"}  # the Hub has none
STATUSES = {
    "openreview": "rejected",
    "hub_dataset": "withdrawn",
    "paper_copilot": "desk_rejected",
    "conference_site": "accepted",
}
AUTHORS = {
    "openreview": ["Ada Openreview", "Bo Sample"],
    "hub_dataset": ["Ada Hub"],
    "paper_copilot": ["Ada Archive", "Bo Sample"],
    "conference_site": ["Ada Site"],
}
BIBTEX = {"openreview": "@openreview", "hub_dataset": "@hub", "paper_copilot": "@archive"}


def odd_notes() -> list[Note]:
    """Papers that OpenReview alone has, in shapes that a crawl of 2026 meets."""
    hidden = note_v2(201, id="hidden0001", hidden=("authors", "authorids", "abstract", "pdf"))
    objects = note_v2(
        202,
        id="objects001",
        hidden=(),
        venue="ICLR 2026 Poster",
        authors=[
            {"fullname": "Cy Instance", "username": "~Cy_Instance3", "institution": "X"},
            {"fullname": "Di Case", "username": "di.case@example.org"},
        ],
    )
    review = review_v2(objects, 1, id="review0202", rating=6, confidence=4)
    deleted = note_v2(203, id="deleted001", ddate=1_760_000_000_000)
    return [
        hidden,
        review_v2(hidden, 1, id="review0201", rating=4, hidden=["rating", "soundness"]),
        objects,
        review,
        review_v2(objects, 2, id="deletedrev", ddate=1_760_000_000_000),
        meta_review_v2(objects, "All agree.", id="meta000202"),
        decision_v2(objects, "Accept (Poster)", id="decide0202"),
        author_response_v2(objects, review, "We thank the reviewer.", id="answer0202"),
        public_comment_v2(objects, "Nice.", id="public0202"),
        withdrawal_v2(hidden, id="withdr0201"),
        desk_rejection_v2(hidden, "Over the page limit.", id="deskre0201"),
        deleted,
        review_v2(deleted, 1, id="review0203"),
        # What is decided once a decision note is there and the venue text still reads as a submission.
        note_v2(204, id="decision01", hidden=()),
        decision_v2({**note_v2(204, id="decision01")}, "Accept (Oral)", id="decide0204"),
    ]


def notes_of_2017() -> list[Note]:
    """Version 1 of the API: flat content, e-mail addresses as ids, authors as one string, ratings as sentences."""
    oral = note_v1(1, id="of2017oral", authors="Ada Lovelace, Carl Friedrich Gauss")
    workshop = note_v1(2, id="of2017work", authors=["Émilie du Châtelet"])
    gone = note_v1(3, id="of2017gone", ddate=1_480_000_000_000)
    return [
        oral,
        review_v1(oral, 1, rating="7: Good paper, accept"),
        review_v1(oral, 2, rating="4: Ok but not good enough - rejection"),
        decision_v1(oral, "Accept (Oral)"),
        workshop,
        decision_v1(workshop, "Invite to Workshop Track"),
        gone,
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ModelRun:
    """Both editions landed by the real fetchers, staged and modelled; the editions are `iclr-2026` and `iclr-2017`."""
    folder = tmp_path_factory.mktemp("four sources")
    notes, rows, records, events = odd_notes(), [], [], []
    for number, subset in enumerate(SUBSETS, start=1):
        id = paper_id(subset)
        if "openreview" in subset:
            notes += openreview_notes(id, number)
        if "hub_dataset" in subset:
            rows.append(hub_paper(id, number))
        if "paper_copilot" in subset:
            records.append(archive_record(id, number))
        if "conference_site" in subset:
            events.append(site_event(id, number))
    # An oral and its poster; the oral's row has a fake id, the poster's title an entity.
    events.append(site_event("2026-Oral--7534-a5745671", 301, uid="both", name="An oral"))
    events.append(site_event("siblings01", 302, uid="both", name="Q&amp;A", decision="Accept (Poster)"))
    # The site says accepted and no more; the archive knows of what kind, as does OpenReview, which has it rejected.
    events.append(site_event("agreeing01", 303, decision="Accept"))
    records.append(archive_record("agreeing01", 303, status="Spotlight"))
    rejected = note_v2(303, id="agreeing01", venue="Submitted to ICLR 2026", hidden=())
    notes += [rejected, decision_v2(rejected, "Accept (Oral)", id="decide0303")]
    # What does not belong: another track, another venue, another year, no id; a mark that nobody knows.
    events.append(site_event("tmlrpaper1", 304, sourceurl="https://openreview.net/group?id=TMLR"))
    events.append(site_event("invisible1", 305, visible=False))
    records.append(archive_record("workshop01", 306, track="workshop"))
    records.append(archive_record("unknown001", 307, status="Honourable Mention", rating=""))
    rows.append(hub_paper("otheryear1", 308, venue="ICLR 2025 Conference Submission"))
    rows.append(hub_paper("", 309))

    write_hub_file(folder / "hub.parquet", rows)
    files = {
        "/venues/iclr/iclr2026.jsonl": "".join(json.dumps(record) + "\n" for record in records),
        "/static/virtual/data/iclr-2026-orals-posters.json": json.dumps({"count": len(events), "results": events}),
        "/static/virtual/data/iclr-2026-abstracts.json": json.dumps(
            {str(event["id"]): f"Paper {event['id']} in the words of the site, at some length." for event in events}
        ),
    }
    run = ModelRun(folder)
    with (
        OpenReviewServer(notes) as v2,
        OpenReviewServer(notes_of_2017(), api="v1") as v1,
        FileServer({path: text.encode() for path, text in files.items()}) as web,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("OPENREVIEW_TOKEN", TOKEN)
        environment.setenv("NO_PROXY", "*")
        for server in (v1, v2):
            server.tokens.add(TOKEN)
            server.shows_deleted = True
        run.stage(
            edition(
                2017,
                VENUE_2017,
                {"kind": "openreview", "base_url": v1.url(""), "submissions": f"{VENUE_2017}/-/submission"},
            ),
            edition(
                2026,
                VENUE,
                {"kind": "openreview", "base_url": v2.url("")},
                {"kind": "files", "path": str(folder / "hub.parquet")},
                {"kind": "paper_copilot", "base_url": web.url("")},
                {"kind": "conference_site", "base_url": web.url("")},
            ),
        )
    run.build()
    return run


def edition(year: int, venue_id: str, *sources: Mapping[str, Any]) -> Edition:
    given = {"id": f"iclr-{year}", "venue": "ICLR", "year": year, "venue_id": venue_id, "sources": list(sources)}
    return Edition.model_validate(given)


def paper(run: ModelRun, id: str, columns: str) -> tuple[Any, ...]:
    (found,) = run.marts(f"select {columns} from papers where paper_id = ?", [id])
    return found


# --- precedence -------------------------------------------------------------------------------------------------------


def test_the_page_has_every_column_and_source() -> None:
    assert set(precedence()) == {"row", "status", "title", "abstract", "keywords", "authors", "reviews"}
    assert all(sorted(order) == sorted(LETTERS) for order in precedence().values())


@pytest.mark.parametrize("subset", SUBSETS, ids=paper_id)
def test_each_column_comes_from_the_source_that_precedence_names(run: ModelRun, subset: tuple[str, ...]) -> None:
    id, number = paper_id(subset), SUBSETS.index(subset) + 1
    having = set(subset)
    columns = "source, sources, merged_row_count, status, decision, title, abstract, keywords, primary_area, is_blind"
    source, sources, merged, status, decision, title, abstract, keywords, area, is_blind = paper(run, id, columns)

    assert source == first_of("row", having)
    assert sources == sorted(subset)
    assert merged == len(subset) - 1
    assert status == STATUSES[str(first_of("status", having))]
    assert decision == ("oral" if status == "accepted" else None)
    assert title == of_each(f"{number} as {{}} has it")[str(first_of("title", having))]
    words = of_each(f"Paper {number} in the words of {{}}, at some length.")
    assert abstract == words[str(first_of("abstract", having))]
    word = KEYWORDS.get(str(first_of("keywords", having & set(KEYWORDS))))
    assert (keywords, area) == (([f"of {word}"], f"area of {word}") if word else (None, None))
    assert is_blind is False


@pytest.mark.parametrize("subset", SUBSETS, ids=paper_id)
def test_columns_that_few_sources_have_come_from_the_first_that_has_them(
    run: ModelRun, subset: tuple[str, ...]
) -> None:
    id, number = paper_id(subset), SUBSETS.index(subset) + 1
    bibtex, submission_number, pdf_url, venue_text, submitted_at = paper(
        run, id, "bibtex, submission_number, pdf_url, venue_text, submitted_at"
    )

    assert bibtex == BIBTEX.get(str(first_of("abstract", set(subset) & set(BIBTEX))))
    row = first_of("row", set(subset) & {"openreview", "hub_dataset"})
    assert submission_number == {"openreview": number, "hub_dataset": 1000 + number, None: None}[row]
    venues = {"openreview": "Submitted to ICLR 2026", "hub_dataset": "ICLR 2026 Conference Withdrawn Submission"}
    assert venue_text == venues.get(str(row))
    assert (pdf_url or "").startswith({"openreview": "https://openreview.net/pdf/"}.get(str(row), ""))
    assert (pdf_url is None) == (row is None)
    assert (submitted_at is None) == ("openreview" not in subset)


@pytest.mark.parametrize("subset", SUBSETS, ids=paper_id)
def test_authors_are_one_list_that_the_others_complete(run: ModelRun, subset: tuple[str, ...]) -> None:
    found = run.marts(
        "select name, author_id, affiliation, source from paper_authors where paper_id = ? order by position",
        [paper_id(subset)],
    )

    winner = str(first_of("authors", set(subset)))
    assert [name for name, *_ in found] == AUTHORS[winner]
    assert {source for *_, source in found} == {winner}
    ids, affiliations = dict(zip(AUTHORS[winner], [row[1] for row in found], strict=True)), [row[2] for row in found]
    first = AUTHORS[winner][0]
    assert ids[first] == ("~Ada_Openreview1" if winner == "openreview" else f"name:{first.lower()}")
    if "Bo Sample" in ids:
        assert ids["Bo Sample"] == "~Bo_Sample1"
        assert affiliations[1] == ("University of B" if "paper_copilot" in subset else None)


@pytest.mark.parametrize("subset", SUBSETS, ids=paper_id)
def test_reviews_meet_by_their_id_and_the_archives_stand_alone(run: ModelRun, subset: tuple[str, ...]) -> None:
    id = paper_id(subset)
    found = run.marts(
        "select review_id, source, rating, confidence, has_text from reviews where paper_id = ? order by review_id",
        [id],
    )

    has_openreview, has_hub = "openreview" in subset, "hub_dataset" in subset
    expected: list[tuple[Any, ...]] = []
    if has_openreview or has_hub:
        winner = str(first_of("reviews", set(subset) & {"openreview", "hub_dataset"}))
        expected.append((f"{id}_a", winner, 8 if has_openreview else 2, 1 if has_hub else None, True))
    if has_hub:
        expected.append((f"{id}_b", "hub_dataset", 4, 5, True))
    if not expected and "paper_copilot" in subset:
        expected = [
            (f"{id}/paper_copilot/{place}", "paper_copilot", rating, 3, False)
            for place, rating in enumerate((0, 6, 6), start=1)
        ]
    assert found == expected
    ratings = [row[2] for row in expected]
    mean = sum(ratings) / len(ratings) if ratings else None
    assert paper(run, id, "review_count, rating_mean") == (len(expected), mean)


@pytest.mark.parametrize("subset", SUBSETS, ids=paper_id)
def test_what_the_others_say_stays_visible(run: ModelRun, subset: tuple[str, ...]) -> None:
    id, number = paper_id(subset), SUBSETS.index(subset) + 1
    found = run.marts(
        "select column_name, source, source_value, is_published from paper_source_values where paper_id = ?", [id]
    )

    said = {
        "status": STATUSES,
        "decision": {"conference_site": "oral"},
        "title": of_each(f"{number} as {{}} has it"),
        "rating_mean": {"openreview": "8.0", "hub_dataset": "3.0", "paper_copilot": "4.0"},
    }
    published = dict(zip(said, paper(run, id, "status, decision, title, rating_mean::varchar"), strict=True))
    expected = {
        (column, source, value, value == published[column])
        for column, values in said.items()
        for source, value in values.items()
        if source in subset
    }
    assert set(found) == (expected if len(subset) > 1 else set())
    assert len(found) == len(set(found))


def test_the_decision_is_one_that_agrees_with_the_status(run: ModelRun) -> None:
    assert paper(run, "agreeing01", "status, decision") == ("accepted", "spotlight")


# --- odd shapes -------------------------------------------------------------------------------------------------------


def test_an_oral_and_its_poster_are_one_paper(run: ModelRun) -> None:
    columns = "title, status, decision, merged_row_count, sources"
    assert paper(run, "siblings01", columns) == ("An oral", "accepted", "oral", 1, ["conference_site"])


def test_hidden_fields_are_absent_and_not_empty(run: ModelRun) -> None:
    assert paper(run, "hidden0001", "abstract, pdf_url, is_blind, status, review_count, rating_mean") == (
        None, None, True, "under_review", 1, None,
    )  # fmt: skip
    found = run.marts("select rating, rating_text, soundness, presentation from reviews where review_id = 'review0201'")
    assert found == [(None, None, None, 2.0)]


def test_object_authors_are_people_and_their_email_ids_are_gone(run: ModelRun) -> None:
    found = run.marts("select position, name, author_id from paper_authors where paper_id = 'objects001' order by 1")
    assert found == [(1, "Cy Instance", "~Cy_Instance3"), (2, "Di Case", "name:di case")]


def test_deleted_notes_are_set_aside_with_all_that_hangs_on_them(run: ModelRun) -> None:
    found = run.marts(
        """select row_json ->> '$.id', row_kind, reason from quarantined_rows
        where source = 'openreview' and edition_id = 'iclr-2026' and row_kind != 'author' order by 1"""
    )
    assert found == [
        ("deleted001", "paper", "the note was deleted upstream"),
        ("deletedrev", "review", "the note was deleted upstream"),
        ("review0203", "review", "its paper is not among those that landed"),
    ]
    assert run.marts("select count(*) from papers where paper_id = 'deleted001'") == [(0,)]
    assert paper(run, "objects001", "review_count, rating_mean") == (1, 6.0)


def test_a_decision_note_decides_while_the_venue_text_is_open(run: ModelRun) -> None:
    assert paper(run, "decision01", "status, decision") == ("accepted", "oral")


def test_papers_of_2017_read_like_any_other(run: ModelRun) -> None:
    columns = "edition_id, status, decision, submission_number, pdf_url, review_count, rating_mean, keywords"
    edition_id, status, decision, number, pdf_url, count, mean, keywords = paper(run, "of2017oral", columns)
    assert (edition_id, status, decision, number) == ("iclr-2017", "accepted", "oral", 1)
    assert (count, mean, keywords) == (2, 5.5, ["Theory"])
    assert str(pdf_url).startswith("https://openreview.net/pdf/")
    assert paper(run, "of2017work", "status, decision") == ("workshop", "workshop")

    reviews = run.marts(
        """select reviewer_label, rating, rating_text, is_rating_off_scale, confidence, main_text from reviews
        where paper_id = 'of2017oral' order by 1"""
    )
    assert reviews[0] == ("AnonReviewer1", 7.0, "7: Good paper, accept", False, 4.0, "The paper counts well.")
    assert [row[1] for row in reviews] == [7.0, 4.0]
    names = run.marts(
        "select name, author_id from paper_authors where edition_id = 'iclr-2017' order by paper_id desc, position"
    )
    assert names == [
        ("Émilie du Châtelet", "name:émilie du châtelet"),
        ("Ada Lovelace", "name:ada lovelace"),
        ("Carl Friedrich Gauss", "name:carl friedrich gauss"),
    ]
    assert run.marts(
        "select row_json ->> '$.id' from quarantined_rows where edition_id = 'iclr-2017' and item_number = 0"
    ) == [("of2017gone",)]


def test_the_discussion_has_every_kind_of_note(run: ModelRun) -> None:
    found = run.marts(
        """select note_id, kind, paper_id, reply_to, author_label, decision_text, main_text from discussion
        where edition_id = 'iclr-2026' and paper_id in ('objects001', 'hidden0001') order by kind"""
    )
    assert found == [
        ("answer0202", "author_response", "objects001", "review0202", "Authors", None, "We thank the reviewer."),
        ("decide0202", "decision", "objects001", "objects001", "Program_Chairs", "Accept (Poster)", None),
        ("deskre0201", "desk_rejection", "hidden0001", "hidden0001", "Program_Chairs", None, "Over the page limit."),
        ("meta000202", "meta_review", "objects001", "objects001", "Area_Chair_aB3d", None, "All agree."),
        ("public0202", "public_comment", "objects001", "objects001", "~Passer_By1", None, "Nice."),
        (
            "withdr0201", "withdrawal", "hidden0001", "hidden0001", "Authors", None,
            "I have read and agree with the venue's withdrawal policy.",
        ),
    ]  # fmt: skip


# --- nothing is lost --------------------------------------------------------------------------------------------------


def test_rows_are_conserved_in_every_snapshot(run: ModelRun) -> None:
    found = run.marts(
        """select edition_id, source, row_kind, rows_in, rows_in_marts, rows_merged, rows_quarantined
        from row_conservation order by all"""
    )
    for place in found:
        assert place[3] == sum(place[4:]), place
    by_place = {place[:3]: place[3:] for place in found}
    # Each source has 8 of the 15 combinations, and what was added to it.
    assert by_place["iclr-2026", "hub_dataset", "paper"][0] == 8 + 2
    assert by_place["iclr-2026", "paper_copilot", "paper"][0] == 8 + 3
    assert by_place["iclr-2026", "conference_site", "paper"][0] == 8 + 5
    assert by_place["iclr-2026", "openreview", "paper"] == (8 + 5, 12, 0, 1)
    assert by_place["iclr-2026", "hub_dataset", "review"][0] == 2 * (8 + 2)
    assert by_place["iclr-2026", "openreview", "note"] == (8, 8, 0, 0)
    assert by_place["iclr-2017", "openreview", "paper"] == (3, 2, 0, 1)
    totals = run.working("select edition_id, source, row_count from staging.stg_snapshots where source = 'openreview'")
    for edition_id, source, row_count in totals:
        kinds = ("paper", "review", "note")
        assert row_count == sum(by_place.get((edition_id, source, kind), (0,))[0] for kind in kinds)


def test_what_does_not_belong_is_set_aside_with_a_reason(run: ModelRun) -> None:
    found = run.marts(
        """select source, reason from quarantined_rows
        where edition_id = 'iclr-2026' and row_kind = 'paper' and source != 'openreview' order by all"""
    )
    assert found == [
        ("conference_site", "the event is not visible on the site"),
        ("conference_site", "the event is of another track or venue"),
        ("hub_dataset", "the URL holds no OpenReview forum id"),
        ("hub_dataset", "the venue text names another venue or year than ICLR 2026"),
        ("paper_copilot", "the row is of another track: workshop"),
    ]


def test_a_mark_that_nobody_knows_is_flagged_and_counted(run: ModelRun) -> None:
    assert paper(run, "unknown001", "status, has_unknown_status, review_count") == (None, True, 0)
    assert run.marts("select unknown_status_count from editions where edition_id = 'iclr-2026'") == [(1,)]


def test_editions_say_who_contributed_and_disagree_with_the_published_figures(run: ModelRun) -> None:
    found = run.marts("select edition_id, sources, disagreeing_figures from editions order by 1")
    figures = ["accepted_count", "desk_rejected_count", "review_count", "submission_count", "withdrawn_count"]
    assert found == [
        ("iclr-2017", ["openreview"], ["accepted_count", "rating_mean", "review_count", "submission_count"]),
        ("iclr-2026", sorted(LETTERS), figures),
    ]


def test_no_email_address_is_in_any_mart(run: ModelRun) -> None:
    assert no_email_addresses(run)


# --- the archive's own files ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> ModelRun:
    """The two real files of ../shared as the editions that they are."""
    run = ModelRun(tmp_path_factory.mktemp("archive"))
    folder = shared_data / "paper_copilot"
    run.stage(
        edition(2017, VENUE_2017, {"kind": "paper_copilot", "path": str(folder / "iclr2017.jsonl")}),
        edition(
            2023, "ICLR.cc/2023/Conference", {"kind": "paper_copilot", "path": str(folder / "iclr2023.init.jsonl")}
        ),
    )
    run.build()
    return run


def test_iclr_2017_has_the_published_figures(archive: ModelRun) -> None:
    found = archive.marts(
        """select submission_count, review_count, round(rating_mean, 3), accepted_count, workshop_count, rejected_count,
        quarantined_row_count, merged_paper_row_count, unknown_status_count, disagreeing_figures, off_scale_rating_count
        from editions where edition_id = 'iclr-2017'"""
    )
    assert found == [(490, 1489, 5.680, 198, 47, 245, 0, 0, 0, [], 0)]
    decisions = archive.marts(
        """select decision, count(*) from papers
        where edition_id = 'iclr-2017' and status = 'accepted' group by decision order by decision"""
    )
    assert decisions == [("oral", 15), ("poster", 183)]
    figures = archive.marts(
        "select figure, is_in_agreement from edition_figures where edition_id = 'iclr-2017' order by 1"
    )
    assert figures == [
        ("accepted_count", True), ("rating_mean", True), ("review_count", True), ("submission_count", True),
    ]  # fmt: skip


def test_each_paper_of_2017_has_the_mean_that_the_file_gives(archive: ModelRun, shared_data: Path) -> None:
    lines = (shared_data / "paper_copilot" / "iclr2017.jsonl").read_bytes().split(b"\n")
    records = [json.loads(line) for line in lines if line.strip()]
    means = dict(archive.marts("select paper_id, rating_mean from papers where edition_id = 'iclr-2017'"))

    assert len(records) == len(means) == 490
    for record in records:
        given = record["rating_avg"]
        mean = means[record["id"]]
        if not record["rating"]:
            assert mean is None
        else:
            assert mean == pytest.approx(given[0] if isinstance(given, list) else given, abs=1e-9), record["id"]


def test_iclr_2023_has_the_figures_of_its_first_release(archive: ModelRun) -> None:
    found = archive.marts(
        """select submission_count, review_count, round(rating_mean, 4), withdrawn_count, desk_rejected_count,
        quarantined_row_count, merged_paper_row_count, off_scale_rating_count
        from editions where edition_id = 'iclr-2023'"""
    )
    assert found == [(4955, 18467, 4.9316, 1077, 18, 0, 0, 0)]
    assert archive.marts("select count(*) from papers where edition_id = 'iclr-2023' and not is_blind") == [(0,)]


def test_reviews_of_the_archive_are_scores_by_place(archive: ModelRun) -> None:
    assert archive.marts("select bool_or(has_text), max(word_count), count(distinct source) from reviews") == [
        (False, 0, 1)
    ]
    assert archive.marts(
        "select count(*) from reviews where review_id != paper_id || '/paper_copilot/' || item_number"
    ) == [(0,)]
    # A zero for a sub-score is no score.
    assert archive.marts("select min(empirical_novelty), min(confidence) from reviews") == [(1.0, 1.0)]


def test_no_email_address_is_in_any_file_of_the_release(archive: ModelRun) -> None:
    candidate = releases.build_candidate(archive.warehouse, print)

    assert candidate is not None
    landed = next(archive.warehouse.landing.rglob("iclr2017.jsonl")).read_text(encoding="utf-8")
    hosts = {address.partition("@")[2] for address in E_MAIL.findall(landed)}
    assert hosts, "the source has addresses, or this test shows nothing"
    files = [path for path in candidate.release.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".parquet", ".duckdb"}
    for path in files:
        # Not any address at all: compressed text of other kinds looks like one now and then.
        body = path.read_bytes()
        assert [host for host in hosts if f"@{host}".encode() in body] == [], path
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            found = sorted({match for text in texts(table.to_pylist()) for match in E_MAIL.findall(text)})
            assert found == [], path
    assert no_email_addresses(archive)


def texts(value: Any) -> Iterator[str]:
    """Every text in a value of lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def no_email_addresses(run: ModelRun) -> bool:
    columns = run.marts(
        """select table_name, column_name from duckdb_columns()
        where data_type in ('VARCHAR', 'VARCHAR[]') and not internal"""
    )
    assert len(columns) > 80
    for table, column in columns:
        found = run.marts(f"""select "{column}"::varchar from "{table}" where contains("{column}"::varchar, '@')""")
        matches = sorted({match for (text,) in found for match in E_MAIL.findall(text)})
        assert matches == [], f"{table}.{column}"
    return True
