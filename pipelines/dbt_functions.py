"""The Python functions that the dbt models call, registered as a dbt-duckdb plugin named in `profiles.yml`.

Here belongs only the registration; the functions themselves are in `text.py`.
"""

from collections.abc import Callable

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection
from duckdb.func import FunctionNullHandling

from pipelines import text

FUNCTIONS: tuple[Callable[[str], str | None], ...] = (
    text.plain_text,
    text.name_key,
    text.name_problem,
    text.redact_emails,
    text.unescape_html,
)


def register(connection: DuckDBPyConnection) -> None:
    """Make each function known to SQL under its own name; a NULL goes in and out as NULL."""
    for function in FUNCTIONS:
        connection.create_function(
            function.__name__,
            _passing_null(function),
            ["VARCHAR"],
            "VARCHAR",
            null_handling=FunctionNullHandling.SPECIAL,
        )


def _passing_null(function: Callable[[str], str | None]) -> Callable[[str | None], str | None]:
    return lambda value: None if value is None else function(value)


class Plugin(BasePlugin):
    """What dbt-duckdb looks for in a plugin module."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        register(conn)
