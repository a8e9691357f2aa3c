"""A disk that refuses: full at each stage, read-only, not ours to write; a small one of its own where root may mount.

By the plain functions each stage meets many fill levels; the long set fills the disk under whole runs.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines import publish as releases
from tests.faults.crash import Outcome, in_child
from tests.faults.runs import STEPS, Place
from tests.faults.small import Small
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("disk"), pytest.mark.slow]

STAGES = ("land", "stage", "candidate", "promote")
SMALL_DISK = 24 << 20
DISK_OF_A_RUN = 192 << 20
# Bytes that are left when a stage begins: from nothing to more than any of them writes.
LEFT = (0, 65536, 8 << 20)
MORE_LEFT = (4096, 16384, 262144, 1 << 20, 2 << 20)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class Disk:
    """A mounted file system of a fixed size."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        folder.mkdir()
        self._call("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder))

    @staticmethod
    def _call(*command: str) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or error
            pytest.skip(f"a disk of its own needs root and the right to mount ({str(said).strip()})")

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes free."""
        free = shutil.disk_usage(self.folder).free
        # A run that writes beside it may take the last bytes first.
        with contextlib.suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as ballast:
            for _ in range(max(0, free - left) // 4096):
                ballast.write(bytes(4096))

    def empty(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def remount(self, how: str) -> None:
        self._call("mount", "-o", f"remount,{how}", str(self.folder))

    def unmount(self) -> None:
        self._call("umount", "-l", str(self.folder))


@pytest.fixture
def disk(open_folder: Path, request: pytest.FixtureRequest) -> Iterator[Disk]:
    mounted = Disk(open_folder / "disk", getattr(request, "param", SMALL_DISK))
    yield mounted
    mounted.unmount()


@pytest.fixture
def small(disk: Disk, open_folder: Path) -> Small:
    """One release stands on the small disk; the upstream, on another one, has news."""
    return with_news(Small(open_folder / "upstream", disk.folder / "warehouse"))


def with_news(small: Small) -> Small:
    small.news(1)
    small.land()
    small.stage()
    small.publish(1)
    small.news(2)
    return small


def do_before(small: Small, stage: str) -> None:
    """Everything that comes before a stage."""
    for earlier in STAGES[: STAGES.index(stage)]:
        if earlier == "candidate":
            small.model(2)
        getattr(small, earlier)()
    if stage == "candidate":
        small.model(2)


def complete(small: Small, before: State, tally: Tally) -> None:
    """The next run, from its beginning, once the disk is as it should be."""
    small.land()
    small.stage()
    small.model(2)
    small.candidate()
    small.promote()
    assert nothing_lost(before, small.warehouse).current != before.current
    tally.recovered += 1


def is_one_sentence(outcome: Outcome, words: str) -> None:
    """Of our own kind, on one line, and it says what the system said."""
    assert outcome.error in ("WarehouseError", "LandingError"), outcome
    assert words in outcome.message
    assert "\n" not in outcome.message
    assert "{" not in outcome.message


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("left_to_try", [LEFT, pytest.param(MORE_LEFT, marks=pytest.mark.faults_full)], ids=len)
def test_full_when_a_stage_begins(
    disk: Disk, small: Small, open_folder: Path, tally: Tally, stage: str, left_to_try: tuple[int, ...]
) -> None:
    saved = open_folder / "saved"
    shutil.copytree(small.root, saved, symlinks=True)
    refused = []
    for left in left_to_try:
        shutil.rmtree(small.root)
        shutil.copytree(saved, small.root, symlinks=True)
        do_before(small, stage)
        before = State.of(small.warehouse)
        disk.fill(left)
        outcome = in_child(getattr(small, stage), small.root)
        disk.empty()
        if not outcome.is_done:
            is_one_sentence(outcome, "No space left on device")
            tally.injected += 1
            refused.append(left)
            # Publishing may have got as far as the new release; then that is whole and current.
            between = nothing_lost(before, small.warehouse)
            assert between.current == before.current or stage == "promote"
            if between.current == before.current:
                complete(small, before, tally)
            else:
                tally.recovered += 1
    if left_to_try == LEFT:
        assert 0 in refused
        assert LEFT[-1] not in refused


@pytest.mark.parametrize("stage", STAGES)
def test_read_only(disk: Disk, small: Small, tally: Tally, stage: str) -> None:
    do_before(small, stage)
    before = State.of(small.warehouse)
    disk.remount("ro")
    outcome = in_child(getattr(small, stage), small.root)
    is_one_sentence(outcome, "Read-only file system; mount it for writing, then run again.")
    tally.injected += 1
    assert State.of(small.warehouse) == before
    # Readers need no right to write.
    assert releases.verify(small.warehouse.current.resolve()) > 0
    disk.remount("rw")
    complete(small, before, tally)


@pytest.mark.parametrize("stage", STAGES)
def test_not_ours_to_write(open_folder: Path, tally: Tally, stage: str) -> None:
    """Permission bits do not bind root; the attempt is made as nobody."""
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    small = with_news(Small(open_folder / "here"))
    do_before(small, stage)
    before = State.of(small.warehouse)
    outcome = in_child(getattr(small, stage), small.root, as_nobody=True)
    is_one_sentence(outcome, "Permission denied; give the user who runs this the right to write there, then run again.")
    tally.injected += 1
    assert State.of(small.warehouse) == before
    complete(small, before, tally)


@pytest.mark.faults_full
@pytest.mark.parametrize("disk", [DISK_OF_A_RUN], indirect=True)
def test_full_under_a_whole_run(disk: Disk, project: Path, tmp_path: Path, tally: Tally) -> None:
    """At each step of a run in turn; what the step could still finish is finished, and nothing is half done."""
    place = Place(tmp_path, project, disk.folder / "warehouse")
    place.news()
    place.complete()
    for step in STEPS:
        place.news()
        before = State.of(place.warehouse)
        run = place.start()
        assert run.await_step(step), run.text
        disk.fill()
        status = run.wait()
        disk.empty()
        between = nothing_lost(before, place.warehouse)
        if status == 0:
            assert step == "published", run.text
        else:
            tally.injected += 1
            errors = [line for line in run.text.splitlines() if line.startswith("Error: ")]
            assert errors, run.text
            assert "Traceback (most recent" not in run.text
            assert any("No space left on device" in line for line in errors), errors
        place.complete()
        after = nothing_lost(between, place.warehouse)
        assert after.current != before.current
        tally.rows_lost += place.rows_lost()
        assert tally.rows_lost == 0
        tally.recovered += status != 0
