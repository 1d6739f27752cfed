"""Terminal output: tables and JSON on stdout, progress bars and notes on stderr.

Labels, names and paths are printed literally: markup, emoji codes and control characters have no effect.
"""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from lpbandits import progress
from lpbandits.errors import (
    CovariateWarning,
    LockInWarning,
    NoiseWarning,
    ScaleWarning,
    StalledWarning,
    UncompiledWarning,
)
from lpbandits.text import LINE, display

STAGE = 40
"""Maximum number of characters of a stage's name."""

MAX_WIDTH = 160
"""Maximum width of a table on stdout that is not folded, if it is not a terminal."""

MAX_WORD = 24
"""Words up to this width are not broken in a table, and columns of text are folded to no less."""

SPARE = ("mean rewards", "people", "never compared")
"""Columns of a table of states that a narrow terminal does not show."""

COMPILES = "the first run also compiles"
"""Note on work that compiles kernels, which takes seconds."""

NOTES = (CovariateWarning, LockInWarning, NoiseWarning, ScaleWarning, StalledWarning, UncompiledWarning)
"""Warnings that are printed as notes."""


@contextmanager
def progress_bar(what: str = "", *, note: str = "") -> Iterator[progress.Progress]:
    """Show one progress bar with a name, or without a name one per stage, on stderr if it is a terminal.

    A note is printed above the bars. Warnings of this package are printed as notes on stderr.
    """
    columns = (
        TextColumn("{task.description:<18}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    console = _console(stderr=True)
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    if note and console.is_terminal:
        console.print(f"({note})", style="dim")
    with notes(), bar as bars:
        tasks: dict[str, TaskID] = {what: bars.add_task(what, total=None)} if what else {}

        def report(stage: str, done: int, total: int) -> None:
            name = display(stage, STAGE)
            if not what and stage not in tasks:
                tasks[stage] = bars.add_task(name, total=total)
            text = f"{what}: {name}" if what else name
            bars.update(tasks[what or stage], description=text, completed=done, total=total)

        yield report


@contextmanager
def notes() -> Iterator[None]:
    """Print each warning of this package once, as a note."""
    with warnings.catch_warnings():
        for category in NOTES:
            warnings.simplefilter("default", category)
        show, shown = warnings.showwarning, set[str]()

        def note(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, NOTES):
                if str(message) in shown:
                    return
                shown.add(str(message))
                typer.echo(f"note: {display(message, LINE)}", err=True)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = note
        yield


def print_json(content: Any) -> None:
    """Print one JSON object; paths are text."""
    typer.echo(json.dumps(content, allow_nan=False, default=os.fspath))


def say(text: str, *, style: str = "") -> None:
    """Print lines of text, wrapped only on a terminal; pass untrusted text through `display` first."""
    console = _console()
    lines = (display(line, None) for line in text.split("\n"))
    console.print("\n".join(lines), style=style, soft_wrap=not console.is_terminal)


def print_table(
    title: str, columns: list[str], rows: list[list[str]], *, note: str = "", spare: Sequence[str] = ()
) -> None:
    """Print a table and a note; columns of numbers are aligned to the right.

    On a terminal that is too narrow, columns in `spare` are left out, the first ones first.
    """
    from lpbandits.views.tables import numeric_columns

    console = _console()
    if not console.is_terminal and (width := sum(_widths(columns, rows)) - 2) <= MAX_WIDTH:
        console.width = max(console.width, width)
    for name in spare:
        if name in columns and sum(_widths(columns, rows, most=MAX_WORD)) - 2 > console.width:
            at = columns.index(name)
            columns, rows = columns[:at] + columns[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    table = Table(header_style="bold", box=None, pad_edge=False, show_edge=False)
    for i, (name, numeric) in enumerate(zip(columns, numeric_columns(columns, rows), strict=True)):
        words = [word for text in (name, *(row[i] for row in rows)) for word in text.split()]
        table.add_column(
            display(name, None),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="fold",
            min_width=min(max(map(cell_len, words), default=1), MAX_WORD),
        )
    for row in rows:
        table.add_row(*(display(cell, None) for cell in row))
    say(title, style="bold")
    console.print(table)
    if note:
        say(note, style="dim")


def _widths(columns: list[str], rows: list[list[str]], *, most: int | None = None) -> list[int]:
    """Return the width of each column and the space after it; columns of text have at most the width `most`."""
    from lpbandits.views.tables import numeric_columns

    widths = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    folds = [most is not None and not numeric for numeric in numeric_columns(columns, rows)]
    return [2 + (min(width, most or width) if fold else width) for width, fold in zip(widths, folds, strict=True)]


def print_report(folder: Path | None) -> None:
    """Print the path of the report in a folder, if one was written."""
    if folder is not None:
        say(f"Report: {display(folder / 'report.html', None)}")


def _console(*, stderr: bool = False) -> Console:
    """Return a console; tables on stdout have 120 columns if it is not a terminal."""
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not (stderr or console.is_terminal):
        console.width = 120
    return console
