"""`pipelines/land/landing.py`: snapshots, landed by the real `files` source from files that the tests write."""

import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import Edition
from pipelines.land import landing
from pipelines.land.landing import Snapshot, current_snapshot, find
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import LandingError
from pipelines.warehouse import Warehouse, sha256
from tests.conftest import Land
from tests.hub_files import files_edition, hub_row, write_hub_file


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    return write_hub_file(tmp_path / "upstream" / "papers.parquet", [hub_row(1), hub_row(2)])


@pytest.fixture
def edition(upstream: Path) -> Edition:
    return files_edition(upstream)


@pytest.fixture
def place(warehouse: Warehouse) -> Path:
    return warehouse.landing / "test-2026" / "files"


def snapshots(warehouse: Warehouse, edition_id: str, source: str) -> list[Snapshot]:
    """Every landed snapshot of a source."""
    folder = warehouse.landing / edition_id / source
    ids = [record.parent.name for record in sorted(folder.glob("*/snapshot.json"))]
    return [find(warehouse, edition_id, snapshot_id, source) for snapshot_id in ids]


def pulls(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / "pulls.jsonl").read_text().splitlines() if line]


def pulled(warehouse: Warehouse, edition: Edition) -> tuple[Snapshot, bool]:
    (source,) = edition.sources
    return landing.land(
        edition, source, FETCHERS["files"], warehouse=warehouse, settings=warehouse.settings, log=lambda message: None
    )


def kept(place: Path) -> list[str]:
    """Every file under a source's folder, the lock aside."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def content(folder: Path) -> dict[str, tuple[str, int, int]]:
    return {
        str(path.relative_to(folder)): (sha256(path), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_snapshot_says_where_it_came_from(land: Land, edition: Edition, upstream: Path, place: Path) -> None:
    snapshot = land(edition)
    digest = hashlib.sha256(upstream.read_bytes()).hexdigest()
    assert snapshot.folder == place / digest[:16]
    assert kept(snapshot.folder) == ["papers.parquet", "snapshot.json"]
    record = json.loads((snapshot.folder / "snapshot.json").read_text())
    fetched_at = datetime.fromisoformat(record.pop("fetched_at"))
    assert abs(datetime.now(UTC) - fetched_at) < timedelta(minutes=10)
    size = upstream.stat().st_size
    assert record == {
        "snapshot_id": digest[:16],
        "edition_id": "test-2026",
        "source": "files",
        "kind": "files",
        "url": upstream.as_uri(),
        "revision": None,
        "etag": None,
        "as_of": None,
        "sha256": digest,
        "bytes": size,
        "rows": 2,
        "mended": 0,
        "files": [
            {"name": "papers.parquet", "url": upstream.as_uri(), "sha256": digest, "bytes": size, "rows": 2}
            | {"texts_with_nul": 0},
        ],
    }
    assert (snapshot.folder / "papers.parquet").read_bytes() == upstream.read_bytes()
    (pull,) = pulls(place)
    assert pull["snapshot_id"] == digest[:16]
    # Sources of one run land within a second; the order among them is told by the microseconds.
    assert fetched_at <= datetime.fromisoformat(pull["pulled_at"]) < fetched_at + timedelta(minutes=10)


def test_as_of_of_the_editions_file_is_recorded(land: Land, upstream: Path) -> None:
    source = {"kind": "files", "path": str(upstream), "as_of": "2025-11-21"}
    assert land(files_edition(upstream, sources=[source])).record.as_of == datetime(2025, 11, 21, tzinfo=UTC)


def test_a_snapshot_is_read_only(land: Land, edition: Edition) -> None:
    snapshot = land(edition)
    assert snapshot.folder.stat().st_mode & 0o222 == 0
    assert all(path.stat().st_mode & 0o222 == 0 for path in snapshot.folder.iterdir())


def test_nothing_is_left_in_incoming(land: Land, edition: Edition, place: Path) -> None:
    land(edition)
    assert list((place / ".incoming").iterdir()) == []


def test_identical_bytes_make_no_second_snapshot_and_change_no_file(
    warehouse: Warehouse, edition: Edition, upstream: Path, place: Path
) -> None:
    first, is_new = pulled(warehouse, edition)
    assert is_new
    before = content(place)
    os.utime(upstream)
    second, is_new = pulled(warehouse, edition)
    assert not is_new
    assert second == first
    assert content(place) == before


def test_the_same_bytes_under_another_name_are_the_same_snapshot(
    warehouse: Warehouse, edition: Edition, upstream: Path, place: Path
) -> None:
    first, _ = pulled(warehouse, edition)
    moved = upstream.rename(upstream.with_name("renamed.parquet"))
    second, is_new = pulled(warehouse, files_edition(moved))
    assert (second, is_new) == (first, False)
    assert len(snapshots(warehouse, "test-2026", "files")) == 1
    assert len(pulls(place)) == 1


def test_an_upstream_that_goes_back_is_followed_without_a_third_snapshot(
    warehouse: Warehouse, land: Land, edition: Edition, upstream: Path, place: Path
) -> None:
    first_bytes = upstream.read_bytes()
    first = land(edition)
    write_hub_file(upstream, [hub_row(1), hub_row(2, title="Another Title")])
    second = land(edition)
    upstream.write_bytes(first_bytes)
    third, is_new = pulled(warehouse, edition)
    assert is_new
    assert third == first != second
    assert {snapshot.folder for snapshot in snapshots(warehouse, "test-2026", "files")} == {first.folder, second.folder}
    ids = [first.record.snapshot_id, second.record.snapshot_id]
    assert [pull["snapshot_id"] for pull in pulls(place)] == [*ids, ids[0]]
    assert current_snapshot(warehouse, "test-2026", "files") == first
    assert find(warehouse, "test-2026", ids[1]) == second


@pytest.mark.parametrize("end", [b'{"snapshot_id": "0123', b"\xff\xfe", b""], ids=["cut", "garbage", "without newline"])
def test_a_last_line_of_pulls_that_a_crash_cut_short_does_not_count(
    warehouse: Warehouse, land: Land, edition: Edition, upstream: Path, place: Path, end: bytes
) -> None:
    first = land(edition)
    log = place / "pulls.jsonl"
    log.write_bytes(log.read_bytes().rstrip(b"\n") + (b"\n" + end if end else b""))
    assert current_snapshot(warehouse, "test-2026", "files") == first
    write_hub_file(upstream, [hub_row(3)])
    second = land(edition)
    assert current_snapshot(warehouse, "test-2026", "files") == second != first


def test_a_pull_of_a_snapshot_that_someone_moved_away_does_not_count(
    warehouse: Warehouse, land: Land, edition: Edition, upstream: Path, tmp_path: Path
) -> None:
    first = land(edition)
    write_hub_file(upstream, [hub_row(3)])
    second = land(edition)
    second.folder.chmod(0o755)
    second.folder.rename(tmp_path / "moved away")
    assert current_snapshot(warehouse, "test-2026", "files") == first
    assert land(edition).record.snapshot_id == second.record.snapshot_id


def test_a_crash_between_the_rename_and_the_note_of_the_pull_heals(
    warehouse: Warehouse, land: Land, edition: Edition, place: Path
) -> None:
    landed = land(edition)
    (place / "pulls.jsonl").unlink()
    assert current_snapshot(warehouse, "test-2026", "files") is None
    before = content(landed.folder)
    again, is_new = pulled(warehouse, edition)
    assert (again, is_new) == (landed, True)
    assert current_snapshot(warehouse, "test-2026", "files") == landed
    assert content(landed.folder) == before
    assert list((place / ".incoming").iterdir()) == []


def test_a_crash_while_a_snapshot_is_built_heals(land: Land, edition: Edition, place: Path, upstream: Path) -> None:
    left = place / ".incoming" / f"{sha256(upstream)[:16]}.building"
    left.mkdir(parents=True)
    (left / "papers.parquet").write_bytes(b"half")
    (left / "stray.parquet").write_bytes(b"half")
    snapshot = land(edition)
    snapshot.verify()
    assert kept(snapshot.folder) == ["papers.parquet", "snapshot.json"]


@pytest.mark.parametrize("damage", ["altered", "cut", "missing", "linked"])
def test_verify_finds_what_happened_to_a_landed_file(land: Land, edition: Edition, upstream: Path, damage: str) -> None:
    snapshot = land(edition)
    snapshot.verify()
    (file,) = snapshot.paths()
    snapshot.folder.chmod(0o755)
    file.chmod(0o644)
    if damage == "altered":
        changed = bytearray(file.read_bytes())
        changed[len(changed) // 2] ^= 1
        file.write_bytes(changed)
    elif damage == "cut":
        os.truncate(file, 100)
    else:
        file.unlink()
    if damage == "linked":
        file.symlink_to(upstream)
    with pytest.raises(LandingError) as caught:
        snapshot.verify()
    said = str(caught.value)
    assert said.startswith(f"{file} is not the file that landed (sha256 {snapshot.record.sha256}")
    assert f"Move the folder {snapshot.folder} away and run again" in said


def test_an_altered_snapshot_is_not_taken_for_the_same_bytes(
    warehouse: Warehouse, land: Land, edition: Edition, upstream: Path
) -> None:
    """A -> B -> A, where the first A was altered on disk meanwhile."""
    first_bytes = upstream.read_bytes()
    first = land(edition)
    write_hub_file(upstream, [hub_row(3)])
    land(edition)
    (file,) = first.paths()
    file.chmod(0o644)
    os.truncate(file, 100)
    upstream.write_bytes(first_bytes)
    with pytest.raises(LandingError, match="is not the file that landed"):
        land(edition)


def test_an_unreadable_record_is_named(warehouse: Warehouse, land: Land, edition: Edition) -> None:
    snapshot = land(edition)
    record = snapshot.folder / "snapshot.json"
    record.chmod(0o644)
    record.write_text('{"snapshot_id": ')
    with pytest.raises(LandingError, match=r"snapshot\.json cannot be read .*move .* away and run again"):
        current_snapshot(warehouse, "test-2026", "files")


PAGE = b"<!DOCTYPE html>\n<html><title>Sign in</title></html>" + b" " * 2000
BAD_FILES = {
    "a page": (PAGE, "an HTML page, not a Parquet file"),
    "a page after blanks": (b"\n\n  <HTML>" + PAGE, "an HTML page, not a Parquet file"),
    "text": (b"title,abstract\nx,y\n", "does not begin with PAR1"),
    "nothing": (b"", "does not begin with PAR1"),
    "garbage between the marks": (b"PAR1" + b"\x00garbage" * 100 + b"PAR1", "damaged Parquet file"),
    "the marks alone": (b"PAR1PAR1", "damaged Parquet file"),
    "one mark": (b"PAR1", "Parquet file"),
}


@pytest.mark.parametrize(("given", "said"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_what_is_not_parquet_is_refused_and_not_kept(
    warehouse: Warehouse, edition: Edition, upstream: Path, place: Path, given: bytes, said: str
) -> None:
    upstream.write_bytes(given)
    with pytest.raises(LandingError) as caught:
        pulled(warehouse, edition)
    message = str(caught.value)
    assert said in message
    assert upstream.as_uri() in message
    assert "\n" not in message
    assert kept(place) == []
    assert current_snapshot(warehouse, "test-2026", "files") is None


def test_a_file_cut_short_is_refused_and_leaves_the_last_good_snapshot(
    warehouse: Warehouse, land: Land, edition: Edition, upstream: Path, place: Path
) -> None:
    good = land(edition)
    before = content(place)
    os.truncate(upstream, upstream.stat().st_size - 10)
    with pytest.raises(LandingError, match=r"cut short \(it does not end with PAR1\); fetch it again"):
        pulled(warehouse, edition)
    assert content(place) == before
    assert current_snapshot(warehouse, "test-2026", "files") == good


def test_one_bad_file_among_several_keeps_none(warehouse: Warehouse, upstream: Path, place: Path) -> None:
    upstream.with_name("z.parquet").write_bytes(PAGE)
    with pytest.raises(LandingError, match=r"z\.parquet gave an HTML page"):
        pulled(warehouse, files_edition(upstream.parent / "*.parquet"))
    assert kept(place) == []


def test_several_files_land_in_order_as_one_snapshot(land: Land, tmp_path: Path) -> None:
    folder = tmp_path / "upstream"
    for name, numbers in (("b.parquet", [3]), ("a.parquet", [1, 2]), ("c.parquet", [4, 5, 6])):
        write_hub_file(folder / name, [hub_row(number) for number in numbers])
    record = land(files_edition(folder / "*.parquet")).record
    assert [(file.name, file.rows) for file in record.files] == [("a.parquet", 2), ("b.parquet", 1), ("c.parquet", 3)]
    assert record.rows == 6
    assert record.bytes == sum(file.bytes for file in record.files)
    joined = "".join(file.sha256 for file in record.files)
    assert record.sha256 == hashlib.sha256(joined.encode()).hexdigest()
    assert record.snapshot_id == record.sha256[:16]


def test_a_source_that_sees_no_change_before_anything_landed_is_an_error(
    warehouse: Warehouse, edition: Edition
) -> None:
    (source,) = edition.sources
    with pytest.raises(LandingError, match="test-2026/files: the source reported no change, yet nothing has landed"):
        landing.land(
            edition,
            source,
            lambda *arguments, **options: None,
            warehouse=warehouse,
            settings=warehouse.settings,
            log=lambda message: None,
        )


def test_a_snapshot_that_is_not_there_is_named(warehouse: Warehouse) -> None:
    with pytest.raises(LandingError, match="nope"):
        find(warehouse, "test-2026", "nope")


def test_snapshots_are_all_that_landed(warehouse: Warehouse, land: Land, edition: Edition, upstream: Path) -> None:
    assert snapshots(warehouse, "test-2026", "files") == []
    first = land(edition)
    write_hub_file(upstream, [hub_row(3)])
    second = land(edition)
    found = {snapshot.record.snapshot_id for snapshot in snapshots(warehouse, "test-2026", "files")}
    assert found == {first.record.snapshot_id, second.record.snapshot_id}


def test_a_new_date_in_the_editions_file_dates_the_same_bytes_anew(
    upstream: Path, land: Land, warehouse: Warehouse
) -> None:
    land(files_edition(upstream))
    dated = {"kind": "files", "path": str(upstream), "as_of": "2025-11-21"}
    assert land(files_edition(upstream, sources=[dated])).record.as_of == datetime(2025, 11, 21, tzinfo=UTC)
    snapshot = current_snapshot(warehouse, "test-2026", "files")
    assert snapshot is not None
    assert snapshot.record.as_of == datetime(2025, 11, 21, tzinfo=UTC)
    assert len(snapshots(warehouse, "test-2026", "files")) == 1
