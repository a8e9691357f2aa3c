"""Write `docs/marts.md`, the contract of the marts, from the dbt YAML; `--check` only compares (CI does)."""

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "dbt_project" / "models" / "marts" / "_marts.yml"
PAGE = ROOT / "docs" / "marts.md"


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


def page() -> str:
    """The whole page as Markdown."""
    marts = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))["models"]
    parts = [
        "# The marts\n",
        "The contract of the published tables, made from `dbt_project/models/marts/_marts.yml` by `make docs`. Times are",
        "UTC. NULL means absent: never a zero, a date or an empty text instead. Changes are additive within a contract",
        "version; `CHANGELOG.md` lists them under *Data*.",
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


def main() -> int:
    """Write or check the page; returns the exit code."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
            print("docs/marts.md is not what the dbt contract says; run 'make docs'.", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
