"""From candidate to release: the publish step's own gate, then one rename and one flip.

Here belongs what makes a release appear whole or not at all, whichever way it is invoked.
"""

import json
from typing import Any

from pipelines.publish.build import settle_build
from pipelines.publish.candidate import Candidate, newest_candidate, release_with, settle_on
from pipelines.publish.export import content_hash
from pipelines.publish.manifest import write_manifest
from pipelines.publish.store import ReleaseError, current_id, point_current, prune, release_ids, verify
from pipelines.sources.fetched import Log
from pipelines.warehouse import Warehouse, sha256, sync
from pipelines.warehouse.disk import files_in, remove


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
        sealed = checked_verdict(candidate)
        newest = max(release_ids(warehouse), default="")
        if candidate.release_id < newest:
            log(f"Release {newest} was built after candidate {candidate.release_id} and stands instead of it.")
            remove(candidate.folder)
            return current_id(warehouse)
        if twin := release_with(warehouse, content_hash(sealed["files"]), log):
            # Another run published the same meanwhile.
            settle_on(warehouse, twin, candidate.build, log)
            remove(candidate.folder)
            return twin
        write_manifest(warehouse, candidate, sealed)
        for path in files_in(candidate.release):
            path.chmod(0o444)
            sync(path)
        # Before it stands among the releases: a damaged one there would be in the way of the next.
        verify(candidate.release)
        warehouse.releases.mkdir(exist_ok=True)
        candidate.release.rename(warehouse.releases / candidate.release_id)
        sync(warehouse.releases)
        point_current(warehouse, candidate.release_id)
        settle_build(warehouse, candidate.build, candidate.release_id)
        remove(candidate.folder)
        prune(warehouse, warehouse.settings.releases_kept, log)
        return candidate.release_id


def checked_verdict(candidate: Candidate) -> dict[str, Any]:
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
    return sealed
