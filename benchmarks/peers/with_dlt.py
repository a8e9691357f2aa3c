"""The raw rows by dlt: papers, and reviews and authors as its child tables, in a DuckDB database. No marts.

Run as `python -m benchmarks.peers.with_dlt INPUT OUT`. Its users would write this; tuned as its performance guide says:
pages instead of single rows, Parquet between its steps, normalisation in as many processes as there are cores. With
`DLT_DEFAULTS=1` the last two stay as dlt has them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.inputs import Input
from benchmarks.peers import shared

PAGE = 1_000


def run(editions: list[Input], out: Path) -> None:
    """Load every edition into `out/dlt.duckdb`, schema `raw`."""
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    os.environ["RUNTIME__LOG_LEVEL"] = "ERROR"
    is_tuned = not os.environ.get("DLT_DEFAULTS")
    if is_tuned:
        os.environ["NORMALIZE__WORKERS"] = str(os.cpu_count())
        os.environ["DATA_WRITER__FILE_MAX_ITEMS"] = "20000"
    import dlt
    import pyarrow.parquet as pq

    @dlt.resource(name="papers", write_disposition="replace")
    def papers() -> Iterator[list[dict[str, Any]]]:
        for edition in editions:
            with pq.ParquetFile(edition.path) as file:
                for batch in file.iter_batches(batch_size=PAGE):
                    yield batch.to_pylist()

    pipeline = dlt.pipeline(
        "bench",
        pipelines_dir=str(out / "pipelines"),
        destination=dlt.destinations.duckdb(str(out / "dlt.duckdb")),
        dataset_name="raw",
    )
    pipeline.run(papers(), loader_file_format="parquet" if is_tuned else None).raise_on_failed_jobs()


if __name__ == "__main__":
    run(*shared.parse())
