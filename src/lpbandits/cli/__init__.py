"""The command line `lpb`: each command parses its options, calls the library and prints the result."""

import contextlib
import errno
import os
import platform
import signal
import sys
import traceback
from typing import Never, TextIO

import typer

from lpbandits import __version__
from lpbandits.cli.bound import bound
from lpbandits.cli.data import data
from lpbandits.cli.decide import decide
from lpbandits.cli.evaluate import evaluate
from lpbandits.cli.fit import fit
from lpbandits.cli.inspect import inspect
from lpbandits.cli.model import model
from lpbandits.cli.options import Command
from lpbandits.cli.policies import policies
from lpbandits.cli.reproduce import reproduce
from lpbandits.cli.serve import serve
from lpbandits.cli.simulate import demo, simulate
from lpbandits.cli.store import store
from lpbandits.errors import LpbError, fault_of, reason
from lpbandits.text import LINE, display

STREAM_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EPIPE)
"""Error numbers of a failed write: an OSError with one of these and without a path comes from standard output."""

app = typer.Typer(
    name="lpb",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, simulate, policies, fit, inspect, evaluate, decide, reproduce, data, bound, serve):
    app.command(cls=Command)(command)
app.add_typer(model, name="model")
app.add_typer(store, name="store")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lpbandits {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks."),
) -> None:
    """Latent preference bandits: personal decisions from preference orderings.

    Start with `lpb demo`; or with `lpb data example`, which prints the next command.
    """


class _Stopped(BaseException):
    """Raised on SIGINT or SIGTERM and caught only by `main`, so that all clean-up runs."""


def _stop(number: int, _: object) -> Never:
    raise _Stopped(number)


def main() -> None:
    """Run the command line; an error is one line on stderr.

    Exit codes: 0 success, 1 a closed pipe, 2 invalid input or a system error, 70 a bug in the package, 130 SIGINT, 143
    SIGTERM.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        app()
    except _Stopped as stopped:
        _end("stopped", 128 + int(stopped.args[0]))
    except SystemExit as ended:
        _end(None, int(ended.code or 0))
    except BaseException as error:
        _end(*_explained(error), error if debug else None)


def _explained(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    no_file = isinstance(error, OSError) and error.filename is None and error.errno in STREAM_FAULTS
    doing = "cannot write to standard output" if no_file else "".join(sys.argv[1:2]) or "lpb"
    fault = error if isinstance(error, LpbError) else fault_of(error, doing)
    if fault is not None:
        return str(fault), 2
    about = f"lpbandits {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    text = f"unexpected error: {type(error).__name__}: {error}; this is a bug in lpbandits"
    return f"{text}: please report it with the output of --debug ({about})", 70


def _end(message: str | None, code: int, error: BaseException | None = None) -> Never:
    """Print one line and exit, even if standard output or standard error cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as full:  # ValueError: the stream is closed
        if message is None and not isinstance(full, BrokenPipeError):
            message, code = f"cannot write to standard output: {reason(full)}", 2
        elif message is None:
            code = 1  # as for an earlier write, which click handles
    with contextlib.suppress(OSError, ValueError):
        if error is not None:
            traceback.print_exception(error)
        if message is not None:
            typer.echo(f"lpb: {display(message, LINE)}", err=True)
        sys.stderr.flush()
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as null:  # noqa: PTH123 - not a user's path
        os.dup2(null.fileno(), sys.stdout.fileno())  # discard what Python would still write to a failed stream
    for number in (signal.SIGINT, signal.SIGTERM):  # the work is done; `_stop` would print a traceback
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _writable(stream: TextIO | None) -> TextIO:
    """Return a stream that replaces characters outside its encoding; a closed stream becomes the null device."""
    if stream is None:
        return open(os.devnull, "w")  # noqa: PTH123 - open until the process ends
    with contextlib.suppress(AttributeError, ValueError, OSError):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined] # of a TextIOWrapper
    return stream
