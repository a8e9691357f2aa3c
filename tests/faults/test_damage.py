"""Files that are damaged or gone when a run begins: caches heal, data that rotted is found before it is used.

What can be made again (dbt's target, Dagster's home, the working databases) must never need a person. What cannot
(landing, releases) must be found by hash, named, and stay out of what is published.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines import publish as releases
from pipelines.land.landing import current_snapshot
from pipelines.publish import promotion
from pipelines.releases import main
from pipelines.sources.fetched import LandingError
from tests.faults.runs import Place, copy_project
from tests.faults.small import Small
from tests.faults.state import State, nothing_lost
from tests.faults.tally import Tally

pytestmark = [pytest.mark.faults("damage"), pytest.mark.slow]

FULL = pytest.mark.faults_full
SEED = 20261130
BOTH = ("test-2025", "test-2026")


def overwrite(file: Path, change: Callable[[bytes], bytes]) -> None:
    """Change a file's bytes as rot does it: size (where the change keeps it) and time stay."""
    status = file.stat()
    file.chmod(0o644)
    file.write_bytes(change(file.read_bytes()))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    file.chmod(status.st_mode & 0o7777)


def flipped(at: float) -> Callable[[bytes], bytes]:
    """One bit of the byte at this share of the file."""

    def change(content: bytes) -> bytes:
        place = min(int(len(content) * at), len(content) - 1)
        return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]

    return change


def cut(at: float) -> Callable[[bytes], bytes]:
    """The file ends at this share of it."""
    return lambda content: content[: int(len(content) * at)]


# --- what can be made again -------------------------------------------------------------------------------------------


def leave_log(database: Path, change: Callable[[bytes], bytes]) -> None:
    """A process died with a commit in the log only, and then the log was damaged."""
    write = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); "
        "c.execute('create or replace table left_over as select range as n from range(10000)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", write, str(database)], check=True)
    wal = database.with_name(f"{database.name}.wal")
    assert wal.stat().st_size > 1000
    overwrite(wal, change)


def manifest_of(place: Place) -> Path:
    return place.project / "dbt_project" / "target" / "manifest.json"


def make_of_another_version(place: Place) -> None:
    """A manifest and a parse that an older dbt left, newer than every file of the project."""
    manifest = json.loads(manifest_of(place).read_text())
    manifest["metadata"]["dbt_version"] = "1.7.0"
    manifest["metadata"]["dbt_schema_version"] = "https://schemas.getdbt.com/dbt/manifest/v11.json"
    manifest["nodes"] = {}
    manifest_of(place).write_text(json.dumps(manifest))


def move(place: Place) -> None:
    """The project is in another folder now, with what dbt remembers of the old one."""
    place.project = place.project.rename(place.folder / f"moved {place.project.name}")


DAMAGES: dict[str, Callable[[Place], object]] = {
    "DAGSTER_HOME lost": lambda place: shutil.rmtree(place.folder / "dagster"),
    "target lost": lambda place: shutil.rmtree(place.project / "dbt_project" / "target"),
    "manifest lost": lambda place: manifest_of(place).unlink(),
    "manifest truncated": lambda place: overwrite(manifest_of(place), cut(0.5)),
    "manifest of another dbt": make_of_another_version,
    "partial parse truncated": lambda place: overwrite(manifest_of(place).with_name("partial_parse.msgpack"), cut(0.5)),
    "project moved": move,
    "working header flipped": lambda place: overwrite(place.warehouse.working_database, flipped(0)),
    "working cut": lambda place: overwrite(place.warehouse.working_database, cut(0.4)),
    "working log cut": lambda place: leave_log(place.warehouse.working_database, cut(0.5)),
    "working log flipped": lambda place: leave_log(place.warehouse.working_database, flipped(0.5)),
    "working lost": lambda place: place.warehouse.working_database.unlink(),
    "marts header flipped": lambda place: overwrite(place.warehouse.marts_database, flipped(0)),
    "marts cut": lambda place: overwrite(place.warehouse.marts_database, cut(0.4)),
    "marts log cut": lambda place: leave_log(place.warehouse.marts_database, cut(0.5)),
    "marts log flipped": lambda place: leave_log(place.warehouse.marts_database, flipped(0.5)),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two editions are released; only one of them has news later, and the other's text is taken from the release."""
    folder = tmp_path_factory.mktemp("damage")
    place = Place(folder, copy_project(folder))
    place.write_editions(*BOTH)
    for edition_id in BOTH:
        place.news(edition_id)
    done = place.run("-m", "pipelines", "run", "--edition", "all")
    assert done.process.returncode == 0, done.text[-4000:]
    return place


@pytest.mark.parametrize(
    "names",
    [
        # Several at once, each of another kind, since every one costs a run; between them all that there are.
        pytest.param(("DAGSTER_HOME lost", "manifest of another dbt", "working header flipped", "marts log flipped")),
        pytest.param(("target lost", "working lost", "marts header flipped"), marks=FULL),
        pytest.param(("manifest lost", "working log cut", "marts cut"), marks=FULL),
        pytest.param(("manifest truncated", "working cut", "marts log cut"), marks=FULL),
        pytest.param(("partial parse truncated", "working log flipped"), marks=FULL),
        pytest.param(("project moved",), marks=FULL),
    ],
    ids=", ".join,
)
def test_a_run_makes_again_what_it_can(place: Place, tally: Tally, names: tuple[str, ...]) -> None:
    place.news()
    for name in names:
        DAMAGES[name](place)
        tally.injected += 1
    # A cut that DuckDB meets only as it reads takes a second run.
    heals(place, tally, second_run=any(name.endswith(" cut") and "log" not in name for name in names))
    tally.recovered += len(names)
    # Nothing that did not open is thrown away.
    if any("header flipped" in name for name in names):
        assert list(place.root.glob("*.damaged-*"))


@FULL
@pytest.mark.parametrize("database", ["working", "marts"])
@pytest.mark.parametrize("number", range(3))
def test_a_bit_of_a_database_flips_anywhere(place: Place, tally: Tally, database: str, number: int) -> None:
    """DuckDB finds it by the block's checksum as it reads; the next run, at the latest, has made the file anew."""
    chance = random.Random(f"{SEED} {database} {number}")
    place.news()
    file = getattr(place.warehouse, f"{database}_database")
    overwrite(file, flipped(at := chance.random()))
    print(f"{file.name}: bit flipped at {at:.3f}")
    tally.injected += 1
    heals(place, tally, second_run=True)
    tally.recovered += 1


def heals(place: Place, tally: Tally, *, second_run: bool) -> None:
    """A run succeeds, or, where that may be, says in a sentence what is damaged and the next one succeeds."""
    before = State.of(place.warehouse)
    run = place.run()
    assert "Traceback (most recent" not in run.text
    between = nothing_lost(before, place.warehouse)
    if run.process.returncode:
        assert second_run, run.text[-4000:]
        assert between.current == before.current
        place.complete()
    assert nothing_lost(between, place.warehouse).current != before.current
    tally.rows_lost += place.rows_lost(*BOTH)
    assert tally.rows_lost == 0


@pytest.mark.parametrize(
    "change",
    [flipped(0.5), pytest.param(flipped(0), marks=FULL), pytest.param(cut(0.5), marks=FULL)],
    ids=["flipped", "header flipped", "cut"],
)
def test_a_current_release_that_rotted_is_not_built_upon(
    place: Place, tally: Tally, change: Callable[[bytes], bytes]
) -> None:
    """An edition without news takes its text from the current release, unless that is not what was published."""
    place.news()
    database = place.warehouse.database.resolve()
    kept = database.read_bytes()
    overwrite(database, change)
    tally.injected += 1
    with pytest.raises(releases.ReleaseError, match=r"peer_reviews\.duckdb differs"):
        releases.verify(database.parent)
    place.complete()
    assert place.warehouse.database.resolve() != database
    releases.verify(place.warehouse.current.resolve())
    tally.rows_lost += place.rows_lost(*BOTH)
    assert tally.rows_lost == 0
    tally.recovered += 1
    # For the tests that come after.
    overwrite(database, lambda _: kept)


# --- landing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Small:
    small = Small(tmp_path)
    small.news(1)
    small.land()
    small.stage()
    small.publish(1)
    return small


@pytest.mark.parametrize("change", [flipped(0.5), cut(0.5), lambda content: b""], ids=["flipped", "cut", "emptied"])
@pytest.mark.parametrize("when", ["before staging", "before modelling"])
def test_a_snapshot_that_rotted_is_found_before_it_is_used(
    small: Small, tally: Tally, change: Callable[[bytes], bytes], when: str
) -> None:
    small.news(2)
    small.land()
    if when == "before modelling":
        small.stage()
    published = State.of(small.warehouse)
    snapshot = current_snapshot(small.warehouse, small.edition.id, "files")
    assert snapshot is not None
    (file,) = snapshot.paths()
    overwrite(file, change)
    tally.injected += 1

    with pytest.raises(LandingError) as caught:
        (small.stage if when == "before staging" else small.begin_models)()
    assert str(caught.value).startswith(f"{file} is not the file that landed (sha256 ")
    assert f"Move the folder {file.parent} away and run again" in str(caught.value)
    assert State.of(small.warehouse).releases == published.releases
    # What the message says to do is enough.
    file.parent.chmod(0o755)
    shutil.move(file.parent, small.folder / "rotten")
    small.land()
    small.stage()
    small.begin_models()
    assert small.land() == snapshot.record.snapshot_id
    tally.recovered += 1


def test_rot_is_found_in_the_run_that_would_read_it(place: Place, tally: Tally) -> None:
    """Size and time are as before, staging has nothing to do, and yet the models do not read it."""
    snapshot = current_snapshot(place.warehouse, "test-2026", "files")
    assert snapshot is not None
    (file,) = snapshot.paths()
    kept = file.read_bytes()
    overwrite(file, flipped(0.5))
    # Something else makes the models run again.
    model = next((place.project / "dbt_project" / "models" / "marts").glob("papers.sql"))
    model.write_text(model.read_text() + "\n-- changed\n")
    before = State.of(place.warehouse)
    tally.injected += 1
    run = place.run()
    assert run.process.returncode == 1
    assert f"Error: modelled: {file} is not the file that landed" in run.text
    assert State.of(place.warehouse) == before
    overwrite(file, lambda _: kept)
    place.complete()
    tally.recovered += 1


# --- releases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [cut(0.9), flipped(0.5)], ids=["cut", "flipped"])
def test_a_damaged_release_file_is_named_by_verify(
    small: Small, tally: Tally, change: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("WAREHOUSE_DIR", str(small.root))
    assert main(["verify"]) == 0
    current = small.warehouse.current.resolve()
    for path in releases.read_manifest(current)["files"]:
        file = current / path["path"]
        kept = file.read_bytes()
        overwrite(file, change)
        tally.injected += 1
        capsys.readouterr()
        assert main(["verify"]) == 1
        assert f"{path['path']} differs" in capsys.readouterr().err
        overwrite(file, lambda _, kept=kept: kept)
    assert main(["verify"]) == 0
    tally.recovered += tally.injected


@pytest.mark.parametrize("moment", ["before the verdict is read", "after it was compared"])
def test_a_candidate_that_loses_a_byte_is_not_published(
    small: Small, tally: Tally, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The files are hashed twice: against the verdict, and, whole with manifest and links, before they are renamed."""
    before = State.of(small.warehouse)
    small.model(2)
    release_id = small.candidate()
    file = small.warehouse.candidates / str(release_id) / "release" / "reviews" / "test-2026.parquet"
    if moment == "before the verdict is read":
        overwrite(file, cut(0.9))
    else:
        write_manifest = promotion.write_manifest

        def and_then_rot(*arguments: object) -> None:
            write_manifest(*arguments)  # type: ignore[arg-type]
            overwrite(file, flipped(0.5))

        monkeypatch.setattr(promotion, "write_manifest", and_then_rot)
    tally.injected += 1
    with pytest.raises(releases.ReleaseError, match=r"reviews/test-2026\.parquet"):
        small.promote()
    assert State.of(small.warehouse) == before
    monkeypatch.undo()
    # The next run's candidate stands in for it.
    assert small.candidate() not in (None, release_id)
    assert small.promote() == releases.current_id(small.warehouse)
    nothing_lost(before, small.warehouse)
    tally.recovered += 1
