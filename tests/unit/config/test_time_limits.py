"""`limits.py`: what takes too long is stopped, what does not is left alone; nothing asserts on the clock."""

# ruff: noqa: PT012 (what a block does while its time runs out takes several statements)

import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from pipelines.config.time_limits import TimeLimitError, ended_after, interrupted_after, stopped_after

SLEEP = "import time; print('up', flush=True); time.sleep(600)"
# Said either way: a shell's `&` leaves the signal ignored in pytest itself.
HEEDFUL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + SLEEP
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); " + SLEEP


def child(program: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    if "up" in program:
        assert process.stdout.readline() == b"up\n"
    return process


@pytest.mark.parametrize(("program", "ended_by"), [(HEEDFUL, signal.SIGINT), (DEAF, signal.SIGKILL)])
def test_a_child_is_asked_to_end_and_then_made_to(program: str, ended_by: signal.Signals) -> None:
    process = child(program)
    with (
        pytest.raises(TimeLimitError, match=r"dbt took longer than DBT_BUILD_SECONDS=0\.2 seconds and was stopped"),
        ended_after(process, 0.2, what="dbt", variable="DBT_BUILD_SECONDS", seconds_to_end=0.3),
    ):
        assert process.stdout is not None
        process.stdout.read()
        process.wait()
        raise RuntimeError("what a library says about a child that was killed")
    assert process.returncode == -ended_by


def test_a_child_in_time_keeps_its_own_ending() -> None:
    process = child("raise SystemExit(3)")
    with pytest.raises(RuntimeError), ended_after(process, 600, what="dbt", variable="X"):
        assert process.wait() == 3
        raise RuntimeError
    with ended_after(process, 0, what="dbt", variable="X"):
        pass


@pytest.mark.parametrize(("program", "ended_by"), [(HEEDFUL, signal.SIGINT), (DEAF, signal.SIGKILL)])
def test_no_child_is_left_by_an_interrupt(program: str, ended_by: signal.Signals) -> None:
    process = child(program)
    with (
        pytest.raises(KeyboardInterrupt),
        ended_after(process, 600, what="dbt", variable="X", seconds_to_end=0.3),
    ):
        raise KeyboardInterrupt
    assert process.wait() == -ended_by


def test_code_is_stopped_even_if_a_library_catches_everything() -> None:
    with (
        pytest.raises(TimeLimitError, match=r"The gate took longer than GATE_SECONDS=0\.1 seconds"),
        stopped_after(0.1, what="The gate", variable="GATE_SECONDS"),
    ):
        try:
            threading.Event().wait(600)
        except Exception:
            pytest.fail("an Exception would have been caught by a library")
        except BaseException:
            pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_code_in_time_is_left_alone_and_its_alarm_is_off() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(ZeroDivisionError), stopped_after(600, what="The gate", variable="X"):
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_code_in_another_thread_runs_without_an_alarm() -> None:
    ended = []

    def work() -> None:
        with stopped_after(0.001, what="x", variable="X"):
            ended.append(threading.Event().wait(0.05))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [False]


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN], ids=["terminal", "background"])
def test_a_run_is_interrupted_as_by_a_keyboard(before: Any) -> None:
    """Also where Ctrl-C is ignored, as it is behind a shell's `&`."""
    pytests = signal.signal(signal.SIGINT, before)
    try:
        _is_interrupted()
        assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGINT, pytests)


def _is_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.1) as is_late:
        threading.Event().wait(600)
    assert is_late.is_set()
    with interrupted_after(600) as is_late:
        pass
    assert not is_late.is_set()
