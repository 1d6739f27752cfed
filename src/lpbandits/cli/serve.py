"""`lpb serve`: the decision service."""

import json
import sys
from functools import partial

import typer

from lpbandits.cli import options
from lpbandits.errors import InvalidInput


def serve(
    store: str | None = typer.Option(
        None,
        show_default="a file in your data folder",
        help="Database: **sqlite:///lpb.db**, or **postgresql://user@host/name** for several replicas.",
    ),
    host: str = typer.Option("127.0.0.1", help="Address to listen on. TLS is the task of a proxy."),
    port: int = typer.Option(8321, min=0, max=65535, help="Port to listen on; 0: any free port."),
    dev: bool = typer.Option(False, "--dev", help="Work without keys, on this machine only."),
    example: bool = typer.Option(False, "--example", help="Fill the project **example** with a canteen's guests."),
    as_json: options.AsJson = False,
) -> None:
    """Serve decisions over HTTP: ask for the next action, report outcomes, correct them, and audit all of it.

    The first start prints an admin key, once.

    Example: `lpb serve --store sqlite:///lpb.db --port 8321`
    """
    try:
        from lpbandits.service.server import serve as run
    except ModuleNotFoundError as error:
        raise InvalidInput(f"lpb serve needs {error.name}: pip install 'lpbandits[serve]'") from None
    run(store, host=host, port=port, dev=dev, example=example, say=partial(_say, as_json=as_json))


def _say(event: str, value: str, *, as_json: bool) -> None:
    """Print one event, at once also into a pipe."""
    note = " (an admin key; it is not shown again)" if event == "key" else ""
    typer.echo(json.dumps({event: value}) if as_json else f"{event} {value}{note}")
    sys.stdout.flush()
