"""Releases: build a candidate, seal it with the gate's verdict, promote it, and look after those that stand.

Here belongs everything about files under `warehouse/candidates/` and `warehouse/releases/`. What the marts hold
belongs in dbt, what makes them good enough in `expectations/`. Also a command: `python -m pipelines.releases --help`.

    warehouse/candidates/<release_id>/release/     the files of a release to be
    warehouse/candidates/<release_id>/data_docs/   what Great Expectations found, to look at
    warehouse/candidates/<release_id>/build.json   what the marts behind it were built from
    warehouse/candidates/<release_id>/files.json   the hashes of its files as they were written
    warehouse/candidates/<release_id>/verdict.json the gate's verdict and the hashes of the files that it is about
    warehouse/releases/<release_id>/               an immutable release
    warehouse/current -> releases/<release_id>     one flip switches everything, `peer_reviews.duckdb` included
"""

import argparse
import hashlib
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb
from dotenv import load_dotenv

from pipelines import landing, staging
from pipelines.landing import Log, sha256
from pipelines.settings import PROJECT_DIR, Settings, SettingsError
from pipelines.warehouse import Warehouse, WarehouseError, sql_string, sync

DATABASE = "peer_reviews.duckdb"
CONTRACT_VERSION = 1

# The row group is the unit that readers hold in memory: 122,880 rows, the default, spill at a limit of 1 GB.
ROW_GROUP_ROWS = 16_384
_LIBRARIES = ("dbt-core", "dbt-duckdb", "duckdb", "great-expectations", "dagster", "pyarrow", "pylatexenc")


class ReleaseError(Exception):
    """A candidate or release is not fit for what was asked; says why and what to do."""


@dataclass(frozen=True)
class Candidate:
    """A release to be: `folder/release` holds its files, `files` their paths in it, rows, sizes and hashes."""

    release_id: str
    folder: Path

    @property
    def release(self) -> Path:
        return self.folder / "release"

    @property
    def data_docs(self) -> Path:
        return self.folder / "data_docs"

    @property
    def verdict_file(self) -> Path:
        return self.folder / "verdict.json"

    @property
    def build_file(self) -> Path:
        """The build that the candidate was made from."""
        return self.folder / "build.json"

    @property
    def files_file(self) -> Path:
        """The sha256 of each file in `release`, by its path there, from when it was written."""
        return self.folder / "files.json"

    @property
    def build(self) -> "Build":
        return Build(**json.loads(self.build_file.read_text(encoding="utf-8")))


# --- the build that a candidate is made from --------------------------------------------------------------------------


@dataclass(frozen=True)
class Build:
    """What the marts were built from: hashes of all inputs and of the code alone, and each edition's fingerprint.

    `kept_from` is the release whose rows the `kept` editions still have; `release_id` the release that the build
    became, or was found equal to.
    """

    inputs_sha256: str
    code_sha256: str
    editions: dict[str, str]
    kept: list[str]
    kept_from: str | None = None
    release_id: str | None = None


# What decides the marts' content besides the landed bytes: how they are read, the models, the functions they call.
_CODE = (
    "pipelines/contracts.py",
    "pipelines/records.py",
    "pipelines/staging.py",
    "dbt_project/*.yml",
    "dbt_project/models/**/*.*",
    "dbt_project/macros/**/*.*",
    "dbt_project/seeds/**/*.*",
    "dbt_project/tests/**/*.*",
    "pipelines/text.py",
    "pipelines/dbt_functions.py",
)
_TEXT_LIBRARIES = ("dbt-core", "dbt-duckdb", "duckdb", "markdown-it-py", "pylatexenc")
_NOT_CODE = "_unit_tests.yml"


def inputs_fingerprint(warehouse: Warehouse) -> str:
    """One hash over everything that decides what the marts hold: what is staged, the models, the libraries."""
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        parts = [staging.staged_fingerprint(connection), code_fingerprint()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def code_fingerprint() -> str:
    """One hash over what makes marts of staged data: the models, the functions that they call, the libraries."""
    parts = []
    for pattern in _CODE:
        files = sorted(PROJECT_DIR.glob(pattern))
        parts += [f"{file.relative_to(PROJECT_DIR)} {sha256(file)}" for file in files if file.name != _NOT_CODE]
    parts += [f"{library} {metadata.version(library)}" for library in _TEXT_LIBRARIES]
    parts += [f"python {platform.python_version()}", f"unicode {unicodedata.unidata_version}"]
    parts += [f"row groups {ROW_GROUP_ROWS}", f"contract {CONTRACT_VERSION}"]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@contextmanager
def building(warehouse: Warehouse, *, whole: bool) -> Iterator[Path | None]:
    """Around dbt's work: the marts' database is ready for it, and a whole build counts once the block has ended well.

    Call under the writer lock. Gives what `released_database` does, for dbt's environment. The build's hashes are those
    from before the block: the project's files may change while dbt is at work.

    Raises:
        LandingError: a landed file that the models read was altered.
    """
    inputs, code = inputs_fingerprint(warehouse), code_fingerprint()
    begin_build(warehouse, whole=whole)
    yield released_database(warehouse)
    if whole:
        finish_build(warehouse, inputs, code)


def begin_build(warehouse: Warehouse, *, whole: bool) -> None:
    """Make the marts' database ready for dbt. Call under the writer lock.

    A whole build starts from an empty file, and takes the text of editions that have not changed since the current
    release from there; a build of some models only leaves the others, and no candidate can be made of it.

    Raises:
        LandingError: a landed file that the models read was altered.
    """
    release = _release_of_this_code(warehouse)
    with warehouse.connect(warehouse.working_database) as connection:
        staging.verify_staged_files(connection, warehouse)
        connection.execute("delete from raw.released_editions")
        for edition_id, fingerprint in release["build"]["editions"].items() if release else []:
            connection.execute("insert into raw.released_editions values (?, ?)", [edition_id, fingerprint])
    if whole or not warehouse.marts_database.exists():
        warehouse.new_database(warehouse.marts_database)
    else:
        with warehouse.connect(warehouse.marts_database) as connection:
            connection.execute("drop table if exists build")


def finish_build(warehouse: Warehouse, inputs_sha256: str, code_sha256: str) -> None:
    """Note that the marts are complete and tested, and what they were built from. Call under the writer lock."""
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        query = "select edition_id, fingerprint, is_released from intermediate.int_edition_fingerprints order by 1"
        editions = connection.execute(query).fetchall()
    kept = [edition_id for edition_id, _, is_released in editions if is_released]
    build = Build(
        inputs_sha256=inputs_sha256,
        code_sha256=code_sha256,
        editions={edition_id: fingerprint for edition_id, fingerprint, _ in editions},
        kept=kept,
        kept_from=current_id(warehouse) if kept else None,
    )
    _write_build(warehouse, build)


def released_database(warehouse: Warehouse) -> Path | None:
    """The current release's database, if the build that has begun takes the text of what did not change from it."""
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        takes = connection.execute("select count(*) > 0 from raw.released_editions").fetchall() == [(True,)]
    return warehouse.releases / str(current_id(warehouse)) / DATABASE if takes else None


def _release_of_this_code(warehouse: Warehouse) -> dict[str, Any] | None:
    """The current release's manifest; None where there is none, other code made it, or its database is not as it was.

    The database is hashed: one that rotted must not be read on into the next release.
    """
    current = current_id(warehouse)
    if warehouse.settings.rebuild or current is None or not (warehouse.releases / current / DATABASE).is_file():
        return None
    try:
        manifest = read_manifest(warehouse.releases / current)
    except ReleaseError:
        return None
    if manifest.get("build", {}).get("code_sha256") != code_fingerprint():
        return None
    (hash_,) = (file["sha256"] for file in manifest["files"] if file["path"] == DATABASE)
    return manifest if sha256(warehouse.releases / current / DATABASE) == hash_ else None


def is_settled(warehouse: Warehouse, inputs_sha256: str) -> bool:
    """Whether the build from these very inputs was already published, or found equal to a release that stands."""
    build = _build(warehouse)
    if warehouse.settings.rebuild or build is None or build.release_id is None:
        return False
    if build.inputs_sha256 != inputs_sha256:
        return False
    return (warehouse.releases / build.release_id).is_dir() and warehouse.database.exists()


def _build(warehouse: Warehouse) -> Build | None:
    if not warehouse.marts_database.exists():
        return None
    try:
        with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
            return Build(**json.loads(connection.execute("select description from build").fetchall()[0][0]))
    except (duckdb.ProgrammingError, IndexError, TypeError, ValueError):
        return None  # not built to the end, or by another version


def _write_build(warehouse: Warehouse, build: Build) -> None:
    with warehouse.connect(warehouse.marts_database) as connection:
        connection.execute("create or replace table build (description varchar)")
        connection.execute("insert into build values (?)", [json.dumps(asdict(build))])
        connection.execute("checkpoint")


def _settle_build(warehouse: Warehouse, settled: Build, release_id: str) -> None:
    """Note which release this build became, if the marts are still of that build."""
    build = _build(warehouse)
    if build and build.inputs_sha256 == settled.inputs_sha256:
        _write_build(warehouse, replace(build, release_id=release_id))


# --- candidate --------------------------------------------------------------------------------------------------------


def build_candidate(warehouse: Warehouse, log: Log) -> Candidate | None:
    """Export the marts to a new candidate, or return None where a release with the same content stands already.

    That release becomes the current one, if it is not and was not rolled back: the upstream went back to it, or an
    earlier run died before it could switch to it.

    Raises:
        ReleaseError: the marts are not complete; the dbt models have to run first.
    """
    with warehouse.writing("build a release candidate"):
        build = _build(warehouse)
        if build is None:
            raise ReleaseError(
                f"{warehouse.marts_database} holds no complete build; materialise the dbt models first "
                "(a model or test of the last run may have failed)."
            )
        building = warehouse.candidates / ".building"
        _remove(building)
        (building / "release").mkdir(parents=True)
        with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
            hashes = _export_parquet(connection, building / "release", _kept_files(warehouse, build))
        content = _content_hash(hashes)
        if twin := _release_with(warehouse, content, log):
            _remove(building)
            _settle_on(warehouse, twin, build, log)
            return None
        release_id = f"{_next_stamp(warehouse)}-{content[:8]}"
        _share_unchanged(warehouse, building / "release", hashes)
        _write_database(warehouse, building / "release" / DATABASE, release_id)
        hashes[DATABASE] = sha256(building / "release" / DATABASE)
        unnamed = Candidate(release_id, building)
        unnamed.build_file.write_text(json.dumps(asdict(build)), encoding="utf-8")
        unnamed.files_file.write_text(json.dumps(hashes, indent=2), encoding="utf-8")
        for path in _files(building):
            sync(path)
        candidate = Candidate(release_id, warehouse.candidates / release_id)
        _remove(candidate.folder)
        building.rename(candidate.folder)
        return candidate


def _next_stamp(warehouse: Warehouse) -> str:
    """Now, or a second after the newest id where the clock is behind it: the order of ids is that of their making."""
    taken = [*warehouse.releases.glob("[0-9]*"), *warehouse.candidates.glob("[0-9]*")]
    stamps = [found[0] for path in taken if (found := re.match(r"\d{8}T\d{6}Z", path.name))]
    after = [datetime.strptime(stamp, "%Y%m%dT%H%M%S%z") + timedelta(seconds=1) for stamp in stamps]
    return f"{max([datetime.now(UTC), *after]):%Y%m%dT%H%M%SZ}"


def _kept_files(warehouse: Warehouse, build: Build) -> dict[str, tuple[Path, str]]:
    """Path and hash of the files of editions that the build kept, by their paths in the release that they are from."""
    if build.kept_from is None or not (warehouse.releases / build.kept_from / "manifest.json").exists():
        return {}
    release = warehouse.releases / build.kept_from
    return {
        file["path"]: (release / file["path"], file["sha256"])
        for file in read_manifest(release)["files"]
        if "/" in file["path"] and Path(file["path"]).stem in build.kept
    }


def _export_parquet(
    connection: duckdb.DuckDBPyConnection, target: Path, kept: Mapping[str, tuple[Path, str]]
) -> dict[str, str]:
    """Write each mart, one file or one per edition where rows have one; returns the hashes by path in the release.

    Files that are `kept` are linked, if they are still what they were.
    """
    hashes = {}
    editions = [id_ for (id_,) in connection.execute("select edition_id from editions order by 1").fetchall()]
    for mart, description, per_edition in _marts(connection):
        if per_edition:
            (target / mart).mkdir()
        for edition_id in editions if per_edition else [None]:
            path = f"{mart}/{edition_id}.parquet" if edition_id else f"{mart}.parquet"
            before, hash_ = kept.get(path, (None, ""))
            if before and before.is_file() and sha256(before) == hash_:
                os.link(before, target / path)
                hashes[path] = hash_
                continue
            where = f"where edition_id = {sql_string(edition_id)}" if edition_id else ""
            connection.execute(
                f"""
                copy (select * from {mart} {where}) to {sql_string(target / path)} (
                    format parquet, compression zstd, compression_level 3, row_group_size {ROW_GROUP_ROWS},
                    kv_metadata {{
                        title: {sql_string(f"peer-review-warehouse: {mart}")},
                        description: {sql_string(description)},
                        contract_version: {sql_string(CONTRACT_VERSION)}
                    }}
                )
                """
            )
            hashes[path] = sha256(target / path)
    return hashes


def _marts(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, bool]]:
    """Name, description, and whether the mart is split by edition, of every mart."""
    return connection.execute(
        """
        select
            table_name,
            coalesce(comment, ''),
            table_name != 'editions' and table_name in (
                select table_name from duckdb_columns() where column_name = 'edition_id' and not internal
            )
        from duckdb_tables()
        where table_name not in ('build', 'publication') and not internal and database_name = current_database()
        order by table_name
        """
    ).fetchall()


def _content_hash(files: Mapping[str, str]) -> str:
    """One hash over those of the Parquet files: releases with the same are the same, whenever they were made."""
    hashes = [f"{path} {files[path]}\n" for path in sorted(files) if path.endswith(".parquet")]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def _release_with(warehouse: Warehouse, content: str, log: Log) -> str | None:
    """The release with this content, if there is one that is whole."""
    for release_id in release_ids(warehouse):
        try:
            if read_manifest(warehouse.releases / release_id)["content_sha256"] == content:
                verify(warehouse.releases / release_id)
                return release_id
        except ReleaseError as error:
            log(f"{error} It counts as none: what it held is published anew.")
    return None


def _settle_on(warehouse: Warehouse, twin: str, build: Build, log: Log) -> None:
    if twin in _withdrawn(warehouse):
        log(
            f"The content is that of release {twin}, which was rolled back; it is not published again. "
            f"To publish it after all: python -m pipelines.releases rollback --to {twin}"
        )
    elif twin == current_id(warehouse) and warehouse.database.exists():
        log(f"The content is that of the current release {twin}; nothing to publish.")
    else:
        _point_current(warehouse, twin)
        log(f"The content is that of release {twin}, which is the current one again.")
    _settle_build(warehouse, build, twin)


def _share_unchanged(warehouse: Warehouse, release: Path, hashes: Mapping[str, str]) -> None:
    """Let files that are those of the current release share its bytes on disk."""
    current = current_id(warehouse)
    for path, hash_ in hashes.items() if current else []:
        before = warehouse.releases / str(current) / path
        if before.is_file() and not before.samefile(release / path) and sha256(before) == hash_:
            (release / path).unlink()
            os.link(before, release / path)


_PUBLICATION = {
    "release_id": "The release; `releases/<release_id>/manifest.json` says what it was built from.",
    "is_synthetic": "Whether the release is made up.",
    "contract_version": "Version of the tables' contract; it rises when a column goes or changes its meaning.",
    "licence": "Under which terms the data may be used.",
}


def _write_database(warehouse: Warehouse, target: Path, release_id: str) -> None:
    """Copy the marts' database, which is closed and checkpointed, and say in it which release it is."""
    shutil.copyfile(warehouse.marts_database, target)
    with warehouse.connect(target) as connection:
        connection.execute("drop table build")
        connection.execute(
            """
            create table publication as
            select
                ? as release_id,
                (select bool_or(is_synthetic) from editions) as is_synthetic,
                ?::integer as contract_version,
                'Reviews are CC BY 4.0 (OpenReview); see README.md beside this file.' as licence
            """,
            [release_id, CONTRACT_VERSION],
        )
        connection.execute("comment on table publication is 'One release: which one this database is.'")
        for column, said in _PUBLICATION.items():
            connection.execute(f"comment on column publication.{column} is {sql_string(said)}")
        connection.execute("checkpoint")


# --- verdict and promotion --------------------------------------------------------------------------------------------


def seal(candidate: Candidate, verdict: dict[str, Any]) -> None:
    """Write the gate's verdict beside the candidate, with the hashes of its files.

    Those are from before the gate read them: a file that changes later, whenever that is, has no verdict.
    """
    files = json.loads(candidate.files_file.read_text(encoding="utf-8"))
    candidate.verdict_file.write_text(json.dumps({"verdict": verdict, "files": files}, indent=2), encoding="utf-8")
    sync(candidate.verdict_file)
    sync(candidate.folder)


def newest_candidate(warehouse: Warehouse) -> Candidate | None:
    """The candidate that was judged last, else the one that was built last, or None.

    One that has no verdict yet may be another run's, still at its gate. What a promotion left behind that died half-way
    is none.
    """
    folders = sorted(release.parent for release in warehouse.candidates.glob("[0-9]*/release"))
    judged = [folder for folder in folders if Candidate(folder.name, folder).verdict_file.exists()]
    newest = (judged or folders)[-1:]
    return Candidate(newest[0].name, newest[0]) if newest else None


def promote(warehouse: Warehouse, log: Log) -> str | None:
    """Make the newest candidate the current release; returns its id, or None where there is no candidate.

    Another run may have built the marts anew meanwhile. The candidate is published all the same, since its verdict is
    about its files; where that other run's release, which holds this one's data too, is there already, it is dropped.

    Raises:
        ReleaseError: it has no verdict, did not pass, or its files are not those that were judged.
    """
    with warehouse.writing("publish a release"):
        candidate = newest_candidate(warehouse)
        if candidate is None:
            log(f"There is no candidate; the current release stays {current_id(warehouse)}.")
            return None
        sealed = _checked_verdict(candidate)
        newest = max(release_ids(warehouse), default="")
        if candidate.release_id < newest:
            log(f"Release {newest} was built after candidate {candidate.release_id} and stands instead of it.")
            _remove(candidate.folder)
            return current_id(warehouse)
        if twin := _release_with(warehouse, _content_hash(sealed["files"]), log):
            # Another run published the same meanwhile.
            _settle_on(warehouse, twin, candidate.build, log)
            _remove(candidate.folder)
            return twin
        _write_manifest(warehouse, candidate, sealed)
        for path in _files(candidate.release):
            path.chmod(0o444)
            sync(path)
        # Before it stands among the releases: a damaged one there would be in the way of the next.
        verify(candidate.release)
        warehouse.releases.mkdir(exist_ok=True)
        candidate.release.rename(warehouse.releases / candidate.release_id)
        sync(warehouse.releases)
        _point_current(warehouse, candidate.release_id)
        _settle_build(warehouse, candidate.build, candidate.release_id)
        _remove(candidate.folder)
        prune(warehouse, warehouse.settings.releases_kept, log)
        return candidate.release_id


def _checked_verdict(candidate: Candidate) -> dict[str, Any]:
    try:
        sealed: dict[str, Any] = json.loads(candidate.verdict_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ReleaseError(
            f"Candidate {candidate.release_id} has no verdict; materialise 'candidate' to have it checked."
        ) from None
    if not sealed["verdict"]["passed"]:
        messages = sealed["verdict"].get("messages") or ["no reason is recorded"]
        raise ReleaseError(
            f"Candidate {candidate.release_id} did not pass the gate and is not published: {'; '.join(messages)}. "
            f"See {candidate.data_docs}."
        )
    now = {str(path.relative_to(candidate.release)): sha256(path) for path in _files(candidate.release)}
    now = {path: hash_ for path, hash_ in now.items() if path not in ("manifest.json", "README.md")}
    if now != sealed["files"]:
        changed = sorted(
            path for path in now.keys() | sealed["files"].keys() if now.get(path) != sealed["files"].get(path)
        )
        raise ReleaseError(
            f"Candidate {candidate.release_id} changed after it was judged ({', '.join(changed)}); "
            "materialise 'candidate' again."
        )
    return sealed


def _point_current(warehouse: Warehouse, release_id: str) -> None:
    """Switch `current`, and with it `peer_reviews.duckdb`, by one rename."""
    _replace_link(warehouse.current, Path("releases") / release_id)
    if not warehouse.database.is_symlink():
        _replace_link(warehouse.database, Path("current") / DATABASE)
    sync(warehouse.root)


def _replace_link(link: Path, target: Path) -> None:
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


def _write_whole(file: Path, text: str) -> None:
    """Replace a small file so that a crash or a full disk leaves the one or the other, never a part."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    sync(new)
    new.replace(file)


# --- manifest ---------------------------------------------------------------------------------------------------------


def _write_manifest(warehouse: Warehouse, candidate: Candidate, sealed: dict[str, Any]) -> None:
    with warehouse.connect(candidate.release / DATABASE, read_only=True) as connection:
        marts = {mart: _describe_mart(connection, mart) for mart, _, _ in _marts(connection)}
        editions = _rows(connection, "select * from editions order by edition_id")
        figures = _rows(connection, "select * from edition_figures order by edition_id, figure")
        conservation = _rows(connection, "select * from row_conservation order by all")
        built_from = _rows(connection, "select edition_id, snapshot_number, snapshot_id from snapshots order by all")
    snapshots = [
        {"snapshot_number": row["snapshot_number"]}
        | landing.find(warehouse, row["edition_id"], row["snapshot_id"]).record.model_dump(mode="json")
        for row in built_from
    ]
    paths = [path for path in _files(candidate.release) if path.name not in ("manifest.json", "README.md")]
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
        "content_sha256": _content_hash(sealed["files"]),
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
    readme.write_text(_release_readme(manifest), encoding="utf-8")
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
    columns = _rows(
        connection,
        f"""
        select column_name as name, lower(data_type) as type, comment as description
        from duckdb_columns() where table_name = {sql_string(mart)} and not internal order by column_index
        """,
    )
    description = _rows(connection, f"select comment from duckdb_tables() where table_name = {sql_string(mart)}")
    rows = _rows(connection, f"select count(*) as rows from {mart}")
    return {"description": description[0]["comment"], "rows": rows[0]["rows"], "columns": columns}


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    plain = [
        [value.isoformat() if isinstance(value, datetime) else value for value in row] for row in result.fetchall()
    ]
    return [dict(zip(names, row, strict=True)) for row in plain]


def _parquet_rows(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    return int(connection.execute("select num_rows from parquet_file_metadata(?)", [str(path)]).fetchall()[0][0])


def _release_readme(manifest: dict[str, Any]) -> str:
    synthetic = "\n**This release is synthetic: made-up papers and reviews that show the format.**\n"
    editions = "\n".join(
        f"| {e['edition_id']} | {e['submission_count']} | {e['review_count']} | "
        f"{'' if e['rating_mean'] is None else format(e['rating_mean'], '.3f')} | {e['as_of_at'] or ''} |"
        for e in manifest["editions"]
    )
    marts = "\n".join(
        f"| {name} | {mart['rows']} | {mart['description']} |" for name, mart in manifest["marts"].items()
    )
    conservation = "\n".join(
        f"| {c['edition_id']} | {c['source']} ({c['snapshot_number']}) | {c['row_kind']} | {c['rows_in']} | "
        f"{c['rows_in_marts']} | {c['rows_merged']} | {c['rows_quarantined']} |"
        for c in manifest["conservation"]
    )
    figures = "\n".join(
        f"| {f['edition_id']} | {f['figure']} | {'' if f['value'] is None else format(f['value'], '.10g')} | "
        f"{_band(f)} | {'yes' if f['is_in_agreement'] else 'no'} | {f['published_by']}, {f['published_on']} |"
        for f in manifest["figures"]
    )
    warnings = "\n".join(f"* {_literal(message)}" for message in manifest["gate"].get("messages", [])) or "* none"
    return f"""# {manifest["title"]}, release {manifest["release_id"]}
{synthetic if manifest["is_synthetic"] else ""}
Made {manifest["created_at"]} by peer-review-warehouse {manifest["versions"]["peer-review-warehouse"]}. `manifest.json`
lists every file with its sha256, every column with its description, and the snapshots that the release was built from.

Cite it as: peer-review-warehouse, release {manifest["release_id"]}. Reviews are CC BY 4.0 (OpenReview).

| edition | papers | reviews | mean rating | as of (UTC) |
|---|---|---|---|---|
{editions}

| mart | rows | one row is |
|---|---|---|
{marts}

Nothing is lost: rows in = rows in marts + merged duplicates + quarantined rows.

| edition | snapshot | rows of | in | in marts | merged | quarantined |
|---|---|---|---|---|---|---|
{conservation}

Our figures beside the published ones; `edition_figures` holds this table. They differ for good reasons where an edition
was crawled before or after decisions, or in part.

| edition | figure | ours | published | agrees | published by |
|---|---|---|---|---|---|
{figures}

Warnings of the gate:

{warnings}
"""


def _literal(text: str) -> str:
    """Text as Markdown shows it letter by letter, on one line: messages quote what came from outside."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", " ".join(text.split()))


def _band(figure: dict[str, Any]) -> str:
    low, high = figure["published_low"], figure["published_high"]
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"


# --- looking after releases -------------------------------------------------------------------------------------------


def release_ids(warehouse: Warehouse) -> list[str]:
    """The ids of all releases, the oldest first."""
    return sorted(manifest.parent.name for manifest in warehouse.releases.glob("*/manifest.json"))


def current_id(warehouse: Warehouse) -> str | None:
    """The id of the current release, or None before the first."""
    return warehouse.current.readlink().name if warehouse.current.is_symlink() else None


def read_manifest(release: Path) -> dict[str, Any]:
    """A release's manifest.

    Raises:
        ReleaseError: it is missing or not JSON.
    """
    try:
        manifest: dict[str, Any] = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{release / 'manifest.json'} cannot be read ({type(error).__name__}).") from None
    return manifest


def verify(release: Path) -> int:
    """Hash every file of a release against its manifest; returns how many files there are.

    Raises:
        ReleaseError: a file is missing, differs, or does not belong.
    """
    files = {file["path"]: file for file in read_manifest(release)["files"]}
    problems = [
        f"{path} {'differs' if (release / path).is_file() else 'is missing'}"
        for path, file in files.items()
        if not (release / path).is_file() or sha256(release / path) != file["sha256"]
    ]
    found = {str(path.relative_to(release)) for path in _files(release)}
    # Releases from before README.md was in the manifest stay whole.
    problems += [f"{path} does not belong" for path in sorted(found - files.keys() - {"manifest.json", "README.md"})]
    if problems:
        raise ReleaseError(f"{release} is damaged: {', '.join(problems)}. Roll back to another release.")
    return len(files)


def row_counts(warehouse: Warehouse) -> dict[str, int]:
    """Rows of each mart in the marts' database, as far as it is built."""
    with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
        names = [name for name, _, _ in _marts(connection)]
        return {name: _rows(connection, f"select count(*) as rows from {name}")[0]["rows"] for name in names}


def previous_rows(warehouse: Warehouse, edition_ids: Collection[str]) -> dict[str, dict[str, int]] | None:
    """Rows of each mart and edition in the current release (`*` for a mart that spans editions).

    Only of these editions: one that was taken out of the editions file need not be in the next release. None where
    there is none, or where it is synthetic: the first real release has nothing to be compared with.
    """
    current = current_id(warehouse)
    stands = current is not None and (warehouse.releases / current / "manifest.json").exists()
    manifest = read_manifest(warehouse.releases / str(current)) if stands else None
    if manifest is None or manifest["is_synthetic"]:
        return None
    rows: dict[str, dict[str, int]] = {}
    for file in manifest["files"]:
        path = Path(file["path"])
        if path.suffix == ".parquet":
            edition_id = path.stem if path.parent.name else "*"
            if edition_id == "*" or edition_id in edition_ids:
                rows.setdefault(path.parent.name or path.stem, {})[edition_id] = file["rows"]
    return rows


def roll_back(warehouse: Warehouse, to: str | None = None) -> str:
    """Make an earlier release current again (the one before the current, unless `to` names one); returns its id.

    Raises:
        ReleaseError: there is no such release, or it is damaged.
    """
    with warehouse.writing("roll back"):
        ids, current = release_ids(warehouse), current_id(warehouse)
        if to is None:
            earlier = [id_ for id_ in ids if current is None or id_ < current]
            if not earlier:
                raise ReleaseError(f"There is no release before {current}; 'list' shows what there is.")
            to = earlier[-1]
        if to not in ids:
            raise ReleaseError(f"There is no release {to!r}; there are: {', '.join(ids) or 'none'}.")
        verify(warehouse.releases / to)
        # Going forward again withdraws nothing.
        withdrawn = (_withdrawn(warehouse) | ({current} if current and to < current else set())) - {to}
        _write_whole(_withdrawn_file(warehouse), json.dumps(sorted(withdrawn)) + "\n")
        _point_current(warehouse, to)
        return to


def _withdrawn_file(warehouse: Warehouse) -> Path:
    return warehouse.releases / "withdrawn.json"


def _withdrawn(warehouse: Warehouse) -> set[str]:
    """Releases that someone rolled back from: they stay on disk, and no run makes them current again."""
    file = _withdrawn_file(warehouse)
    return set(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else set()


def prune(warehouse: Warehouse, keep: int, log: Log, *, now: float | None = None) -> list[str]:
    """Delete all but the newest `keep` releases (never the current one) and all but the newest three candidates.

    A release that another one has replaced less than `RELEASES_GRACE_MINUTES` before `now` (seconds since the epoch;
    default: the clock) stays, for those who are reading it. Returns the ids of the releases that went. Call under the
    writer lock.
    """
    ids = release_ids(warehouse)
    minutes = warehouse.settings.releases_grace_minutes
    settled = (time.time() if now is None else now) - 60 * minutes
    gone = []
    for release_id, successor in itertools.pairwise(ids):
        if release_id in ids[-max(keep, 1) :] or release_id == current_id(warehouse):
            continue
        # The manifest is the last that promotion writes.
        if (warehouse.releases / successor / "manifest.json").stat().st_mtime > settled:
            log(
                f"Release {release_id} was current until a few minutes ago and stays for those who read it "
                f"(RELEASES_GRACE_MINUTES={minutes:g})."
            )
            continue
        gone.append(release_id)
    for release_id in gone:
        log(f"Release {release_id} is older than the {keep} that are kept and was deleted.")
        _remove(warehouse.releases / release_id)
    for folder in sorted(warehouse.candidates.glob("[0-9]*"))[:-3]:
        _remove(folder)
    return gone


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines.releases`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.releases", description="Look after releases.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the releases, the oldest first")
    verifying = commands.add_parser("verify", help="hash every file against its manifest")
    verifying.add_argument("release_id", nargs="?", help="one release; default: all")
    rolling = commands.add_parser("rollback", help="make an earlier release current again")
    rolling.add_argument("--to", metavar="RELEASE_ID", help="default: the one before the current")
    pruning = commands.add_parser("prune", help="delete old releases")
    pruning.add_argument("--keep", type=int, help="how many to keep; default: RELEASES_KEPT")
    given = parser.parse_args(arguments)
    load_dotenv(PROJECT_DIR / ".env")
    try:
        warehouse = Warehouse(Settings())
        if given.command == "list":
            for release_id in release_ids(warehouse):
                manifest = read_manifest(warehouse.releases / release_id)
                rows = ", ".join(f"{mart['rows']} {name}" for name, mart in manifest["marts"].items())
                mark = "*" if release_id == current_id(warehouse) else " "
                print(f"{mark} {release_id}  {'synthetic  ' if manifest['is_synthetic'] else ''}{rows}")
        elif given.command == "verify":
            for release_id in [given.release_id] if given.release_id else release_ids(warehouse):
                print(f"{release_id}: {verify(warehouse.releases / release_id)} files are as published")
        elif given.command == "rollback":
            print(f"The current release is {roll_back(warehouse, given.to)}.")
        else:
            with warehouse.writing("prune releases"):
                keep = given.keep if given.keep is not None else warehouse.settings.releases_kept
                print(f"{len(prune(warehouse, keep, print))} releases were deleted.")
    except (ReleaseError, WarehouseError, SettingsError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
