"""An analyst who reads again and again, by the ways that README.md shows, in a process of their own.

Here belongs reading and saying what was read; whether it was right is judged at the end, against the releases at rest.

    python -m tests.faults.reader <warehouse> <pause in seconds>      # one JSON line a reading, until the input closes
"""

import json
import select
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import duckdb

from pipelines.config.settings import PROJECT_DIR

# What a reading found: rows and an order-free hash of them, by mart.
Print = dict[str, list[int]]

_SUM = "select count(*)::bigint, coalesce(bit_xor(hash(mart)), 0)::hugeint from {} as mart"


def read_files(release: Path) -> Print:
    """Every mart of a release folder, as files."""
    found: Print = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        for entry in sorted(release.iterdir()):
            if entry.is_dir() or entry.suffix == ".parquet":
                files = f"read_parquet('{entry}{'/*.parquet' if entry.is_dir() else ''}')"
                found[entry.stem] = list(connection.execute(_SUM.format(files)).fetchall()[0])
    return found


def read_database(database: Path) -> tuple[str, Print]:
    """The release that a database says it is, and every mart in it."""
    with duckdb.connect(database, read_only=True, config={"threads": 1}) as connection:
        names = [name for (name,) in connection.execute("select table_name from duckdb_tables() order by 1").fetchall()]
        found = {
            name: list(connection.execute(_SUM.format(name)).fetchall()[0]) for name in names if name != "publication"
        }
        return connection.execute("select release_id from publication").fetchall()[0][0], found


def main() -> None:
    """Read by turns the files and the database; an exception is a reading too, and a failed one."""
    warehouse, pause = Path(sys.argv[1]), float(sys.argv[2])
    while not select.select([sys.stdin], [], [], pause)[0]:
        try:
            release = (warehouse / "current").resolve()
            said: Any = {"way": "files", "release": release.name, "print": read_files(release)}
            print(json.dumps(said), flush=True)
            release_id, found = read_database(warehouse / "peer_reviews.duckdb")
            said = {"way": "database", "release": release_id, "print": found}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


class Reader:
    """The process, from a `with` block's begin to its end; then `judge` says what came of it."""

    def __init__(self, warehouse: Path, log: Path, pause: float = 0.05) -> None:
        self.warehouse = warehouse
        self._log = log
        self._pause = pause

    def __enter__(self) -> Self:
        with self._log.open("w") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.reader", str(self.warehouse), str(self._pause)],
                stdin=subprocess.PIPE, stdout=out, cwd=PROJECT_DIR,
            )  # fmt: skip
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate(timeout=60)

    @property
    def readings(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.endswith("}")]

    def judge(self) -> tuple[int, list[str]]:
        """How many readings there were, and every one that failed or was not exactly one release."""
        truth: dict[tuple[str, str], Print] = {}
        wrong = []
        readings = self.readings
        for reading in readings:
            if "error" in reading:
                wrong.append(reading["error"])
                continue
            key = reading["way"], reading["release"]
            if key not in truth:
                folder = self.warehouse / "releases" / reading["release"]
                truth[key] = (
                    read_files(folder) if key[0] == "files" else read_database(folder / "peer_reviews.duckdb")[1]
                )
            if reading["print"] != truth[key]:
                wrong.append(f"{key}: {reading['print']} is not {truth[key]}")
        return len(readings), wrong


if __name__ == "__main__":
    main()
