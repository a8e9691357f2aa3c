"""Why a run failed: one sentence for each step that did, taken from Dagster's events.

Here belongs how Dagster's errors become a sentence for people. Who is told belongs in `notifications.py` and in the
launcher.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

INTERRUPTED = "it was interrupted; what it had done stays, and the next run goes on from there"


@dataclass(frozen=True)
class Failure:
    """One step that failed (`run` where the whole run did), and why, in one sentence or two."""

    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.step}: {self.reason}"


def step_failures(events: Iterable[dg.DagsterEvent]) -> list[Failure]:
    """What a run's events say went wrong, in their order.

    A blocking check fails its step with the check's bare name; what the check found says more and takes its place.
    """
    found: list[Failure] = []
    steps: list[dg.DagsterEvent] = []
    for event in events:
        if event.event_type == dg.DagsterEventType.STEP_FAILURE:
            steps.append(event)
        elif event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            if not check.passed and check.severity == dg.AssetCheckSeverity.ERROR:
                reason = check.description or f"check {check.check_name} failed"
                found.append(Failure(check.asset_key.to_user_string(), reason))
    return found + [
        Failure(str(event.step_key), _reason(event)) for event in steps if not (found and _is_check_failure(event))
    ]


def _is_check_failure(event: dg.DagsterEvent) -> bool:
    error = event.step_failure_data.error
    return error is not None and error.cls_name == "DagsterAssetCheckFailedError"


def _reason(event: dg.DagsterEvent) -> str:
    """What a failed step said, without Dagster's words around it and without what lay behind it in the libraries."""
    error = event.step_failure_data.error
    if error is None:
        return event.message or "it failed without a message"
    while error.cause and str(error.cls_name).startswith("Dagster"):
        error = error.cause
    if error.cls_name in ("DagsterExecutionInterruptedError", "KeyboardInterrupt"):
        return INTERRUPTED
    # The message begins with the class, module and all, and a colon.
    words = error.message.split(f"{error.cls_name}: ", 1)[-1].split("Stack Trace")[0]
    return words.strip()
