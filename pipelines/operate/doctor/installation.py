"""Checks of what needs no warehouse: Python, packages, settings, secrets, Dagster's home, dbt's manifest."""

import importlib.metadata
import os
import platform
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from packaging.requirements import Requirement

from pipelines.config.editions import load_editions
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.model import dbt_manifest
from pipelines.operate.doctor.finding import Finding


def check_python(oldest: tuple[int, int] = (3, 11)) -> Iterator[Finding]:
    found = platform.python_version()
    if sys.version_info[:2] < oldest:
        yield Finding(
            "problem", "python", f"{found} is too old; make a new .venv with Python {oldest[0]}.{oldest[1]} or newer."
        )
    else:
        yield Finding("ok", "python", found)


def check_packages(lock: Path = PROJECT_DIR / "requirements.lock") -> Iterator[Finding]:
    """What is installed against the lock file, and the project's own version against what was installed of it."""
    lines = [line.rstrip(" \\") for line in lock.read_text(encoding="utf-8").splitlines() if line[:1].isalnum()]
    pins = [pin for pin in map(Requirement, lines) if pin.marker is None or pin.marker.evaluate()]
    project = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {Requirement(dependency).name for dependency in project["dependencies"]}
    missing, other = [], []
    for pin in pins:
        try:
            found = importlib.metadata.version(pin.name)
        except importlib.metadata.PackageNotFoundError:
            if pin.name in needed:  # the lock also holds what only developers need
                missing.append(pin.name)
            continue
        if found not in pin.specifier:
            other.append(f"{pin.name} {found} instead of {str(pin.specifier).removeprefix('==')}")
    if missing:
        yield Finding("problem", "packages", f"not installed: {', '.join(missing)}; run 'make setup'.")
    if other:
        yield Finding("warning", "packages", f"{', '.join(other)}; run 'make clean setup' for what was tested.")
    if not missing and not other:
        yield Finding("ok", "packages", f"as in {lock.name}")


def check_settings(settings: Settings) -> Iterator[Finding]:
    try:
        editions = load_editions(settings.editions_file)
    except click.ClickException as error:
        yield Finding("problem", "settings", error.message)
        return
    active = [edition.id for edition in editions.editions if edition.active]
    yield Finding("ok", "settings", f"{len(editions.ids)} editions, {len(active)} of them active")
    if not settings.notify_webhook_url:
        yield Finding("warning", "settings", "NOTIFY_WEBHOOK_URL is not set; nobody is told when a run fails.")


def check_secrets(file: Path) -> Iterator[Finding]:
    if not file.exists():
        yield Finding("ok", "secrets", f"there is no {file.name}")
    elif file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        yield Finding("warning", "secrets", f"{file} can be read by other users; run 'chmod 600 {file}'.")
    else:
        yield Finding("ok", "secrets", f"{file.name} is its owner's alone")


def check_dagster_home(template: Path = PROJECT_DIR / "dagster.yaml") -> Iterator[Finding]:
    given = os.environ.get("DAGSTER_HOME")
    home = Path(given).expanduser() if given else PROJECT_DIR / ".dagster"
    if not home.is_absolute():
        yield Finding(
            "warning",
            "dagster home",
            f"DAGSTER_HOME={given} is relative; the launcher counts it from the current folder, Dagster's own commands "
            "refuse it. Write it in full.",
        )
        home = home.absolute()
    if not home.exists():
        yield Finding("ok", "dagster home", f"{home} is made by the first run")
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("problem", "dagster home", f"{home} cannot be written; change its owner or its permissions.")
        return
    config = home / "dagster.yaml"
    if not config.exists():
        yield Finding("ok", "dagster home", f"{config} is made by the next run")
    elif config.read_bytes() != template.read_bytes():
        yield Finding(
            "warning",
            "dagster home",
            f"{config} differs from the project's {template.name}: an older version, or your own changes. To take the "
            f"project's: cp {template} {config}",
        )
    else:
        yield Finding("ok", "dagster home", str(home))


def check_dbt(settings: Settings) -> Iterator[Finding]:
    file = dbt_manifest.path(settings.dbt_project_dir)
    said = {
        "missing": "is not there; the next run makes it, which takes longer.",
        "unusable": "is half a file, another dbt's or another folder's; the next run makes it anew.",
        "outdated": "is older than the models; the next run makes it anew.",
    }
    state = dbt_manifest.state(settings.dbt_project_dir)
    if state == "current":
        yield Finding("ok", "dbt", "the manifest is up to date")
    else:
        yield Finding("warning", "dbt", f"{file} {said[state]}")
