"""Time limits on work that has none of its own: a child process, code in this process, a whole run.

Here belongs only how something is stopped in time. How long it may take is a setting; HTTP has its own limits in
`sources/http/`, waiting for locks and databases in `warehouse.py`.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_TO_END = 10.0  # between the request to end and the kill


class TimeLimitError(Exception):
    """Something took longer than its setting allows and was stopped; the message names the setting."""


def _sentence(what: str, seconds: float, variable: str) -> str:
    return f"{what} took longer than {variable}={seconds:g} seconds and was stopped; raise it if that is too short."


@contextmanager
def ended_after(
    process: "subprocess.Popen[bytes]",
    seconds: float,
    *,
    what: str,
    variable: str,
    seconds_to_end: float = SECONDS_TO_END,
) -> Iterator[None]:
    """End a child process that still runs after so many seconds, or when the block is left by an error.

    It is asked first, as Ctrl-C would, and has `seconds_to_end` before it is killed.

    Raises:
        TimeLimitError: it had to be ended; whatever the block raised because of that is the cause.
    """
    is_late, left = threading.Event(), threading.Event()

    def watch() -> None:
        if left.wait(seconds) or process.poll() is not None:
            return
        is_late.set()
        process.send_signal(signal.SIGINT)
        if not left.wait(seconds_to_end):
            process.kill()

    watcher = threading.Thread(target=watch, name="time-limit", daemon=True)
    watcher.start()
    try:
        yield
    except BaseException as error:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(seconds_to_end)
            except subprocess.TimeoutExpired:
                process.kill()
        if is_late.is_set() and isinstance(error, Exception):
            raise TimeLimitError(_sentence(what, seconds, variable)) from error
        raise
    finally:
        left.set()
    if is_late.is_set():
        raise TimeLimitError(_sentence(what, seconds, variable))


class _Alarm(BaseException):
    """Not an Exception: libraries catch those and go on."""


@contextmanager
def stopped_after(seconds: float, *, what: str, variable: str) -> Iterator[None]:
    """Stop the block after so many seconds, if it runs in the main thread, as the steps of a run do.

    The alarm comes again until the block has ended, since a library may catch it on its way.

    Raises:
        TimeLimitError: the block was stopped.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_late = False

    def ring(signal_number: int, frame: object) -> None:
        nonlocal is_late
        is_late = True
        raise _Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, SECONDS_TO_END)
    try:
        yield
    except BaseException as error:
        if is_late:
            raise TimeLimitError(_sentence(what, seconds, variable)) from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if is_late:
        raise TimeLimitError(_sentence(what, seconds, variable))


@contextmanager
def interrupted_after(seconds: float) -> Iterator[threading.Event]:
    """Send this process what Ctrl-C sends after so many seconds; the event tells that it was sent.

    For a whole run: Dagster ends the step and dbt on it, and writes down that the run ended. Call in the main thread.
    """
    is_late = threading.Event()
    # A shell's `&`, nohup and some cron daemons leave it ignored, here and in the children.
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        is_late.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield is_late
    finally:
        timer.cancel()
        if before == signal.SIG_IGN:
            signal.signal(signal.SIGINT, before)
