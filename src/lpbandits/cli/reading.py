"""Options of the commands that read a log of ratings, and the calls that read it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lpbandits.cli.screen import stage_bars

if TYPE_CHECKING:
    from lpbandits.data import ChunkedRatings, Ratings

KINDS = (
    "CSV or TSV (may be gzipped), Parquet or many of them (**'ratings/*.parquet'**), Excel, PrefLib rankings, or a "
    "MovieLens folder or zip."
)

Layout = Annotated[
    str,
    typer.Option(
        help="Layout of the table: **long** (one rating per row), **wide** (a column per action), **rankings** "
        "(actions in order of preference), or **auto**: detect."
    ),
]
Person = Annotated[str | None, typer.Option(help="Column that holds the person; guessed when obvious.")]
Action = Annotated[str | None, typer.Option(help="Column that holds the action; guessed when obvious.")]
Rating = Annotated[str | None, typer.Option(help="Column that holds the rating; guessed when obvious.")]
Rank = Annotated[str | None, typer.Option(help="Column that holds a rank, 1 the best, instead of a rating.")]
Duplicates = Annotated[
    str,
    typer.Option(help="A person's second rating of an action: **error**, keep the **last** row, or the **mean**."),
]
DecimalComma = Annotated[bool, typer.Option("--decimal-comma", help="Read 4,5 as four and a half.")]
MinPerson = Annotated[int, typer.Option(help="Keep people with at least this many ratings.")]
MinAction = Annotated[int, typer.Option(help="Then keep actions with at least this many ratings.")]
UnpackLimit = Annotated[
    str | None,
    typer.Option(
        help="Maximum decompressed size, such as **50GB**; by default 20 GB and 200 times the size of the file."
    ),
]

_LAYOUTS = {
    "wide": "a column per action",
    "rankings": "each person's actions in order of preference; ratings stand for ranks, and only their order counts",
}


def read_log(source: Path, **options: Any) -> "tuple[Ratings, float]":
    """Return a log in memory and the seconds that reading took."""
    from lpbandits.data import read_ratings

    start = time.perf_counter()
    with stage_bars() as report:
        report("read", 0, 1)
        log = read_ratings(source, **options)
        report("read", 1, 1)
    _note_layout(log.layout, options.get("layout", "auto"))
    return log, time.perf_counter() - start


@contextmanager
def open_log(
    source: Path, *, max_memory: int | None, scratch: Path | None, files: bool, **options: Any
) -> "Iterator[tuple[Ratings | ChunkedRatings, float]]":
    """Yield a log in memory or on disk, and the seconds that reading took."""
    from lpbandits.data import open_ratings

    start = time.perf_counter()
    with ExitStack() as stack:
        with stage_bars() as report:
            opened = open_ratings(
                source, max_memory=max_memory, scratch=scratch, files=files, progress=report, **options
            )
            log = stack.enter_context(opened)
        _note_layout(log.layout, options["layout"])
        yield log, time.perf_counter() - start


def _note_layout(layout: str, requested: str) -> None:
    """Print the detected layout to stderr if it is not one rating per row."""
    if requested == "auto" and layout in _LAYOUTS:
        typer.echo(f"note: read as {layout}: {_LAYOUTS[layout]} (see --layout)", err=True)


def options_of(context: typer.Context) -> dict[str, Any]:
    """Return the options of `ReadOptions` from a command line."""
    from lpbandits import validate
    from lpbandits.data import ReadOptions

    options = {field.name: context.params[field.name] for field in fields(ReadOptions)}
    if options["unpack_limit"] is not None:
        options["unpack_limit"] = validate.as_bytes(options["unpack_limit"], "--unpack-limit")
    return options


def number_of_states(text: str) -> "int | Literal['auto']":
    """Return the value of `--states`."""
    import re

    from lpbandits import validate

    if text == "auto":
        return "auto"
    return validate.as_count(int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text, "states", high=10_000)
