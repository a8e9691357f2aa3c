"""The records of JSON sources in `raw.json_records`.

Here belongs how records get there. What is a record of each source belongs in `formats/records.py`.
"""

import itertools

import duckdb

from pipelines.formats.records import read_records
from pipelines.land.landing import Snapshot
from pipelines.stage.contracts import JsonContract


def insert_records(
    connection: duckdb.DuckDBPyConnection,
    edition_id: str,
    source: str,
    contract: JsonContract,
    snapshot: Snapshot,
    max_bytes: int,
) -> None:
    """Copy a snapshot's records into `raw.json_records`, numbered from 1."""
    import pyarrow

    numbered = enumerate(read_records(contract.name, snapshot.paths(), max_bytes), start=1)
    while batch := list(itertools.islice(numbered, 5_000)):
        columns = {
            "row_number": [number for number, _ in batch],
            "record": [record.text for _, record in batch],
            "problem": pyarrow.array([record.problem for _, record in batch], pyarrow.string()),
        }
        connection.register("record_batch", pyarrow.table(columns))
        connection.execute(
            "insert into raw.json_records select ?, ?, ?, ?, row_number, record, problem from record_batch",
            [edition_id, source, contract.name, snapshot.record.snapshot_id],
        )
        connection.unregister("record_batch")
