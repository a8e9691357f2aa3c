"""What the dbt models find on their connection: Python functions, and the current release's database.

A dbt-duckdb plugin named in `profiles.yml`. Here belongs only the registration; the functions themselves are in
`text.py`.
"""

import os
from collections.abc import Callable, Mapping

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection
from duckdb.func import FunctionNullHandling

from pipelines import text
from pipelines.warehouse import sql_string

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

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        register(conn)
        # Not in the profile: what changes from run to run there makes dbt parse the whole project anew.
        if released := os.environ.get("RELEASED_DATABASE"):
            conn.execute(f"attach {sql_string(released)} as released (read_only)")
