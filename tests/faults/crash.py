"""A process of its own for a function, ended or refused at a chosen file operation, or run as another user.

Here belongs how a fault reaches one of our functions without a whole run. Python tells of every file that is opened,
made, renamed, linked, removed or given other rights (`sys.addaudithook`), before it happens: each is a moment at which
a process may die. What DuckDB writes inside one call is not told; the kills of whole runs meet that.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OPERATIONS = frozenset(
    ("open", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.copyfile")
)
_NOBODY = 65534


@dataclass(frozen=True)
class Outcome:
    """How the process ended: by a signal, by an exception of ours or another (its class and words), or well."""

    signal: int | None = None
    error: str | None = None
    message: str = ""
    value: Any = None
    operations: int = 0

    @property
    def is_done(self) -> bool:
        return self.signal is None and self.error is None


def in_child(action: Callable[[], Any], folder: Path, *, die_at: int | None = None, as_nobody: bool = False) -> Outcome:
    """Run `action` in a forked process; with `die_at`, SIGKILL before its n-th file operation under `folder`."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _act(action, str(folder), die_at, as_nobody, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        told = said.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Outcome(signal=os.WTERMSIG(status))
    outcome: Outcome = pickle.loads(told)
    return outcome


def _act(action: Callable[[], Any], folder: str, die_at: int | None, as_nobody: bool, writing: int) -> None:
    count = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in _OPERATIONS and str(arguments[0]).startswith(folder):
            count += 1
            if count == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        if as_nobody:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        sys.addaudithook(watch)
        outcome = Outcome(value=action())
    except BaseException as error:
        outcome = Outcome(error=type(error).__name__, message=str(error))
    outcome = Outcome(outcome.signal, outcome.error, outcome.message, outcome.value, count)
    os.write(writing, pickle.dumps(outcome))
    os._exit(0)
