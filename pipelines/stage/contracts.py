"""The schema contract of each source, declared once.

Here belongs which columns or fields a source's files have. How a file is held against it belongs in `checks.py`, how it
is exposed to dbt in `parquet_rows.py` and `json_rows.py`, what the values mean in the dbt project.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines import formats, stage
from pipelines.stage.column_types import Kind


class ContractError(Exception):
    """A landed file does not have the columns that its source promises; names file, column, expected and found."""


def _fingerprint(*declared: Any) -> str:
    """Tells whether files would be staged in another way now: the declaration, and the code that splits and stages."""
    code = [
        file.read_bytes() for package in (formats, stage) for file in sorted(Path(package.__path__[0]).rglob("*.py"))
    ]
    return hashlib.sha256(b"\0".join([repr(declared).encode(), *code])).hexdigest()[:16]


@dataclass(frozen=True)
class Contract:
    """The columns of one source's Parquet files, in order; a `reviews`-like list of structs by its fields.

    Columns outside `required` may be missing (they read as NULL then); columns that are not named here at all are
    kept out and reported.

    `rows_table` in schema `raw` holds what finding, ranking and counting rows needs, so that no text is read for that:
    the columns of `rows`, and of a list of structs the fields named there.
    """

    name: str
    columns: Mapping[str, Kind | Mapping[str, Kind]]
    required: frozenset[str]
    rows_table: str
    rows: Mapping[str, tuple[str, ...]]

    def sql_type(self, column: str, *, as_json: bool = False) -> str:
        """The column's type in the view over the files; `as_json` where its numbers are shown as they stand."""
        kind = self.columns[column]
        if isinstance(kind, Kind):
            return kind.sql_type(as_json=as_json)
        fields = (f'"{name}" {field.sql_type(as_json=as_json)}' for name, field in kind.items())
        return f"STRUCT({', '.join(fields)})[]"

    def row_type(self, column: str) -> str:
        """The column's type in the table of rows."""
        kind = self.columns[column]
        if isinstance(kind, Kind):
            return kind.row_sql
        fields = (f'"{name}" {kind[name].row_sql}' for name in self.rows[column])
        return f"STRUCT({', '.join(fields)})[]"

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.columns, sorted(self.required), self.rows)


REVIEW_FIELDS: Mapping[str, Kind] = {
    "confidence": Kind.SCORE,
    "date": Kind.TIME,
    "rating": Kind.SCORE,
    "review": Kind.TEXT,
    "review_id": Kind.TEXT,
    "reviewer": Kind.TEXT,
    "strengths": Kind.TEXT,
    "summary": Kind.TEXT,
    "weaknesses": Kind.TEXT,
}

# https://huggingface.co/datasets/davidheineman/iclr-2026, as of 2025-11-21.
HUB_DATASET = Contract(
    name="hub_dataset",
    columns={
        "title": Kind.TEXT,
        "abstract": Kind.TEXT,
        "year": Kind.COUNT,
        "url": Kind.TEXT,
        "pdf": Kind.TEXT,
        "authors": Kind.TEXTS,
        "venue": Kind.TEXT,
        "venueid": Kind.TEXT,
        "invitation": Kind.TEXT,
        "venue_type": Kind.TEXT,
        "reviews": REVIEW_FIELDS,
        "num_reviews": Kind.COUNT,
        "_bibtex": Kind.TEXT,
        "_bibkey": Kind.TEXT,
    },
    required=frozenset({"title", "abstract", "url", "authors", "venue", "invitation", "reviews"}),
    rows_table="hub_rows",
    rows={
        **dict.fromkeys(("title", "year", "url", "authors", "venue", "invitation", "num_reviews"), ()),
        "reviews": ("confidence", "rating", "review_id", "reviewer"),
    },
)


@dataclass(frozen=True)
class JsonContract:
    """The fields of one source's records: those that dbt reads, and of these the ones that some record must have.

    A record that lacks a field, or has it in another form, is dbt's to judge row by row; a field that *every* record
    lacks means that the upstream changed. Other fields are kept in landing only and reported.
    """

    name: str
    fields: frozenset[str]
    required: frozenset[str]

    @property
    def fingerprint(self) -> str:
        return _fingerprint(sorted(self.fields), sorted(self.required))


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# https://github.com/papercopilot/openreview; the fields vary by year.
PAPER_COPILOT = JsonContract(
    name="paper_copilot",
    fields=_names(
        "id title track status tldr abstract keywords primary_area supplementary_material author authors authorids aff "
        "aff_domain position bibtex github project site pdf reviewers rating recommendation confidence soundness "
        "contribution presentation correctness technical_novelty empirical_novelty rating_avg recommendation_avg "
        "confidence_avg soundness_avg contribution_avg presentation_avg correctness_avg technical_novelty_avg "
        "empirical_novelty_avg replies_avg authors#_avg corr_rating_confidence gender homepage dblp google_scholar "
        "orcid linkedin or_profile pdf_size corr_recommendation_confidence corr_recommendation_correctness"
    ),
    required=frozenset({"id", "title", "status"}),
)

# https://docs.openreview.net/reference/api-v2/entities/note (v1 has `invitation` for `invitations`).
OPENREVIEW = JsonContract(
    name="openreview",
    fields=_names(
        "id forum replyto number invitation invitations signatures readers writers nonreaders cdate mdate tcdate "
        "tmdate pdate odate ddate license content domain version original referent parentInvitations editInvitation"
    ),
    required=frozenset({"id", "forum", "content"}),
)

# https://iclr.cc/static/virtual/data/iclr-2025-orals-posters.json
CONFERENCE_SITE = JsonContract(
    name="conference_site",
    fields=_names(
        "id uid name authors abstract topic keywords decision session eventtype event_type sourceurl sourceid url "
        "paper_url paper_pdf_url eventmedia visible starttime endtime starttime2 endtime2 poster_position "
        "related_events related_events_ids diversity_event show_in_schedule_overview virtualsite_url room_name "
        "children_url children events_affiliated_with parent1 parent2 parent2_id schedule_html latitude longitude "
        "event_date author_list_html"
    ),
    required=frozenset({"id", "name", "decision"}),
)

AnyContract = Contract | JsonContract

CONTRACTS: dict[str, AnyContract] = {
    contract.name: contract for contract in (HUB_DATASET, PAPER_COPILOT, OPENREVIEW, CONFERENCE_SITE)
}
PARQUET_CONTRACTS = [contract for contract in CONTRACTS.values() if isinstance(contract, Contract)]
