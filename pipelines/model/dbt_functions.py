"""What dbt's connection is given, as a dbt-duckdb plugin named in `profiles.yml`: the databases of the warehouse and
their limits, the models' Python functions, and the current release's database.

The functions themselves are in `text/`, paths and limits in `warehouse.py`. None of it is in the profile: what
changes there from run to run makes dbt parse the whole project anew.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection
from duckdb.func import FunctionNullHandling

from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.model import text
from pipelines.warehouse import Warehouse, confine, sql_string

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
        """Called before the working database is opened under the profile's name."""
        warehouse = Warehouse(Settings())
        creds.path = str(warehouse.working_database)
        (marts,) = creds.attach
        marts.path = str(warehouse.marts_database)
        config.update(warehouse.connection_settings)

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Called once, before dbt attaches the marts' database; dbt copies seeds from the project's own CSV files.

        Every `settings` entry of the profile would be set again for each cursor, so the profile has `config_options`.
        """
        register(conn)
        warehouse = Warehouse(Settings())
        if released := os.environ.get("RELEASED_DATABASE"):
            conn.execute(f"attach {sql_string(released)} as released (read_only)")
        seeds = PROJECT_DIR / "dbt_project" / "seeds"
        # Hooks of the models that keep their order set the threads.
        confine(conn, [warehouse.root, warehouse.landing, seeds], ["threads"])

    def configure_cursor(self, cursor: DuckDBPyConnection) -> None:
        """The threads that those hooks go back to."""
        cursor.execute(f"set variable pipeline_threads = {Settings().threads}")
