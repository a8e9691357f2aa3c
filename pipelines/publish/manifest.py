"""The manifest of a release: every file with its hash, every column with its description, and its sources."""

import json
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb

from pipelines.config.settings import PROJECT_DIR
from pipelines.land import landing
from pipelines.publish.candidate import Candidate
from pipelines.publish.export import content_hash, marts_in, rows_of
from pipelines.publish.readme import release_readme
from pipelines.publish.store import CONTRACT_VERSION, DATABASE, current_id
from pipelines.warehouse import Warehouse, sha256, sql_string
from pipelines.warehouse.disk import files_in

_LIBRARIES = ("dbt-core", "dbt-duckdb", "duckdb", "great-expectations", "dagster", "pyarrow", "pylatexenc")


def write_manifest(warehouse: Warehouse, candidate: Candidate, sealed: dict[str, Any]) -> None:
    with warehouse.connect(candidate.release / DATABASE, read_only=True) as connection:
        marts = {mart: _describe_mart(connection, mart) for mart, _, _ in marts_in(connection)}
        editions = rows_of(connection, "select * from editions order by edition_id")
        figures = rows_of(connection, "select * from edition_figures order by edition_id, figure")
        conservation = rows_of(connection, "select * from row_conservation order by all")
        built_from = rows_of(connection, "select edition_id, snapshot_number, snapshot_id from snapshots order by all")
    snapshots = [
        {"snapshot_number": row["snapshot_number"]}
        | landing.find(warehouse, row["edition_id"], row["snapshot_id"]).record.model_dump(mode="json")
        for row in built_from
    ]
    paths = [path for path in files_in(candidate.release) if path.name not in ("manifest.json", "README.md")]
    names = [str(path.relative_to(candidate.release)) for path in paths]
    parquet = [name for name in names if name.endswith(".parquet")]
    with warehouse.memory() as connection:
        rows = {name: _parquet_rows(connection, candidate.release / name) for name in parquet}
    build = candidate.build
    manifest = {
        "release_id": candidate.release_id,
        "title": "Peer-review warehouse",
        "is_synthetic": any(edition["is_synthetic"] for edition in editions),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "previous_release_id": current_id(warehouse),
        "contract_version": CONTRACT_VERSION,
        "content_sha256": content_hash(sealed["files"]),
        "build": {
            "inputs_sha256": build.inputs_sha256,
            "code_sha256": build.code_sha256,
            "editions": build.editions,
        },
        "commit": _commit(),
        "versions": {"peer-review-warehouse": metadata.version("peer-review-warehouse")}
        | {library: metadata.version(library) for library in _LIBRARIES},
        "editions": editions,
        "marts": marts,
        "files": [
            {
                "path": name,
                "bytes": path.stat().st_size,
                "sha256": sealed["files"][name],
                "rows": rows.get(name),
            }
            for name, path in zip(names, paths, strict=True)
        ],
        "snapshots": snapshots,
        "conservation": conservation,
        "figures": figures,
        "gate": sealed["verdict"],
    }
    readme = candidate.release / "README.md"
    readme.write_text(release_readme(manifest), encoding="utf-8")
    manifest["files"].append(
        {"path": readme.name, "bytes": readme.stat().st_size, "sha256": sha256(readme), "rows": None}
    )
    (candidate.release / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _commit() -> str | None:
    """The commit that the project stands at, with `+` where files differ from it; None outside a git clone."""
    command = ["git", "-C", str(PROJECT_DIR), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _describe_mart(connection: duckdb.DuckDBPyConnection, mart: str) -> dict[str, Any]:
    columns = rows_of(
        connection,
        f"""
        select column_name as name, lower(data_type) as type, comment as description
        from duckdb_columns() where table_name = {sql_string(mart)} and not internal order by column_index
        """,
    )
    description = rows_of(connection, f"select comment from duckdb_tables() where table_name = {sql_string(mart)}")
    rows = rows_of(connection, f"select count(*) as rows from {mart}")
    return {"description": description[0]["comment"], "rows": rows[0]["rows"], "columns": columns}


def _parquet_rows(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    return int(connection.execute("select num_rows from parquet_file_metadata(?)", [str(path)]).fetchall()[0][0])
