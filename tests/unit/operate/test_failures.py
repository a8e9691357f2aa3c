"""Dagster's errors become one sentence each."""

import dagster as dg
import pytest

from pipelines.operate.failures import INTERRUPTED, step_failures


class OursError(Exception):
    """A class whose name the sentence leaves out."""


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OursError("papers.parquet, row 3: no title."), "papers.parquet, row 3: no title."),
        (dg.DagsterExecutionInterruptedError(), INTERRUPTED),
    ],
)
def test_a_step_that_fails_says_why_without_dagsters_words(error: Exception, sentence: str) -> None:
    @dg.op
    def step() -> None:
        raise error

    @dg.job
    def job() -> None:
        step()

    result = job.execute_in_process(raise_on_error=False)
    (failure,) = step_failures(result.all_events)
    assert str(failure) == f"step: {sentence}"
