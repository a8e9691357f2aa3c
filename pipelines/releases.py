"""The command that looks after releases: `python -m pipelines.releases --help`. What it does is in `publish/`."""

import argparse
import sys

from dotenv import load_dotenv

from pipelines.config.settings import PROJECT_DIR, Settings, SettingsError
from pipelines.publish import ReleaseError, current_id, prune, read_manifest, release_ids, roll_back, verify
from pipelines.warehouse import Warehouse, WarehouseError


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines.releases`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.releases", description="Look after releases.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the releases, the oldest first")
    verifying = commands.add_parser("verify", help="hash every file against its manifest")
    verifying.add_argument("release_id", nargs="?", help="one release; default: all")
    rolling = commands.add_parser("rollback", help="make an earlier release current again")
    rolling.add_argument("--to", metavar="RELEASE_ID", help="default: the one before the current")
    pruning = commands.add_parser("prune", help="delete old releases")
    pruning.add_argument("--keep", type=int, help="how many to keep; default: RELEASES_KEPT")
    given = parser.parse_args(arguments)
    load_dotenv(PROJECT_DIR / ".env")
    try:
        warehouse = Warehouse(Settings())
        if given.command == "list":
            for release_id in release_ids(warehouse):
                manifest = read_manifest(warehouse.releases / release_id)
                rows = ", ".join(f"{mart['rows']} {name}" for name, mart in manifest["marts"].items())
                mark = "*" if release_id == current_id(warehouse) else " "
                print(f"{mark} {release_id}  {'synthetic  ' if manifest['is_synthetic'] else ''}{rows}")
        elif given.command == "verify":
            for release_id in [given.release_id] if given.release_id else release_ids(warehouse):
                print(f"{release_id}: {verify(warehouse.releases / release_id)} files are as published")
        elif given.command == "rollback":
            print(f"The current release is {roll_back(warehouse, given.to)}.")
        else:
            with warehouse.writing("prune releases"):
                keep = given.keep if given.keep is not None else warehouse.settings.releases_kept
                print(f"{len(prune(warehouse, keep, print))} releases were deleted.")
    except (ReleaseError, WarehouseError, SettingsError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
