"""The job `accept_findings`: what `python -m pipelines.releases accept` does, from Dagster's Launchpad.

Here belongs the form that an operator fills in; what may be accepted is decided in `pipelines.publish.acceptance`.
"""

import dagster as dg
from pydantic import Field

from pipelines import publish
from pipelines.assets.parts import Parts


class Acceptance(dg.Config):
    """What an operator accepts. The finding ids are in the metadata of the candidate's failed checks."""

    candidate: str = Field(description="The candidate's id, as in the metadata of `candidate`; or `newest`.")
    findings: list[str] = Field(
        description="The ids of the findings, such as papers.volume.share_of_previous-1a2b3c4d."
    )
    reason: str = Field(description="Why this is right. Readers of the release see it.")
    by: str = Field(description="Who accepts it. Readers of the release see it.")


def accept_job(parts: Parts) -> dg.JobDefinition:
    """The job `accept_findings`."""

    @dg.op(name="accept", description="Accepts findings of the gate, for the very bytes of one candidate.")
    def accept_op(context: dg.OpExecutionContext, config: Acceptance) -> None:
        still_open = publish.accept(
            parts.warehouse, config.candidate, config.findings, reason=config.reason, by=config.by
        )
        for finding in still_open:
            context.log.warning(f"Still open: {finding['id']}: {finding['message']}")
        if not still_open:
            context.log.info("All that blocked the candidate is accepted; materialise 'published' to publish it.")
        context.add_output_metadata({"still_open": [finding["id"] for finding in still_open]})

    @dg.job(
        name="accept_findings",
        description="Says yes to what the gate refused, with a reason; then materialise `published`.",
    )
    def accept_findings() -> None:
        accept_op()

    return accept_findings
