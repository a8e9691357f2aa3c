"""Great Expectations' own expectations, each with the sentence that a person reads when it fails.

Here belong the wording and what all marts share: the limits on volume and the mark for findings that an operator may
accept. What is expected of one mart belongs in its module. Severity `critical` blocks the
release, `warning` is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

Severity = Literal["critical", "warning"]

# The mark of `plausible` in an expectation's `meta`.
_PLAUSIBILITY = "plausibility"

# Volume, against the previous release of the same edition. Sources only grow or are frozen: withdrawn papers stay, a
# takedown is a handful of notes. A loss of a tenth is a broken source or filter.
SMALLEST_SHARE_OF_PREVIOUS = 0.9
# Reviews of an edition appear at once, so real growth can be large; three times the rows is worth a look.
LARGEST_SHARE_OF_PREVIOUS = 3.0

FORUM_ID = r"^[A-Za-z0-9_-]{8,15}$"
HTTP_URL = r"^https?://[^\s/]+"
# Less than `pipelines.model.text` redacts: what still matches has slipped through.
EMAIL = r"[A-Za-z0-9_.+%-]@([A-Za-z0-9_-]{1,63}\.){1,8}[A-Za-z]{2,24}"


def _make(name: str, **arguments: Any) -> Expectation:
    """Great Expectations takes seconds to import, and its types do not know its own shorthands."""
    import great_expectations.expectations as gxe

    made: Expectation = getattr(gxe, name)(**arguments)
    return made


def plausible(expectation: Expectation) -> Expectation:
    """Mark one that the truth may break, so that an operator can accept what it finds (see `docs/operations.md`).

    For figures of whole editions that a source may rightly change; never for shape, keys or marts that disagree.
    """
    expectation.meta = {**(expectation.meta or {}), _PLAUSIBILITY: True}
    return expectation


def is_plausibility(meta: Mapping[str, Any] | None) -> bool:
    """Whether an expectation with this `meta` was marked by `plausible`."""
    return bool((meta or {}).get(_PLAUSIBILITY))


def not_empty() -> Expectation:
    return _make("ExpectTableRowCountToBeBetween", min_value=1, severity="critical", description="there must be rows")


def named(conditions: Mapping[str, str], name: str) -> str:
    """SQL for a column with the names of the conditions that are true of a row, or NULL.

    One expectation for all of them: Great Expectations takes some 10 ms for each, and columns that are only looked at
    for this stay out of its frames.
    """
    cases = ", ".join(f"case when {condition} then '{column}' end" for column, condition in conditions.items())
    return f"nullif(concat_ws(', ', {cases}), '') as {name}"


def missing(*columns: str) -> str:
    """SQL for the column `missing`: the names of the columns that a row lacks, or NULL."""
    return named({column: f"{column} is null" for column in columns}, "missing")


def too_small(lowest: Mapping[str, int]) -> str:
    """SQL for the column `too_small`: the names of the columns that are below their lowest value, or NULL."""
    return named({column: f"{column} < {value}" for column, value in lowest.items()}, "too_small")


def required() -> Expectation:
    return absent("missing", "required columns must not be null")


def in_own_file() -> Expectation:
    return absent("misfiled_edition_id", "edition_id must be that of the file")


def numbers() -> Expectation:
    return absent("too_small", "counts and positions must not be below their lowest value")


def absent(column: str, description: str, severity: Severity = "critical") -> Expectation:
    """For a column that holds a value only where something is wrong, and that value is what is wrong."""
    return _make("ExpectColumnValuesToBeNull", column=column, severity=severity, description=description)


def unique(*columns: str, severity: Severity = "critical", description: str | None = None) -> Expectation:
    """Rows that lack one of several columns are left out."""
    if len(columns) == 1:
        return _make(
            "ExpectColumnValuesToBeUnique",
            column=columns[0],
            severity=severity,
            description=description or f"{columns[0]} must be unique",
        )
    return _make(
        "ExpectCompoundColumnsToBeUnique",
        column_list=list(columns),
        ignore_row_if="any_value_is_missing",
        severity=severity,
        description=description or f"{', '.join(columns[:-1])} and {columns[-1]} together must be unique",
    )


def between(
    column: str,
    lowest: float | None,
    highest: float | None = None,
    severity: Severity = "critical",
    description: str | None = None,
) -> Expectation:
    """Absent values are fine; `missing` is for them."""
    if highest is None:
        limits = f"at least {lowest:g}"
    elif lowest is None:
        limits = f"at most {highest:g}"
    else:
        limits = f"between {lowest:g} and {highest:g}"
    return _make(
        "ExpectColumnValuesToBeBetween",
        column=column,
        min_value=lowest,
        max_value=highest,
        severity=severity,
        description=f"{description or column} must be {limits}",
    )


def one_of(
    column: str, allowed: Sequence[str | bool], severity: Severity = "critical", description: str | None = None
) -> Expectation:
    """Absent values are fine; `missing` is for them."""
    return _make(
        "ExpectColumnValuesToBeInSet",
        column=column,
        value_set=list(allowed),
        severity=severity,
        description=description or f"{column} must be one of {', '.join(map(str, allowed))}",
    )


def holds(column: str, description: str, severity: Severity = "critical") -> Expectation:
    """For a boolean column that the query computed."""
    return one_of(column, [True], severity, description)


def matches(column: str, pattern: str, description: str, severity: Severity = "critical") -> Expectation:
    return _make(
        "ExpectColumnValuesToMatchRegex",
        column=column,
        regex=pattern,
        severity=severity,
        description=f"{column} must be {description}",
    )


def equal(column: str, other: str, severity: Severity = "critical", description: str | None = None) -> Expectation:
    """For columns of which neither is NULL: Great Expectations trips over a row that has only one of the two."""
    return _make(
        "ExpectColumnPairValuesToBeEqual",
        column_A=column,
        column_B=other,
        ignore_row_if="both_values_are_missing",
        severity=severity,
        description=description or f"{column} must equal {other}",
    )


def not_above(column: str, other: str, severity: Severity = "critical") -> Expectation:
    return _make(
        "ExpectColumnPairValuesAToBeGreaterThanB",
        column_A=other,
        column_B=column,
        or_equal=True,
        ignore_row_if="either_value_is_missing",
        severity=severity,
        description=f"{column} must not be above {other}",
    )


def single_valued(column: str, description: str) -> Expectation:
    return _make(
        "ExpectColumnUniqueValueCountToBeBetween",
        column=column,
        min_value=1,
        max_value=1,
        severity="critical",
        description=description,
    )


def as_many_as_before(severity: Severity = "critical") -> list[Expectation]:
    """The band against the previous release, on a frame with the gate's `volumes`."""
    text = "rows as a share of the previous release's"
    if severity == "warning":
        return [between("share_of_previous", SMALLEST_SHARE_OF_PREVIOUS, LARGEST_SHARE_OF_PREVIOUS, "warning", text)]
    return [
        plausible(between("share_of_previous", SMALLEST_SHARE_OF_PREVIOUS, None, "critical", text)),
        between("share_of_previous", None, LARGEST_SHARE_OF_PREVIOUS, "warning", text),
    ]
