"""`kill -9` of whole runs at random moments, under a reader: of the process group, of Dagster alone, of dbt alone."""

import random
import time

import pytest

from tests.faults.reader import Reader
from tests.faults.runs import TARGETS, Place, recover, wait_until
from tests.faults.state import State
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("kills"), pytest.mark.faults_full, pytest.mark.slow]

SEED = 20261130
RANDOM_KILLS = 40


@pytest.mark.parametrize("number", range(RANDOM_KILLS))
def test_killed_at_a_random_moment(place: Place, reader: Reader, tally: Tally, number: int) -> None:
    """The moment is a share of the time that the last whole run took; a run that was faster is tried again."""
    chance = random.Random(SEED + number)
    target = chance.choice(list(TARGETS)[:2]) if number % 4 else "dbt"
    share = chance.random()
    for attempt in range(5):
        place.news()
        before = State.of(place.warehouse)
        began = time.monotonic()
        run = place.start()
        if target == "dbt":
            assert run.await_dbt(), run.text
            began = time.monotonic()
        moment = share * place.seconds * (0.3 if target == "dbt" else 1) * 0.7**attempt
        wait_until(lambda run=run: run.process.poll() is not None, max(0, began + moment - time.monotonic()))
        if run.process.poll() is None:
            TARGETS[target](run)
        if run.wait() != 0:
            break
    print(f"seed {SEED + number}: {target} at {moment:.2f} s")
    assert run.process.returncode != 0, run.text
    recover(place, before, tally)
