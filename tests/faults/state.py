"""What a fault must not change: landing, releases and `current`, each file by its hash, before and after.

Here belongs how two states of a warehouse are compared. How a fault is brought about belongs in the tests.
"""

from dataclasses import dataclass
from pathlib import Path

from pipelines import publish as releases
from pipelines.warehouse import Warehouse, sha256

# Grows by whole lines; every other file of landing never changes.
_GROWING = "pulls.jsonl"
# Says what was rolled back; the one file beside the releases.
_MUTABLE = "withdrawn.json"


def tree(folder: Path) -> dict[str, str]:
    """The sha256 of every file under a folder, and where every link leads."""
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}" if path.is_symlink() else sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@dataclass(frozen=True)
class State:
    """Hashes of what stands in landing and among the releases, the logs of pulls, and the current release."""

    landing: dict[str, str]
    pulls: dict[str, bytes]
    releases: dict[str, str]
    current: str | None

    @classmethod
    def of(cls, warehouse: Warehouse) -> "State":
        landed = {path: hash_ for path, hash_ in tree(warehouse.landing).items() if ".incoming" not in Path(path).parts}
        pulls = {path: (warehouse.landing / path).read_bytes() for path in landed if Path(path).name == _GROWING}
        return cls(
            landing={path: hash_ for path, hash_ in landed.items() if path not in pulls},
            pulls=pulls,
            releases={path: hash_ for path, hash_ in tree(warehouse.releases).items() if _MUTABLE not in path},
            current=releases.current_id(warehouse),
        )


def nothing_lost(before: State, warehouse: Warehouse) -> State:
    """Assert that since `before` nothing but whole additions happened; returns the state now.

    Landing and releases hold every file that they held, unchanged; every release that stands is as its manifest says;
    `current` leads to the release that it led to, or to a newer one.
    """
    after = State.of(warehouse)
    assert {path: after.landing.get(path) for path in before.landing} == before.landing
    for path, lines in before.pulls.items():
        assert after.pulls[path].startswith(lines), path
    assert {path: after.releases.get(path) for path in before.releases} == before.releases
    for release_id in releases.release_ids(warehouse):
        # One that stood before was verified when it was new, and has just been compared with that.
        if f"{release_id}/manifest.json" not in before.releases:
            releases.verify(warehouse.releases / release_id)
    if after.current != before.current:
        assert after.current in releases.release_ids(warehouse)
        assert before.current is None or after.current > before.current
    if after.current is not None:
        assert warehouse.database.resolve() == (warehouse.releases / after.current / releases.DATABASE).resolve()
    return after
