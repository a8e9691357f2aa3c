"""The Python functions that the dbt models call, registered as a dbt-duckdb plugin named in `profiles.yml`.

Here belongs only the registration; the functions themselves are in `text.py`.
"""

from collections.abc import Callable, Mapping

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection
from duckdb.func import FunctionNullHandling

from pipelines import text

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
