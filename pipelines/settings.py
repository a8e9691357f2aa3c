"""Every setting of the pipeline, read from the environment in this one place.

Here belongs what an operator may turn without touching code: folders, waits, limits. What an edition is made of
belongs in `editions.yaml`; facts about venues and years are dbt seeds.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import click

PROJECT_DIR = Path(__file__).resolve().parent.parent


class SettingsError(click.ClickException):
    """A variable that cannot be used, in one sentence; Dagster's and our own CLI print it without a traceback."""


def _path(variable: str, default: Path) -> Path:
    """An absolute path from the environment; a relative one counts from the current directory, as in a shell."""
    return Path(os.environ.get(variable) or default).expanduser().absolute()


def _number(variable: str, default: float) -> float:
    given = os.environ.get(variable)
    if not given:
        return default
    try:
        return float(given)
    except ValueError:
        raise SettingsError(f"{variable}={given!r} is not a number; set it to one such as {default:g}.") from None


@dataclass(frozen=True)
class Settings:
    """What the environment says; `.env.example` lists each variable with its default."""

    warehouse_dir: Path = field(default_factory=lambda: _path("WAREHOUSE_DIR", PROJECT_DIR / "warehouse"))
    editions_file: Path = field(
        default_factory=lambda: _path("EDITIONS_FILE", PROJECT_DIR / "pipelines" / "editions.yaml")
    )
    dbt_project_dir: Path = PROJECT_DIR / "dbt_project"
    lock_wait_seconds: float = field(default_factory=lambda: _number("LOCK_WAIT_SECONDS", 600))
    http_timeout_seconds: float = field(default_factory=lambda: _number("HTTP_TIMEOUT_SECONDS", 60))
    http_attempts: int = field(default_factory=lambda: int(_number("HTTP_ATTEMPTS", 5)))
    http_max_wait_seconds: float = field(default_factory=lambda: _number("HTTP_MAX_WAIT_SECONDS", 300))
    http_answer_seconds: float = field(default_factory=lambda: _number("HTTP_ANSWER_SECONDS", 7200))
    dbt_parse_seconds: float = field(default_factory=lambda: _number("DBT_PARSE_SECONDS", 600))
    dbt_build_seconds: float = field(default_factory=lambda: _number("DBT_BUILD_SECONDS", 7200))
    gate_seconds: float = field(default_factory=lambda: _number("GATE_SECONDS", 3600))
    run_seconds: float = field(default_factory=lambda: _number("RUN_SECONDS", 21600))
    memory_limit: str = field(default_factory=lambda: os.environ.get("DUCKDB_MEMORY_LIMIT") or "4GB")
    threads: int = field(default_factory=lambda: int(_number("DUCKDB_THREADS", os.cpu_count() or 2)))
    releases_kept: int = field(default_factory=lambda: int(_number("RELEASES_KEPT", 5)))
    releases_grace_minutes: float = field(default_factory=lambda: _number("RELEASES_GRACE_MINUTES", 5))
    leftovers_kept_days: float = field(default_factory=lambda: _number("LEFTOVERS_KEPT_DAYS", 7))
    dagster_runs_kept: int = field(default_factory=lambda: int(_number("DAGSTER_RUNS_KEPT", 10)))
    dagster_runs_kept_days: float = field(default_factory=lambda: _number("DAGSTER_RUNS_KEPT_DAYS", 30))
    # The address of a Slack webhook is its password: it stays out of every text that shows the settings.
    notify_webhook_url: str = field(
        default_factory=lambda: os.environ.get("NOTIFY_WEBHOOK_URL", "").strip(), repr=False
    )
    notify_timeout_seconds: float = field(default_factory=lambda: _number("NOTIFY_TIMEOUT_SECONDS", 10))
