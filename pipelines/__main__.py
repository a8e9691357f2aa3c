"""The command `python -m pipelines`: run, dev, maintain, doctor. What they do is in `operate/`."""

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


@click.group()
@click.pass_context
def cli(context: click.Context) -> None:
    """Run the peer-review warehouse."""
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
def run(settings: Settings, edition: str) -> int:
    """Materialise everything for one edition."""
    return launch.run(settings, edition, _definitions)


@cli.command()
@click.option("--port", default=3000, show_default=True, help="Where the UI is on 127.0.0.1.")
@click.pass_obj
def dev(settings: Settings, port: int) -> None:
    """Start the Dagster UI and daemon."""
    launch.develop(settings, port)


@cli.command()
@click.pass_obj
def maintain(settings: Settings) -> int:
    """Delete what has outlived its limits; never what has landed."""
    return launch.maintain(settings)


@cli.command()
@click.option("--deep", is_flag=True, help="Hash every landed file and every release too.")
@click.pass_obj
def doctor(settings: Settings, deep: bool) -> int:
    """Check the installation, the warehouse and what a run needs."""
    from pipelines.operate import doctor

    return doctor.main(settings, deep=deep)


def main(arguments: list[str] | None = None) -> int:
    """The command `python -m pipelines`; returns the exit code."""
    try:
        return cli.main(arguments, prog_name="python -m pipelines", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:  # click's word for Ctrl-C
        print("Error: interrupted.", file=sys.stderr)
        return 130
    except (WarehouseError, publish.ReleaseError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
