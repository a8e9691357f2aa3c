"""`pipelines/warehouse.py`: locks and databases, each held or broken for real by another process or a changed byte."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from pipelines.warehouse import STORAGE_VERSION, Warehouse, WarehouseError, sql_string

# Holds the writer lock, or a database, until its standard input closes or it is killed.
HOLD_LOCK = """
import sys
from pathlib import Path
from pipelines.config.settings import Settings
from pipelines.warehouse import Warehouse
with Warehouse(Settings(warehouse_dir=Path(sys.argv[1]))).writing("test"):
    print("held", flush=True)
    sys.stdin.read()
"""
HOLD_DATABASE = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""

Hold = Callable[[str, Path], "subprocess.Popen[str]"]


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Start a process that holds something; it is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, place: Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_asking_for_paths_creates_nothing(warehouse: Warehouse) -> None:
    paths = [warehouse.landing, warehouse.working_database, warehouse.marts_database, warehouse.candidates]
    paths += [warehouse.releases, warehouse.current, warehouse.database, warehouse.locks]
    assert all(path.is_relative_to(warehouse.root) for path in paths)
    assert list(warehouse.root.iterdir()) == []


def test_a_held_lock_names_the_process_and_what_to_do(warehouse: Warehouse, hold: Hold) -> None:
    holder = hold(HOLD_LOCK, warehouse.root)
    with pytest.raises(WarehouseError) as caught, warehouse.writing("stage x-2026"):
        pytest.fail("two processes held one lock")
    message = str(caught.value)
    assert f"Process {holder.pid} (" in message
    assert str(warehouse.locks / "writer.lock") in message
    assert "waited 0.2 s to stage x-2026" in message
    assert "Let it finish or end it, then run again." in message


def test_a_lock_dies_with_its_process(warehouse: Warehouse, hold: Hold) -> None:
    holder = hold(HOLD_LOCK, warehouse.root)
    holder.kill()
    holder.wait()
    with warehouse.writing("go on after a crash"):
        pass


def test_a_lock_is_free_again_after_an_error_inside(warehouse: Warehouse) -> None:
    with pytest.raises(ZeroDivisionError), warehouse.writing("fail"):
        raise ZeroDivisionError
    with warehouse.writing("go on"):
        pass


def test_locks_of_other_names_do_not_wait_for_each_other(warehouse: Warehouse, hold: Hold) -> None:
    hold(HOLD_LOCK, warehouse.root)
    with warehouse.lock("landing-x-2026-files", "land"):
        pass


def test_a_held_database_names_the_process(warehouse: Warehouse, hold: Hold) -> None:
    holder = hold(HOLD_DATABASE, warehouse.working_database)
    with pytest.raises(WarehouseError) as caught, warehouse.connect(warehouse.working_database, read_only=True):
        pytest.fail("opened a database that another process writes")
    assert str(caught.value).startswith(f"{warehouse.working_database} is held by process {holder.pid}; let it finish")


def test_a_held_database_is_not_taken_for_a_damaged_one(warehouse: Warehouse, hold: Hold) -> None:
    hold(HOLD_DATABASE, warehouse.working_database)
    with pytest.raises(WarehouseError, match="is held by"):
        warehouse.set_aside_if_damaged(warehouse.working_database, pytest.fail)
    assert warehouse.working_database.exists()


def test_a_database_that_is_let_go_in_time_opens(warehouse: Warehouse, hold: Hold) -> None:
    holder = hold(HOLD_DATABASE, warehouse.working_database)
    holder.kill()
    holder.wait()
    with warehouse.connect(warehouse.working_database) as connection:
        assert connection.execute("select 1").fetchall() == [(1,)]


def test_a_connection_is_closed_after_an_error_inside(warehouse: Warehouse) -> None:
    with pytest.raises(ZeroDivisionError), warehouse.connect(warehouse.working_database):
        raise ZeroDivisionError
    # Another configuration, which an open connection of this process would not allow.
    with warehouse.connect(warehouse.working_database, read_only=True):
        pass


def test_a_missing_database_is_named_when_it_is_only_to_be_read(warehouse: Warehouse) -> None:
    with (
        pytest.raises(WarehouseError, match=r"working\.duckdb cannot be opened: .*does not exist"),
        warehouse.connect(warehouse.working_database, read_only=True),
    ):
        pytest.fail("opened a database that is not there")


def test_settings_reach_the_connection(warehouse: Warehouse) -> None:
    with warehouse.memory() as connection:
        (limit, threads), *_ = connection.execute(
            "select current_setting('memory_limit'), current_setting('threads')"
        ).fetchall()
    assert (limit, threads) == ("953.6 MiB", 2)


@pytest.mark.parametrize(("limit", "half"), [("1GB", "476.8 MiB"), ("1.5 GiB", "768.0 MiB"), ("512MB", "244.1 MiB")])
def test_a_connection_can_take_a_share_of_the_memory(warehouse: Warehouse, limit: str, half: str) -> None:
    limited = Warehouse(warehouse.settings.model_copy(update={"memory_limit": limit}))
    with limited.memory(share=0.5) as connection:
        assert connection.execute("select current_setting('memory_limit')").fetchall() == [(half,)]


def test_a_sound_database_stays(warehouse: Warehouse) -> None:
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute("create table t as select 1 as n")
    before = warehouse.working_database.read_bytes()
    warehouse.set_aside_if_damaged(warehouse.working_database, pytest.fail)
    warehouse.set_aside_if_damaged(warehouse.root / "absent.duckdb", pytest.fail)
    assert warehouse.working_database.read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"not a database" * 1000], ids=["cut to one page", "overwritten"])
def test_a_damaged_database_is_set_aside_with_its_log(warehouse: Warehouse, damage: bytes) -> None:
    database = warehouse.working_database
    with warehouse.connect(database) as connection:
        connection.execute("create table t as select range as n from range(100000)")
    whole = database.read_bytes()
    database.write_bytes(damage or whole[: len(whole) // 8])
    wal = database.with_name("working.duckdb.wal")
    wal.write_bytes(b"left by a crash")
    said: list[str] = []
    warehouse.set_aside_if_damaged(database, said.append)
    assert not database.exists()
    assert not wal.exists()
    aside = sorted(path.name for path in warehouse.root.iterdir() if ".damaged-" in path.name)
    assert [name.split(".damaged-")[0] for name in aside] == ["working.duckdb", "working.duckdb.wal"]
    assert (warehouse.root / aside[0]).read_bytes() == (damage or whole[: len(whole) // 8])
    assert str(database) in said[0]
    assert aside[0] in said[0]
    assert "rebuilt from landing" in said[0]


def test_a_damaged_log_alone_sets_both_aside(warehouse: Warehouse) -> None:
    database, wal = warehouse.working_database, warehouse.root / "working.duckdb.wal"
    # A process that dies with a commit in the log only.
    subprocess.run(
        [
            sys.executable,
            "-c",
            "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); "
            "c.execute('create table t as select range as n from range(10000)'); os._exit(0)",
            str(database),
        ],
        check=True,
    )
    log = bytearray(wal.read_bytes())
    log[len(log) // 2] ^= 0xFF
    wal.write_bytes(log)
    said: list[str] = []
    warehouse.set_aside_if_damaged(database, said.append)
    assert len(said) == 2
    assert not wal.exists()
    assert not database.exists()


def test_a_database_that_opens_and_cannot_be_read_is_set_aside_by_the_next_run(warehouse: Warehouse) -> None:
    database = warehouse.working_database
    with warehouse.connect(database) as connection:
        connection.execute("create table t as select hash(range) as n from range(1000000)")
    whole = database.read_bytes()
    middle = len(whole) // 2
    database.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    # As far as DuckDB sees while it opens it, all is well.
    warehouse.set_aside_if_damaged(database, pytest.fail)
    with (
        pytest.raises(WarehouseError, match=r"working\.duckdb is damaged .*; run again"),
        warehouse.connect(database, read_only=True) as connection,
    ):
        connection.execute("select bit_xor(n) from t").fetchall()
    said: list[str] = []
    warehouse.set_aside_if_damaged(database, said.append)
    assert not database.exists()
    assert "was set aside" in said[0]
    # The next one is a new one.
    with warehouse.connect(database) as connection:
        connection.execute("create table t as select 1 as n")
    warehouse.set_aside_if_damaged(database, pytest.fail)


def test_an_error_of_another_kind_casts_no_doubt_on_the_database(warehouse: Warehouse) -> None:
    database = warehouse.working_database
    with pytest.raises(duckdb.CatalogException), warehouse.connect(database) as connection:
        connection.execute("select * from absent")
    warehouse.set_aside_if_damaged(database, pytest.fail)
    assert database.exists()


def test_a_new_database_is_empty_and_in_the_pinned_format(warehouse: Warehouse) -> None:
    database = warehouse.root / "it's new.duckdb"
    database.write_bytes(b"an older one")
    (warehouse.root / "it's new.duckdb.wal").write_bytes(b"of the older one")
    warehouse.new_database(database)
    assert not (warehouse.root / "it's new.duckdb.wal").exists()
    with warehouse.connect(database) as connection:
        assert connection.execute("from duckdb_tables()").fetchall() == []
        ((tags,),) = connection.execute(
            "select tags from duckdb_databases() where database_name = current_database()"
        ).fetchall()
    # DuckDB writes "v1.0.0+": that version and every later one.
    assert tags["storage_version"] == f"{STORAGE_VERSION}+"


def test_sql_strings_cannot_be_left(warehouse: Warehouse) -> None:
    given = "it's; drop table t; --"
    with warehouse.memory() as connection:
        assert connection.execute(f"select {sql_string(given)}").fetchall() == [(given,)]
