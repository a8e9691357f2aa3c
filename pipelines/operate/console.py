"""What a person at a terminal sees while a run goes on: a short line for each thing worth knowing.

Here belongs only how the launcher's own run looks. Nothing is lost: Dagster's event log and compute logs, which the
UI shows, hold every message and every line of dbt.
"""

import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator

import dagster as dg

# What Dagster, dagster-dbt and dbt say while all is well, and of steps that wait for one that failed; warnings,
# failures and errors themselves never begin like this.
_DETAIL = re.compile(
    r"\s*$|\d+ of \d+ (START|OK|PASS) |Running with dbt|Registered adapter|Found \d+ |Concurrency:|"
    r"Completed successfully|Unable to do partial parsing|A dbt subsetted execution|Copying `|"
    r"(Running|Finished) dbt command|"
    r"op '\w+' did not yield or return expected outputs|Skipping step|Dependencies for step"
)
_SECONDS_TO_DRAIN = 5


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


@contextlib.contextmanager
def calm_stdout() -> Iterator[None]:
    """Keep dbt's hundred lines about what went well off the terminal.

    Works on the file descriptor, because Dagster mirrors a step's output from its compute log by a child process.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    terminal = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)

    def pass_on() -> None:
        with os.fdopen(reading, errors="replace") as lines, os.fdopen(terminal, "w", closefd=False) as out:
            for line in lines:
                if not _DETAIL.match(line):
                    print(line, end="", file=out, flush=True)

    reader = threading.Thread(target=pass_on, name="calm-stdout", daemon=True)
    reader.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(terminal, 1)
        # The end is seen once Dagster's children have closed their ends too; one that lives on does not hold us up.
        reader.join(_SECONDS_TO_DRAIN)
        if not reader.is_alive():
            os.close(terminal)
