"""Every setting of the pipeline, read from the environment in this one place.

Here belongs what an operator may turn without touching code: folders, waits, limits. What an edition is made of
belongs in `editions.yaml`; facts about venues and years are dbt seeds.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import click

PROJECT_DIR = Path(__file__).resolve().parents[2]


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


# What is read where it is used and never shown; NOTIFY_WEBHOOK_URL carries its own password.
SECRETS = ("HF_TOKEN", "OPENREVIEW_PASSWORD", "OPENREVIEW_TOKEN", "OPENREVIEW_USERNAME", "NOTIFY_WEBHOOK_URL")


def without_secrets(text: str) -> str:
    """The text with the value of every secret in the environment as `***`: the last line of defence, for what is shown.

    Values of less than six characters stay, since they would be found in any text.
    """
    for name in SECRETS:
        value = os.environ.get(name, "").strip()
        for secret in {value, value.removeprefix("Bearer ")} if len(value) >= 6 else ():
            text = text.replace(secret, "***")
    return text


@dataclass(frozen=True)
class Settings:
    """What the environment says; `.env.example` lists each variable with its default."""

    warehouse_dir: Path = field(default_factory=lambda: _path("WAREHOUSE_DIR", PROJECT_DIR / "warehouse"))
    editions_file: Path = field(
        default_factory=lambda: _path("EDITIONS_FILE", PROJECT_DIR / "pipelines" / "config" / "editions.yaml")
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
    temp_dir: Path | None = field(
        default_factory=lambda: _path("DUCKDB_TEMP_DIR", Path()) if os.environ.get("DUCKDB_TEMP_DIR") else None
    )
    threads: int = field(default_factory=lambda: int(_number("DUCKDB_THREADS", os.cpu_count() or 2)))
    max_file_bytes: int = field(default_factory=lambda: int(_number("MAX_FILE_BYTES", 20 * 10**9)))
    max_unpacked_bytes: int = field(default_factory=lambda: int(_number("MAX_UNPACKED_BYTES", 20 * 10**9)))
    max_batch_bytes: int = field(default_factory=lambda: int(_number("MAX_BATCH_BYTES", 256 * 10**6)))
    rebuild: bool = field(default_factory=lambda: os.environ.get("REBUILD", "").lower() in {"1", "true", "yes"})
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
