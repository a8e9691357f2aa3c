"""The schema contract of each source, declared once, and the check of landed files against it.

Here belongs which columns or fields a source's files have. How they are exposed to dbt belongs in `staging.py`, what
the values mean in the dbt project.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines import formats, stage
from pipelines.formats.records import MAX_BYTES, REPLACEMENT, read_records
from pipelines.formats.unpacking import ROW_NUMBER_COLUMN
from pipelines.land.landing import Snapshot
from pipelines.warehouse import Warehouse, sql_string

_TEXT, _NUMBER = "VARCHAR", "BIGINT"


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
    """The columns of one source's files, in order, as DuckDB types; a `reviews`-like list of structs by its fields.

    Columns outside `required` may be missing (they read as NULL then); columns that are not named here at all are
    kept out and reported.
    """

    name: str
    columns: dict[str, str | dict[str, str]]
    required: frozenset[str]

    def sql_type(self, column: str) -> str:
        kind = self.columns[column]
        if isinstance(kind, str):
            return kind
        return "STRUCT(" + ", ".join(f'"{field}" {field_type}' for field, field_type in kind.items()) + ")[]"

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.columns, sorted(self.required))


REVIEW_FIELDS = {
    "confidence": _NUMBER,
    "date": _NUMBER,
    "rating": _NUMBER,
    "review": _TEXT,
    "review_id": _TEXT,
    "reviewer": _TEXT,
    "strengths": _TEXT,
    "summary": _TEXT,
    "weaknesses": _TEXT,
}

# https://huggingface.co/datasets/davidheineman/iclr-2026, as of 2025-11-21.
HUB_DATASET = Contract(
    name="hub_dataset",
    columns={
        "title": _TEXT,
        "abstract": _TEXT,
        "year": _NUMBER,
        "url": _TEXT,
        "pdf": _TEXT,
        "authors": "VARCHAR[]",
        "venue": _TEXT,
        "venueid": _TEXT,
        "invitation": _TEXT,
        "venue_type": _TEXT,
        "reviews": REVIEW_FIELDS,
        "num_reviews": _NUMBER,
        "_bibtex": _TEXT,
        "_bibkey": _TEXT,
    },
    required=frozenset({"title", "abstract", "url", "authors", "venue", "invitation", "reviews"}),
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


@dataclass(frozen=True)
class CheckedFile:
    """A file that obeys its contract: the select list that reads exactly the contract's columns from it, mended."""

    path: Path
    projection: str
    unknown: list[str]


def check_files(
    paths: Iterable[Path], contract: Contract, warehouse: Warehouse, *, sound: Collection[str] = ()
) -> list[CheckedFile]:
    """Check each file's own schema against the contract (a list of files would take its types from the first).

    Texts of files that are not named as `sound` may hold NUL, which is then replaced wherever they are read.

    Raises:
        ContractError: names the file, the column, what was expected and what was found.
    """
    files = list(paths)
    with warehouse.memory(*(path.parent for path in files)) as connection:
        return [_check_file(connection, path, contract, is_sound=path.name in sound) for path in files]


def _check_file(
    connection: duckdb.DuckDBPyConnection, path: Path, contract: Contract, *, is_sound: bool
) -> CheckedFile:
    relation = connection.sql(f"from read_parquet({sql_string(path)})")
    found = dict(zip(relation.columns, relation.types, strict=True))
    if ROW_NUMBER_COLUMN in {column.casefold() for column in found}:
        raise ContractError(f"{path}: a column is called {ROW_NUMBER_COLUMN!r}, a name that reading needs; rename it.")
    unknown = [column for column in found if column not in contract.columns]
    selected = []
    for column, expected in contract.columns.items():
        if column not in found:
            if column in contract.required:
                raise ContractError(
                    f"{path}: column {column!r} is missing; expected {contract.sql_type(column)}, found the columns "
                    f"{', '.join(found)}. If the upstream changed its schema, change the contract in contracts.py."
                )
            selected.append(f'null::{contract.sql_type(column)} as "{column}"')
        elif isinstance(expected, str):
            _check_type(path, column, expected, str(found[column]))
            quoted = f'"{column}"'
            selected.append(quoted if is_sound else f"{mended(quoted, expected)} as {quoted}")
        else:
            fields = _struct_fields(path, column, contract, found[column])
            for name, field_type in expected.items():
                if name not in fields:
                    raise ContractError(
                        f"{path}: column {column!r} has no field {name!r}; expected {field_type}, found the fields "
                        f"{', '.join(fields)}. If the upstream changed its schema, change the contract in contracts.py."
                    )
                _check_type(path, f"{column}.{name}", field_type, fields[name])
            unknown += [f"{column}.{name}" for name in fields if name not in expected]
            if is_sound and list(fields) == list(expected):
                selected.append(f'"{column}"')
            else:
                items = {name: f'item."{name}"' for name in expected}
                if not is_sound:
                    items = {name: mended(item, expected[name]) for name, item in items.items()}
                packed = ", ".join(f'"{name}" := {item}' for name, item in items.items())
                selected.append(
                    f'list_transform("{column}", lambda item: case when item is not null then struct_pack({packed}) '
                    f'end) as "{column}"'
                )
    return CheckedFile(path, ", ".join(selected), unknown)


def mended(value: str, kind: str) -> str:
    """SQL for a value, without NUL where it is text or a list of texts."""
    if kind == _TEXT:
        return f"replace({value}, chr(0), '{REPLACEMENT}')"
    if kind == f"{_TEXT}[]":
        return f"list_transform({value}, lambda text: {mended('text', _TEXT)})"
    return value


def _struct_fields(path: Path, column: str, contract: Contract, found: Any) -> dict[str, str]:
    if found.id != "list" or found.children[0][1].id != "struct":
        _check_type(path, column, contract.sql_type(column), str(found))
    return {name: str(kind) for name, kind in found.children[0][1].children}


def _check_type(path: Path, column: str, expected: str, found: str) -> None:
    if expected != found:
        raise ContractError(
            f"{path}: column {column!r} has another type; expected {expected}, found {found}. "
            "If the upstream changed its schema, change the contract in contracts.py."
        )


def check_records(snapshot: Snapshot, contract: JsonContract, max_bytes: int = MAX_BYTES) -> list[str]:
    """Check a snapshot's records against the contract; returns the unknown fields as `file: field`.

    Raises:
        ContractError: a required field is in no record; names the file, the field and what was found.
    """
    found: set[str] = set()
    for record in read_records(contract.name, snapshot.paths(), max_bytes):
        if record.problem is None:
            found.update(json.loads(record.text))
    file = snapshot.paths()[0]
    for field in sorted(contract.required - found):
        if found:
            raise ContractError(
                f"{file}: field {field!r} is missing from every record; expected it, found the fields "
                f"{', '.join(sorted(found))}. If the upstream changed its schema, change the contract in contracts.py."
            )
    return [f"{file.name}: {field}" for field in sorted(found - contract.fields)]
