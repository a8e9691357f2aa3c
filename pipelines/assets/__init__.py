"""The Dagster assets, in the order of the flow; each is a thin wrapper of a function that needs no Dagster."""

import logging
import warnings

import dagster as dg

OWNERS = ["team:peer-review-warehouse"]

# Single-run back-fills are the only way to run several editions in one go; Dagster marks them as beta.
warnings.filterwarnings("ignore", message="Parameter `backfill_policy`", category=dg.BetaWarning)


def _is_news(record: logging.LogRecord) -> bool:
    """A run with nothing new yields no outputs and no checks, on purpose: nothing downstream runs ungated."""
    return "emitted no result in step" not in record.getMessage()


logging.getLogger("dagster._core.execution.plan.active").addFilter(_is_news)
