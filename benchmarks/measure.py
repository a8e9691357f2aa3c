"""One candidate as a whole process tree: wall time, CPU time, peak memory, peak of temporary files.

Here belongs how a process is watched. Which processes belongs in `run.py`.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.operate.maintenance import disk_use

SAMPLE_SECONDS = 0.2


class Failed(Exception):
    """A candidate did not end well; the message has the end of what it said."""


@dataclass(frozen=True)
class Measured:
    """Seconds of the clock, user and system seconds of the process and all that it waited for, bytes, load before.

    `peak_bytes` is the largest sum of resident memory over the process tree, sampled five times a second, or the
    largest single process's high-water mark where that is more. `temporary_bytes` is the same of the watched folder.
    """

    wall: float
    cpu: float
    peak_bytes: int
    temporary_bytes: int
    load: float


def run(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path, log: Path, temporary: Path | None = None
) -> Measured:
    """Run a command to its end and measure it; `temporary` is a folder whose size is watched as well.

    Raises:
        Failed: it exits with another code than 0.
    """
    load = os.getloadavg()[0]
    with log.open("wb") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        sampler = _Sampler(process.pid, temporary)
        sampler.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            wall = time.monotonic() - start
            sampler.stop()
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise Failed(f"{' '.join(command[:6])} ended with code {code}:\n{said}")
    return Measured(wall, usage.ru_utime + usage.ru_stime, sampler.peak, sampler.temporary_peak, load)


class _Sampler(threading.Thread):
    """Adds up the resident memory of a process tree until it is told to stop."""

    def __init__(self, pid: int, temporary: Path | None) -> None:
        super().__init__(daemon=True)
        self.pid, self.temporary = pid, temporary
        self.peak = self.temporary_peak = 0
        self.done = threading.Event()

    def run(self) -> None:
        rounds = 0
        while not self.done.wait(SAMPLE_SECONDS):
            # A high-water mark also knows what was between two samples. (`ru_maxrss` would do, but it counts from
            # before `exec`, when the process was a copy of the runner.)
            sizes = [_resident(pid) for pid in _tree(self.pid)]
            self.peak = max([self.peak, sum(now for now, _ in sizes), *(most for _, most in sizes)])
            rounds += 1
            if self.temporary and rounds % 5 == 0:
                self.temporary_peak = max(self.temporary_peak, disk_use(self.temporary))

    def stop(self) -> None:
        self.done.set()
        self.join()


def _tree(session: int) -> list[int]:
    """The processes of a session; a candidate starts one of its own."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # After the command's name in brackets: state, parent, group, session.
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == session:
            found.append(int(entry.name))
    return found


def _resident(pid: int) -> tuple[int, int]:
    """Resident bytes of a process: now, and at most so far."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    found = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(":") for line in lines)
        if "kB" in value
    }
    return found.get("VmRSS", 0), found.get("VmHWM", 0)
