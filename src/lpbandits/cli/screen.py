"""What commands show: tables on stdout, a progress bar on stderr when someone is watching, JSON on request."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Show one bar that moves as the library calls back."""
    with _bars() as progress:
        task = progress.add_task(what, total=None)

        def report(stage: str, done: int, total: int) -> None:
            progress.update(task, description=f"{what}: {stage}", completed=done, total=total)

        yield report


@contextmanager
def stage_bars() -> Iterator[Report]:
    """Show a bar per stage of long work."""
    with _bars() as progress:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield report


def _bars() -> Progress:
    """Return bars on stderr; nothing at all when that is not a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


def print_json(content: Any) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(content, allow_nan=False))


def print_table(title: str, columns: list[str], rows: list[list[str]], *, right: set[str] | None = None) -> None:
    """Print a table; `right` names the columns of numbers."""
    table = Table(header_style="bold", box=None, pad_edge=False, show_edge=False)
    for name in columns:
        number = name in (right or set())
        table.add_column(name, justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(title, style="bold", highlight=False)
    console().print(table)


def console() -> Console:
    """Return the console for results: as wide as the terminal, 120 columns when piped."""
    own = Console()
    return own if own.is_terminal else Console(width=120)
