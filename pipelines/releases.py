"""The command that looks after releases: `python -m pipelines.releases --help`. What it does is in `publish/`."""

import json
import sys
from typing import Any

import click
from dotenv import load_dotenv

from pipelines import publish
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.publish import ReleaseError, current_id, read_manifest, release_ids
from pipelines.publish.diff import EXAMPLES, compare
from pipelines.warehouse import Warehouse, WarehouseError

EPILOG = """\b
examples:
  python -m pipelines.releases list
  python -m pipelines.releases diff previous current
  python -m pipelines.releases rollback --to 20261130T120000Z-1a2b3c4d
  python -m pipelines.releases findings newest
  python -m pipelines.releases accept newest --finding papers.volume.share_of_previous-1a2b3c4d \\
      --reason "The venue withdrew its workshop papers" --publish

\b
exit codes:
  0  done
  1  refused or not possible; the reason is on the error output, and no release changed
  2  the command line is wrong
"""


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines.releases`; returns the exit code, as `--help` lists them."""
    try:
        return cli.main(arguments, prog_name="python -m pipelines.releases", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # click's word for Ctrl-C
        print("Error: interrupted.", file=sys.stderr)
        return 130
    except (ReleaseError, WarehouseError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


@click.group(epilog=EPILOG)
@click.pass_context
def cli(context: click.Context) -> None:
    """Look after releases, and after candidates that the gate refused."""
    load_dotenv(PROJECT_DIR / ".env")  # what the environment says already stays
    context.obj = Warehouse(Settings())


@cli.command("list")
@click.pass_obj
def list_releases(warehouse: Warehouse) -> None:
    """List the releases, the oldest first."""
    for release_id in release_ids(warehouse):
        manifest = read_manifest(warehouse.releases / release_id)
        rows = ", ".join(f"{mart['rows']} {name}" for name, mart in manifest["marts"].items())
        mark = "*" if release_id == current_id(warehouse) else " "
        print(f"{mark} {release_id}  {'synthetic  ' if manifest['is_synthetic'] else ''}{rows}")


@cli.command()
@click.argument("release_id", required=False)
@click.pass_obj
def verify(warehouse: Warehouse, release_id: str | None) -> None:
    """Hash every file of one release, or of all, against its manifest."""
    for one in [release_id] if release_id else release_ids(warehouse):
        print(f"{one}: {publish.verify(warehouse.releases / one)} files are as published")


@cli.command()
@click.argument("before", default="previous")
@click.argument("after", default="current")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--examples", default=EXAMPLES, show_default=True, help="Rows of each kind to name, a mart.")
@click.pass_obj
def diff(warehouse: Warehouse, before: str, after: str, form: str, examples: int) -> None:
    """Say what changed between two releases: ids, `current`, or `previous` (the one before the current)."""
    found = compare(warehouse, before, after, examples=examples)
    print(json.dumps(found.as_dict(), indent=2) if form == "json" else "\n".join(found.as_lines()))


@cli.command()
@click.option("--to", metavar="RELEASE_ID", help="Default: the one before the current.")
@click.pass_obj
def rollback(warehouse: Warehouse, to: str | None) -> None:
    """Make an earlier release current again."""
    print(f"The current release is {publish.roll_back(warehouse, to)}.")


@cli.command()
@click.option("--keep", type=int, help="How many to keep; default: RELEASES_KEPT.")
@click.pass_obj
def prune(warehouse: Warehouse, keep: int | None) -> None:
    """Delete old releases."""
    with warehouse.writing("prune releases"):
        kept = keep if keep is not None else warehouse.settings.releases_kept
        print(f"{len(publish.prune(warehouse, kept, print))} releases were deleted.")


@cli.command()
@click.pass_obj
def candidates(warehouse: Warehouse) -> None:
    """List the releases to be that are not published, the oldest first."""
    for candidate in publish.candidates(warehouse):
        print(f"{candidate.release_id}  {_state(candidate)}")


@cli.command()
@click.argument("candidate", default="newest")
@click.pass_obj
def findings(warehouse: Warehouse, candidate: str) -> None:
    """List what the gate found in a candidate."""
    found = publish.find_candidate(warehouse, candidate)
    sealed = publish.read_verdict(found)
    print(f"Candidate {found.release_id}: {_state(found)}")
    accepted = {one["finding"]: one for one in sealed["verdict"].get("acceptances", [])}
    for finding in sealed["verdict"].get("findings", []):
        print(f"  {finding['id']}  ({_kind(finding, accepted.get(finding['id']))})\n    {finding['message']}")
    command = publish.how_to_accept(found.release_id, sealed["verdict"])
    if command and publish.open_findings(found, sealed):
        print(f"If this is right, accept it:\n  {command}")


@cli.command()
@click.argument("candidate")
@click.option("--finding", "ids", multiple=True, required=True, help="Its id; may be given several times.")
@click.option("--reason", required=True, help="Why this is right; readers of the release see it.")
@click.option("--by", help="Who accepts it; readers of the release see it; default: your user name.")
@click.option("--publish", "is_published", is_flag=True, help="Publish the candidate once nothing blocks it.")
@click.pass_obj
def accept(
    warehouse: Warehouse, candidate: str, ids: tuple[str, ...], reason: str, by: str | None, is_published: bool
) -> None:
    """Accept findings that block a candidate (its id, or newest), for its very bytes."""
    still_open = publish.accept(warehouse, candidate, list(ids), reason=reason, by=by)
    print(f"{len(set(ids))} finding(s) were accepted.")
    if still_open:
        print("Still open:")
        for finding in still_open:
            print(f"  {finding['id']}  {finding['message']}")
        if is_published:
            raise ReleaseError("The candidate is not published while findings are open.")
    elif is_published:
        print(f"The current release is {publish.promote(warehouse, print)}.")
    else:
        print("Nothing blocks the candidate now: materialise 'published', run again, or accept with --publish.")


def _state(candidate: publish.Candidate) -> str:
    if not candidate.verdict_file.exists():
        return "not judged"
    sealed = publish.read_verdict(candidate)
    if sealed["verdict"]["passed"]:
        return "passed"
    if publish.is_publishable(candidate, sealed):
        return "accepted"
    return f"refused: {len(publish.open_findings(candidate, sealed))} finding(s) block it"


def _kind(finding: dict[str, Any], acceptance: dict[str, Any] | None) -> str:
    if acceptance:
        return f"accepted by {acceptance['by']} on {acceptance['at']}: {acceptance['reason']}"
    if not finding["blocks"]:
        return "warning"
    return "blocks" if finding["is_acceptable"] else "blocks, must be mended"


if __name__ == "__main__":
    raise SystemExit(main())
