"""What a benchmark reads: the generated files, and the editions that they are.

Here belongs where inputs are and how every candidate is told about them. How they are made belongs in `generate.py`.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

SIZES = {"XS": 400, "S": 20_000, "M": 200_000, "L": 1_000_000}
EDITIONS = 20
VENUE, YEAR = "ICLR", 2026
VENUE_ID = "ICLR.cc/2026/Conference"


def edition_ids(editions: int) -> list[str]:
    """`bench-01`, `bench-02`, ...: each is a file of a folder, and an edition."""
    return [f"bench-{number:02d}" for number in range(1, editions + 1)]


def edition_venue_id(edition_id: str) -> str:
    """The OpenReview venue id of the papers of `bench-01` and its like."""
    return f"{VENUE_ID}_{edition_id.removeprefix('bench-')}"


@dataclass(frozen=True)
class Input:
    """One edition and its raw file."""

    edition_id: str
    venue: str
    year: int
    venue_id: str
    path: str


def single(path: Path) -> list[Input]:
    """A file as the one edition `bench-00`."""
    return [Input("bench-00", VENUE, YEAR, VENUE_ID, str(path.absolute()))]


def folder(path: Path) -> list[Input]:
    """The files of a folder that `generate.py` made, each an edition."""
    return [
        Input(file.stem, VENUE, YEAR, edition_venue_id(file.stem), str(file.absolute()))
        for file in sorted(path.glob("bench-*.parquet"))
    ]


def at(path: Path) -> list[Input]:
    """A file or a folder of files as editions."""
    return folder(path) if path.is_dir() else single(path)


def editions_yaml(inputs: list[Input]) -> str:
    """The pipeline's editions file for these inputs (JSON is YAML)."""
    editions = [
        {key: value for key, value in asdict(given).items() if key not in ("path", "edition_id")}
        | {"id": given.edition_id, "sources": [{"kind": "files", "path": given.path}]}
        for given in inputs
    ]
    return json.dumps({"editions": editions}, indent=2)
