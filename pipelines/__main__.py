"""The command `python -m pipelines`: run, dev, maintain, doctor. What they do is in `operate/`."""

import argparse
import gc
import sys
from typing import TYPE_CHECKING

import click
from dotenv import load_dotenv

from pipelines import publish
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.operate import launch
from pipelines.warehouse import WarehouseError

if TYPE_CHECKING:
    import dagster as dg


def _definitions() -> "dg.Definitions":
    from pipelines.definitions import defs

    return defs


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pipelines", description="Run the peer-review warehouse.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="materialise everything for one edition")
    running.add_argument(
        "--edition",
        default="sample",
        help="an edition of the editions file, all, or sample, every synthetic one; default: sample",
    )
    developing = commands.add_parser("dev", help="start the Dagster UI and daemon")
    developing.add_argument("--port", type=int, default=3000, help="where the UI is on 127.0.0.1; default: 3000")
    commands.add_parser("maintain", help="delete what has outlived its limits; never what has landed")
    examining = commands.add_parser("doctor", help="check the installation, the warehouse and what a run needs")
    examining.add_argument("--deep", action="store_true", help="hash every landed file and every release too")
    given = parser.parse_args(arguments)
    load_dotenv(PROJECT_DIR / ".env")  # what the environment says already stays
    try:
        settings = Settings()
        if given.command == "run":
            return launch.run(settings, given.edition, _definitions)
        if given.command == "maintain":
            return launch.maintain(settings)
        if given.command == "doctor":
            from pipelines.operate import doctor

            return doctor.main(settings, deep=given.deep)
        launch.develop(settings, given.port)
    except (click.ClickException, WarehouseError, publish.ReleaseError) as error:
        print(f"Error: {error.format_message() if isinstance(error, click.ClickException) else error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # Python looks for garbage after every 700 new objects. The libraries make half a million, and all of them stay.
    gc.set_threshold(200_000)
    code = main()
    gc.freeze()  # it would look through all of them once more before it ends, for more than a second
    raise SystemExit(code)
