"""What a person at a terminal sees while a run goes on: a short line for each thing worth knowing.

Here belongs only how the launcher's own run looks. Nothing is lost: Dagster's event log, which the UI shows, holds
every message, and dbt's log in its target folder every line of dbt.
"""

import contextlib
import io
import logging
import re
import sys
from collections.abc import Iterator
from typing import TextIO

import dagster as dg

# What Dagster, dagster-dbt and dbt say while all is well, and of steps that wait for one that failed; warnings,
# failures and errors themselves never begin like this.
_DETAIL = re.compile(
    r"\s*$|\d+ of \d+ (START|OK|PASS) |Running with dbt|Registered adapter|Found \d+ |Concurrency:|"
    r"Completed successfully|Unable to do partial parsing|A dbt subsetted execution|Copying `|"
    r"(Running|Finished) dbt command|"
    r"op '\w+' did not yield or return expected outputs|Skipping step|Dependencies for step"
)


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        meta = record.__dict__["dagster_meta"]
        words = "started" if meta["dagster_event"] else meta["orig_message"]
        level = f"{record.levelname}: " if record.levelno > logging.INFO else ""
        return f"{self.formatTime(record, '%H:%M:%S')} {meta['step_key'] or 'run'}: {level}{words}"


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Of Dagster's own events only the start of a step; the launcher says at the end which steps failed, and why."""
    meta = record.__dict__["dagster_meta"]
    if event := meta["dagster_event"]:
        return bool(event.event_type == dg.DagsterEventType.STEP_START)
    return record.levelno >= logging.INFO and not _DETAIL.match(meta["orig_message"])


@dg.logger(None, description="One short line a message, without run ids and without tracebacks.")
def short_lines(context: dg.InitLoggerContext) -> logging.Logger:
    """What the assets say, from INFO on, and the start of each step, on the standard error stream."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Line())
    handler.addFilter(_is_worth_a_line)
    logger = logging.Logger("pipelines.operate.console", logging.DEBUG)
    logger.addHandler(handler)
    return logger


class _Calm(io.TextIOBase):
    """A stream that passes on to another what is worth a line."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if not _DETAIL.match(line):
                print(line, file=self._terminal, flush=True)
        return len(text)


@contextlib.contextmanager
def calm_stdout() -> Iterator[None]:
    """Keep dbt's hundred lines about what went well off the terminal."""
    with contextlib.redirect_stdout(_Calm(sys.stdout)):
        yield
