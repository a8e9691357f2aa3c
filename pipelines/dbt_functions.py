"""What dbt's connection is given, as a dbt-duckdb plugin named in `profiles.yml`: the models' Python functions, and the
limits that every connection to the warehouse has.

The functions themselves are in `text.py`, the limits in `warehouse.py`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection
from duckdb.func import FunctionNullHandling

from pipelines import text
from pipelines.settings import PROJECT_DIR
from pipelines.warehouse import NO_EXTENSIONS, confine

FUNCTIONS: Mapping[Callable[[str], str | int | None], str] = {
    text.plain_text: "VARCHAR",
    text.name_key: "VARCHAR",
    text.name_problem: "VARCHAR",
    text.redact_emails: "VARCHAR",
    text.unescape_html: "VARCHAR",
    text.word_count: "INTEGER",
}


def register(connection: DuckDBPyConnection) -> None:
    """Make each function known to SQL under its own name; a NULL goes in and out as NULL."""
    for function, returned in FUNCTIONS.items():
        connection.create_function(
            function.__name__,
            _passing_null(function),
            ["VARCHAR"],
            returned,
            null_handling=FunctionNullHandling.SPECIAL,
        )


def _passing_null(function: Callable[[str], str | int | None]) -> Callable[[str | None], str | int | None]:
    return lambda value: None if value is None else function(value)


class Plugin(BasePlugin):
    """What dbt-duckdb looks for in a plugin module."""

    def update_connection_config(self, creds: Any, config: dict[str, Any]) -> None:
        config.update(NO_EXTENSIONS)

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Called once, before dbt attaches the marts' database; dbt copies seeds from the project's own CSV files.

        Every `settings` entry of the profile would be set again for each cursor, so the profile has `config_options`.
        """
        register(conn)
        assert self.creds is not None
        warehouse = Path(self.creds.path).parent
        # Hooks of the models that keep their order set the threads.
        confine(conn, [warehouse, warehouse / "landing", PROJECT_DIR / "dbt_project" / "seeds"], ["threads"])
