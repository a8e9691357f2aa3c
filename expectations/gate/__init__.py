"""The gate: runs every suite on the files of a candidate release and returns a verdict.

In three steps: `read` the files, `judge` them (`runner` drives Great Expectations), `report` what was found. What is
expected belongs in `expectations.suites`.
"""

from expectations.gate.judge import run
from expectations.gate.read import GateError
from expectations.gate.report import ExpectationResult, FailingRow, Finding, GroupResult, Verdict

__all__ = ["ExpectationResult", "FailingRow", "Finding", "GateError", "GroupResult", "Verdict", "run"]
