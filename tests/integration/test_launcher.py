"""The launcher around a run, in a copy of the project as a clone has it: make, `.env`, folders, console, telemetry.

What the runs themselves do is in `test_main_job.py`. Dagster's own commands are tried on the copy too, since a
`dagster.yaml`, a `workspace.yaml` or a `[tool.dg]` that nothing reads would otherwise go unnoticed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.config.settings import PROJECT_DIR

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
CLONED = ("pipelines", "expectations", "dbt_project")
FILES = ("Makefile", "pyproject.toml", "requirements.lock", "workspace.yaml", "dagster.yaml")
EDITION = """\
editions:
  - id: {id}
    venue: Synthetic
    year: 2026
    venue_id: Synthetic.example/2026/Conference
    sources: [{{kind: sample}}]
"""


@dataclass(frozen=True)
class Clone:
    """A copy of the project's own files in a folder with a blank in its name, and a home that holds nothing yet."""

    project: Path
    home: Path

    def call(self, *command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command with nothing of the developer's environment but PATH."""
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONPATH": str(self.project)}
        return subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def launch(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        elsewhere = self.project.parent / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return self.call(sys.executable, "-m", "pipelines", *words, cwd=elsewhere, **environment)

    def make(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """make in the clone, from another folder; the environment counts as set up, since it is this very one."""
        return self.call("make", "-o", ".venv/.complete", "--no-print-directory", "-C", self.project, *words, cwd=cwd)


def make_clone(folder: Path) -> Clone:
    clone = Clone(folder / "a clone", folder / "home")
    clone.home.mkdir()
    leave = shutil.ignore_patterns("__pycache__", "target", "logs")
    for name in CLONED:
        shutil.copytree(PROJECT_DIR / name, clone.project / name, ignore=leave)
    for name in FILES:
        shutil.copy2(PROJECT_DIR / name, clone.project / name)
    (clone.project / ".venv").symlink_to(BIN.parent)
    return clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_clone(tmp_path)


# --- one run through make, with everything that `.env` may say --------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Clone, str]:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    clone = make_clone(tmp_path_factory.mktemp("launcher"))
    (clone.project / ".env").write_text("WAREHOUSE_DIR=data/here\nDAGSTER_HOME=state/dagster\n")
    done = clone.make("run", cwd=clone.home)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return clone, done.stdout + done.stderr


def test_make_run_releases_both_years_of_the_sample_and_says_that_it_is_synthetic(run: tuple[Clone, str]) -> None:
    _, said = run
    assert re.search(r"^Release \S+ \(new\)$", said, re.MULTILINE)
    assert "It is SYNTHETIC" in said
    assert re.search(r"^ +papers +459 rows$", said, re.MULTILINE)
    assert re.search(r"^ +editions +2 rows$", said, re.MULTILINE)


def test_relative_folders_of_the_env_file_are_honoured(run: tuple[Clone, str]) -> None:
    clone, said = run
    assert f"DuckDB:   {clone.project}/data/here/peer_reviews.duckdb" in said
    assert (clone.project / "data" / "here" / "current" / "manifest.json").is_file()
    assert (clone.project / "state" / "dagster" / "history").is_dir()
    assert not (clone.project / "warehouse").exists()
    assert not (clone.project / ".dagster").exists()


def test_nothing_is_written_to_the_users_home(run: tuple[Clone, str]) -> None:
    """Neither Dagster's telemetry nor dbt's user id."""
    clone, _ = run
    assert list(clone.home.iterdir()) == []
    assert not list(clone.project.rglob(".telemetry"))
    assert not list(clone.project.rglob("event.log"))


def test_the_output_is_calm_and_the_full_log_is_kept(run: tuple[Clone, str]) -> None:
    clone, said = run
    assert len(said.splitlines()) < 90, said  # two lines for each of the sample's seven sources, one for each status
    for step in ("landed", "staged", "modelled", "candidate", "published"):
        assert re.search(rf"^\d\d:\d\d:\d\d {step}: started$", said, re.MULTILINE), step
    assert not re.search(r"^\d+ of \d+ ", said, re.MULTILINE)
    assert re.search(r"^Done\. PASS=\d+ WARN=0 ERROR=0", said, re.MULTILINE)
    (log,) = (clone.project / "dbt_project" / "target").glob("modelled-*/dbt.log")
    assert re.search(r" 1 of \d+ START ", log.read_text())


def test_no_warning_but_the_gates(run: tuple[Clone, str]) -> None:
    _, said = run
    assert not re.search(r"\w+Warning\b|deprecat|superseded", said, re.IGNORECASE)
    assert "Traceback" not in said
    assert all(" candidate: WARNING: " in line for line in said.splitlines() if "WARNING" in line)


# --- what a run does not need -----------------------------------------------------------------------------------------


def test_a_failure_is_said_once_without_a_traceback_and_names_its_run(clone: Clone) -> None:
    (clone.project / "pipelines" / "config" / "editions.yaml").write_text(
        EDITION.format(id="absent").replace("kind: sample", "kind: files, path: absent.parquet")
    )
    done = clone.launch("run", "--edition", "absent")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "Traceback (" not in said
    assert re.search(r"^Tracebacks are in the UI \(make dev\), run [0-9a-f-]{36}\.$", said, re.MULTILINE)
    assert len(said.splitlines()) < 10, said
    assert done.stderr.splitlines()[-1].startswith("Error: landed: ")


def test_the_environment_wins_over_the_env_file(clone: Clone) -> None:
    for name in ("theirs", "ours"):
        (clone.project / f"{name}.yaml").write_text(EDITION.format(id=name))
    (clone.project / ".env").write_text(f"EDITIONS_FILE={clone.project}/theirs.yaml\n")
    said = clone.launch("run", "--edition", "nope").stderr
    assert said == "Error: There is no edition 'nope'; the editions file has: theirs.\n"
    said = clone.launch("run", "--edition", "nope", EDITIONS_FILE=f"{clone.project}/ours.yaml").stderr
    assert said == "Error: There is no edition 'nope'; the editions file has: ours.\n"


def test_dagster_reads_the_env_file_of_the_current_folder(clone: Clone) -> None:
    (clone.project / "theirs.yaml").write_text(EDITION.format(id="theirs").replace("sample", "pigeon"))
    (clone.project / ".env").write_text("EDITIONS_FILE=theirs.yaml\n")
    command = (BIN / "dagster", "asset", "materialize", "-m", "pipelines.definitions", "--select", "landed")
    done = clone.call(*command, "--partition", "theirs", cwd=clone.project)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith(f"Error: {clone.project}/theirs.yaml: edition 'theirs'")


def test_a_setting_that_is_not_a_number_is_one_sentence(clone: Clone) -> None:
    done = clone.launch("run", HTTP_TIMEOUT_SECONDS="soon")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: HTTP_TIMEOUT_SECONDS='soon' cannot be used: input should be a valid number, unable to parse string as "
        "a number; the default is 60.\n"
    )


@pytest.mark.parametrize("command", ["run", "dev"])
def test_a_broken_editions_file_is_one_sentence_from_make(clone: Clone, command: str) -> None:
    (clone.project / "pipelines" / "config" / "editions.yaml").write_text(
        EDITION.format(id="x").replace("sample", "pigeon")
    )
    done = clone.make(command, cwd=clone.home)
    assert done.returncode != 0
    assert done.stdout == ""
    said, make = done.stderr.splitlines()
    assert said.startswith(
        f"Error: {clone.project}/pipelines/config/editions.yaml: edition 'x', source number 1: kind 'pigeon'"
    )
    assert make.startswith("make: ***")


def test_a_broken_model_is_one_sentence_from_make(clone: Clone) -> None:
    (clone.project / "dbt_project" / "models" / "marts" / "papers.sql").write_text("select {{ ref('nowhere') }}")
    done = clone.make("run", cwd=clone.home)
    assert done.returncode != 0
    error = next(line for line in done.stderr.splitlines() if line.startswith("Error: "))
    assert error.startswith(f"Error: dbt cannot parse {clone.project}/dbt_project: ")
    assert "nowhere" in error
    assert "Traceback" not in done.stderr


def test_make_help_lists_every_verb(clone: Clone) -> None:
    done = clone.make(cwd=clone.home)
    listed = dict(re.findall(r"^make (\S+) +(\S.*)$", done.stdout, re.MULTILINE))
    makefile = (clone.project / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(listed) == set(phony.split())
    assert set(listed) >= {"help", "setup", "run", "dev", "test", "lint", "format", "docs", "clean"}
    assert len(done.stdout.splitlines()) == len(listed)


# --- Dagster's own commands -------------------------------------------------------------------------------------------


def test_plain_dagster_in_the_project_sends_no_telemetry_either(clone: Clone) -> None:
    """Without DAGSTER_HOME it takes `dagster.yaml` of the current folder, as a fresh clone has it."""
    command = (BIN / "dagster", "asset", "materialize", "-m", "pipelines.definitions", "--select", "landed")
    done = clone.call(*command, "--partition", "sample", cwd=clone.project)
    assert done.returncode == 0, done.stderr[-3000:]
    # A partition is one edition; the whole sample is the launcher's word.
    assert [folder.name for folder in (clone.project / "warehouse" / "landing").iterdir()] == ["sample"]
    assert list(clone.home.iterdir()) == []


def test_dg_knows_the_project(clone: Clone) -> None:
    home = clone.project / ".dagster"
    home.mkdir()
    shutil.copyfile(clone.project / "dagster.yaml", home / "dagster.yaml")
    # dg runs the environment in which it is found.
    settings = {"DAGSTER_HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    checked = clone.call(BIN / "dg", "check", "defs", cwd=clone.project, **settings)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "All definitions loaded successfully." in checked.stdout + checked.stderr
    assert "This may lead to unexpected behavior" not in checked.stdout + checked.stderr
    listed = clone.call(BIN / "dg", "list", "defs", "--json", cwd=clone.project, **settings)
    assert listed.returncode == 0, listed.stderr
    found = json.loads(listed.stdout)
    assert {"landed", "staged", "candidate", "published", "marts/papers"} <= {
        asset["asset_key"] for asset in found["assets"]
    }
    assert {schedule["name"] for schedule in found["schedules"]} == {"daily_maintenance", "daily_refresh"}
    assert list(clone.home.iterdir()) == []


def test_the_workspace_file_works_from_any_folder(clone: Clone) -> None:
    command = (BIN / "dagster", "definitions", "validate", "-w", clone.project / "workspace.yaml")
    done = clone.call(*command, cwd=clone.home, DAGSTER_HOME=str(clone.home))
    assert done.returncode == 0, done.stderr
    assert "Validation successful for code location peer_reviews" in done.stdout + done.stderr
