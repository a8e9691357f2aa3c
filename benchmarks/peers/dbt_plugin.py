"""What the plain dbt project's profile names as a plugin: the Python functions."""

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

from benchmarks import functions


class Plugin(BasePlugin):
    """What dbt-duckdb looks for in a plugin module."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        functions.register(conn)
