"""The pipeline's Python functions for connections that are not the pipeline's: the limit's and the plain dbt peer's."""

import duckdb

from pipelines.model import text


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `plain_text`, `word_count` and `name_key` known to SQL; a NULL goes in and out as NULL."""
    for name, returned in (("plain_text", "VARCHAR"), ("word_count", "INTEGER"), ("name_key", "VARCHAR")):
        connection.create_function(name, getattr(text, name), ["VARCHAR"], returned)
