"""What a stage of a run cost: seconds, CPU seconds, bytes read and written, peak memory.

Here belongs the measuring and how a cost is shown; the stages are the assets'. Child processes count once they have
ended, so dbt's build is in the cost of the stage that waits for it. Bytes are those of system calls, whether they came
from the disk or from the page cache; they and the peak are Linux's and missing elsewhere.
"""

import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_SELF = Path("/proc/self")


@dataclass
class Cost:
    """Seconds of the clock and of processors, bytes; None where the system does not tell."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    bytes_read: int | None = None
    bytes_written: int | None = None
    peak_memory_bytes: int | None = None


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure what happens inside; the cost is complete when the block ends.

    The peak is the larger one of this process's and its largest child's so far, if a child ended inside.
    """
    cost = Cost()
    _forget_peak()
    started, cpu, read_written = time.perf_counter(), _cpu_seconds(), _bytes()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        yield cost
    finally:
        cost.seconds = round(time.perf_counter() - started, 3)
        cost.cpu_seconds = round(_cpu_seconds() - cpu, 3)
        if read_written and (now := _bytes()):
            cost.bytes_read, cost.bytes_written = now[0] - read_written[0], now[1] - read_written[1]
        cost.peak_memory_bytes = _peak()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        if cost.peak_memory_bytes is not None and ended.ru_utime > children.ru_utime:
            cost.peak_memory_bytes = max(cost.peak_memory_bytes, ended.ru_maxrss * 1024)


def as_metadata(costs: Mapping[str, Cost]) -> dict[str, Any]:
    """The costs of stages by name, in the form in which an asset's metadata holds them."""
    return {"profile": {stage: asdict(cost) for stage, cost in costs.items()}}


def as_lines(profile: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """A table of what `as_metadata` holds, for a terminal."""
    yield f"{'stage':<10}{'seconds':>9}{'CPU s':>9}{'MB read':>10}{'MB written':>12}{'peak MB':>10}"
    for stage, cost in profile.items():
        mega = [
            "-" if (value := cost[name]) is None else f"{value / 1e6:,.0f}"
            for name in ("bytes_read", "bytes_written", "peak_memory_bytes")
        ]
        yield f"{stage:<10}{cost['seconds']:>9.1f}{cost['cpu_seconds']:>9.1f}{mega[0]:>10}{mega[1]:>12}{mega[2]:>10}"


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


def _bytes() -> tuple[int, int] | None:
    """Bytes read and written so far by this process and the children that it has waited for."""
    try:
        fields = dict(line.split(": ") for line in (_SELF / "io").read_text(encoding="ascii").splitlines())
    except OSError:
        return None
    return int(fields["rchar"]), int(fields["wchar"])


def _forget_peak() -> None:
    try:
        (_SELF / "clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _peak() -> int | None:
    try:
        status = (_SELF / "status").read_text(encoding="ascii")
    except OSError:
        return None
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
