"""A small warehouse made by the plain functions, with marts made by hand: what can be tried a hundred times.

Here belongs landing, staging, candidate and promotion in fractions of a second. Whole runs are in `runs.py`.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from pipelines import publish as releases
from pipelines.config.settings import Settings
from pipelines.land import landing
from pipelines.publish import Candidate
from pipelines.sources import FETCHERS
from pipelines.stage import staging
from pipelines.warehouse import Warehouse
from tests.hub_files import editions_of, files_edition, hub_row, write_hub_file
from tests.unit.publish.test_releases import PASSED, make_marts

EDITION = "test-2026"


def quiet(message: str) -> None:
    """A log that nobody reads."""


class Small:
    """An upstream file, a warehouse, and each stage as a function without arguments."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = folder
        self.root = root or folder / "warehouse"
        self.root.mkdir(parents=True, exist_ok=True)
        self.upstream = folder / "papers.parquet"
        self.edition = files_edition(self.upstream)

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(
            Settings(warehouse_dir=self.root, lock_wait_seconds=1, threads=1, memory_limit="500MB", releases_kept=1000)
        )

    def news(self, number: int, papers: int = 3) -> None:
        """The upstream shows something that it never showed before."""
        noise = random.Random(number).randbytes(2_000).hex()
        rows = [hub_row(paper, abstract=f"Number {number}: {noise}") for paper in range(1, papers + 1)]
        write_hub_file(self.upstream, rows)

    def land(self) -> str:
        (source,) = self.edition.sources
        warehouse = self.warehouse
        snapshot, _ = landing.land(
            self.edition, source, FETCHERS[source.kind], warehouse=warehouse, settings=warehouse.settings, log=quiet
        )
        return snapshot.record.snapshot_id

    def stage(self) -> None:
        staging.stage(self.edition, editions_of(self.edition), warehouse=self.warehouse, log=quiet)

    def model(self, number: int) -> None:
        """Marts with one rating that follows `number`, in place of dbt's."""
        make_marts(self.warehouse, {EDITION: [6, 2, number]})

    def begin_models(self) -> None:
        """What comes before dbt, the look at what dbt will read among it."""
        with self.warehouse.writing("build the marts"):
            releases.begin_build(self.warehouse, whole=True)

    def candidate(self) -> str | None:
        """Build a candidate and give it a passing verdict; returns its id."""
        built: Candidate | None = releases.build_candidate(self.warehouse, quiet)
        if built:
            releases.seal(built, PASSED)
        return built and built.release_id

    def promote(self) -> str | None:
        return releases.promote(self.warehouse, quiet)

    def publish(self, number: int) -> str | None:
        self.model(number)
        self.candidate()
        return self.promote()

    def copy(self, folder: Path) -> "Small":
        """The same in another folder, links and rights included."""
        shutil.copytree(self.root, folder / "warehouse", symlinks=True)
        shutil.copy2(self.upstream, folder / self.upstream.name)
        return Small(folder)


Action = Callable[[], object]
