"""Write the pages, or parts of pages, that are made from something else; `--check` only compares (CI does).

`docs/marts.md` is the contract of the marts, `docs/precedence.md` says which source wins where they disagree; both come
from the dbt project. `docs/reliability.md` holds the figures of the last `make test-faults`, from what that wrote.
"""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "dbt_project" / "models" / "marts" / "_marts.yml"
PRECEDENCE = ROOT / "dbt_project" / "seeds" / "source_precedence.csv"

RELIABILITY = ROOT / "docs" / "reliability.md"
FAULTS = ROOT / "docs" / "reliability.json"
BEGIN, END = "<!-- figures: made by `make docs` -->\n", "<!-- end of figures -->\n"

# What the precedence of a column also decides.
COVERS = {
    "row": "`source`, `snapshot_number`, `row_number`, and the columns not named below",
    "status": "`status`, and `decision` among the sources that agree with that status",
    "title": "`title`",
    "abstract": "`abstract`, `bibtex`",
    "keywords": "`keywords`, `primary_area`",
    "authors": "the list of authors as a whole; profiles and affiliations that it lacks come from the next list",
    "reviews": "each review by its id; scores and times that the winner lacks come from the next source",
}


def key_of(mart: dict[str, Any]) -> list[str]:
    """The columns of the primary key, from the model's own constraints or from a column's."""
    for constraint in mart.get("constraints", []):
        if constraint["type"] == "primary_key":
            return list(constraint["columns"])
    return [column["name"] for column in mart["columns"] if "primary_key" in kinds_of(column)]


def kinds_of(column: dict[str, Any]) -> set[str]:
    return {constraint["type"] for constraint in column.get("constraints", [])}


def reference_of(column: dict[str, Any]) -> str:
    """`papers.paper_id` where a `relationships` test says so."""
    for test in column.get("data_tests", []):
        if isinstance(test, dict) and "relationships" in test:
            arguments = test["relationships"]["arguments"]
            return f"{arguments['to'].removeprefix('ref(').strip(')').strip(chr(39))}.{arguments['field']}"
    return ""


def marts_page() -> str:
    """`docs/marts.md`."""
    marts = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))["models"]
    parts = [
        "# The marts\n",
        "The contract of the published tables, made from `dbt_project/models/marts/_marts.yml` by `make docs`. Times",
        "are UTC. NULL means absent: never a zero, a date or an empty text instead. Changes are additive within a",
        "contract version; `CHANGELOG.md` lists them under *Data*.",
    ]
    for mart in marts:
        parts += [f"\n## `{mart['name']}`\n", f"{mart['description']} Key: `{', '.join(key_of(mart))}`.\n"]
        parts += ["| column | type | may be NULL | refers to | what it holds |", "|---|---|---|---|---|"]
        for column in mart["columns"]:
            nullable = "" if kinds_of(column) & {"not_null", "primary_key"} or column["name"] in key_of(mart) else "yes"
            description = column["description"].replace("|", "\\|")
            parts.append(
                f"| `{column['name']}` | {column['data_type']} | {nullable} | {reference_of(column)} | {description} |"
            )
    return "\n".join(parts) + "\n"


def precedence_page() -> str:
    """`docs/precedence.md`."""
    with PRECEDENCE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    parts = [
        "# Which source wins\n",
        "Papers of all sources meet by their OpenReview forum id. For each column the first source in this table that",
        "has a value wins; within a source the fuller row does (more reviews, then authors, then the longer abstract,",
        "then the higher decision, then the earlier row). What the others say stays visible in `paper_source_values`",
        "and `papers.sources`. The table is the seed `dbt_project/seeds/source_precedence.csv`.\n",
        "| precedence | decides | order |",
        "|---|---|---|",
    ]
    for name, covers in COVERS.items():
        order = sorted((int(row["priority"]), row["source"]) for row in rows if row["column_name"] == name)
        parts.append(f"| {name} | {covers} | {', '.join(f'`{source}`' for _, source in order)} |")
    parts += [
        "",
        "Paper Copilot has no review ids: its reviews are places in a list that is sorted by rating, keyed by paper",
        "and place, and without text (`has_text = false`). They are used only for papers of which no other source has",
        "reviews.",
    ]
    return "\n".join(parts) + "\n"


def reliability_page() -> str:
    """`docs/reliability.md`, with the figures between its marks as `docs/reliability.json` has them."""
    before, _, rest = RELIABILITY.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    if not FAULTS.exists():
        return before + BEGIN + "\nNone yet: `make test-faults` writes them.\n\n" + END + after
    made = json.loads(FAULTS.read_text(encoding="utf-8"))
    columns = ("tests", "failed", "skipped", "injected", "recovered", "rows_lost", "reads", "wrong_reads")
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    lines = [
        f"The {made['set']} set, {made['made_at']}, {made['seconds'] / 60:.0f} minutes on {made['cores']} cores"
        f" ({made['system']}; {versions}).",
        "",
        "| area | tests | failed | skipped | faults injected | recoveries | rows lost | reads beside | wrong reads |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {name} | {' | '.join(f'{figures[column]:,}' for column in columns)} |"
            for name, figures in [*made["areas"].items(), ("**all**", made["total"])]
        ),
    ]
    lines += ["", *(f"Skipped: {reason}." for reason in made["skips"])] if made["skips"] else []
    return before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after


PAGES: dict[Path, Callable[[], str]] = {
    ROOT / "docs" / "marts.md": marts_page,
    ROOT / "docs" / "precedence.md": precedence_page,
    RELIABILITY: reliability_page,
}


def main() -> int:
    """Write or check the pages; returns the exit code."""
    if "--check" not in sys.argv[1:]:
        for path, page in PAGES.items():
            path.write_text(page(), encoding="utf-8")
        return 0
    stale = [path for path, page in PAGES.items() if not path.exists() or path.read_text(encoding="utf-8") != page()]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not what it is made from says; run 'make docs'.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
