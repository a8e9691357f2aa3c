"""Whole runs as processes that can be killed at a chosen moment, in a copy of the project with a warehouse of its own.

Here belongs starting, watching and killing a run, and the run after it. What must be left of the warehouse is in
`state.py`.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import yaml

from pipelines import publish as releases
from pipelines.assets.modelled import prepared_project
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.warehouse import Warehouse
from tests.faults.forked import Forked
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally
from tests.hub_files import VENUE_ID, ten_papers, write_hub_file

STEPS = ("landed", "staged", "modelled", "candidate", "published")
_CODE = ("pipelines", "expectations", "dbt_project", "dagster.yaml", "workspace.yaml", "pyproject.toml")
_SCALE = (0, 2, 4, 6, 8, 10)
_PATIENCE_SECONDS = 600


def wait_until(is_so: Callable[[], object], seconds: float = _PATIENCE_SECONDS) -> bool:
    """Look every few milliseconds; says whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(found)


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Processes whose parent this one is."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


@dataclass
class Run:
    """A run under way; it leads a process group of its own."""

    process: subprocess.Popen[str] | Forked
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def has_begun(self, step: str) -> bool:
        return f" {step}: started" in self.text

    def await_step(self, step: str) -> bool:
        """Wait until a step begins; False where the run ends before."""
        wait_until(lambda: self.has_begun(step) or self.process.poll() is not None)
        return self.has_begun(step)

    def dbt(self) -> int | None:
        """The dbt process that builds the models now: the child that has their database open."""
        for pid in children(self.process.pid):
            try:
                if any(file.readlink().name == "marts.duckdb" for file in Path(f"/proc/{pid}/fd").iterdir()):
                    return pid
            except OSError:  # it has ended, or closed a file meanwhile
                continue
        return None

    def await_work(self, step: str) -> None:
        """Wait until a step is at work: until it begins and, where it builds the models, dbt has their database."""
        assert self.await_step(step), self.text
        if step == "modelled":
            assert self.await_dbt(), self.text

    def await_dbt(self) -> int | None:
        wait_until(lambda: self.dbt() or self.process.poll() is not None)
        return self.dbt()

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self) -> int:
        return self.process.wait(_PATIENCE_SECONDS)


def copy_project(folder: Path) -> Path:
    """A copy of what runs, for faults and kills to leave their marks in."""
    prepared_project(Settings())
    project = folder / "project"
    project.mkdir()
    for name in _CODE:
        source = PROJECT_DIR / name
        if source.is_dir():
            # What a run or a killed one leaves under target/ is per run; the manifest and the parse are shared.
            leave = shutil.ignore_patterns("__pycache__", "logs", "modelled-*", "run")
            shutil.copytree(source, project / name, ignore=leave)
        else:
            shutil.copy2(source, project / name)
    # dbt's manifest names the folder that it is of; without this the first run in the copy would be a long one.
    prepared_project(Settings(dbt_project_dir=project / "dbt_project"))
    return project


class Place:
    """A copy of the project, and an editions file, upstream files, a warehouse and a Dagster home in a folder."""

    def __init__(self, folder: Path, project: Path, root: Path | None = None) -> None:
        self.folder = folder
        self.project = project
        self.root = root or folder / "warehouse"
        self.seconds = 0.0
        self._number = itertools.count()
        self.write_editions("test-2026")

    def write_editions(self, *ids: str, **changes: object) -> None:
        editions = [
            {
                "id": id_, "venue": "TEST", "year": int(id_[-4:]), "venue_id": VENUE_ID.replace("2026", id_[-4:]),
                "sources": [{"kind": "files", "path": str(self.upstream(id_))}],
            } | changes
            for id_ in ids
        ]  # fmt: skip
        (self.folder / "editions.yaml").write_text(yaml.safe_dump({"editions": editions}))

    def upstream(self, edition_id: str = "test-2026") -> Path:
        return self.folder / f"{edition_id}.parquet"

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(Settings(warehouse_dir=self.root, lock_wait_seconds=5))

    @property
    def current(self) -> str | None:
        return releases.current_id(self.warehouse)

    def news(self, edition_id: str = "test-2026") -> None:
        """The upstream shows ratings that it never showed before."""
        year = edition_id[-4:]
        # Of that year in every venue, invitation and number.
        papers = json.loads(json.dumps(ten_papers()).replace("2026", year))
        number = next(self._number)
        for paper in papers:
            # Ids of its own in each edition, in the shape that the real ones have.
            paper["url"] = paper["url"].replace("Forum0", f"Forum{edition_id[-1]}")
            for review in paper["reviews"]:
                review["review_id"] = review["review_id"].replace("rev0", f"rev{edition_id[-1]}")
                review["rating"] = _SCALE[number % len(_SCALE)]
                number //= len(_SCALE)
        write_hub_file(self.upstream(edition_id), papers)

    def rows_lost(self, *edition_ids: str) -> int:
        """Reviews of the upstream as it is now that the current release does not hold with their rating."""
        lost = 0
        for edition_id in edition_ids or ("test-2026",):
            with duckdb.connect(self.warehouse.database, read_only=True) as connection:
                ((missing,),) = connection.execute(
                    f"""
                    select count(*) from (
                        select review.review_id, review.rating::double
                        from (select unnest(reviews) as review from read_parquet('{self.upstream(edition_id)}'))
                        except
                        select review_id, rating from reviews where edition_id = '{edition_id}'
                    )
                    """
                ).fetchall()
                lost += missing
        return lost

    def environment(self, **changes: str) -> dict[str, str]:
        mine = {
            "PYTHONPATH": f"{self.project}{os.pathsep}{PROJECT_DIR}",
            "WAREHOUSE_DIR": str(self.root),
            "EDITIONS_FILE": str(self.folder / "editions.yaml"),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "HOME": str(self.folder),
            "RELEASES_KEPT": "1000",
            "LOCK_WAIT_SECONDS": "300",
            "DO_NOT_TRACK": "1",
        }
        return os.environ | mine | changes

    def start(self, *command: str, **changes: str) -> Run:
        """A run of an edition in the background, or another command of Python's."""
        log = self.folder / f"run-{len(list(self.folder.glob('run-*.log')))}.log"
        log.touch()
        words = command or ("-m", "pipelines", "run", "--edition", "test-2026")
        if words[:2] == ("-m", "pipelines"):
            return Run(Forked(words[2:], cwd=self.folder, env=self.environment(**changes), log=log), log)
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, *words], cwd=self.folder, env=self.environment(**changes), text=True,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return Run(process, log)

    def run(self, *command: str, **changes: str) -> Run:
        """The same, and wait for its end."""
        run = self.start(*command, **changes)
        run.wait()
        return run

    def complete(self) -> Run:
        """A run that has to succeed; `seconds` is how long the last one took."""
        began = time.monotonic()
        run = self.run()
        assert run.process.returncode == 0, f"{run.process.returncode}: {run.text[-4000:]}"
        self.seconds = time.monotonic() - began
        return run


def recover(place: Place, before: State, tally: Tally) -> None:
    """The state right after a fault, then the next run, and what it made of it."""
    tally.injected += 1
    between = nothing_lost(before, place.warehouse)
    place.complete()
    after = nothing_lost(between, place.warehouse)
    lost = place.rows_lost()
    tally.rows_lost += lost
    assert lost == 0
    assert after.current != before.current
    tally.recovered += 1


# Whom a kill meets. Each gives back the dbt process that it left behind, if there is one.


def kill_group(run: Run) -> int | None:
    """Everything, as when a machine stops."""
    run.kill_group()
    return None


def kill_dagster(run: Run) -> int | None:
    """The run's own process; a dbt that works for it goes on."""
    orphan = run.dbt()
    run.process.kill()
    return orphan


def kill_dbt(run: Run) -> int | None:
    """dbt alone, or nobody where none is at work."""
    if pid := run.dbt():
        os.kill(pid, signal.SIGKILL)
    return None


TARGETS: dict[str, Callable[[Run], int | None]] = {"group": kill_group, "dagster": kill_dagster, "dbt": kill_dbt}
