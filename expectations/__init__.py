"""The expectations of the release: which mart has which suite, and what a suite is made of.

Here belongs the registry, readable without Great Expectations so that Dagster can declare one asset check per mart
while loading. What a mart promises is in the module of `suites/` named after it, what marts promise each other in
`suites/cross_table.py`, the wording and the limits that all marts share in `expect.py`, how they are checked in
`gate/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

    Groups = Mapping[str, list[Expectation]]

# Not a mart, but all of them together.
CANDIDATE = "candidate"

# Which module holds a mart's suite; `suites/cross_table.py` adds to each of them.
SUITE_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "editions": "expectations.suites.editions",
        "papers": "expectations.suites.papers",
        "reviews": "expectations.suites.reviews",
        "authors": "expectations.suites.authors",
        "paper_authors": "expectations.suites.paper_authors",
        "paper_links": "expectations.suites.paper_links",
        "quarantined_rows": "expectations.suites.quarantined_rows",
        "snapshots": "expectations.suites.snapshots",
        "row_conservation": "expectations.suites.row_conservation",
        "paper_keywords": "expectations.suites.paper_keywords",
        "discussion": "expectations.suites.discussion",
        "paper_source_values": "expectations.suites.paper_source_values",
        "edition_figures": "expectations.suites.edition_figures",
        CANDIDATE: "expectations.suites.cross_table",
    }
)

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "volume": "There are as many rows as there should be: some, and about as many as in the previous release.",
        "completeness": "What every row must have is there.",
        "keys": "Keys are unique, and every row is in the file of its edition.",
        "values": "Values are of their sets, ranges and patterns.",
        "distributions": "Means, spreads, shares and lengths of each edition are plausible.",
        "cross_table": "Counts and keys agree with the other marts.",
    }
)


@dataclass(frozen=True)
class Check:
    """One group of one mart's expectations, reported together in the mart's asset check."""

    mart: str
    group: str
    description: str

    @property
    def name(self) -> str:
        return f"{self.mart}_{self.group}"


CHECKS: tuple[Check, ...] = (
    Check(CANDIDATE, "contents", "Every mart of the contract and of the candidate has a suite."),
    Check(CANDIDATE, "database", "`peer_reviews.duckdb` holds the very rows of the Parquet files."),
    *(Check(mart, group, text) for mart in SUITE_MODULES if mart != CANDIDATE for group, text in GROUPS.items()),
)


@dataclass(frozen=True)
class Batch:
    """One frame and what is expected of it.

    `query` selects from the tables that the gate reads (see `gate/read.py`), `key` names the columns of the result that
    tell its rows apart in messages, `row` says what a row is. An empty frame satisfies every expectation of Great
    Expectations, so it fails the gate unless `may_be_empty`.
    """

    name: str
    key: tuple[str, ...]
    query: str
    expectations: Callable[[], Groups]
    row: str = "row"
    may_be_empty: bool = False


@dataclass(frozen=True)
class Suite:
    """One mart's suite. `columns` is the narrow select list that the gate reads of the files; text stays behind."""

    columns: str | None
    batches: tuple[Batch, ...]


def load_suites() -> dict[str, Suite]:
    """Every registered suite by mart, with what `cross_table.py` adds."""
    cross_table = importlib.import_module("expectations.suites.cross_table").BATCHES
    suites = {}
    for mart, module in SUITE_MODULES.items():
        suite: Suite = importlib.import_module(module).SUITE
        suites[mart] = Suite(suite.columns, (*suite.batches, *cross_table.get(mart, ())))
    return suites
