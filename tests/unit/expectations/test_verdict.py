"""Verdicts: what blocks, what they say, and that they are plain JSON."""

import json

from expectations.gate import ExpectationResult, GroupResult, Verdict


def found(**changes: object) -> ExpectationResult:
    values: dict[str, object] = {
        "type": "expect_column_values_to_be_between",
        "columns": ["rating"],
        "description": "rating must be between 0 and 10",
        "severity": "critical",
        "success": False,
        "observed": "rating 99",
        "unexpected_count": 1,
        "element_count": 55,
        "row": "row",
        "key": "review_id",
        "sample_keys": ["abc"],
    }
    return ExpectationResult.model_validate(values | changes)


def group(*results: ExpectationResult, error: str | None = None, severity: str | None = None) -> GroupResult:
    return GroupResult.model_validate(
        {
            "name": "reviews_values",
            "mart": "reviews",
            "group": "values",
            "passed": not error and not severity,
            "severity": severity,
            "error": error,
            "expectations": list(results),
        }
    )


def test_a_failure_names_suite_column_and_key() -> None:
    assert group(found()).messages == [
        "reviews: rating must be between 0 and 10: 1 row fails, e.g. review_id=abc (rating 99)"
    ]


def test_several_failures_are_counted() -> None:
    result = found(unexpected_count=3, key="paper_id:position", sample_keys=["abc:1", "abc:2", "abc:3"], observed="")

    assert group(result).messages == [
        "reviews: rating must be between 0 and 10: 3 rows fail, e.g. paper_id:position=abc:1"
    ]


def test_an_error_does_not_read_like_a_failed_expectation() -> None:
    result = group(error="could not be checked: reviews/iclr-2026.parquet has no column rating")

    assert result.blocks
    assert result.messages == ["reviews: values could not be checked: reviews/iclr-2026.parquet has no column rating"]


def test_a_success_says_nothing() -> None:
    assert group(found(success=True)).messages == []


def test_warnings_do_not_block_and_come_last() -> None:
    warning = group(found(severity="warning", description="confidence must be between 1 and 5"), severity="warning")
    critical = group(found(), severity="critical")

    assert not warning.blocks
    assert critical.blocks
    messages = Verdict(passed=False, results=[warning, critical]).messages
    assert [message.split(" must")[0] for message in messages] == ["reviews: rating", "reviews: confidence"]


def test_a_verdict_is_plain_json_with_its_messages() -> None:
    verdict = Verdict(passed=False, results=[group(found(), severity="critical")])

    read = json.loads(verdict.model_dump_json())

    assert read["messages"] == verdict.messages
    assert read["results"][0]["messages"] == verdict.messages
    assert Verdict.model_validate({"passed": read["passed"], "results": read["results"]}) == verdict
