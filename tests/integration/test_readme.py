"""What the README shows works: its SQL and its Python, on a release, on an old DuckDB, and while a run goes on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from pipelines import publish as releases
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.warehouse import Warehouse
from tests.hub_files import VENUE_ID, ten_papers, write_hub_file

pytestmark = pytest.mark.slow

README = (PROJECT_DIR / "README.md").read_text()
SHIPPED = yaml.safe_load((PROJECT_DIR / "pipelines" / "config" / "editions.yaml").read_text())["editions"]
SYNTHETIC = [edition for edition in SHIPPED if edition["venue"] == "Synthetic"]
REAL = {
    "id": "test-2026",
    "venue": "TEST",
    "year": 2026,
    "venue_id": VENUE_ID,
    "sources": [{"kind": "files", "path": "papers.parquet"}],
}
# Run by another Python: opens the database that the first argument names, answers each query of the standard input.
CLIENT = """\
import duckdb, json, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
answers = [connection.execute(query).fetchall() for query in json.load(sys.stdin)]
names = [name for name, in connection.execute("select table_name from duckdb_tables()").fetchall()]
rows = {name: len(connection.execute(f'select * from "{name}"').fetchall()) for name in names}
print(json.dumps([duckdb.__version__, answers, rows], default=str))
"""


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def launch(edition: str) -> list[str]:
    return [sys.executable, "-m", "pipelines", "run", "--edition", edition]


def environment(folder: Path) -> dict[str, str]:
    mine = {
        "WAREHOUSE_DIR": str(folder / "warehouse"),
        "EDITIONS_FILE": str(folder / "editions.yaml"),
        "DAGSTER_HOME": str(folder / "dagster"),
        "HOME": str(folder),
    }
    return {name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", "HF_"))} | mine


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose warehouse holds a release of the sample, both years."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "editions.yaml").write_text(yaml.safe_dump({"editions": [*SYNTHETIC, REAL]}))
    done = subprocess.run(
        launch("sample"), cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder


def ask(database: Path, queries: list[str]) -> list[list[tuple[Any, ...]]]:
    with duckdb.connect(database, read_only=True) as connection:
        return [connection.execute(query).fetchall() for query in queries]


def test_there_are_five_questions_in_sql() -> None:
    assert len(blocks("sql")) == 5
    assert len(blocks("python")) == 2


def test_each_question_has_an_answer_in_the_sample(folder: Path) -> None:
    """Every column of every answer says something, in more than one row."""
    for query, answer in zip(
        blocks("sql"), ask(folder / "warehouse" / "peer_reviews.duckdb", blocks("sql")), strict=True
    ):
        assert len(answer) > 1, query
        for values in zip(*answer, strict=True):
            assert any(value is not None and value != 0 for value in values), query


def test_the_answers_are_worth_a_look(folder: Path) -> None:
    """Two years with decisions, papers with and without code, and people who wrote in both years."""
    figures, disputed, _, code, people = ask(folder / "warehouse" / "peer_reviews.duckdb", blocks("sql"))
    assert [(edition, 0 < rate < 1) for edition, *_, rate in figures] == [("sample", True), ("sample-2025", True)]
    assert all(least < most for _, _, least, most, _ in disputed)
    assert {status for status, *_ in code} >= {"accepted", "rejected", "withdrawn", "desk_rejected"}
    assert any(0 < with_code < count for _, count, with_code in code)
    assert {(first, last) for _, count, first, last in people if count > 5} == {(2025, 2026)}


def test_the_python_works_beside_the_warehouse_folder(folder: Path) -> None:
    show = 'print(len(connection.sql("from papers").fetchall()), len(duckdb.read_parquet(papers).fetchall()))'
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*blocks("python"), show])], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "459 459\n"


def test_every_mart_is_listed_and_every_listed_mart_is_there(folder: Path) -> None:
    section = README.split("## The data")[1].split("[docs/marts.md]")[0]
    listed = {name for row in re.findall(r"^\|(.+?)\|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    release = (folder / "warehouse" / "current").resolve()
    assert listed == set(releases.read_manifest(release)["marts"])


@pytest.fixture(scope="module")
def oldest_client(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The oldest DuckDB that the README names, in an environment of its own; its version and its Python."""
    (version,) = re.findall(r"opens with DuckDB (\d+\.\d+\.\d+) and later", README)
    place = tmp_path_factory.mktemp("old") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True, timeout=300)
    python = place / "bin" / "python"
    quick = ["--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "15", "--only-binary", ":all:"]
    done = subprocess.run(
        [python, "-m", "pip", "install", *quick, f"duckdb=={version}"], capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        pytest.skip(f"pip cannot install duckdb=={version} here: {reason}")
    return version, python


def test_the_oldest_duckdb_gives_the_same_answers(folder: Path, oldest_client: tuple[str, Path]) -> None:
    version, python = oldest_client
    database = folder / "warehouse" / "peer_reviews.duckdb"
    done = subprocess.run(
        [python, "-c", CLIENT, database], input=json.dumps(blocks("sql")), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    its_version, answers, rows = json.loads(done.stdout)
    assert its_version == version
    assert answers == json.loads(json.dumps(ask(database, blocks("sql")), default=str))
    manifest = releases.read_manifest((folder / "warehouse" / "current").resolve())
    assert {name: rows[name] for name in manifest["marts"]} == {
        name: mart["rows"] for name, mart in manifest["marts"].items()
    }


def test_readers_and_a_run_do_not_meet(folder: Path) -> None:
    """A session that stays open, and a new one every moment, through a run that publishes another release."""
    warehouse = Warehouse(Settings(warehouse_dir=folder / "warehouse"))
    before = releases.current_id(warehouse)
    write_hub_file(folder / "papers.parquet", ten_papers())
    staying = duckdb.connect(warehouse.database, read_only=True)
    expected = [staying.execute(query).fetchall() for query in blocks("sql")]
    editions_seen = set()
    with (folder / "run.log").open("w") as log:
        run = subprocess.Popen(
            launch("test-2026"), cwd=folder, env=environment(folder), stdout=log, stderr=subprocess.STDOUT
        )
        rounds = 0
        while run.poll() is None:
            answers = ask(warehouse.database, blocks("sql"))
            editions_seen.add(tuple(row[0] for row in answers[0]))
            rounds += 1
    assert run.returncode == 0, (folder / "run.log").read_text()[-3000:]
    assert rounds > 10
    assert releases.current_id(warehouse) != before
    assert editions_seen <= {("sample", "sample-2025"), ("test-2026",)}
    assert ("sample", "sample-2025") in editions_seen
    assert [staying.execute(query).fetchall() for query in blocks("sql")] == expected
    staying.close()
    assert [row[0] for row in ask(warehouse.database, blocks("sql")[:1])[0]] == ["test-2026"]
