"""The warehouse on disk: where things are, who may touch them at a time, and what a disk refuses.

Here belongs the one way to a path, a lock and a connection. What is written through them belongs to the steps.
"""

from pipelines.warehouse.confinement import confine
from pipelines.warehouse.disk import sha256, sync
from pipelines.warehouse.quoting import first_line, sql_string
from pipelines.warehouse.warehouse import STORAGE_VERSION, Warehouse, WarehouseError, holder

__all__ = [
    "STORAGE_VERSION",
    "Warehouse",
    "WarehouseError",
    "confine",
    "first_line",
    "holder",
    "sha256",
    "sql_string",
    "sync",
]
