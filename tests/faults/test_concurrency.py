"""Runs at the same time: of one edition, of two, a scheduled one beside a manual one. All end well, none in vain."""

from pathlib import Path

import pytest

from pipelines import publish as releases
from tests.faults.reader import Reader
from tests.faults.runs import Place, Run, wait_until
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("concurrency"), pytest.mark.faults_full, pytest.mark.slow]

BOTH = ("test-2025", "test-2026")

# What the daemon does with the schedule's run requests once it is time: each becomes a run of that job.
SCHEDULED = """
import datetime
import dagster as dg
from pipelines.definitions import defs

now = datetime.datetime(2026, 12, 1, 5, 15, tzinfo=datetime.UTC)
with dg.DagsterInstance.get() as instance:
    context = dg.build_schedule_context(
        instance=instance, repository_def=defs.get_repository_def(), scheduled_execution_time=now
    )
    requests = defs.resolve_schedule_def("daily_refresh").evaluate_tick(context).run_requests
    assert requests
    for request in requests:
        done = defs.resolve_job_def("refresh").execute_in_process(
            partition_key=request.partition_key, tags=request.tags, instance=instance, raise_on_error=False
        )
        assert done.success
"""


@pytest.fixture(scope="module")
def place(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two editions, the first of which has a release."""
    place = Place(tmp_path_factory.mktemp("concurrency"), project)
    place.write_editions(*BOTH, active=True)
    for edition_id in BOTH:
        place.news(edition_id)
    place.complete()
    return place


def manual(place: Place, edition_id: str) -> Run:
    return place.start("-m", "pipelines", "run", "--edition", edition_id)


def scheduled(place: Place, edition_id: str) -> Run:
    """Of every active edition, this one among them."""
    return place.start("-c", SCHEDULED)


@pytest.mark.parametrize(
    ("first", "second", "step"),
    [
        pytest.param((manual, "test-2026"), (manual, "test-2026"), "start", id="one edition, together"),
        pytest.param((manual, "test-2026"), (manual, "test-2026"), "candidate", id="one edition, at its candidate"),
        pytest.param((manual, "test-2026"), (manual, "test-2025"), "start", id="two editions, together"),
        pytest.param((manual, "test-2026"), (manual, "test-2025"), "modelled", id="two editions, at the models"),
        pytest.param((manual, "test-2026"), (scheduled, "test-2025"), "modelled", id="a scheduled run at the models"),
        pytest.param((manual, "test-2026"), (scheduled, "test-2025"), "candidate", id="a scheduled run at a candidate"),
    ],
)
def test_both_runs_succeed_and_everything_is_published(
    place: Place, tmp_path: Path, tally: Tally, first: tuple, second: tuple, step: str
) -> None:
    """The second begins when the first is at this step."""
    editions = {first[1], second[1]} | (set(BOTH) if second[0] is scheduled else set())
    for edition_id in editions:
        place.news(edition_id)
    before = State.of(place.warehouse)
    with Reader(place.root, tmp_path / "readings", pause=0.5) as reader:
        assert wait_until(lambda: reader.readings, 60)
        one = first[0](place, first[1])
        if step != "start":
            assert one.await_step(step), one.text
        other = second[0](place, second[1])
        assert (one.wait(), other.wait()) == (0, 0), f"{one.text[-3000:]}\n----\n{other.text[-3000:]}"
    tally.injected += 1
    tally.reads, wrong = reader.judge()
    tally.wrong_reads = len(wrong)
    assert wrong == []
    after = nothing_lost(before, place.warehouse)
    assert after.current != before.current
    assert after.current == releases.release_ids(place.warehouse)[-1]
    tally.rows_lost += place.rows_lost(*editions)
    assert tally.rows_lost == 0
    # Whatever the order was, nothing is left to do.
    again = place.complete()
    assert State.of(place.warehouse) == after, again.text
    tally.recovered += 1


def test_a_run_that_waits_too_long_names_the_one_that_it_waits_for(place: Place, tally: Tally) -> None:
    """Nothing is forced: the first goes on, and the second can be started again."""
    place.news()
    one = place.start()
    assert one.await_dbt(), one.text
    tally.injected += 1
    other = place.run(LOCK_WAIT_SECONDS="0.5")
    assert other.process.returncode == 1
    (line,) = (line for line in other.text.splitlines() if line.startswith("Error: "))
    assert f"Process {one.process.pid} (" in line
    assert "Let it finish or end it, then run again." in line
    assert one.wait() == 0, one.text
    assert place.rows_lost() == 0
    place.complete()
    tally.recovered += 1
