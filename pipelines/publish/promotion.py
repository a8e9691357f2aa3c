"""From candidate to release: the publish step's own gate, then one rename and one flip.

Here belongs what makes a release appear whole or not at all, whichever way it is invoked.
"""

from typing import Any

from pipelines.publish.acceptance import (
    acceptances,
    candidate_to_publish,
    how_to_accept,
    is_publishable,
    open_findings,
)
from pipelines.publish.candidate import Candidate, check_files, read_verdict, release_with, settle_on
from pipelines.publish.export import content_hash
from pipelines.publish.fingerprints import settle_build
from pipelines.publish.manifest import write_manifest
from pipelines.publish.store import ReleaseError, current_id, point_current, prune, release_ids, verify
from pipelines.sources.fetched import Log
from pipelines.warehouse import Warehouse, sync
from pipelines.warehouse.disk import files_in, remove


def promote(warehouse: Warehouse, log: Log) -> str | None:
    """Make the newest candidate the current release; returns its id, or None where there is no candidate.

    Where the newest was refused, an earlier one that an operator accepted is taken (see `candidate_to_publish`).

    Another run may have built the marts anew meanwhile. The candidate is published all the same, since its verdict is
    about its files; where that other run's release, which holds this one's data too, is there already, it is dropped.

    Raises:
        ReleaseError: it has no verdict, did not pass and was not accepted, or its files are not those that were judged.
    """
    with warehouse.writing("publish a release"):
        candidate = candidate_to_publish(warehouse)
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
    """The verdict and file hashes of a candidate that may be published, with what was accepted of it.

    Raises:
        ReleaseError: it has no verdict, did not pass and was not accepted, or its files are not those that were judged.
    """
    sealed = read_verdict(candidate)
    verdict = sealed["verdict"]
    if not is_publishable(candidate, sealed):
        messages = [finding["message"] for finding in open_findings(candidate, sealed)] or verdict.get("messages")
        command = how_to_accept(candidate.release_id, verdict)
        raise ReleaseError(
            f"Candidate {candidate.release_id} did not pass the gate and is not published: "
            f"{'; '.join(messages or ['no reason is recorded'])}. See {candidate.data_docs}."
            + (f" If this is right, accept it: {command}" if command else "")
        )
    check_files(candidate, sealed)
    if not verdict["passed"]:
        verdict["acceptances"] = acceptances(candidate, sealed)
    return sealed
