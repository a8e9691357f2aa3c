"""The command `python -m pipelines`: run, dev, maintain, doctor. What they do is in `operate/`.

Everything but click is imported in the commands, so that a Ctrl-C during those seconds finds somebody who catches it.
"""

import gc
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import dagster as dg

    from pipelines.config.settings import Settings


def _definitions() -> "dg.Definitions":
    from pipelines.definitions import defs

    return defs


@click.group()
@click.pass_context
def cli(context: click.Context) -> None:
    """Run the peer-review warehouse."""
    from dotenv import load_dotenv

    from pipelines.config.settings import PROJECT_DIR, Settings

    load_dotenv(PROJECT_DIR / ".env")  # what the environment says already stays
    context.obj = Settings()


@cli.command()
@click.option(
    "--edition",
    default="sample",
    show_default=True,
    help="An edition of the editions file, all, or sample: every synthetic one.",
)
@click.pass_obj
def run(settings: "Settings", edition: str) -> int:
    """Materialise everything for one edition."""
    from pipelines.operate import launch

    return launch.run(settings, edition, _definitions)


@cli.command()
@click.option("--port", default=3000, show_default=True, help="Where the UI is on 127.0.0.1.")
@click.pass_obj
def dev(settings: "Settings", port: int) -> None:
    """Start the Dagster UI and daemon."""
    from pipelines.operate import launch

    launch.develop(settings, port)


@cli.command()
@click.pass_obj
def maintain(settings: "Settings") -> int:
    """Delete what has outlived its limits; never what has landed."""
    from pipelines.operate import launch

    return launch.maintain(settings)


@cli.command()
@click.option("--deep", is_flag=True, help="Hash every landed file and every release too.")
@click.pass_obj
def doctor(settings: "Settings", deep: bool) -> int:
    """Check the installation, the warehouse and what a run needs."""
    from pipelines.operate import doctor

    return doctor.main(settings, deep=deep)


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines`; returns the exit code."""
    try:
        return _main(arguments)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):  # the first is click's word for the second
        print("Error: interrupted.", file=sys.stderr)
        return 130


def _main(arguments: list[str] | None) -> int:
    from pipelines import publish
    from pipelines.warehouse import WarehouseError

    try:
        return cli.main(arguments, prog_name="python -m pipelines", standalone_mode=False) or 0
    except (WarehouseError, publish.ReleaseError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    # Python looks for garbage after every 700 new objects. The libraries make half a million, and all of them stay.
    gc.set_threshold(200_000)
    code = main()
    gc.freeze()  # it would look through all of them once more before it ends
    raise SystemExit(code)
