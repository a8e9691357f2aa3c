"""What a DuckDB connection of ours may reach: files in named folders, no network, no extensions.

Here belongs only the confinement (SECURITY.md says against what); who connects to which database is `warehouse.py`'s.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from pipelines.warehouse.quoting import sql_string

# What DuckDB takes only when it starts.
NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_extension_repositories": "forbidden",
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
}


def confine(
    connection: duckdb.DuckDBPyConnection, folders: Iterable[Path], changeable_settings: Sequence[str] = ()
) -> None:
    """Let a new connection's database reach files in these folders only, for good; no network, no extensions.

    Data never becomes SQL here; should it ever, it finds nothing to read and nowhere to write. DuckDB follows links
    before it compares, so a folder that is a link counts by its target too. The order matters: folders cannot be named
    any more once access is off, and nothing can be changed once the configuration is locked, the
    `changeable_settings` excepted.
    """
    allowed = dict.fromkeys(str(path) for folder in folders for path in (folder.absolute(), folder.resolve()))
    settings = ", ".join(sql_string(name) for name in changeable_settings)
    connection.execute(f"set allowed_directories = [{', '.join(map(sql_string, allowed))}]")
    connection.execute("set enable_external_access = false")
    connection.execute(f"set allowed_configs = [{settings}]")
    connection.execute("set lock_configuration = true")
