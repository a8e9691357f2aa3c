"""What the marts were built from: fingerprints of inputs and code. Nothing new in them, nothing to do.

Here belongs what surrounds dbt's work in the marts' database. What the marts hold is the dbt project's.
"""

import hashlib
import json
import platform
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb

from pipelines.config.settings import PROJECT_DIR
from pipelines.publish.export import ROW_GROUP_ROWS
from pipelines.publish.store import CONTRACT_VERSION, DATABASE, ReleaseError, current_id, read_manifest
from pipelines.stage import raw
from pipelines.warehouse import Warehouse, sha256


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


# What decides the marts' content besides the landed bytes: how they are read and staged, the models, what these
# call, and how files are written.
_CODE = (
    "pipelines/formats/**/*.py",
    "pipelines/stage/**/*.py",
    "pipelines/model/**/*.py",
    "pipelines/publish/**/*.py",
    "pipelines/warehouse/**/*.py",
    "dbt_project/*.yml",
    "dbt_project/models/**/*.*",
    "dbt_project/macros/**/*.*",
    "dbt_project/seeds/**/*.*",
    "dbt_project/tests/**/*.*",
)
_LIBRARIES = ("dbt-core", "dbt-duckdb", "duckdb", "markdown-it-py", "pyarrow", "pylatexenc")
_NOT_CODE = "_unit_tests.yml"


def inputs_fingerprint(warehouse: Warehouse) -> str:
    """One hash over everything that decides what the marts hold: what is staged, the models, the libraries."""
    with warehouse.connect(warehouse.working_database, read_only=True) as connection:
        parts = [raw.staged_fingerprint(connection), code_fingerprint()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def code_fingerprint() -> str:
    """One hash over what makes marts of staged data: the models, the functions that they call, the libraries."""
    parts = []
    for pattern in _CODE:
        files = sorted(PROJECT_DIR.glob(pattern))
        parts += [f"{file.relative_to(PROJECT_DIR)} {sha256(file)}" for file in files if file.name != _NOT_CODE]
    parts += [f"{library} {metadata.version(library)}" for library in _LIBRARIES]
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
        raw.verify_staged_files(connection, warehouse)
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
    write_build(warehouse, build)


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
    build = read_build(warehouse)
    if warehouse.settings.rebuild or build is None or build.release_id is None:
        return False
    if build.inputs_sha256 != inputs_sha256:
        return False
    return (warehouse.releases / build.release_id).is_dir() and warehouse.database.exists()


def read_build(warehouse: Warehouse) -> Build | None:
    if not warehouse.marts_database.exists():
        return None
    try:
        with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
            return Build(**json.loads(connection.execute("select description from build").fetchall()[0][0]))
    except (duckdb.ProgrammingError, IndexError, TypeError, ValueError):
        return None  # not built to the end, or by another version


def write_build(warehouse: Warehouse, build: Build) -> None:
    with warehouse.connect(warehouse.marts_database) as connection:
        connection.execute("create or replace table build (description varchar)")
        connection.execute("insert into build values (?)", [json.dumps(asdict(build))])
        connection.execute("checkpoint")


def settle_build(warehouse: Warehouse, settled: Build, release_id: str) -> None:
    """Note which release this build became, if the marts are still of that build."""
    build = read_build(warehouse)
    if build and build.inputs_sha256 == settled.inputs_sha256:
        write_build(warehouse, replace(build, release_id=release_id))
