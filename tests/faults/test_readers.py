"""Readers beside writers: fifty promotions under a reader that streams all marts, and one that never lets go."""

from pathlib import Path

import duckdb
import pytest

from pipelines import publish as releases
from tests.faults.reader import Reader, read_database, read_files
from tests.faults.runs import Place, wait_until
from tests.faults.small import Small
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("readers"), pytest.mark.slow]


@pytest.mark.parametrize("promotions", [10, pytest.param(50, marks=pytest.mark.faults_full)])
def test_every_reading_during_promotions_is_exactly_one_release(tmp_path: Path, tally: Tally, promotions: int) -> None:
    small = Small(tmp_path)
    small.news(1)
    small.land()
    small.stage()
    small.publish(0)
    with Reader(small.root, tmp_path / "readings") as reader:
        assert wait_until(lambda: reader.readings, 60)
        for number in range(1, promotions + 1):
            before = State.of(small.warehouse) if number % 10 == 0 else None
            assert small.publish(number) is not None
            if before:
                nothing_lost(before, small.warehouse)
        seen = len(reader.readings)
        assert wait_until(lambda: len(reader.readings) > seen + 1, 60)
    tally.reads, wrong = reader.judge()
    tally.wrong_reads = len(wrong)
    assert wrong == []
    assert len(releases.release_ids(small.warehouse)) == promotions + 1
    # It met many of them, by both ways.
    met = {(reading["way"], reading["release"]) for reading in reader.readings}
    assert len({release for _, release in met}) >= 5
    assert {way for way, _ in met} == {"files", "database"}


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.faults_full)], ids=["fast", "runs"])
def test_a_reader_held_open_through_five_runs_blocks_none_and_reads_on(
    project: Path, tmp_path: Path, tally: Tally, is_whole: bool
) -> None:
    """Connections that stay open, a cursor half-way, an open file and a working directory inside the release."""
    made: Place | Small
    if is_whole:
        made = Place(tmp_path, project)
        made.news()
        made.complete()
    else:
        made = Small(tmp_path)
        made.news(0)
        made.land()
        made.stage()
        made.publish(0)
    warehouse = made.warehouse
    first = warehouse.current.resolve()
    truth = read_files(first), read_database(first / releases.DATABASE)
    with (
        duckdb.connect(warehouse.database, read_only=True) as database,
        duckdb.connect() as files,
        next(first.glob("reviews/*.parquet")).open("rb") as opened,
    ):
        streams = [
            database.cursor().execute("select review_id, rating from reviews"),
            files.execute(f"select review_id, rating from read_parquet('{first}/reviews/*.parquet')"),
        ]
        rows = [[stream.fetchone()] for stream in streams]
        head = opened.read(4)
        for number in range(1, 6):
            before = State.of(warehouse)
            if isinstance(made, Place):
                made.news()
                made.complete()
                tally.rows_lost += made.rows_lost()
            else:
                made.publish(number)
            assert nothing_lost(before, warehouse).current != before.current
        assert database.execute("select release_id from publication").fetchall() == [(first.name,)]
        assert head + opened.read() == Path(opened.name).read_bytes()
        for begun, stream in zip(rows, streams, strict=True):
            assert len(begun + stream.fetchall()) == truth[0]["reviews"][0]
        tally.reads += 4
    assert (read_files(first), read_database(first / releases.DATABASE)) == truth
    assert tally.rows_lost == 0
