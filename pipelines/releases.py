"""The command that looks after releases: `python -m pipelines.releases --help`. What it does is in `publish/`."""

import argparse
import sys
from collections.abc import Callable

from dotenv import load_dotenv

from pipelines import publish
from pipelines.config.settings import PROJECT_DIR, Settings, SettingsError
from pipelines.publish import ReleaseError, current_id, prune, read_manifest, release_ids, roll_back, verify
from pipelines.warehouse import Warehouse, WarehouseError

_EPILOG = """\
examples:
  %(prog)s list
  %(prog)s rollback --to 20261130T120000Z-1a2b3c4d
  %(prog)s findings newest
  %(prog)s accept newest --finding papers.volume.share_of_previous-1a2b3c4d \\
      --reason "The venue withdrew its workshop papers" --publish

exit codes:
  0  done
  1  refused or not possible; the reason is on the error output, and no release changed
  2  the command line is wrong
"""


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines.releases`; returns the exit code, as `--help` lists them."""
    given = _parser().parse_args(arguments)
    load_dotenv(PROJECT_DIR / ".env")
    command: Callable[[Warehouse, argparse.Namespace], None] = given.run
    try:
        command(Warehouse(Settings()), given)
    except (ReleaseError, WarehouseError, SettingsError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.releases",
        description="Look after releases, and after candidates that the gate refused.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run: Callable[[Warehouse, argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        made.set_defaults(run=run)
        return made

    command("list", _list, "list the releases, the oldest first")
    verifying = command("verify", _verify, "hash every file against its manifest")
    verifying.add_argument("release_id", nargs="?", help="one release; default: all")
    rolling = command("rollback", _roll_back, "make an earlier release current again")
    rolling.add_argument("--to", metavar="RELEASE_ID", help="default: the one before the current")
    pruning = command("prune", _prune, "delete old releases")
    pruning.add_argument("--keep", type=int, help="how many to keep; default: RELEASES_KEPT")
    command("candidates", _candidates, "list the releases to be that are not published, the oldest first")
    finding = command("findings", _findings, "list what the gate found in a candidate")
    finding.add_argument("candidate", nargs="?", default="newest", help="its id; default: newest")
    accepting = command("accept", _accept, "accept findings that block a candidate, for its very bytes")
    accepting.add_argument("candidate", help="its id, or newest")
    accepting.add_argument("--finding", action="append", required=True, help="its id; may be given several times")
    accepting.add_argument("--reason", required=True, help="why this is right; readers of the release see it")
    accepting.add_argument("--by", help="who accepts it; readers of the release see it; default: your user name")
    accepting.add_argument("--publish", action="store_true", help="publish the candidate once nothing blocks it")
    return parser


def _list(warehouse: Warehouse, given: argparse.Namespace) -> None:
    for release_id in release_ids(warehouse):
        manifest = read_manifest(warehouse.releases / release_id)
        rows = ", ".join(f"{mart['rows']} {name}" for name, mart in manifest["marts"].items())
        mark = "*" if release_id == current_id(warehouse) else " "
        print(f"{mark} {release_id}  {'synthetic  ' if manifest['is_synthetic'] else ''}{rows}")


def _verify(warehouse: Warehouse, given: argparse.Namespace) -> None:
    for release_id in [given.release_id] if given.release_id else release_ids(warehouse):
        print(f"{release_id}: {verify(warehouse.releases / release_id)} files are as published")


def _roll_back(warehouse: Warehouse, given: argparse.Namespace) -> None:
    print(f"The current release is {roll_back(warehouse, given.to)}.")


def _prune(warehouse: Warehouse, given: argparse.Namespace) -> None:
    with warehouse.writing("prune releases"):
        keep = given.keep if given.keep is not None else warehouse.settings.releases_kept
        print(f"{len(prune(warehouse, keep, print))} releases were deleted.")


def _candidates(warehouse: Warehouse, given: argparse.Namespace) -> None:
    for candidate in publish.candidates(warehouse):
        print(f"{candidate.release_id}  {_state(candidate)}")


def _state(candidate: publish.Candidate) -> str:
    if not candidate.verdict_file.exists():
        return "not judged"
    sealed = publish.read_verdict(candidate)
    if sealed["verdict"]["passed"]:
        return "passed"
    if publish.is_publishable(candidate, sealed):
        return "accepted"
    return f"refused: {len(publish.open_findings(candidate, sealed))} finding(s) block it"


def _findings(warehouse: Warehouse, given: argparse.Namespace) -> None:
    candidate = publish.find_candidate(warehouse, given.candidate)
    sealed = publish.read_verdict(candidate)
    print(f"Candidate {candidate.release_id}: {_state(candidate)}")
    accepted = {one["finding"]: one for one in sealed["verdict"].get("acceptances", [])}
    for finding in sealed["verdict"].get("findings", []):
        kind = (
            "warning" if not finding["blocks"] else "blocks" if finding["is_acceptable"] else "blocks, must be mended"
        )
        if one := accepted.get(finding["id"]):
            kind = f"accepted by {one['by']} on {one['at']}: {one['reason']}"
        print(f"  {finding['id']}  ({kind})\n    {finding['message']}")
    command = publish.how_to_accept(candidate.release_id, sealed["verdict"])
    if command and publish.open_findings(candidate, sealed):
        print(f"If this is right, accept it:\n  {command}")


def _accept(warehouse: Warehouse, given: argparse.Namespace) -> None:
    still_open = publish.accept(warehouse, given.candidate, given.finding, reason=given.reason, by=given.by)
    print(f"{len(set(given.finding))} finding(s) were accepted.")
    if still_open:
        print("Still open:")
        for finding in still_open:
            print(f"  {finding['id']}  {finding['message']}")
        if given.publish:
            raise ReleaseError("The candidate is not published while findings are open.")
    elif given.publish:
        print(f"The current release is {publish.promote(warehouse, print)}.")
    else:
        print("Nothing blocks the candidate now: materialise 'published', run again, or accept with --publish.")


if __name__ == "__main__":
    raise SystemExit(main())
