"""What the peers need that is not the work compared: seeds, columns that this input leaves empty, paths.

Here belongs what every peer is given alike. Each peer's own file holds all of its work.
"""

import argparse
import csv
from pathlib import Path

from benchmarks import inputs
from benchmarks.inputs import Input

SEEDS = Path(__file__).parents[2] / "dbt_project" / "seeds"
# The project reads labels by their words; the generated files have these two only, so a table does.
LABELS = Path(__file__).parent / "seeds" / "generated_labels.csv"
ROW_GROUP_ROWS = 16_384
COMPRESSION, LEVEL = "zstd", 3

URL = r"""(?i)https?://[^\s<>()\[\]{}"'`$|\\^]+"""
NAMED_REVIEWER = r"^((Anon)?Reviewer|R)(_[A-Za-z0-9]+|[0-9]+)$"
FORUM_ID = r"[?&]id=([A-Za-z0-9_-]{8,15})(?:[^A-Za-z0-9_-]|$)"

# Marts that have no rows for a Hub source, or none for this input.
EMPTY_MARTS = {
    "paper_keywords": "paper_id position edition_id keyword",
    "paper_source_values": "paper_id source column_name edition_id source_value published_value is_published",
    "discussion": (
        "note_id paper_id edition_id reply_to kind author_label title decision_text main_text created_at modified_at "
        "source snapshot_number row_number"
    ),
    "quarantined_rows": "edition_id snapshot_number row_number row_kind item_number source reason row_json",
    "edition_figures": (
        "edition_id figure value published_low published_high is_in_agreement published_by published_on"
    ),
}
# Columns of `papers` and `reviews` that the Hub does not fill.
EMPTY_PAPER_COLUMNS = ("primary_area", "submitted_at", "modified_at")
EMPTY_REVIEW_SCORES = (
    "soundness", "presentation", "contribution", "correctness", "technical_novelty", "empirical_novelty",
)  # fmt: skip


def seed(name: str) -> list[dict[str, str]]:
    """The rows of a seed of the dbt project."""
    return _rows(SEEDS / f"{name}.csv")


def labels() -> list[dict[str, str]]:
    """What the labels of the generated papers say: `label`, `status`, `decision`."""
    return _rows(LABELS)


def rating_scale(edition: Input) -> list[float]:
    """The ratings that the edition's form offers."""
    for row in seed("rating_scales"):
        if row["venue"] == edition.venue and int(row["first_year"]) <= edition.year <= int(row["last_year"]):
            return [float(rating) for rating in row["allowed_ratings"].split()]
    raise SystemExit(f"There is no rating scale for {edition.venue} {edition.year} in rating_scales.csv.")


def link_type(url: str) -> str:
    """The type of the first host of the seed that the URL contains."""
    hosts = sorted(seed("link_hosts"), key=lambda row: int(row["priority"]))
    return next((row["link_type"] for row in hosts if row["pattern"] in url.lower()), "other")


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def parse() -> tuple[list[Input], Path]:
    """The editions and the output folder, which is made, of a peer's command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("input", type=Path, help="a generated file, or a folder of them")
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    return inputs.at(given.input), given.out
