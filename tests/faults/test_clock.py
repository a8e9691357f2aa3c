"""A clock that jumps: releases made while it is years ahead, then when it is right again, then within one second."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import pytest

from pipelines import publish as releases
from pipelines.publish import candidate as candidates
from tests.faults.small import Small
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally
from tests.unit.publish.test_releases import IsDatetime

pytestmark = pytest.mark.faults("clock")

SetClock = Callable[[datetime], None]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AHEAD = datetime(2061, 7, 28, tzinfo=UTC)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    small = Small(tmp_path)
    small.news(1)
    small.land()
    small.stage()
    return small


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """What `releases` takes for the time; it stands still until it is set again."""

    def set_to(said: datetime) -> None:
        class Clock(metaclass=IsDatetime):
            strptime = datetime.strptime

            @staticmethod
            def now(zone: tzinfo) -> datetime:
                return said.astimezone(zone)

        monkeypatch.setattr(candidates, "datetime", Clock)

    return set_to


def test_releases_stay_in_the_order_of_their_making(small: Small, set_clock: SetClock, tally: Tally) -> None:
    made = []
    for number, said in enumerate((NOW, AHEAD, NOW, NOW, datetime(1970, 1, 1, tzinfo=UTC))):
        set_clock(said)
        before = State.of(small.warehouse)
        made.append(small.publish(number))
        tally.injected += number > 0
        nothing_lost(before, small.warehouse)
        assert releases.current_id(small.warehouse) == made[-1]
        tally.recovered += number > 0
    assert releases.release_ids(small.warehouse) == made
    # Back is one step back in time as it passed here.
    assert releases.roll_back(small.warehouse) == made[-2]
    # The oldest go first, and never the current one; a day later nobody reads them any more.
    with small.warehouse.writing("prune"):
        assert releases.prune(small.warehouse, 2, lambda message: None, now=time.time() + 86_400) == made[:3]


def test_a_candidate_of_a_clock_ahead_does_not_stay_the_newest(small: Small, set_clock: SetClock) -> None:
    """It was judged and never published; the one that is made when the clock is right again has to be taken."""
    set_clock(AHEAD)
    small.model(1)
    stale = small.candidate()
    set_clock(NOW)
    assert small.publish(2) not in (None, stale)
    assert releases.release_ids(small.warehouse) == [releases.current_id(small.warehouse)]


def test_a_source_that_dates_its_pulls_from_the_future_is_followed(small: Small) -> None:
    """Which snapshot is current follows the order of the pulls, whatever any clock said."""
    first = small.land()
    (source,) = small.edition.sources
    small.edition = small.edition.model_copy(update={"sources": [source.model_copy(update={"as_of": AHEAD})]})
    small.news(2)
    second = small.land()
    small.edition = small.edition.model_copy(update={"sources": [source]})
    small.news(1)
    assert small.land() == first != second
    small.stage()
    with small.warehouse.connect(small.warehouse.working_database, read_only=True) as connection:
        assert connection.execute("select snapshot_id from raw.snapshots").fetchall() == [(first,)]
