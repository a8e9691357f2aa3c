"""Fixtures that any test may use: a warehouse of its own, the shared data, and an environment like a fresh clone's."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.config.editions import Edition
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.land import landing
from pipelines.land.landing import Snapshot
from pipelines.sources import FETCHERS
from pipelines.warehouse import Warehouse

# What a developer's shell may hold and a test must not see; HF_* and DAGSTER_* go as a whole.
_OURS = ("WAREHOUSE_DIR", "EDITIONS_FILE", "LOCK_WAIT_SECONDS", "LEFTOVERS_KEPT_DAYS", "GATE_SECONDS", "RUN_SECONDS")
_PREFIXES = ("HF_", "HUGGING_FACE_", "DAGSTER_", "DUCKDB_", "HTTP_", "DBT_", "OPENREVIEW_", "RELEASES_", "NOTIFY_")

Land = Callable[[Edition], Snapshot]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the developer's, and no default that leads to the developer's warehouse or Dagster home."""
    for variable in list(os.environ):
        if variable in _OURS or variable.startswith(_PREFIXES):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("WAREHOUSE_DIR", str(tmp_path / "warehouse"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("DO_NOT_TRACK", "1")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """An empty warehouse whose locks are waited for only briefly, and whose readers are quick."""
    root = tmp_path / "warehouse"
    root.mkdir()
    limits = {"releases_kept": 10, "releases_grace_minutes": 0}
    return Warehouse(Settings(warehouse_dir=root, lock_wait_seconds=0.2, threads=2, memory_limit="1GB", **limits))


@pytest.fixture
def land(warehouse: Warehouse) -> Land:
    """Land the only source of an edition, by the real fetcher of its kind."""

    def land_one(edition: Edition) -> Snapshot:
        (source,) = edition.sources
        snapshot, _ = landing.land(
            edition,
            source,
            FETCHERS[source.kind],
            warehouse=warehouse,
            settings=warehouse.settings,
            log=lambda message: None,
        )
        return snapshot

    return land_one


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the project; it is not part of a clone."""
    folder = PROJECT_DIR.parent / "shared" / "data"
    if not (folder / "iclr2026_preview.parquet").exists():
        pytest.skip("../shared/data/iclr2026_preview.parquet is not here; only the project's own machine has it")
    return folder
