"""What a stage cost, measured on work whose cost is known."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pipelines.assets.costs import Cost, as_lines, as_metadata, measured

MEGABYTE = 2**20


def test_bytes_are_those_of_this_process_and_of_children_that_ended(tmp_path: Path) -> None:
    with measured() as cost:
        (tmp_path / "ours").write_bytes(bytes(3 * MEGABYTE))
        (tmp_path / "ours").read_bytes()
        written = f"open({str(tmp_path / 'theirs')!r}, 'wb').write(bytes({5 * MEGABYTE}))"
        subprocess.run([sys.executable, "-S", "-c", written], check=True)
    assert cost.bytes_written is not None
    assert cost.bytes_read is not None
    assert 8 * MEGABYTE <= cost.bytes_written < 9 * MEGABYTE
    assert 3 * MEGABYTE <= cost.bytes_read < 20 * MEGABYTE


def test_cpu_is_this_process_s_and_its_children_s() -> None:
    """The child says what it used, so that no speed is assumed; all figures are rounded to milliseconds."""
    work = "import time; sum(range(20_000_000)); print(time.process_time())"
    began = time.process_time()
    with measured() as cost:
        sum(range(5_000_000))
        theirs = float(subprocess.run([sys.executable, "-S", "-c", work], check=True, capture_output=True).stdout)
        ours = time.process_time() - began
    # The kernel counts what a child uses after its last word as well, and in ticks of up to 10 ms.
    assert cost.cpu_seconds >= ours + theirs - 0.05


def test_the_peak_is_that_of_the_stage(tmp_path: Path) -> None:
    with measured() as before:
        pass
    with measured() as large:
        text = "x" * (300 * MEGABYTE)
        del text
    with measured() as after:
        pass
    peaks = [cost.peak_memory_bytes for cost in (before, large, after)]
    if None in peaks:
        pytest.skip("this system does not tell peaks")
    small, peak, again = (value or 0 for value in peaks)
    assert peak >= small + 250 * MEGABYTE
    assert again < peak - 250 * MEGABYTE


def test_a_cost_is_complete_after_a_failure_too() -> None:
    with suppress(ZeroDivisionError), measured() as cost:
        sum(range(1_000_000)) / 0
    assert cost.seconds > 0


def test_lines_have_a_dash_where_the_system_does_not_tell() -> None:
    profile = as_metadata({"land": Cost(1.25, 0.5, 2_000_000, 3_000_000, 4_000_000), "stage": Cost(2.0, 1.0)})[
        "profile"
    ]
    assert list(as_lines(profile)) == [
        "stage       seconds    CPU s   MB read  MB written   peak MB",
        "land            1.2      0.5         2           3         4",
        "stage           2.0      1.0         -           -         -",
    ]
