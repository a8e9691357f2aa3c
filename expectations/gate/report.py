"""What the gate found, as a verdict: plain data, one sentence and one id for each finding.

Here belongs how results are worded and when they block. Nothing here knows files or Great Expectations.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, computed_field

from expectations import CANDIDATE, CHECKS, Check


class Finding(BaseModel):
    """One thing that is wrong.

    `id` is made of letters, digits and `_.-` alone, and is the same for the same finding: it changes with the row, the
    value or the expectation. `is_acceptable` says whether an operator may publish in spite of it.
    """

    id: str
    mart: str
    group: str
    message: str
    blocks: bool
    is_acceptable: bool

    @property
    def text(self) -> str:
        """The sentence, with the id where somebody may need it."""
        return f"{self.message} [{self.id}]" if self.is_acceptable else self.message


class FailingRow(BaseModel):
    """A row that fails a plausibility: its key, what is shown of it, and the values themselves."""

    key: str
    observed: str
    values: str


class ExpectationResult(BaseModel):
    """What one expectation found; finite, plain values only.

    `failing` has every failing row of an expectation that may be accepted, and is empty for others.
    """

    type: str
    columns: list[str]
    description: str
    severity: Literal["critical", "warning"]
    success: bool
    observed: str
    unexpected_count: int
    element_count: int
    row: str
    key: str
    sample_keys: list[str]
    failing: list[FailingRow] = []


class GroupResult(BaseModel):
    """What one group of a mart's expectations found.

    `passed` is false as soon as anything failed, a warning included; `severity` tells whether that blocks. `error` is
    something that could not be checked, which always blocks.
    """

    name: str
    mart: str
    group: str
    passed: bool
    severity: Literal["critical", "warning"] | None
    error: str | None
    expectations: list[ExpectationResult]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def messages(self) -> list[str]:
        """One sentence for each finding, naming suite, column and a key."""
        return [finding.text for finding in self.findings]

    @property
    def findings(self) -> list[Finding]:
        """The error first, then the failures in the suite's order."""
        found = [self._finding("error", f"{self.group} {self.error}", self.error, blocks=True)] if self.error else []
        for result in self.expectations:
            if not result.success:
                found += self._failures(result)
        return found

    @property
    def blocks(self) -> bool:
        return self.error is not None or self.severity == "critical"

    def _failures(self, result: ExpectationResult) -> list[Finding]:
        blocks = result.severity == "critical"
        name = result.columns[0] if result.columns else "rows"
        if not (blocks and result.failing):
            return [self._finding(name, _sentence(result), result.model_dump_json(), blocks=blocks)]
        return [
            self._finding(
                name,
                f"{result.description}: {result.key}={row.key} ({row.observed})",
                f"{result.type} {result.description} {row.key} {row.values}",
                blocks=True,
                is_acceptable=True,
            )
            for row in result.failing
        ]

    def _finding(self, name: str, sentence: str, what: str, *, blocks: bool, is_acceptable: bool = False) -> Finding:
        hash_ = hashlib.sha256(what.encode()).hexdigest()[:8]
        return Finding(
            id=f"{self.mart}.{self.group}.{name}-{hash_}",
            mart=self.mart,
            group=self.group,
            message=f"{self.mart}: {sentence}",
            blocks=blocks,
            is_acceptable=is_acceptable,
        )


class Verdict(BaseModel):
    """Whether the candidate may be published, and every check's result in the registry's order."""

    passed: bool
    results: list[GroupResult]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def messages(self) -> list[str]:
        """What blocks first, then the warnings."""
        ordered = sorted(self.results, key=lambda result: not result.blocks)
        return [message for result in ordered for message in result.messages]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def findings(self) -> list[Finding]:
        """What blocks first, then the warnings."""
        found = [finding for result in self.results for finding in result.findings]
        return sorted(found, key=lambda finding: not finding.blocks)


class Collected:
    """Results and errors by mart and group, until they are a verdict."""

    def __init__(self) -> None:
        self._results: defaultdict[tuple[str, str], list[ExpectationResult]] = defaultdict(list)
        self._errors: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    def add(self, mart: str, group: str, results: Iterable[ExpectationResult]) -> None:
        self._results[mart, group] += results

    def error(self, mart: str, groups: Iterable[str], text: str) -> None:
        for group in groups:
            if text not in self._errors[mart, group]:
                self._errors[mart, group].append(text)

    def error_everywhere(self, text: str) -> None:
        for check in CHECKS:
            self.error(check.mart, [check.group], text)

    def verdict(self) -> Verdict:
        unknown = set(self._results).union(self._errors) - {(check.mart, check.group) for check in CHECKS}
        if unknown:
            names = ", ".join(sorted(f"{mart}_{group}" for mart, group in unknown))
            self.error(CANDIDATE, ["contents"], f"could not be checked: {names} is not in the registry")
        results = [self._result(check) for check in CHECKS]
        return Verdict(passed=not any(result.blocks for result in results), results=results)

    def _result(self, check: Check) -> GroupResult:
        results = self._results[check.mart, check.group]
        errors = self._errors[check.mart, check.group]
        if not results and not errors:
            errors = ["could not be checked: no expectation was evaluated"]
        failed = {result.severity for result in results if not result.success}
        return GroupResult(
            name=check.name,
            mart=check.mart,
            group=check.group,
            passed=not failed and not errors,
            severity="critical" if "critical" in failed else "warning" if failed else None,
            error="; ".join(errors) or None,
            expectations=results,
        )


def _sentence(found: ExpectationResult) -> str:
    if not found.sample_keys:
        return f"{found.description}: found {found.observed or 'otherwise'}."
    count = found.unexpected_count
    fails = f"1 {found.row} fails" if count == 1 else f"{count} {found.row}s fail"
    observed = f" ({found.observed})" if found.observed else ""
    return f"{found.description}: {fails}, e.g. {found.key}={found.sample_keys[0]}{observed}"
