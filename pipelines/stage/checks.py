"""Landed files held against their source's contract, before anything is staged.

Here belongs what is missing, of another type, or unknown in a file, and the SQL that reads what is there. What a
contract asks for belongs in `contracts.py`, which types read as what in
`column_types.py`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines.formats.parquet import names_in, pyarrow_types, rows_of
from pipelines.formats.records import MAX_BYTES, read_records
from pipelines.land.landing import Snapshot
from pipelines.stage.column_types import Kind, Reading, list_of, read, reason
from pipelines.stage.contracts import Contract, ContractError, JsonContract
from pipelines.warehouse import Warehouse, first_line, sql_string

_ADVICE = "If the upstream changed its schema, change the contract in contracts.py."


@dataclass(frozen=True)
class CheckedFile:
    """A file that obeys its contract, and the SQL that reads it; columns have their names of the contract.

    `relation` gives the file's rows with their `file_row_number`. Of it, `projection` selects the contract's columns in
    their types, and `json_projection` the same with its numbers as JSON, as they stand; a file whose numbers all fit
    the types `is_plain`. `row_projection` selects what the table of rows holds, and why the row cannot be read; it
    needs no other columns and fields than `row_types` names, with their stored types, which pyarrow may see as well.
    """

    path: Path
    relation: str
    projection: str
    json_projection: str
    is_plain: bool
    row_projection: str
    row_types: dict[str, str]
    suits_pyarrow: bool
    unknown: list[str]


@dataclass(frozen=True)
class CheckedRecords:
    """What is unknown in a snapshot of JSON records; `is_cut`: a line was too long for MAX_BATCH_BYTES."""

    unknown: list[str]
    is_cut: bool


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
    names = names_in(path, connection)
    given = [name for name, _, _ in names]
    for column in contract.columns:
        if given.count(column) > 1:
            raise ContractError(f"{path}: column {column!r} stands there {given.count(column)} times. {_ADVICE}")
        if column not in given and column in contract.required:
            raise ContractError(
                f"{path}: column {column!r} is missing; expected {contract.sql_type(column)}, found the columns "
                f"{', '.join(given)}. {_ADVICE}"
            )
    stored = {name: kind for name, _, kind in names if name in contract.columns}
    by_name = {column: _Column(path, contract, column, stored.get(column), is_sound) for column in contract.columns}
    columns = list(by_name.values())
    problems = [problem for column in columns for problem in column.problems()]
    rows = [column for column in columns if column.name in contract.rows or column.problems()]
    selected = [by_name[name].row() for name in contract.rows]
    selected.append(f"coalesce({', '.join([*problems, 'null::varchar'])}) as problem")
    row_types = {leaf: kind for column in rows for leaf, kind in column.row_types().items()}
    return CheckedFile(
        path,
        relation=rows_of(path, names, contract.columns),
        projection=", ".join(column.wide(as_json=False) for column in columns),
        json_projection=", ".join(column.wide(as_json=True) for column in columns),
        is_plain=all(column.is_plain for column in columns),
        row_projection=", ".join(selected),
        row_types=row_types,
        suits_pyarrow=_suits_pyarrow(path, row_types, connection),
        unknown=[name for name in given if name not in contract.columns]
        + [f"{column.name}.{name}" for column in columns for name in column.unknown],
    )


def _suits_pyarrow(path: Path, types: Mapping[str, str], connection: duckdb.DuckDBPyConnection) -> bool:
    import pyarrow

    try:
        return pyarrow_types(path, types, connection) == types
    except pyarrow.ArrowNotImplementedError:  # UUIDs, of which it makes no empty table
        return False
    except (pyarrow.ArrowException, OSError) as error:
        raise ContractError(f"{path}: is a damaged Parquet file: {first_line(error)}") from None


class _Column:
    """One column of the contract in one file: how it is read; `stored` is its type there, None where it is missing.

    Raises:
        ContractError: nobody can read its type as what the contract asks for.
    """

    def __init__(self, path: Path, contract: Contract, name: str, stored: Any, is_sound: bool) -> None:
        self.name, self._contract, self._stored = name, contract, stored
        self._value = f'"{name}"'
        self._reading: Reading | None = None
        self._fields: dict[str, Reading] = {}
        self._items = self._value
        self._found: dict[str, Any] = {}
        wanted = contract.columns[name]
        self.is_absent = stored is None or stored.id == "null"
        if isinstance(wanted, Kind):
            if stored is not None:
                self._reading = self._read(path, name, wanted, self._value, stored, is_sound)
        elif not self.is_absent:
            self._open(path, wanted, is_sound)
        self.unknown = [field for field in self._found if isinstance(wanted, Mapping) and field not in wanted]
        readings = [self._reading] if self._reading else list(self._fields.values())
        self.is_plain = all(reading.given is None for reading in readings)

    def _open(self, path: Path, wanted: Mapping[str, Kind], is_sound: bool) -> None:
        listed = list_of(self._value, self._stored)
        if listed is None or listed[1].id not in ("struct", "null"):
            raise _other_type(path, self.name, self._contract.sql_type(self.name), self._stored)
        self._items, item = listed
        if item.id == "null":
            return
        self._found = dict(item.children)
        for field, kind in wanted.items():
            if field not in self._found:
                raise ContractError(
                    f"{path}: column {self.name!r} has no field {field!r}; expected {kind.sql}, found the fields "
                    f"{', '.join(self._found)}. {_ADVICE}"
                )
            place = f"{self.name}.{field}"
            self._fields[field] = self._read(path, place, kind, f'item."{field}"', self._found[field], is_sound)

    def _read(self, path: Path, place: str, kind: Kind, value: str, stored: Any, is_sound: bool) -> Reading:
        reading = read(kind, value, stored, is_sound=is_sound)
        if reading is None:
            raise _other_type(path, place, kind.sql, stored)
        return reading

    def wide(self, *, as_json: bool) -> str:
        """The column in the view over the files."""
        kinds = self._contract.columns[self.name]
        kind = self._contract.sql_type(self.name, as_json=as_json)
        if isinstance(kinds, Kind):
            if self.is_absent or self._reading is None:
                return self._named(f"null::{kind}")
            return self._named(self._reading.as_json if kind == "JSON" else self._reading.value)
        values = {
            field: reading.as_json if kinds[field].sql_type(as_json=as_json) == "JSON" else reading.value
            for field, reading in self._fields.items()
        }
        if list(self._found) == list(kinds) and values == {field: f'item."{field}"' for field in kinds}:
            return self._named(self._items)
        return self._named(self._packed(values, kind))

    def row(self) -> str:
        """The column in the table of rows."""
        kind = self._contract.row_type(self.name)
        if self._reading is not None:
            return self._named(self._reading.row_value)
        fields = {field: self._fields[field].row_value for field in self._contract.rows[self.name] if self._fields}
        return self._named(self._packed(fields, kind))

    def problems(self) -> list[str]:
        """SQL for each reason why a row cannot be read; NULL where it can."""
        if self._reading is not None and self._reading.problem is not None:
            return [reason(sql_string(self.name), self._reading)]
        said = [
            reason(f"'{self.name}[' || number || '].{field}'", reading)
            for field, reading in self._fields.items()
            if reading.problem is not None
        ]
        if not said:
            return []
        each = f"list_transform({self._items}, lambda item, number: coalesce({', '.join([*said, 'null'])}))"
        return [f"list_filter({each}, lambda said: said is not null)[1]"]

    def row_types(self) -> dict[str, str]:
        """What the table of rows needs of the column, with the stored types."""
        if self._stored is None:
            return {}
        if not self._fields:
            return {self.name: str(self._stored)}
        needed = [field for field, reading in self._fields.items() if reading.problem is not None]
        return {
            f"{self.name}.{field}": str(self._found[field])
            for field in dict.fromkeys([*self._contract.rows.get(self.name, ()), *needed])
        }

    def _packed(self, fields: Mapping[str, str], kind: str) -> str:
        if self.is_absent:
            return f"null::{kind}"
        if not fields:  # a list of nulls
            return f"{self._items}::{kind}"
        packed = ", ".join(f'"{name}" := {value}' for name, value in fields.items())
        return f"list_transform({self._items}, lambda item: case when item is not null then struct_pack({packed}) end)"

    def _named(self, value: str) -> str:
        return value if value == self._value else f"{value} as {self._value}"


def _other_type(path: Path, place: str, expected: str, found: Any) -> ContractError:
    return ContractError(f"{path}: column {place!r} has another type; expected {expected}, found {found}. {_ADVICE}")


def check_records(snapshot: Snapshot, contract: JsonContract, max_bytes: int = MAX_BYTES) -> CheckedRecords:
    """Check a snapshot's records against the contract; what is unknown is named as `file: field`.

    Raises:
        ContractError: a required field is in no record; names the file, the field and what was found.
    """
    found: set[str] = set()
    is_cut = False
    for record in read_records(contract.name, snapshot.paths(), max_bytes):
        is_cut |= record.is_cut
        if record.problem is None:
            found.update(json.loads(record.text))
    file = snapshot.paths()[0]
    for field in sorted(contract.required - found):
        if found:
            raise ContractError(
                f"{file}: field {field!r} is missing from every record; expected it, found the fields "
                f"{', '.join(sorted(found))}. {_ADVICE}"
            )
    return CheckedRecords([f"{file.name}: {field}" for field in sorted(found - contract.fields)], is_cut)
