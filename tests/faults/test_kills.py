"""`kill -9` of whole runs at every step: of the process group, of Dagster alone, of dbt alone.

A reader reads all the while. After each kill the next run has to succeed with nobody's help.
"""

import os
import random
import signal
import time

import pytest

from tests.faults.reader import Reader
from tests.faults.runs import STEPS, TARGETS, Place, children, is_alive, recover
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("kills"), pytest.mark.slow]

SEED = 20261130
FULL = pytest.mark.faults_full
# What `make test` does too; a run costs many seconds.
FAST_STEPS = {("modelled", "group"), ("published", "dagster")}


@pytest.mark.parametrize(
    ("step", "target"),
    [
        pytest.param(step, target, marks=[] if (step, target) in FAST_STEPS else [FULL])
        for step in STEPS
        for target in TARGETS
        if target != "dbt" or step == "modelled"
    ],
)
def test_killed_at_a_step(place: Place, reader: Reader, tally: Tally, step: str, target: str) -> None:
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    run.await_work(step)
    if step == "modelled":
        time.sleep(random.Random(f"{SEED} {step} {target}").uniform(0, 2))
    orphan = TARGETS[target](run)
    status = run.wait()
    assert status == (1 if target == "dbt" else -signal.SIGKILL), run.text
    recover(place, before, tally)
    assert orphan is None or not is_alive(orphan)


@FULL
def test_a_dbt_that_is_killed_while_it_waits_for_work_is_replaced(place: Place, reader: Reader, tally: Tally) -> None:
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    assert run.await_step("landed"), run.text
    for child in children(run.process.pid):
        os.kill(child, signal.SIGKILL)
    tally.injected += 1
    assert run.wait() == 0, run.text
    assert nothing_lost(before, place.warehouse).current != before.current
    assert place.rows_lost() == 0
    tally.recovered += 1


@FULL
@pytest.mark.parametrize("step", ["landed", "modelled", "candidate"])
def test_ctrl_c_is_one_sentence(place: Place, reader: Reader, tally: Tally, step: str) -> None:
    """A terminal sends it to everything that the run has started."""
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    run.await_work(step)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.wait() == 1, run.text
    (line,) = (line for line in run.text.splitlines() if line.startswith("Error: "))
    assert line.endswith(": it was interrupted; what it had done stays, and the next run goes on from there"), run.text
    recover(place, before, tally)


def test_an_orphan_is_named_and_then_waited_for(place: Place, reader: Reader, tally: Tally) -> None:
    """A dbt that outlives its run and does not end holds the database; once it ends, nobody has to do anything."""
    place.news()
    before = State.of(place.warehouse)
    run = place.start()
    assert run.await_dbt(), run.text
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
