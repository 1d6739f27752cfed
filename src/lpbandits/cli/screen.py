"""Terminal output: tables and JSON on stdout, progress bars and notes on stderr.

Labels, names and paths are printed literally: markup, emoji codes and control characters have no effect.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from lpbandits.errors import LockInWarning
from lpbandits.text import LINE, display

Report = Callable[[str, int, int], None]

STAGE = 40
"""Maximum number of characters of a stage's name."""


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Show one progress bar."""
    with _bars() as progress:
        task = progress.add_task(what, total=None)

        def report(stage: str, done: int, total: int) -> None:
            progress.update(task, description=f"{what}: {display(stage, STAGE)}", completed=done, total=total)

        yield report


@contextmanager
def stage_bars() -> Iterator[Report]:
    """Show a progress bar per stage."""
    with _bars() as progress:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(display(stage, STAGE), total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield report


def _bars() -> Progress:
    """Return progress bars on stderr, disabled if it is not a terminal."""
    console = _plain_console(stderr=True)
    columns = (
        TextColumn("{task.description:<18}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


@contextmanager
def notes() -> Iterator[None]:
    """Print each `LockInWarning` once as a note on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LockInWarning)
        yield
    for text in dict.fromkeys(str(one.message) for one in caught if one.category is LockInWarning):
        typer.echo(f"note: {display(text, LINE)}", err=True)


def print_json(content: Any) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(content, allow_nan=False))


def say(text: str, *, style: str = "") -> None:
    """Print lines of text; pass untrusted text through `display` first."""
    _console().print("\n".join(display(line, None) for line in text.split("\n")), style=style)


def print_table(title: str, columns: list[str], rows: list[list[str]], *, right: set[str] | None = None) -> None:
    """Print a table; columns in `right` are aligned to the right."""
    table = Table(header_style="bold", box=None, pad_edge=False, show_edge=False)
    for name in columns:
        number = name in (right or set())
        table.add_column(display(name, None), justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*(display(cell, None) for cell in row))
    say(title, style="bold")
    _console().print(table)


def _console() -> Console:
    """Return the console for stdout; its width is 120 columns if stdout is not a terminal."""
    console = _plain_console()
    if not console.is_terminal:
        console.width = 120
    return console


def _plain_console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
