"""dbt's manifest, from which Dagster knows the models: whether it is there, whole, of this project, and not too old.

Here belongs only looking at it, without importing dbt; who makes it anew belongs in `assets/modelled.py`.
"""

import json
from importlib import metadata
from pathlib import Path
from typing import Literal

_SOURCES = ("*.yml", "models/**/*", "macros/**/*", "seeds/**/*", "tests/**/*")


def path(project: Path) -> Path:
    """Where dbt writes it."""
    return project / "target" / "manifest.json"


def state(project: Path) -> Literal["missing", "unusable", "outdated", "current"]:
    """What the manifest of a dbt project folder is good for.

    It is unusable where a parse was cut short and left half a file, where another dbt wrote it, and where it names
    another folder: seeds are read from the folder that the manifest names, so a copied project would read its
    original's, and one that `dbt parse` was given by a relative path would find none. It is outdated where a file of
    the project is newer.
    """
    manifest = path(project)
    if not manifest.exists():
        return "missing"
    content = manifest.read_bytes()
    # dbt writes its version among the first keys.
    version = f'"dbt_version": "{metadata.version("dbt-core")}"'.encode()
    ours, any_root = f'"root_path": {json.dumps(str(project))}'.encode(), b'"root_path": "'
    is_ours = 0 < content.count(ours) == content.count(any_root)
    if version not in content[:1000] or not is_ours or not content.rstrip().endswith(b"}"):
        return "unusable"
    return "outdated" if manifest.stat().st_mtime < newest_source(project) else "current"


def newest_source(project: Path) -> float:
    """When a file of the project last changed, in seconds since the epoch."""
    return max((file.stat().st_mtime for pattern in _SOURCES for file in project.glob(pattern)), default=0)
