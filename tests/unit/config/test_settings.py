"""`pipelines/config/settings.py`: the environment, read in one place."""

import re
from pathlib import Path

import pytest

from pipelines.config.settings import PROJECT_DIR, Settings, SettingsError


def test_defaults_lead_into_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAREHOUSE_DIR")
    settings = Settings()
    assert settings.warehouse_dir == PROJECT_DIR / "warehouse"
    assert settings.editions_file == PROJECT_DIR / "pipelines" / "config" / "editions.yaml"
    assert (settings.dbt_project_dir / "dbt_project.yml").is_file()
    assert (settings.lock_wait_seconds, settings.http_attempts, settings.releases_kept) == (600, 5, 5)
    assert settings.threads >= 1


def test_the_environment_is_read_when_settings_are_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable, value in {
        "WAREHOUSE_DIR": str(tmp_path / "elsewhere"),
        "EDITIONS_FILE": str(tmp_path / "mine.yaml"),
        "LOCK_WAIT_SECONDS": "1.5",
        "HTTP_TIMEOUT_SECONDS": "7",
        "HTTP_ATTEMPTS": "2",
        "HTTP_MAX_WAIT_SECONDS": "9",
        "DUCKDB_MEMORY_LIMIT": "2GB",
        "DUCKDB_THREADS": "3",
        "RELEASES_KEPT": "4",
        "RELEASES_GRACE_MINUTES": "60",
        "LEFTOVERS_KEPT_DAYS": "3",
        "DAGSTER_RUNS_KEPT": "200",
        "DAGSTER_RUNS_KEPT_DAYS": "90",
        "NOTIFY_WEBHOOK_URL": " https://chat.example/hook ",
        "NOTIFY_TIMEOUT_SECONDS": "4",
        "HTTP_ANSWER_SECONDS": "11",
        "DBT_PARSE_SECONDS": "12",
        "DBT_BUILD_SECONDS": "13",
        "GATE_SECONDS": "14",
        "RUN_SECONDS": "15",
    }.items():
        monkeypatch.setenv(variable, value)
    assert Settings() == Settings(
        warehouse_dir=tmp_path / "elsewhere",
        editions_file=tmp_path / "mine.yaml",
        lock_wait_seconds=1.5,
        http_timeout_seconds=7,
        http_attempts=2,
        http_max_wait_seconds=9,
        memory_limit="2GB",
        threads=3,
        releases_kept=4,
        releases_grace_minutes=60,
        leftovers_kept_days=3,
        dagster_runs_kept=200,
        dagster_runs_kept_days=90,
        notify_webhook_url="https://chat.example/hook",
        notify_timeout_seconds=4,
        http_answer_seconds=11,
        dbt_parse_seconds=12,
        dbt_build_seconds=13,
        gate_seconds=14,
        run_seconds=15,
    )


def test_relative_paths_count_from_the_current_directory_and_home_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAREHOUSE_DIR", "here")
    assert Settings().warehouse_dir == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WAREHOUSE_DIR", "~/there")
    assert Settings().warehouse_dir == tmp_path / "home" / "there"


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("WAREHOUSE_DIR", "LOCK_WAIT_SECONDS", "DUCKDB_MEMORY_LIMIT"):
        monkeypatch.setenv(variable, "")
    settings = Settings()
    assert settings.warehouse_dir == PROJECT_DIR / "warehouse"
    assert (settings.lock_wait_seconds, settings.memory_limit) == (600, "4GB")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LOCK_WAIT_SECONDS", "ten minutes", "should be a valid number, .*; the default is 600."),
        ("DUCKDB_THREADS", "0", "should be greater than 0; the default is "),
        ("DUCKDB_MEMORY_LIMIT", "4 gig", "; the default is 4GB."),
        ("RELEASES_KEPT", "0", "should be greater than 0; the default is 5."),
        ("GATE_SECONDS", "nan", "should be greater than 0; the default is 3600."),
        ("REBUILD", "maybe", "should be a valid boolean, .*; the default is False."),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"^{variable}='{value}' cannot be used: .*{said}"):
        Settings()


def test_other_programs_variables_are_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Settings()
    for variable in ("THREADS", "MEMORY_LIMIT", "TEMP_DIR", "DBT_PROJECT_DIR", "warehouse_DIR"):
        monkeypatch.setenv(variable, "/elsewhere")
    assert Settings() == before


def test_the_example_lists_every_variable() -> None:
    listed = set(re.findall(r"^#?([A-Z_]+)=", (PROJECT_DIR / ".env.example").read_text(), re.MULTILINE))
    code = "".join(file.read_text() for file in (PROJECT_DIR / "pipelines").rglob("*.py"))
    read = {str(field.alias) for field in Settings.model_fields.values()}
    read |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', code))
    read |= set(re.findall(r'getenv\("([A-Z_]+)"', code))
    assert read >= {"WAREHOUSE_DIR", "RELEASES_KEPT", "DUCKDB_MEMORY_LIMIT", "DAGSTER_HOME"}
    # What the pipeline tells its own child process, and where the code is, are no settings.
    assert read - {"RELEASED_DATABASE", "dbt_project_dir"} <= listed
