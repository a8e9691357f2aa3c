"""Checks of what is kept for good: releases and landed files."""

from collections.abc import Iterator

from pipelines import publish
from pipelines.land import landing
from pipelines.operate.doctor.finding import Finding, Level
from pipelines.sources.fetched import LandingError
from pipelines.warehouse import Warehouse


def check_releases(warehouse: Warehouse, *, deep: bool = False) -> Iterator[Finding]:
    ids, current = publish.release_ids(warehouse), publish.current_id(warehouse)
    if current is None:
        level: Level = "warning" if ids else "ok"
        remedy = "; 'python -m pipelines.releases rollback' makes one current" if ids else ""
        yield Finding(level, "release", f"none is current, {len(ids)} are there{remedy}")
    elif current not in ids:
        yield Finding(
            "problem",
            "release",
            f"{warehouse.current} leads to {current}, which is not there; run 'python -m pipelines.releases rollback'.",
        )
    if current in ids and not warehouse.database.exists():
        yield Finding(
            "problem", "release", f"{warehouse.database} leads nowhere; run 'python -m pipelines.releases rollback'."
        )
    judged = ids if deep else [current] if current in ids else []
    for release_id in judged:
        try:
            count = publish.verify(warehouse.releases / str(release_id))
            yield Finding("ok", "release", f"{release_id}: {count} files are as published")
        except publish.ReleaseError as error:
            yield Finding("problem", "release", str(error))


def check_landing(warehouse: Warehouse, *, deep: bool = False) -> Iterator[Finding]:
    """Every snapshot has its files in their sizes; with `deep` every file has its hash."""
    count = bad = 0
    for record in sorted(warehouse.landing.glob("*/*/*/snapshot.json")):
        edition_id, source, snapshot_id = record.parts[-4:-1]
        count += 1
        try:
            snapshot = landing.find(warehouse, edition_id, snapshot_id, source)
            sizes = zip(snapshot.paths(), snapshot.record.files, strict=True)
            if deep or not all(path.is_file() and path.stat().st_size == file.bytes for path, file in sizes):
                snapshot.verify()
        except LandingError as error:
            bad += 1
            yield Finding("problem", "landing", str(error))
    if not bad:
        how = "every file has its hash" if deep else "sizes agree; --deep compares hashes"
        yield Finding("ok", "landing", f"{count} snapshot(s), {how}")
