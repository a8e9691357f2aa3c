"""One damaged value in one record: it becomes NULL or is set aside with a reason, and no good row goes with it."""

import json
from typing import Any

import pytest

from tests.hub_files import VENUE_ID, files_edition, hub_review, hub_row, write_hub_file
from tests.model_runs import ModelRun

pytestmark = [pytest.mark.faults("hostile records"), pytest.mark.slow]


def event(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "uid": f"uid{number}",
        "name": f"Paper {number}",
        "decision": "Accept (Poster)",
        "eventtype": "Poster",
        "sourceurl": f"https://openreview.net/group?id={VENUE_ID}",
        "paper_url": f"https://openreview.net/forum?id=site0000{number:02d}",
        "authors": [{"fullname": f"Person {chr(64 + number)}"}],
        "visible": True,
    } | changes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ModelRun:
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        hub_row(1, reviews=[hub_review("rev00001aaAA", date=2**63 - 1)]),
        hub_row(2, reviews=[hub_review("rev8'; drop table reviews--"), hub_review("rev00002bbBB")]),
        hub_row(
            3, abstract="The code will be at https://... and at https://github.com/a/b.", pdf="javascript:alert(1)"
        ),
        hub_row(4, title="{{ 1 / 0 }} ${x} '; drop table papers; -- <script>alert(1)</script> \u202e"),
    ]
    events = [
        event(1, keywords="[cv] vision; nlp"),
        event(2, uid=None, authors=[{"fullname": None, "institution": "X"}]),
        event(3, uid=None, paper_url=None),
        event(4, authors="[Anonymous]"),
        event(5, authors=[{"fullname": "Eve", "institution": "eve@example.org"}]),
    ]
    (folder / "events.json").write_text(json.dumps({"count": len(events), "next": None, "results": events}))
    hub = {"kind": "files", "path": str(write_hub_file(folder / "papers.parquet", rows))}
    site = {"kind": "conference_site", "path": str(folder / "events.json"), "abstracts_file": None}
    made = ModelRun(folder)
    made.stage(files_edition(folder / "papers.parquet", sources=[hub, site]))
    made.build()
    return made


def test_the_good_rows_are_all_there(run: ModelRun) -> None:
    assert run.marts("select count(*) from papers where source = 'hub_dataset'") == [(4,)]
    assert run.marts("select review_id, reviewed_at from reviews where review_id like 'rev0000%aaAA' order by 1")[
        0
    ] == (
        "rev00001aaAA",
        None,
    )
    assert run.marts("select count(*) from papers where source = 'conference_site'") == [(4,)]


def test_what_is_damaged_is_set_aside_with_a_reason(run: ModelRun) -> None:
    reasons = run.marts("select row_kind, reason from quarantined_rows order by all")
    assert ("review", "the review id is not one of OpenReview's") in reasons
    assert ("paper", "the row holds no OpenReview forum id") in reasons
    assert ("author", "the author is null") in reasons


def test_an_event_without_uid_lends_nothing_to_a_stranger(run: ModelRun) -> None:
    assert run.marts("select max(merged_row_count) from papers") == [(0,)]


def test_texts_arrive_unchanged_and_addresses_are_addresses(run: ModelRun) -> None:
    ((title,),) = run.marts("select title from papers where title like '{{%'")
    assert title == "{{ 1 / 0 }} ${x} '; drop table papers; -- <script>alert(1)</script> \u202e"
    assert run.marts("select url from paper_links") == [("https://github.com/a/b",)]
    assert run.marts("select count(*) from papers where pdf_url like 'javascript%'") == [(0,)]
    assert run.marts("select count(*) from paper_authors where affiliation like '%@%'") == [(0,)]
