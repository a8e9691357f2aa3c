"""An operator's yes to what the gate found: for the very bytes of one candidate, and for those findings alone.

Here belongs what can be accepted and where that is written down. Which findings are of that kind is said by the suites
(`expect.plausible`); it reaches this module as `is_acceptable` in the verdict.
"""

import getpass
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pipelines.publish.candidate import (
    Candidate,
    candidates,
    check_files,
    newest_candidate,
    read_verdict,
    write_verdict,
)
from pipelines.publish.store import ReleaseError, release_ids
from pipelines.warehouse import Warehouse
from pipelines.warehouse.disk import write_whole

NEWEST = "newest"


def find_candidate(warehouse: Warehouse, candidate_id: str) -> Candidate:
    """The candidate with this id, or the newest one for `newest`.

    Raises:
        ReleaseError: there is none.
    """
    there = candidates(warehouse)
    found = newest_candidate(warehouse) if candidate_id == NEWEST else None
    for candidate in there:
        if candidate.release_id == candidate_id:
            found = candidate
    if found is None:
        ids = ", ".join(candidate.release_id for candidate in there)
        raise ReleaseError(f"There is no candidate {candidate_id!r}; there are: {ids or 'none'}.")
    return found


def accept(
    warehouse: Warehouse, candidate_id: str, finding_ids: Sequence[str], *, reason: str, by: str | None = None
) -> list[dict[str, Any]]:
    """Write down that someone accepts these findings of a candidate; returns the blocking findings that are still open.

    `candidate_id` may be `newest`; `by` is the user of the operating system if it is not given.

    Raises:
        ReleaseError: a finding cannot be accepted or is not of this candidate, the candidate's files changed, or there
            is no reason. Nothing is written then.
    """
    reason, by = " ".join(reason.split()), " ".join((_user() if by is None else by).split())
    if not reason:
        raise ReleaseError("An acceptance needs a reason: readers of the release will see it.")
    if not by:
        raise ReleaseError("An acceptance needs a name: say who accepts with --by.")
    if not finding_ids:
        raise ReleaseError("Name at least one finding; 'findings' lists them with their ids.")
    with warehouse.writing("accept findings"):
        candidate = find_candidate(warehouse, candidate_id)
        sealed = read_verdict(candidate)
        _check_acceptable(candidate, sealed["verdict"], finding_ids)
        check_files(candidate, sealed)
        newest = max(release_ids(warehouse), default="")
        if candidate.release_id < newest:
            raise ReleaseError(
                f"Release {newest} was built after candidate {candidate.release_id}, which is out of date."
            )
        found = {finding["id"]: finding for finding in _blocking(sealed["verdict"])}
        at = datetime.now(UTC).isoformat(timespec="seconds")
        accepted = {one["finding"]: one for one in _written(candidate, sealed["files"])} | {
            id_: {"finding": id_, "message": found[id_]["message"], "by": by, "at": at, "reason": reason}
            for id_ in finding_ids
        }
        content = {"files": sealed["files"], "acceptances": list(accepted.values())}
        write_whole(candidate.acceptances_file, json.dumps(content, indent=2) + "\n")
        note_acceptances(candidate)
        return open_findings(candidate, sealed)


def note_acceptances(candidate: Candidate) -> list[dict[str, Any]]:
    """Put what was accepted for these files and findings into the verdict, and return it."""
    sealed = read_verdict(candidate)
    sealed["verdict"]["acceptances"] = acceptances(candidate, sealed)
    write_verdict(candidate, sealed)
    return list(sealed["verdict"]["acceptances"])


def acceptances(candidate: Candidate, sealed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was accepted of the verdict's own findings, for the verdict's own files; nothing else counts."""
    ids = {finding["id"] for finding in _blocking(sealed["verdict"]) if finding["is_acceptable"]}
    return [one for one in _written(candidate, sealed["files"]) if one["finding"] in ids]


def open_findings(candidate: Candidate, sealed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The findings that keep the candidate from being published."""
    accepted = {one["finding"] for one in acceptances(candidate, sealed)}
    return [finding for finding in _blocking(sealed["verdict"]) if finding["id"] not in accepted]


def is_publishable(candidate: Candidate, sealed: Mapping[str, Any]) -> bool:
    """Whether it passed, or all that it did not pass was accepted."""
    verdict = sealed["verdict"]
    return bool(verdict["passed"]) or (bool(_blocking(verdict)) and not open_findings(candidate, sealed))


def candidate_to_publish(warehouse: Warehouse) -> Candidate | None:
    """The newest candidate; where that one was refused, the newest of those since the last release that were accepted.

    A run between the acceptance and the publication may have built another candidate, which does not undo the yes.
    """
    newest = newest_candidate(warehouse)
    if newest is None or not newest.verdict_file.exists() or is_publishable(newest, read_verdict(newest)):
        return newest
    released = max(release_ids(warehouse), default="")
    for candidate in reversed(candidates(warehouse)):
        is_accepted = candidate.acceptances_file.exists() and candidate.verdict_file.exists()
        if candidate.release_id > released and is_accepted and is_publishable(candidate, read_verdict(candidate)):
            return candidate
    return newest


def how_to_accept(candidate_id: str, verdict: Mapping[str, Any]) -> str | None:
    """The command that accepts all that blocks a candidate; None where something cannot be accepted."""
    blocking = _blocking(verdict)
    if not blocking or not all(finding["is_acceptable"] for finding in blocking):
        return None
    given = " ".join(f"--finding {finding['id']}" for finding in blocking)
    return f'python -m pipelines.releases accept {candidate_id} {given} --reason "..."'


def _blocking(verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in verdict.get("findings", []) if finding["blocks"]]


def _written(candidate: Candidate, files: Mapping[str, str]) -> list[dict[str, Any]]:
    """The acceptances beside the candidate, if they are about these files."""
    try:
        content = json.loads(candidate.acceptances_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise ReleaseError(
            f"{candidate.acceptances_file} cannot be read ({error}); delete it and accept anew."
        ) from None
    return list(content["acceptances"]) if content["files"] == files else []


def _check_acceptable(candidate: Candidate, verdict: Mapping[str, Any], finding_ids: Collection[str]) -> None:
    name = f"Candidate {candidate.release_id}"
    if verdict["passed"]:
        raise ReleaseError(f"{name} passed the gate; there is nothing to accept.")
    findings = {finding["id"]: finding for finding in verdict.get("findings", [])}
    for id_ in finding_ids:
        if id_ not in findings:
            command = f"python -m pipelines.releases findings {candidate.release_id}"
            raise ReleaseError(f"{name} has no finding {id_!r}; what it has: {command}")
        if not findings[id_]["blocks"]:
            raise ReleaseError(f"Finding {id_} is a warning and needs no acceptance.")
    refused = [finding for finding in _blocking(verdict) if not finding["is_acceptable"]]
    named = [finding for finding in refused if finding["id"] in finding_ids]
    why = "only volume and plausibility can be accepted; shape, keys, marts that disagree and what could not be checked"
    if named:
        raise ReleaseError(
            f"Finding {named[0]['id']} cannot be accepted ({named[0]['message']}): {why} must be mended."
        )
    if refused:
        listed = "; ".join(finding["message"] for finding in refused)
        raise ReleaseError(f"{name} is not published whatever is accepted ({listed}): {why} must be mended.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # a container whose user has no name
        return ""
