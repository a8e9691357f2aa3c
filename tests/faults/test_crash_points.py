"""A process that dies before any one of its file operations: while it lands, stages, builds a candidate, publishes.

Everything is tried on copies of one small warehouse; the next attempt has to succeed by itself.
"""

import random
import shutil
import signal
from pathlib import Path

import pytest

from pipelines import publish as releases
from tests.faults.crash import in_child
from tests.faults.small import Action, Small
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("crash points"), pytest.mark.slow]

STAGES = ("land", "stage", "candidate", "promote")
POINTS_OF_THE_FAST_SET = 3
LAST_OF_THE_FAST_SET = 8
SEED = 20261130


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """A warehouse with one release, whose upstream has news."""
    small = Small(tmp_path_factory.mktemp("crash points"))
    small.news(1)
    small.land()
    small.stage()
    small.publish(1)
    small.news(2)
    return small


def prepared(origin: Small, folder: Path, stage: str) -> tuple[Small, Action]:
    """A copy in which everything before this stage is done; and the stage."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    small = origin.copy(folder)
    if stage != "land":
        small.land()
    if stage in ("candidate", "promote"):
        small.stage()
        small.model(2)
    if stage == "promote":
        small.candidate()
    actions: dict[str, Action] = {
        "land": small.land, "stage": small.stage, "candidate": small.candidate, "promote": small.promote
    }  # fmt: skip
    return small, actions[stage]


def complete(small: Small, stage: str) -> None:
    """What the next run does, from its beginning."""
    small.land()
    small.stage()
    if stage in ("candidate", "promote"):
        small.model(2)
        small.candidate()
        small.promote()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.faults_full)], ids=["some", "every"])
def test_killed_before_a_file_operation(
    origin: Small, tmp_path: Path, tally: Tally, stage: str, is_whole: bool
) -> None:
    small, action = prepared(origin, tmp_path / "dry", stage)
    done = in_child(action, small.root)
    assert done.is_done, done
    assert done.operations > 5
    points = list(range(1, done.operations + 1))
    if not is_whole:
        # The last ones are the renames that make a thing appear.
        points = sorted({*random.Random(SEED).sample(points, POINTS_OF_THE_FAST_SET), *points[-LAST_OF_THE_FAST_SET:]})
    print(f"{stage}: {len(points)} of {done.operations} operations, seed {SEED}")
    for point in points:
        small, action = prepared(origin, tmp_path / "wet", stage)
        before = State.of(small.warehouse)
        killed = in_child(action, small.root, die_at=point)
        assert killed.signal == signal.SIGKILL, (point, killed)
        tally.injected += 1
        between = nothing_lost(before, small.warehouse)
        complete(small, stage)
        after = nothing_lost(between, small.warehouse)
        if stage in ("candidate", "promote"):
            assert after.current != before.current, point
            assert small.candidate() is None, point
        tally.recovered += 1
    assert releases.release_ids(origin.warehouse) == [releases.current_id(origin.warehouse)]
