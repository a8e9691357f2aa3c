"""Twenty runs, each with one changed rating and so with a release of its own, and maintenance after each.

The bound is three times what the second run left. What has landed is not counted: every changed upstream file is a
snapshot that is kept for ever, on purpose.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from pipelines import publish as releases
from pipelines.config.settings import PROJECT_DIR
from pipelines.operate.maintenance import disk_use, maintain
from pipelines.warehouse import Warehouse
from tests.conftest import Land
from tests.hub_files import VENUE_ID, files_edition, ten_papers, write_hub_file
from tests.unit.publish.test_releases import PASSED, make_marts

pytestmark = [pytest.mark.faults("disk use"), pytest.mark.slow]

RUNS = 20
MOST = 3


@dg.asset
def noisy(context: dg.AssetExecutionContext) -> None:
    print("a line of a compute log " * 4_000)
    context.log.info("a line of the event log " * 2_000)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield instance


def test_the_disk_use_of_releases_history_and_leftovers_stays_bounded(
    warehouse: Warehouse, instance: dg.DagsterInstance, land: Land, tmp_path: Path
) -> None:
    """Before each release a candidate fails at the gate, and its files and Data Docs stay to be looked at."""
    place = Warehouse(
        warehouse.settings.model_copy(
            update={"dbt_project_dir": tmp_path / "dbt", "releases_kept": 5, "releases_grace_minutes": 0}
        )
    )
    land(files_edition(write_hub_file(tmp_path / "papers.parquet", ten_papers()), "test-2026"))
    job = dg.Definitions(assets=[noisy]).resolve_implicit_global_asset_job_def()
    used = []
    for number in range(RUNS):
        run = job.execute_in_process(instance=instance)
        planted = {
            place.settings.dbt_project_dir / "target" / f"modelled-{run.run_id[:7]}-{number:07}" / "dbt.log",
            place.candidates / f"20260101T{number:06}Z-00000000" / "release" / "papers.parquet",
            place.candidates / f"20260101T{number:06}Z-00000000" / "data_docs" / "index.html",
        }
        for path in planted:
            path.parent.mkdir(parents=True)
            path.write_bytes(os.urandom(200_000))
        make_marts(place, {"test-2026": [number, 5]})
        candidate = releases.build_candidate(place, lambda message: None)
        assert candidate is not None
        releases.seal(candidate, PASSED)
        assert releases.promote(place, lambda message: None) == candidate.release_id
        maintain(place, instance, lambda message: None)
        used.append(disk_use(*(path for path in place.root.iterdir() if path != place.landing), tmp_path / "dagster"))
        used[-1] += disk_use(tmp_path / "dbt")
    print("disk use after each run, bytes:", used)
    assert len(releases.release_ids(place)) == 5
    assert max(used) < MOST * used[1]
    releases.verify(place.current.resolve())


RUN = """
import json, sys
from pathlib import Path
from pipelines.__main__ import main
from pipelines.operate.maintenance import disk_use
from tests.hub_files import ten_papers, write_hub_file

folder, project, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
for number in range(count):
    papers = ten_papers()
    papers[3]["reviews"][0]["rating"] = 1 + number % 10
    papers[4]["reviews"][0]["rating"] = 1 + number // 10
    write_hub_file(folder / "papers.parquet", papers)
    assert main(["run", "--edition", "test-2026"]) == 0
    assert main(["maintain"]) == 0
    parts = {path.name: disk_use(path) for path in (folder / "warehouse").iterdir() if path.name != "landing"}
    parts |= {"dagster": disk_use(folder / "dagster"), "target": disk_use(project / "dbt_project" / "target")}
    print("USED " + json.dumps(parts), flush=True)
"""


@pytest.mark.faults_full
def test_the_disk_use_of_twenty_whole_runs_stays_bounded(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if "faults_full" not in (request.config.option.markexpr or ""):
        pytest.skip("twenty whole runs; pytest -m faults_full runs them")
    (tmp_path / "editions.yaml").write_text(
        f"editions:\n  - {{id: test-2026, venue: TEST, year: 2026, venue_id: {VENUE_ID}, "
        "sources: [{kind: files, path: papers.parquet}]}\n"
    )
    write_hub_file(tmp_path / "papers.parquet", ten_papers())
    environment = {
        "WAREHOUSE_DIR": str(tmp_path / "warehouse"),
        "DAGSTER_HOME": str(tmp_path / "dagster"),
        "EDITIONS_FILE": str(tmp_path / "editions.yaml"),
        "PYTHONPATH": str(PROJECT_DIR),
        # Twenty such runs take less than the minutes for which a release stays for those who still read it.
        "RELEASES_GRACE_MINUTES": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, tmp_path, PROJECT_DIR, str(RUNS)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    parts = [json.loads(line.removeprefix("USED ")) for line in done.stdout.splitlines() if line.startswith("USED ")]
    for number, part in enumerate(parts, start=1):
        print(number, sum(part.values()), part)
    assert len(parts) == RUNS
    assert max(sum(part.values()) for part in parts) < MOST * sum(parts[1].values())
