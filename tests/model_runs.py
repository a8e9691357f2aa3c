"""Land, stage and model by the plain functions under the assets, with dbt as a process: a warehouse without Dagster.

Here belongs how a warehouse comes about; what its upstreams hold and what must come of it belong in the tests.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines import publish as releases
from pipelines.assets.modelled import environment
from pipelines.config.editions import Edition, Editions
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.land import landing
from pipelines.sources import FETCHERS
from pipelines.stage import staging
from pipelines.warehouse import Warehouse

DBT_PROJECT = PROJECT_DIR / "dbt_project"


def _quiet(message: str) -> None:
    """A log that nobody reads."""


@dataclass(frozen=True)
class ModelRun:
    """A folder with a warehouse and dbt's output, away from the project's own."""

    folder: Path

    @property
    def warehouse(self) -> Warehouse:
        root = self.folder / "warehouse"
        root.mkdir(exist_ok=True)
        settings = Settings(
            warehouse_dir=root, lock_wait_seconds=5, http_attempts=2, http_timeout_seconds=10, threads=2,
            memory_limit="1GB",
        )  # fmt: skip
        return Warehouse(settings)

    @property
    def target(self) -> Path:
        return self.folder / "target"

    def stage(self, *editions: Edition) -> None:
        """Land every source of the editions by its real fetcher, and stage them."""
        warehouse = self.warehouse
        for edition in editions:
            for source in edition.sources:
                landing.land(
                    edition,
                    source,
                    FETCHERS[source.kind],
                    warehouse=warehouse,
                    settings=warehouse.settings,
                    log=_quiet,
                )
            staging.stage(edition, Editions(editions=list(editions)), warehouse=warehouse, log=_quiet)

    def build(self) -> subprocess.CompletedProcess[str]:
        """Everything that the asset `modelled` does in a whole run."""
        warehouse = self.warehouse
        with warehouse.writing("build the marts"), releases.building(warehouse, whole=True) as released:
            done = self.dbt("build", "--exclude-resource-type", "unit_test", released=released)
            assert done.returncode == 0, done.stdout[-4000:]
        return done

    def dbt(self, *arguments: str, released: Path | None = None) -> subprocess.CompletedProcess[str]:
        """This project's dbt on this warehouse."""
        command = [str(Path(sys.executable).parent / "dbt"), *arguments, "--no-use-colors"]
        command += ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
        command += ["--target-path", str(self.target), "--log-path", str(self.folder / "logs")]
        variables = os.environ | environment(self.warehouse.settings, released)
        return subprocess.run(command, env=variables, cwd=self.folder, capture_output=True, text=True, timeout=600)

    def marts(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return self._query(self.warehouse.marts_database, sql, parameters)

    def working(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return self._query(self.warehouse.working_database, sql, parameters)

    @staticmethod
    def _query(database: Path, sql: str, parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
        with duckdb.connect(database, read_only=True) as connection:
            return connection.execute(sql, list(parameters)).fetchall()
