"""Our own pipeline as the benchmark runs it: a folder of its own with an editions file, a warehouse, a Dagster home.

Here belongs how the pipeline is started, and what of it counts as what. How processes are measured is `measure.py`'s.

* The whole run is `python -m pipelines run`, as `make run` starts it.
* Data work is stage + model + export, everything between landed files and a candidate release: `python -m
  benchmarks.ours data-work FOLDER`, in an environment that `environment` gives, after `... land FOLDER`. It includes
  the start of Python and of dbt, the contract check, the hash of every landed and written file, and dbt's tests; the
  gate, the manifest and Dagster are left out.
"""

import os
import sys
from pathlib import Path

from benchmarks import inputs
from benchmarks.inputs import Input

PROJECT = Path(__file__).parent.parent


def prepare(folder: Path, given: list[Input]) -> None:
    """Make a folder that a run can start in."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "editions.yaml").write_text(inputs.editions_yaml(given), encoding="utf-8")


def prepare_sample(folder: Path) -> None:
    """Make a folder for a run of the built-in sample, with the editions file that the project ships."""
    folder.mkdir(parents=True, exist_ok=True)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a run in such a folder."""
    ours = {
        "WAREHOUSE_DIR": str(folder / "warehouse"),
        "DAGSTER_HOME": str(folder / "dagster"),
        "PYTHONPATH": str(PROJECT),
        "DO_NOT_TRACK": "1",
    }
    editions = folder / "editions.yaml"
    # An empty variable means the file that the project ships.
    return os.environ | ours | {"EDITIONS_FILE": str(editions) if editions.exists() else ""} | more


def profile(log: str) -> str:
    """The table of what each stage cost, which a run prints near its end; empty where it does not."""
    lines = log.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("stage ")), len(lines))
    end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
    return "\n".join(lines[start:end])


def release(folder: Path) -> Path:
    """Where the marts of a run are: the current release, or else the newest candidate."""
    warehouse = folder / "warehouse"
    if (warehouse / "current").exists():
        return (warehouse / "current").resolve()
    return max((warehouse / "candidates").glob("[0-9]*")) / "release"


def _land() -> None:
    from pipelines.config.editions import load_editions
    from pipelines.config.settings import Settings
    from pipelines.land import landing
    from pipelines.sources import FETCHERS
    from pipelines.warehouse import Warehouse

    settings = Settings()
    warehouse = Warehouse(settings)
    for edition in load_editions(settings.editions_file).editions:
        for source in edition.sources:
            landing.land(edition, source, FETCHERS[source.kind], warehouse=warehouse, settings=settings, log=print)


def _data_work(folder: Path) -> None:
    from pipelines import publish
    from pipelines.config.editions import load_editions
    from pipelines.config.settings import Settings
    from pipelines.model import dbt_process
    from pipelines.stage import staging
    from pipelines.warehouse import Warehouse

    settings = Settings()
    warehouse = Warehouse(settings)
    editions = load_editions(settings.editions_file)
    with dbt_process.started_ahead(settings):
        for edition in editions.editions:
            staging.stage(edition, editions, warehouse=warehouse, log=print)
        with warehouse.writing("build the marts"), publish.building(warehouse, whole=True) as released:
            dbt = dbt_process.start_build(settings, folder / "dbt", released)
            said, _ = dbt.communicate()
            if dbt.returncode:
                raise SystemExit(f"dbt build failed: {said.decode()[-2000:]}")
    publish.build_candidate(warehouse, print)


if __name__ == "__main__":
    step, place = sys.argv[1], Path(sys.argv[2])
    _land() if step == "land" else _data_work(place)
