"""The doctor: is everything in place for a run, and if not, what to do. `python -m pipelines doctor`.

Here belongs looking: each check is a function that yields findings, in the module of what it looks at. Nothing is
repaired, and nothing stays written.
"""

from collections.abc import Callable, Iterator

from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.operate.doctor import folder, installation, kept, work
from pipelines.operate.doctor.finding import Finding, Level
from pipelines.warehouse import Warehouse


def examine(settings: Settings, *, deep: bool = False) -> Iterator[Finding]:
    """All checks, one after another. `deep` also hashes every landed file and every release, not only the last."""
    warehouse = Warehouse(settings)
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", installation.check_python),
        ("packages", installation.check_packages),
        ("settings", lambda: installation.check_settings(settings)),
        ("secrets", lambda: installation.check_secrets(PROJECT_DIR / ".env")),
        ("dagster home", installation.check_dagster_home),
        ("dbt", lambda: installation.check_dbt(settings)),
        ("folder", lambda: folder.check_folder(warehouse)),
        ("file system", lambda: folder.check_file_system(warehouse)),
        ("disk", lambda: folder.check_disk(warehouse)),
        ("locks", lambda: work.check_locks(warehouse)),
        ("processes", lambda: work.check_processes(warehouse)),
        ("databases", lambda: work.check_databases(warehouse)),
        ("leftovers", lambda: work.check_leftovers(warehouse)),
        ("release", lambda: kept.check_releases(warehouse, deep=deep)),
        ("landing", lambda: kept.check_landing(warehouse, deep=deep)),
    ]
    for what, check in checks:
        try:
            yield from check()
        except Exception as error:  # one check that cannot look must not hide the others
            yield Finding("problem", what, f"could not be looked at ({type(error).__name__}: {error}).")


def main(settings: Settings, *, deep: bool = False) -> int:
    """Print the findings; 1 where there is a problem, else 0."""
    levels: list[Level] = []
    for finding in examine(settings, deep=deep):
        print(finding, flush=True)
        levels.append(finding.level)
    problems, warnings = levels.count("problem"), levels.count("warning")
    print(f"{problems} problem(s), {warnings} warning(s).")
    return 1 if problems else 0
