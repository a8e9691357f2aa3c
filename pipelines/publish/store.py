"""The releases that stand: which is current, whether they are whole; going back, and deleting old ones.

    warehouse/releases/<release_id>/               an immutable release
    warehouse/releases/withdrawn.json              releases that someone rolled back from
    warehouse/current -> releases/<release_id>     one flip switches everything, `peer_reviews.duckdb` included

Here belongs what is true of any release. How one comes to stand is in `promotion.py`.
"""

import itertools
import json
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pipelines.sources.fetched import Log
from pipelines.warehouse import Warehouse, sha256, sync
from pipelines.warehouse.disk import files_in, remove, write_whole

CONTRACT_VERSION = 1

DATABASE = "peer_reviews.duckdb"
# Beside a candidate: what an operator accepted of the gate's findings.
ACCEPTANCES = "acceptances.json"


class ReleaseError(Exception):
    """A candidate or release is not fit for what was asked; says why and what to do."""


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
    found = {str(path.relative_to(release)) for path in files_in(release)}
    # Releases from before README.md was in the manifest stay whole.
    problems += [f"{path} does not belong" for path in sorted(found - files.keys() - {"manifest.json", "README.md"})]
    if problems:
        raise ReleaseError(f"{release} is damaged: {', '.join(problems)}. Roll back to another release.")
    return len(files)


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


def point_current(warehouse: Warehouse, release_id: str) -> None:
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
        withdrawn = (withdrawn_ids(warehouse) | ({current} if current and to < current else set())) - {to}
        write_whole(_withdrawn_file(warehouse), json.dumps(sorted(withdrawn)) + "\n")
        point_current(warehouse, to)
        return to


def _withdrawn_file(warehouse: Warehouse) -> Path:
    return warehouse.releases / "withdrawn.json"


def withdrawn_ids(warehouse: Warehouse) -> set[str]:
    """Releases that someone rolled back from: they stay on disk, and no run makes them current again."""
    file = _withdrawn_file(warehouse)
    return set(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else set()


def prune(warehouse: Warehouse, keep: int, log: Log, *, now: float | None = None) -> list[str]:
    """Delete all but the newest `keep` releases (never the current one) and all but the newest three candidates.

    A candidate that an operator accepted, and that no release has overtaken, stays too.

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
        remove(warehouse.releases / release_id)
    for folder in sorted(warehouse.candidates.glob("[0-9]*"))[:-3]:
        if not ((folder / ACCEPTANCES).exists() and folder.name > max(ids, default="")):
            remove(folder)
    return gone
