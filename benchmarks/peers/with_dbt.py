"""The same marts by a plain dbt-duckdb project with wide staging, `dbt_wide/`: a database and its Parquet files.

Run as `python -m benchmarks.peers.with_dbt INPUT OUT`, in the pipeline's own environment, which has dbt.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.inputs import Input
from benchmarks.peers import shared

PROJECT = Path(__file__).parent / "dbt_wide"


def run(editions: list[Input], out: Path) -> None:
    """Replace this process by `dbt build`."""
    variables = json.dumps({"inputs": [asdict(edition) for edition in editions]})
    dbt = str(Path(sys.executable).parent / "dbt")
    command = [dbt, "build", "--vars", variables, "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    command += ["--target-path", str(out / "target"), "--log-path", str(out / "logs"), "--no-use-colors"]
    environment = os.environ | {"EXPORT_DIR": str(out.absolute()), "DO_NOT_TRACK": "1"}
    os.execve(dbt, command, environment)


if __name__ == "__main__":
    run(*shared.parse())
