"""A release to be: built beside the releases, judged, and then promoted or left for an operator to look at.

warehouse/candidates/<release_id>/release/     the files of a release to be
warehouse/candidates/<release_id>/data_docs/   what Great Expectations found, to look at
warehouse/candidates/<release_id>/build.json   what the marts behind it were built from
warehouse/candidates/<release_id>/files.json   the hashes of its files as they were written
warehouse/candidates/<release_id>/verdict.json the gate's verdict and the hashes of the files that it is about
warehouse/candidates/<release_id>/acceptances.json what an operator accepted, and the hashes of the files it is about
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipelines.publish.export import content_hash, export_parquet, write_database
from pipelines.publish.fingerprints import Build, read_build, settle_build
from pipelines.publish.store import (
    ACCEPTANCES,
    DATABASE,
    ReleaseError,
    current_id,
    point_current,
    read_manifest,
    release_ids,
    verify,
    withdrawn_ids,
)
from pipelines.sources.fetched import Log
from pipelines.warehouse import Warehouse, sha256, sync
from pipelines.warehouse.disk import files_in, remove, write_whole


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
    def acceptances_file(self) -> Path:
        return self.folder / ACCEPTANCES

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


def build_candidate(warehouse: Warehouse, log: Log) -> Candidate | None:
    """Export the marts to a new candidate, or return None where a release with the same content stands already.

    That release becomes the current one, if it is not and was not rolled back: the upstream went back to it, or an
    earlier run died before it could switch to it. Where the newest candidate was refused and has the same content, it
    is given back as it is, to be judged again: what was accepted of it stays accepted.

    Raises:
        ReleaseError: the marts are not complete; the dbt models have to run first.
    """
    with warehouse.writing("build a release candidate"):
        build = read_build(warehouse)
        if build is None:
            raise ReleaseError(
                f"{warehouse.marts_database} holds no complete build; materialise the dbt models first "
                "(a model or test of the last run may have failed)."
            )
        building = warehouse.candidates / ".building"
        remove(building)
        (building / "release").mkdir(parents=True)
        with warehouse.connect(warehouse.marts_database, read_only=True) as connection:
            hashes = export_parquet(connection, building / "release", _kept_files(warehouse, build))
        content = content_hash(hashes)
        if twin := release_with(warehouse, content, log):
            remove(building)
            settle_on(warehouse, twin, build, log)
            return None
        if refused := _refused_with(warehouse, content):
            remove(building)
            remove(refused.data_docs)
            write_whole(refused.build_file, json.dumps(asdict(build)))
            log(f"The content is that of candidate {refused.release_id}, which was refused; it is judged again.")
            return refused
        release_id = f"{_next_stamp(warehouse)}-{content[:8]}"
        _share_unchanged(warehouse, building / "release", hashes)
        write_database(warehouse, building / "release" / DATABASE, release_id)
        hashes[DATABASE] = sha256(building / "release" / DATABASE)
        unnamed = Candidate(release_id, building)
        unnamed.build_file.write_text(json.dumps(asdict(build)), encoding="utf-8")
        unnamed.files_file.write_text(json.dumps(hashes, indent=2), encoding="utf-8")
        for path in files_in(building):
            sync(path)
        candidate = Candidate(release_id, warehouse.candidates / release_id)
        remove(candidate.folder)
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


def release_with(warehouse: Warehouse, content: str, log: Log) -> str | None:
    """The release with this content, if there is one that is whole."""
    for release_id in release_ids(warehouse):
        try:
            if read_manifest(warehouse.releases / release_id)["content_sha256"] == content:
                verify(warehouse.releases / release_id)
                return release_id
        except ReleaseError as error:
            log(f"{error} It counts as none: what it held is published anew.")
    return None


def _refused_with(warehouse: Warehouse, content: str) -> Candidate | None:
    """The newest candidate, if it was refused, is as it was built, and has this content.

    One that is not judged yet, or that passed, belongs to the run that will publish it.
    """
    newest = candidates(warehouse)[-1:]
    if not newest or newest[0].release_id < max(release_ids(warehouse), default=""):
        return None
    try:
        sealed = read_verdict(newest[0])
        if sealed["verdict"]["passed"] or content_hash(sealed["files"]) != content:
            return None
        check_files(newest[0], sealed)
    except ReleaseError:
        return None
    return newest[0]


def settle_on(warehouse: Warehouse, twin: str, build: Build, log: Log) -> None:
    if twin in withdrawn_ids(warehouse):
        log(
            f"The content is that of release {twin}, which was rolled back; it is not published again. "
            f"To publish it after all: python -m pipelines.releases rollback --to {twin}"
        )
    elif twin == current_id(warehouse) and warehouse.database.exists():
        log(f"The content is that of the current release {twin}; nothing to publish.")
    else:
        point_current(warehouse, twin)
        log(f"The content is that of release {twin}, which is the current one again.")
    settle_build(warehouse, build, twin)


def _share_unchanged(warehouse: Warehouse, release: Path, hashes: Mapping[str, str]) -> None:
    """Let files that are those of the current release share its bytes on disk."""
    current = current_id(warehouse)
    for path, hash_ in hashes.items() if current else []:
        before = warehouse.releases / str(current) / path
        if before.is_file() and not before.samefile(release / path) and sha256(before) == hash_:
            (release / path).unlink()
            os.link(before, release / path)


def seal(candidate: Candidate, verdict: dict[str, Any]) -> None:
    """Write the gate's verdict beside the candidate, with the hashes of its files.

    Those are from before the gate read them: a file that changes later, whenever that is, has no verdict.

    Raises:
        ReleaseError: the candidate is gone: it was published or deleted while the gate looked at it.
    """
    try:
        files = json.loads(candidate.files_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReleaseError(
            f"Candidate {candidate.release_id} was published or deleted while it was judged; run again."
        ) from None
    write_verdict(candidate, {"verdict": verdict, "files": files})


def write_verdict(candidate: Candidate, sealed: Mapping[str, Any]) -> None:
    write_whole(candidate.verdict_file, json.dumps(sealed, indent=2))
    sync(candidate.folder)


def read_verdict(candidate: Candidate) -> dict[str, Any]:
    """`verdict`, which is the gate's, and `files`, the sha256 of those that it is about by their path.

    Raises:
        ReleaseError: there is none, or half of one.
    """
    try:
        sealed: dict[str, Any] = json.loads(candidate.verdict_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ReleaseError(
            f"Candidate {candidate.release_id} has no verdict; materialise 'candidate' to have it checked."
        ) from None
    return sealed


def check_files(candidate: Candidate, sealed: Mapping[str, Any]) -> None:
    """Hash the candidate's files.

    Raises:
        ReleaseError: they are not those that the verdict is about.
    """
    now = {str(path.relative_to(candidate.release)): sha256(path) for path in files_in(candidate.release)}
    now = {path: hash_ for path, hash_ in now.items() if path not in ("manifest.json", "README.md")}
    if now != sealed["files"]:
        changed = sorted(
            path for path in now.keys() | sealed["files"].keys() if now.get(path) != sealed["files"].get(path)
        )
        raise ReleaseError(
            f"Candidate {candidate.release_id} changed after it was judged ({', '.join(changed)}); "
            "materialise 'candidate' again."
        )


def candidates(warehouse: Warehouse) -> list[Candidate]:
    """All candidates, the oldest first. What a promotion left behind that died half-way is none."""
    folders = sorted(release.parent for release in warehouse.candidates.glob("[0-9]*/release"))
    return [Candidate(folder.name, folder) for folder in folders]


def newest_candidate(warehouse: Warehouse) -> Candidate | None:
    """The candidate that was judged last, else the one that was built last, or None.

    One that has no verdict yet may be another run's, still at its gate.
    """
    there = candidates(warehouse)
    judged = [candidate for candidate in there if candidate.verdict_file.exists()]
    return next(reversed(judged or there), None)
