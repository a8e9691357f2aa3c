"""`maintenance.py` on a real warehouse, a real Dagster instance and planted leftovers of known age."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest

from pipelines.operate import maintenance
from pipelines.operate.maintenance import Freed, disk_use, maintain, total
from pipelines.warehouse import Warehouse, WarehouseError
from tests.conftest import Land
from tests.hub_files import files_edition, ten_papers, write_hub_file

DAY = 86_400.0
NOW = time.time()


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield instance


@pytest.fixture
def place(warehouse: Warehouse, tmp_path: Path) -> Warehouse:
    """A warehouse whose dbt project is a folder of the test's own, and of whose runs two are kept."""
    return Warehouse(
        warehouse.settings.model_copy(update={"dbt_project_dir": tmp_path / "dbt", "dagster_runs_kept": 2})
    )


def planted(path: Path, days_old: float, text: str = "x" * 10_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for each in (path, path.parent):
        os.utime(each, (NOW - days_old * DAY, NOW - days_old * DAY))
    return path


def by_kind(freed: list[Freed]) -> dict[str, int]:
    return {one.what: one.count for one in freed if one.count}


def tidy(warehouse: Warehouse, instance: dg.DagsterInstance, **options: float) -> dict[str, int]:
    return by_kind(maintain(warehouse, instance, lambda message: None, now=NOW, **options))


# --- the warehouse ----------------------------------------------------------------------------------------------------


def test_nothing_is_made_and_nothing_goes_where_there_is_nothing(
    place: Warehouse, instance: dg.DagsterInstance
) -> None:
    assert tidy(place, instance) == {}
    assert [path.name for path in place.root.iterdir()] == [".locks"]


def test_of_set_aside_databases_the_newest_of_each_stays(place: Warehouse, instance: dg.DagsterInstance) -> None:
    names = {
        "working.duckdb.damaged-20260101T000000Z": 30.0,
        "working.duckdb.wal.damaged-20260101T000000Z": 30.0,
        "working.duckdb.damaged-20260201T000000Z": 20.0,
        "working.duckdb.damaged-20260301T000000Z": 10.0,
        "marts.duckdb.damaged-20260101T000000Z": 30.0,
    }
    for name, days in names.items():
        planted(place.root / name, days)
    planted(place.root / "working.duckdb.damaged-20260302T000000Z", 1)
    assert tidy(place, instance) == {"set-aside databases": 4}
    assert sorted(path.name for path in place.root.glob("*.damaged-*")) == [
        "marts.duckdb.damaged-20260101T000000Z",
        "working.duckdb.damaged-20260302T000000Z",
    ]


def test_old_temporary_files_and_half_a_candidate_go(place: Warehouse, instance: dg.DagsterInstance) -> None:
    planted(place.root / ".tmp" / "duckdb_temp_storage-0.tmp", 2)
    fresh = planted(place.root / ".tmp" / "duckdb_temp_storage-1.tmp", 0.5)
    planted(place.candidates / ".building" / "release" / "papers.parquet", 0)
    (place.root / ".current.new").symlink_to("releases/x")
    assert tidy(place, instance) == {"temporary files": 2, "candidates": 1}
    assert fresh.exists()
    assert not (place.candidates / ".building").exists()


def test_partial_downloads_go_when_old_and_not_while_their_source_is_pulled(
    place: Warehouse, instance: dg.DagsterInstance
) -> None:
    old, busy, fresh = (place.landing / "x-2026" / name / ".incoming" for name in ("old", "busy", "fresh"))
    for incoming, days in ((old, 8.0), (busy, 8.0), (fresh, 6.0)):
        planted(incoming / "a.parquet.part", days)
        planted(incoming / "a.parquet.part.json", days)
    with place.lock("landing-x-2026-busy", "land"):
        assert tidy(place, instance) == {"partial downloads": 2}
    assert [len(list(incoming.iterdir())) for incoming in (old, busy, fresh)] == [0, 2, 2]


def test_what_has_landed_is_never_touched(
    place: Warehouse, instance: dg.DagsterInstance, land: Land, tmp_path: Path
) -> None:
    edition = files_edition(write_hub_file(tmp_path / "papers.parquet", ten_papers()), "test-2026")
    snapshot = land(edition)
    for path in [*place.landing.rglob("*"), place.landing]:
        if not path.is_symlink():
            os.utime(path, (NOW - 9999 * DAY, NOW - 9999 * DAY))
    before = {path: path.stat().st_mtime_ns for path in place.landing.rglob("*") if path.name != ".incoming"}
    tidy(place, instance)
    assert {path: path.stat().st_mtime_ns for path in place.landing.rglob("*") if path.name != ".incoming"} == before
    snapshot.verify()


def test_a_writer_at_work_is_not_disturbed(place: Warehouse, instance: dg.DagsterInstance) -> None:
    import subprocess
    import sys

    program = (
        "import sys, pathlib; from pipelines.config.settings import Settings\n"
        "from pipelines.warehouse import Warehouse\n"
        "with Warehouse(Settings(warehouse_dir=pathlib.Path(sys.argv[1]))).writing('x'):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    spilled = planted(place.root / ".tmp" / "duckdb_temp_storage-0.tmp", 9)
    with subprocess.Popen(
        [sys.executable, "-c", program, place.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(WarehouseError, match=rf"Process {holder.pid} .* to maintain the warehouse"):
            tidy(place, instance)
        assert spilled.exists()
        holder.communicate()


def test_disk_use_counts_a_shared_file_once(tmp_path: Path) -> None:
    one = planted(tmp_path / "a" / "one", 0, "x" * 100_000)
    alone = disk_use(tmp_path)
    (tmp_path / "b").mkdir()
    os.link(one, tmp_path / "b" / "two")
    assert 100_000 <= alone < 150_000
    assert disk_use(tmp_path) - alone == disk_use(tmp_path / "b") - disk_use(one) < 10_000
    assert disk_use(tmp_path / "absent") == 0


def test_disk_use_minds_nothing_that_goes_away_meanwhile(tmp_path: Path) -> None:
    """DuckDB makes and removes its folder for spilled data while maintenance or a benchmark looks."""
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            (tmp_path / "spilled" / "deeper").mkdir(parents=True)
            (tmp_path / "spilled" / "deeper").rmdir()
            (tmp_path / "spilled").rmdir()

    with ThreadPoolExecutor() as pool:
        coming = pool.submit(come_and_go)
        try:
            for _ in range(3_000):
                disk_use(tmp_path)
        finally:
            done.set()
        coming.result()


# --- dbt's output -----------------------------------------------------------------------------------------------------


def test_of_dbts_output_the_last_build_stays_and_what_may_be_at_work(
    place: Warehouse, instance: dg.DagsterInstance
) -> None:
    ended = run(instance).run_id[:7]
    target = place.settings.dbt_project_dir / "target"
    folders = {
        f"modelled-{ended}-aaaaaaa": 0.5,  # its run has ended
        "modelled-bbbbbbb-bbbbbbb": 0.4,  # of another warehouse, perhaps at work
        "modelled-ccccccc-ccccccc": 3.0,  # of another warehouse, and nobody builds for days
        "modelled-ddddddd-ddddddd": 0.1,  # the last one
    }
    for name, days in folders.items():
        planted(target / name / "dbt.log", days)
    kept = [planted(target / "manifest.json", 9), planted(target / "partial_parse.msgpack", 9)]
    planted(place.settings.dbt_project_dir / "logs" / "dbt.log", 9)
    assert tidy(place, instance) == {"dbt's output": 3}
    assert sorted(path.name for path in target.iterdir()) == [
        "manifest.json",
        "modelled-bbbbbbb-bbbbbbb",
        "modelled-ddddddd-ddddddd",
        "partial_parse.msgpack",
    ]
    assert all(path.exists() for path in kept)


# --- Dagster's history ------------------------------------------------------------------------------------------------

PARTITIONS = dg.StaticPartitionsDefinition(["x-2025", "x-2026"])


@dg.asset(partitions_def=PARTITIONS)
def landed(context: dg.AssetExecutionContext) -> None:
    context.log.info("landed " + "much " * 2_000)


@dg.asset_check(asset=landed)
def is_fine() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True, metadata={"much": "x" * 20_000})


@dg.op
def nothing() -> None:
    print("nothing")


@dg.job
def idle() -> None:
    nothing()


def run(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return idle.execute_in_process(instance=instance)


def materialise(instance: dg.DagsterInstance, partition: str) -> str:
    defs = dg.Definitions(assets=[landed], asset_checks=[is_fine])
    job = defs.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, partition_key=partition).run_id


def run_ids(instance: dg.DagsterInstance) -> list[str]:
    return sorted(run.run_id for run in instance.get_runs())


def test_runs_beyond_the_number_go_with_all_that_they_left(
    place: Warehouse, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    made = [run(instance).run_id for _ in range(4)]
    assert tidy(place, instance)["Dagster runs"] == 2
    assert run_ids(instance) == sorted(made[2:])
    left = [path for path in (tmp_path / "dagster").rglob("*") if any(run_id in str(path) for run_id in made[:2])]
    assert left == []
    assert instance.get_run_by_id(made[2]) is not None
    assert instance.all_logs(made[2])


def test_runs_beyond_the_age_go(place: Warehouse, instance: dg.DagsterInstance) -> None:
    run(instance)
    assert by_kind(maintain(place, instance, lambda message: None, now=NOW + 29 * DAY)) == {}
    assert by_kind(maintain(place, instance, lambda message: None, now=NOW + 31 * DAY))["Dagster runs"] == 1
    assert run_ids(instance) == []


def test_the_last_run_behind_each_partition_stays_and_so_do_its_checks(
    place: Warehouse, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    materialise(instance, "x-2025")
    earlier = materialise(instance, "x-2025")
    last = [materialise(instance, "x-2026")]
    idle_runs = [run(instance).run_id for _ in range(2)]
    assert tidy(place, instance)["Dagster runs"] == 1
    assert run_ids(instance) == sorted([earlier, *last, *idle_runs])
    assert instance.get_materialized_partitions(dg.AssetKey("landed")) == {"x-2025", "x-2026"}
    index = tmp_path / "dagster" / "history" / "runs" / "index.db"
    with sqlite3.connect(index) as connection:
        checked = connection.execute("select run_id from asset_check_executions order by id").fetchall()
    assert checked == [(earlier,), (last[0],)]


def test_an_unfinished_run_stays(place: Warehouse, instance: dg.DagsterInstance) -> None:
    queued = instance.create_run_for_job(idle)
    for _ in range(3):
        run(instance)
    assert tidy(place, instance)["Dagster runs"] == 1
    assert queued.run_id in run_ids(instance)


def test_the_history_shrinks(place: Warehouse, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    for _ in range(5):
        materialise(instance, "x-2026")
    before = disk_use(tmp_path / "dagster")
    freed = maintain(place, instance, lambda message: None, now=NOW)
    assert by_kind(freed)["Dagster runs"] == 3
    assert by_kind(freed)["compacted history files"] >= 1
    assert disk_use(tmp_path / "dagster") < before - 3 * 20_000
    assert before - disk_use(tmp_path / "dagster") >= 0.9 * total(freed)
    # What is left is whole.
    assert materialise(instance, "x-2025") in run_ids(instance)


def test_a_history_file_in_use_is_left_for_the_next_time(
    place: Warehouse, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    for _ in range(5):
        materialise(instance, "x-2026")
    said: list[str] = []
    maintenance.prune_runs(place, instance, NOW)
    reader = sqlite3.connect(tmp_path / "dagster" / "history" / "runs" / "index.db", isolation_level=None)
    reader.execute("begin immediate")
    try:
        assert maintenance.compact(tmp_path / "dagster", said.append, wait_seconds=0.1).count == 0
    finally:
        reader.close()
    assert any("was not compacted (database is locked); the next maintenance tries again." in line for line in said)
