"""The command `lpb`: one small file per command; each parses, calls the library and renders."""

import signal
import sys
from typing import Never

import typer

from lpbandits import __version__
from lpbandits.cli.bound import bound
from lpbandits.cli.data import data
from lpbandits.cli.demo import demo
from lpbandits.cli.fit import fit
from lpbandits.cli.inspect import inspect
from lpbandits.cli.policies import policies
from lpbandits.cli.reproduce import reproduce
from lpbandits.cli.simulate import simulate
from lpbandits.errors import LpbError

app = typer.Typer(
    name="lpb",
    help="Latent preference bandits: personal decisions from preference orderings.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, simulate, policies, fit, inspect, reproduce, data, bound):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lpbandits {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
) -> None:
    """Latent preference bandits: personal decisions from preference orderings."""


class _Stopped(BaseException):
    """The user, or the machine, asked the command to end. Nothing but `main` catches it, so all is cleaned up."""


def _stop(number: int, _: object) -> Never:
    raise _Stopped(number)


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and exit code 2, and an interrupt says so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        app()
    except LpbError as error:
        typer.echo(f"lpb: {error}", err=True)
        sys.exit(2)
    except _Stopped as stopped:
        typer.echo("lpb: stopped", err=True)
        sys.exit(128 + int(stopped.args[0]))
