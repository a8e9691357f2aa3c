"""`kill -9` of whole runs: of the process group, of Dagster alone, of dbt alone, at every step and at random moments.

A reader reads all the while. After each kill the next run has to succeed with nobody's help.
"""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Tally
from tests.faults.reader import Reader
from tests.faults.runs import STEPS, TARGETS, Place, is_alive, wait_until
from tests.faults.state import State, nothing_lost

pytestmark = [pytest.mark.faults("kills"), pytest.mark.slow]

SEED = 20261130
RANDOM_KILLS = 40
FULL = pytest.mark.faults_full
# What `make test` does too; a run costs many seconds.
FAST_STEPS = {("modelled", "group"), ("modelled", "dbt"), ("published", "dagster")}


def grouped(number: int) -> pytest.MarkDecorator:
    """Two processes share the long set; each keeps one place with its first release."""
    return pytest.mark.xdist_group(f"kills {number % 2}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """One release stands, and it is known how long a run takes."""
    place = Place(tmp_path_factory.mktemp("kills"))
    place.news()
    place.complete()
    return place


@pytest.fixture
def reader(place: Place, tmp_path: Path, tally: Tally) -> Iterator[Reader]:
    """Reads from before the fault until after the recovery; none of its readings may be wrong."""
    with Reader(place.root, tmp_path / "readings") as reader:
        assert wait_until(lambda: reader.readings, 60)
        yield reader
    tally.reads, wrong = reader.judge()
    tally.wrong_reads = len(wrong)
    assert wrong == []


def recover(place: Place, before: State, tally: Tally) -> None:
    """The state right after the kill, then the next run, and what it made of it."""
    tally.injected += 1
    between = nothing_lost(before, place.warehouse)
    place.complete()
    after = nothing_lost(between, place.warehouse)
    lost = place.rows_lost()
    tally.rows_lost += lost
    assert lost == 0
    assert after.current != before.current
    tally.recovered += 1


@pytest.mark.parametrize(
    ("step", "target"),
    [
        pytest.param(step, target, marks=[grouped(number), *([] if (step, target) in FAST_STEPS else [FULL])])
        for number, (step, target) in enumerate(
            (step, target) for step in STEPS for target in TARGETS if target != "dbt" or step == "modelled"
        )
    ],
)
def test_killed_at_a_step(place: Place, reader: Reader, tally: Tally, step: str, target: str) -> None:
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    assert run.await_step(step), run.text
    if step == "modelled":
        assert run.await_dbt(), run.text
        time.sleep(random.Random(f"{SEED} {step} {target}").uniform(0, 4))
    orphan = TARGETS[target](run)
    status = run.wait()
    assert status == (1 if target == "dbt" else -signal.SIGKILL), run.text
    recover(place, before, tally)
    assert orphan is None or not is_alive(orphan)


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[grouped(n), *([FULL] if n else [])]) for n in range(RANDOM_KILLS)],
)
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
        moment = share * place.seconds * (0.3 if target == "dbt" else 1) * 0.7**attempt
        wait_until(lambda run=run: run.process.poll() is not None, max(0, began + moment - time.monotonic()))
        if run.process.poll() is None and (target != "dbt" or run.dbt()):
            break
        run.wait()
    print(f"seed {SEED + number}: {target} at {moment:.2f} s")
    TARGETS[target](run)
    assert run.wait() != 0
    recover(place, before, tally)


@grouped(0)
def test_an_orphan_is_named_and_then_waited_for(place: Place, reader: Reader, tally: Tally) -> None:
    """A dbt that outlives its run and does not end holds the database; once it ends, nobody has to do anything."""
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    assert run.await_dbt(), run.text
    # Once it has the database, which is what the next run meets.
    held = lambda: f":{place.warehouse.working_database.stat().st_ino} " in Path("/proc/locks").read_text()  # noqa: E731
    assert wait_until(held, 60)
    orphan = TARGETS["dagster"](run)
    run.wait()
    assert orphan is not None
    os.kill(orphan, signal.SIGSTOP)
    try:
        refused = place.run(LOCK_WAIT_SECONDS="1")
        assert refused.process.returncode == 1
        assert is_alive(orphan)
        (line,) = (line for line in refused.text.splitlines() if line.startswith("Error: "))
        assert f"is held by process {orphan}" in line
        assert "let it finish or end it, then run again" in line
        nothing_lost(before, place.warehouse)
    finally:
        os.kill(orphan, signal.SIGCONT)
    recover(place, before, tally)
    assert not is_alive(orphan)
