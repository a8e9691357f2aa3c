"""OpenReview without a server: how long a refusal asks to wait, how pages shrink, and what has to be fetched anew."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.config.editions import OpenReviewSource
from pipelines.config.settings import Settings
from pipelines.sources import http, openreview
from pipelines.sources.fetched import LandingError, SourceSkipped
from pipelines.sources.openreview.client import PageSize
from pipelines.sources.openreview.crawl import Crawl, write_whole
from pipelines.sources.openreview.notes import Page, Paper, papers_of
from pipelines.sources.openreview.refusals import asked_wait

SOURCE = OpenReviewSource(
    kind="openreview", api="v2", base_url="http://127.0.0.1:9", submissions="ICLR.cc/2026/Conference/-/Submission"
)
DATE = "Mon, 31 Aug 2026 07:59:12 GMT"


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"Retry-After": "3600"}, {"details": {"resetTime": "2030-01-01T00:00:00Z"}}, 3600),
        ({"Retry-After": "Mon, 31 Aug 2020 08:00:00 GMT"}, {}, 0),
        ({"Date": DATE}, {"details": {"resetTime": "2026-08-31T08:59:25.212Z"}, "message": "in 1 second"}, 3613.212),
        ({"Date": DATE}, {"details": {"resetTime": 1788166765212}}, 3613.212),
        ({"Date": DATE}, {"details": {"resetTime": "2026-08-31T08:59:25.212"}}, 3613.212),
        ({"Date": DATE}, {"details": {"resetTime": "2026-08-31T06:00:00Z"}}, 0),
        ({}, {"message": "Too many requests: ... Please try again in 60 minutes and 13 seconds (2026-08-31-46)"}, 3613),
        ({}, {"message": "Please try again in 1 hour, 1 minute and 1 second"}, 3661),
        ({}, {"message": "try again in 39 minutes", "details": {"resetTime": "soon"}}, 2340),
        ({}, {"message": "try again in a while", "details": {"resetTime": 10**30}}, None),
        ({}, {"message": None, "details": []}, None),
        ({}, {}, None),
    ],
)
def test_the_wait_that_a_limit_asks_for(headers: dict[str, str], said: dict[str, object], seconds: float) -> None:
    assert asked_wait(http.Answer(429, headers, b"", ""), said) == pytest.approx(seconds)


def test_page_sizes_halve_and_come_back() -> None:
    size = PageSize(250)
    seen = []
    for _ in range(9):
        size.shrink(size.now)
        seen.append(size.now)
    assert seen == [125, 62, 31, 15, 7, 3, 1, 1, 1]
    for _ in range(4):
        assert size.now == 1
        size.went_well()
    assert size.now == 2
    for _ in range(100):
        size.went_well()
    assert size.now == 250


def test_a_page_that_was_asked_for_small_shrinks_from_there() -> None:
    size = PageSize(250)
    size.shrink(10)
    assert size.now == 5


# What a crawl has and what it lacks

states = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.builds(Paper, st.integers(1, 3), st.dictionaries(st.sampled_from("rst"), st.integers(1, 3))),
)


def crawl_of(folder: Path, pages: list[dict[str, Paper]]) -> Crawl:
    crawl = Crawl(folder, {})
    crawl.pages = {f"page-{number:05d}.json": page for number, page in enumerate(pages, 1)}
    crawl.hashes = dict.fromkeys(crawl.pages, "")
    return crawl


def versions(pages: list[dict[str, Paper]]) -> dict[str, tuple[float, str]]:
    """Each note's winning version, as records.py chooses: the latest date, whichever page it is in."""
    best: dict[str, tuple[float, str]] = {}
    for page in pages:
        for paper_id, paper in page.items():
            for note, at in [
                (paper_id, paper.changed_at),
                *((f"{paper_id}/{r}", at) for r, at in paper.replies.items()),
            ]:
                best[note] = max(best.get(note, (0, "")), (at, note))
    return best


@given(st.lists(states, max_size=4), states)
def test_a_repair_leads_to_what_the_server_has(pages: list[dict[str, Paper]], now: dict[str, Paper]) -> None:
    """Whatever the pages hold: without the outdated ones and with the needed papers, they show what there is now."""
    crawl = crawl_of(Path(), pages)

    outdated, needed = crawl.compare(now)
    kept = [page for name, page in crawl.pages.items() if name not in outdated]
    repaired = [*kept, {paper_id: now[paper_id] for paper_id in needed}]

    assert versions(repaired) == versions([now])
    assert crawl_of(Path(), repaired).compare(now) == ([], [])
    held = crawl_of(Path(), kept).held()
    assert all(held.get(paper_id) != now[paper_id] for paper_id in needed), "nothing is fetched for nothing"


@given(st.lists(states, max_size=5))
def test_superseded_pages_can_go(pages: list[dict[str, Paper]]) -> None:
    crawl = crawl_of(Path(), pages)
    names = crawl.superseded()
    left = crawl_of(Path(), [page for name, page in crawl.pages.items() if name not in names])
    assert left.held() == crawl.held()
    assert left.superseded() == []


def test_notes_without_dates_or_ids_do_no_harm() -> None:
    reply = {"id": "r", "tcdate": 7}
    notes = [{"id": "p", "details": {"replies": [reply, None, {"id": 3}, {}]}}, {"id": ""}, {"tmdate": 1}, None, 3]
    assert papers_of(notes) == {"p": Paper(0, {"r": 7})}
    assert papers_of([{"id": "p", "tmdate": "late", "details": {"replies": {}}}]) == {"p": Paper(0, {})}


def test_the_state_brings_a_crawl_back(tmp_path: Path) -> None:
    def opened(source: OpenReviewSource = SOURCE, *, is_full: bool = False) -> Crawl:
        return Crawl.open(tmp_path, source, is_full=is_full, previous=(), landed=frozenset(), log=lambda line: None)

    body = b'{"notes": [{"id": "a", "tmdate": 1}]}'
    crawl = opened(is_full=True)
    crawl.cursor = "a"
    crawl.add(Page(body, json.loads(body)["notes"], None, None))
    (tmp_path / "page-00002.json").write_bytes(b"written, but the process died before it was noted")

    again = opened()
    assert (again.pages, again.cursor, again.is_whole) == (crawl.pages, "a", False)
    assert opened(is_full=True).pages == crawl.pages
    assert opened(SOURCE.model_copy(update={"base_url": "http://127.0.0.1:8"})).pages == {}
    assert list(tmp_path.iterdir()) == [], "what does not fit is removed"


def test_no_account_and_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENREVIEW_TOKEN", "OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceSkipped, match="set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD, or OPENREVIEW_TOKEN"):
        openreview.fetch(SOURCE, tmp_path, settings=Settings(), landed=frozenset(), log=print)
    with pytest.raises(LandingError, match=r"page-00001.json: cannot be written"):
        write_whole(tmp_path / "missing" / "page-00001.json", b"")
    assert list(tmp_path.iterdir()) == []
