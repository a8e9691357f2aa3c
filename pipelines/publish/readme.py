"""The README.md of a release, made from its manifest alone."""

import re
from typing import Any


def release_readme(manifest: dict[str, Any]) -> str:
    synthetic = "\n**This release is synthetic: made-up papers and reviews that show the format.**\n"
    editions = "\n".join(
        f"| {e['edition_id']} | {e['submission_count']} | {e['review_count']} | "
        f"{'' if e['rating_mean'] is None else format(e['rating_mean'], '.3f')} | {e['as_of_at'] or ''} |"
        for e in manifest["editions"]
    )
    marts = "\n".join(
        f"| {name} | {mart['rows']} | {mart['description']} |" for name, mart in manifest["marts"].items()
    )
    conservation = "\n".join(
        f"| {c['edition_id']} | {c['source']} ({c['snapshot_number']}) | {c['row_kind']} | {c['rows_in']} | "
        f"{c['rows_in_marts']} | {c['rows_merged']} | {c['rows_quarantined']} |"
        for c in manifest["conservation"]
    )
    figures = "\n".join(
        f"| {f['edition_id']} | {f['figure']} | {'' if f['value'] is None else format(f['value'], '.10g')} | "
        f"{_band(f)} | {'yes' if f['is_in_agreement'] else 'no'} | {f['published_by']}, {f['published_on']} |"
        for f in manifest["figures"]
    )
    accepted = manifest["gate"].get("acceptances", [])
    marks = tuple(f"[{one['finding']}]" for one in accepted)
    messages = [message for message in manifest["gate"].get("messages", []) if not message.endswith(marks)]
    warnings = "\n".join(f"* {_literal(message)}" for message in messages) or "* none"
    return f"""# {manifest["title"]}, release {manifest["release_id"]}
{synthetic if manifest["is_synthetic"] else ""}
Made {manifest["created_at"]} by peer-review-warehouse {manifest["versions"]["peer-review-warehouse"]}. `manifest.json`
lists every file with its sha256, every column with its description, and the snapshots that the release was built from.

Cite it as: peer-review-warehouse, release {manifest["release_id"]}. Reviews are CC BY 4.0 (OpenReview).

| edition | papers | reviews | mean rating | as of (UTC) |
|---|---|---|---|---|
{editions}

| mart | rows | one row is |
|---|---|---|
{marts}

Nothing is lost: rows in = rows in marts + merged duplicates + quarantined rows.

| edition | snapshot | rows of | in | in marts | merged | quarantined |
|---|---|---|---|---|---|---|
{conservation}

Our figures beside the published ones; `edition_figures` holds this table. They differ for good reasons where an edition
was crawled before or after decisions, or in part.

| edition | figure | ours | published | agrees | published by |
|---|---|---|---|---|---|
{figures}

{_acceptances(accepted)}
Warnings of the gate:

{warnings}
"""


def _acceptances(accepted: list[dict[str, Any]]) -> str:
    if not accepted:
        return ""
    lines = [
        f"* {_literal(one['message'])}. Accepted by {_literal(one['by'])} on {one['at']}: {_literal(one['reason'])}"
        for one in accepted
    ]
    return "\n".join(["", "What the gate refused and an operator accepted:", "", *lines, ""])


def _literal(text: str) -> str:
    """Text as Markdown shows it letter by letter, on one line: messages quote what came from outside."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", " ".join(text.split()))


def _band(figure: dict[str, Any]) -> str:
    low, high = figure["published_low"], figure["published_high"]
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
