"""The benchmark compares like with like: on a small generated input, the candidates make the pipeline's own tables."""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import fingerprint, generate, inputs, limit, run
from benchmarks.fingerprint import Fingerprint
from pipelines import publish as releases
from pipelines.config.editions import load_editions
from pipelines.config.settings import PROJECT_DIR
from tests.model_runs import ModelRun

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two editions of 200 papers, some without reviews."""
    folder = tmp_path_factory.mktemp("raw")
    generate.write_editions(400, 2, folder)
    return folder


@pytest.fixture(scope="module")
def ours(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the pipeline's candidate release of them."""
    folder = tmp_path_factory.mktemp("ours")
    (folder / "editions.yaml").write_text(inputs.editions_yaml(inputs.at(raw)), encoding="utf-8")
    model = ModelRun(folder)
    model.stage(*load_editions(folder / "editions.yaml").editions)
    model.build()
    candidate = releases.build_candidate(model.warehouse, lambda message: None)
    assert candidate is not None
    return candidate.release


@pytest.fixture(scope="module")
def expected(ours: Path) -> dict[str, Fingerprint]:
    found = fingerprint.of_folder(ours, limit.MARTS)
    assert {name for name, of_table in found.items() if of_table.rows} == set(run.FILLED)
    assert found["papers"].rows == 400
    return found


def test_the_releases_database_has_the_files_rows(ours: Path, expected: dict[str, Fingerprint]) -> None:
    fingerprint.require_equal(expected, fingerprint.of_database(ours / limit.DATABASE, limit.MARTS), "ours")


def test_the_limit_makes_the_same_tables(raw: Path, expected: dict[str, Fingerprint], tmp_path: Path) -> None:
    limit.run(inputs.at(raw), tmp_path / "both")
    limit.run(inputs.at(raw), tmp_path / "files", database=False)
    fingerprint.require_equal(expected, fingerprint.of_folder(tmp_path / "both", limit.MARTS), "limit")
    fingerprint.require_equal(expected, fingerprint.of_folder(tmp_path / "files", limit.MARTS), "limit, Parquet only")
    database = tmp_path / "both" / limit.DATABASE
    fingerprint.require_equal(expected, fingerprint.of_database(database, limit.MARTS), "limit, database")


@pytest.mark.parametrize("name", ["polars", "pandas", "plain_dbt", "dlt"])
def test_the_peers_make_the_same_tables(name: str, raw: Path, expected: dict[str, Fingerprint], tmp_path: Path) -> None:
    if name != "plain_dbt" and not run.BENCH_PYTHON.exists():
        pytest.skip("the peers' environment .venv-bench is not there; `make bench` makes it")
    candidate = run.BY_NAME[name]
    environment = os.environ | {"PYTHONPATH": str(PROJECT_DIR), "HOME": str(tmp_path), "DUCKDB_THREADS": "2"}
    command = candidate.command(raw, tmp_path)
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    bench = run.Bench(raw, expected={"two": expected})
    bench.input = lambda size: inputs.at(raw)  # type: ignore[method-assign]
    candidate.check(bench, "two", tmp_path)
