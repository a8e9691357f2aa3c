"""What changed between two releases: rows added, removed and changed, mart by mart, with the columns and examples.

Here belongs reading two releases that stand. Files with the same hash are equal and are not read. Rows are matched by
their mart's primary key; columns that only one of the releases has cannot be compared, and are named.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipelines.publish.export import rows_of
from pipelines.publish.store import DATABASE, ReleaseError, current_id, read_manifest, release_ids
from pipelines.warehouse import Warehouse, sql_string

EXAMPLES = 5
LONGEST_VALUE = 200  # characters of a value that an example shows
# Where in a snapshot a row stood. It moves with every row that comes or goes before it, and says nothing of the row.
PLACES = ("snapshot_number", "row_number", "item_number")


@dataclass(frozen=True)
class Example:
    """One row that changed: its key, and of each changed column the value before and after, as text."""

    key: dict[str, str | None]
    columns: dict[str, tuple[str | None, str | None]]


@dataclass(frozen=True)
class MartComparison:
    """What became of one mart's rows. `changed_columns` counts the changed rows in which each column differs.

    `moved` rows are equal but for their place in the upstream's file; they are not among the changed ones.
    `not_compared` says in words what was left out, and why; empty where all was compared.
    """

    mart: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    changed_columns: dict[str, int] = field(default_factory=dict)
    added_keys: list[dict[str, str | None]] = field(default_factory=list)
    removed_keys: list[dict[str, str | None]] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        return not (self.added or self.removed or self.changed or self.not_compared)


@dataclass(frozen=True)
class Comparison:
    """Two releases, and every mart that either of them has."""

    before: str
    after: str
    marts: list[MartComparison]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON can hold them."""
        return asdict(self)

    def as_lines(self) -> Iterator[str]:
        """For people: a line a mart, the columns and examples below it."""
        yield f"From {self.before} to {self.after}:"
        for mart in self.marts:
            moved = f" ({mart.moved} rows moved within their file)" if mart.moved else ""
            if mart.is_equal:
                yield f"{mart.mart}: equal{moved}"
                continue
            yield f"{mart.mart}: {mart.added} rows added, {mart.removed} removed, {mart.changed} changed{moved}"
            for column, count in mart.changed_columns.items():
                yield f"  {column}: {count} rows"
            yield from (f"  added: {_key_text(key)}" for key in mart.added_keys)
            yield from (f"  removed: {_key_text(key)}" for key in mart.removed_keys)
            for example in mart.examples:
                for column, (before, after) in example.columns.items():
                    yield f"  {_key_text(example.key)}: {column}: {_shown(before)} -> {_shown(after)}"
            yield from (f"  not compared: {reason}" for reason in mart.not_compared)


def resolve(warehouse: Warehouse, name: str) -> str:
    """The id that `current`, `previous` (the release before the current one) or an id means.

    Raises:
        ReleaseError: there is no such release.
    """
    ids, current = release_ids(warehouse), current_id(warehouse)
    if name == "current" and current in ids:
        return current
    if name == "previous":
        if earlier := [id_ for id_ in ids if current is not None and id_ < current]:
            return earlier[-1]
        raise ReleaseError(f"There is no release before {current}; 'list' shows what there is.")
    if name not in ids:
        raise ReleaseError(f"There is no release {name!r}; there are: {', '.join(ids) or 'none'}.")
    return name


def compare(warehouse: Warehouse, before: str, after: str, *, examples: int = EXAMPLES) -> Comparison:
    """Compare two releases; `before` and `after` are ids, `current` or `previous`.

    Args:
        examples: how many rows of each kind to name for each mart.

    Raises:
        ReleaseError: there is no such release, or its manifest or database cannot be read.
    """
    ids = resolve(warehouse, before), resolve(warehouse, after)
    sides = _Side.of(warehouse, ids[0]), _Side.of(warehouse, ids[1])
    marts = sorted(sides[0].columns.keys() | sides[1].columns.keys())
    with warehouse.memory(sides[0].folder, sides[1].folder) as connection:
        return Comparison(*ids, [_compared(connection, mart, *sides, examples) for mart in marts])


@dataclass(frozen=True)
class _Side:
    """One of the releases: its marts' columns and keys, and its Parquet files by mart and path, with hash and rows."""

    folder: Path
    columns: dict[str, dict[str, str]]
    keys: dict[str, list[str]]
    files: dict[str, dict[str, tuple[str, int]]]

    @classmethod
    def of(cls, warehouse: Warehouse, release_id: str) -> "_Side":
        folder = warehouse.releases / release_id
        manifest = read_manifest(folder)
        columns = {
            mart: {column["name"]: column["type"] for column in found["columns"]}
            for mart, found in manifest["marts"].items()
        }
        files: dict[str, dict[str, tuple[str, int]]] = {mart: {} for mart in columns}
        for file in manifest["files"]:
            path = Path(file["path"])
            if path.suffix == ".parquet":
                files.setdefault(path.parent.name or path.stem, {})[file["path"]] = (file["sha256"], file["rows"])
        query = """
            select table_name, constraint_column_names as columns
            from duckdb_constraints() where constraint_type = 'PRIMARY KEY'
        """
        with warehouse.connect(folder / DATABASE, read_only=True) as connection:
            keys = {row["table_name"]: row["columns"] for row in rows_of(connection, query)}
        return cls(folder, columns, keys, files)

    def sql(self, paths: list[str]) -> str:
        return f"read_parquet([{', '.join(sql_string(self.folder / path) for path in paths)}])"


def _compared(
    connection: duckdb.DuckDBPyConnection, mart: str, before: _Side, after: _Side, examples: int
) -> MartComparison:
    if mart not in before.columns or mart not in after.columns:
        rows = [sum(count for _, count in side.files.get(mart, {}).values()) for side in (before, after)]
        which = "later" if mart not in before.columns else "earlier"
        return MartComparison(mart, rows[1], rows[0], not_compared=[f"only the {which} release has this mart"])
    columns, not_compared = _common_columns(before.columns[mart], after.columns[mart])
    key = after.keys.get(mart, [])
    if not key or before.keys.get(mart, []) != key:
        was, is_ = (", ".join(side.keys.get(mart, [])) or "none" for side in (before, after))
        return MartComparison(mart, not_compared=[*not_compared, f"the primary key was {was} and is {is_}"])
    old, new = before.files[mart], after.files[mart]
    differing = [
        sorted(path for path, (hash_, _) in own.items() if other.get(path, ("",))[0] != hash_)
        for own, other in ((old, new), (new, old))
    ]
    if not differing[0] and not differing[1]:
        return MartComparison(mart, not_compared=not_compared)
    sources = [
        side.sql(paths) if paths else f"(select * from {other.sql(others)} where false)"
        for side, paths, other, others in (
            (before, differing[0], after, differing[1]),
            (after, differing[1], before, differing[0]),
        )
    ]
    return _read(connection, mart, sources, key, columns, not_compared, examples)


def _common_columns(before: dict[str, str], after: dict[str, str]) -> tuple[list[str], list[str]]:
    """The columns that both have in one type, and why the others are not compared."""
    reasons = [f"column {column}: only the later release has it" for column in after if column not in before]
    reasons += [f"column {column}: only the earlier release has it" for column in before if column not in after]
    both = [column for column in after if column in before]
    reasons += [
        f"column {column}: was {before[column]}, is {after[column]}"
        for column in both
        if before[column] != after[column]
    ]
    return [column for column in both if before[column] == after[column]], reasons


def _read(
    connection: duckdb.DuckDBPyConnection,
    mart: str,
    sources: list[str],
    key: list[str],
    columns: list[str],
    not_compared: list[str],
    examples: int,
) -> MartComparison:
    """Match rows by key over hashes, and read the columns only of the rows that changed."""
    keys, others = ", ".join(key), [column for column in columns if column not in (*key, *PLACES)]
    places = [column for column in columns if column in PLACES and column not in key]
    for name, source in zip(("old_rows", "new_rows"), sources, strict=True):
        connection.execute(
            f"""
            create or replace temp table {name} as
            select {keys}, {_hash(others)} as content, {_hash(places)} as place from {source}
            """
        )
    connection.execute(
        f"""
        create or replace temp table changed_rows as
        select {keys} from old_rows inner join new_rows using ({keys}) where old_rows.content != new_rows.content
        """
    )
    moved = f"""
        from old_rows inner join new_rows using ({keys})
        where old_rows.content = new_rows.content and old_rows.place != new_rows.place
    """
    gone = f"from old_rows anti join new_rows using ({keys})"
    come = f"from new_rows anti join old_rows using ({keys})"
    joined = f"""
        from changed_rows
        inner join {sources[0]} as o using ({keys})
        inner join {sources[1]} as n using ({keys})
    """
    sums = [f"count(*) filter (where o.{column} is distinct from n.{column}) as {column}" for column in others]
    (counts,) = rows_of(connection, f"select count(*), {', '.join(sums)} {joined}") if sums else [{}]
    shown = ", ".join(
        f"case when o.{column} is distinct from n.{column} then [{_text(f'o.{column}')}, {_text(f'n.{column}')}] end "
        f"as {column}"
        for column in others
    )
    text_keys = ", ".join(f"{column}::varchar as {column}" for column in key)
    order = f"order by {keys} limit {examples}"
    found = rows_of(connection, f"select {text_keys}{', ' if shown else ''}{shown} {joined} {order}")
    return MartComparison(
        mart,
        added=_count(connection, come),
        removed=_count(connection, gone),
        changed=_count(connection, "from changed_rows"),
        moved=_count(connection, moved),
        changed_columns={column: counts[column] for column in others if counts.get(column)},
        added_keys=rows_of(connection, f"select {text_keys} {come} {order}"),
        removed_keys=rows_of(connection, f"select {text_keys} {gone} {order}"),
        examples=[
            Example(
                {column: row[column] for column in key},
                {column: (row[column][0], row[column][1]) for column in others if row[column] is not None},
            )
            for row in found
        ],
        not_compared=not_compared,
    )


def _hash(columns: list[str]) -> str:
    # A row of nothing but its key cannot change.
    return f"hash({', '.join(columns)})" if columns else "0"


def _text(value: str) -> str:
    cut = f"left({value}::varchar, {LONGEST_VALUE})"
    return f"case when length({value}::varchar) > {LONGEST_VALUE} then {cut} || '...' else {value}::varchar end"


def _count(connection: duckdb.DuckDBPyConnection, rows: str) -> int:
    return int(rows_of(connection, f"select count(*) as rows {rows}")[0]["rows"])


def _key_text(key: dict[str, str | None]) -> str:
    return ", ".join(f"{column}={value}" for column, value in key.items())


def _shown(value: str | None) -> str:
    return "NULL" if value is None else repr(value)
