"""How commands read a log of ratings: the options that they share, and the one call behind them."""

import inspect
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lpbandits.cli.screen import stage_bars

if TYPE_CHECKING:
    from lpbandits.data import Ratings
    from lpbandits.data.chunked import ChunkedRatings

KINDS = (
    "CSV or TSV (may be gzipped), Parquet or many of them (**'ratings/*.parquet'**), Excel, rankings of PrefLib, or a "
    "MovieLens folder or zip."
)

Layout = Annotated[
    str,
    typer.Option(
        help="How the table is laid out: **long** (one rating per row), **wide** (a column per action), **rankings** "
        "(actions in order of preference), or **auto**: what is certain."
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
        help="What a compressed file may unpack to, such as **50GB**; 20 GB and 200 times its size by default."
    ),
]

_TAKEN = {
    "wide": "a column per action",
    "rankings": "each person's actions in order of preference; ratings stand for places, and only their order counts",
}


def read_log(source: Path, **options: Any) -> "tuple[Ratings, float]":
    """Return a log, read under a progress bar, and the seconds that took; what was taken unasked is said on stderr."""
    from lpbandits.data import read_ratings

    start = time.perf_counter()
    with stage_bars() as report:
        report("read", 0, 1)
        log = read_ratings(source, **_options(options))
        report("read", 1, 1)
    _say_layout(log.layout, options.get("layout", "auto"))
    return log, time.perf_counter() - start


@contextmanager
def open_log(
    source: Path, *, max_memory: int | None, scratch: Path | None, files: bool, **options: Any
) -> "Iterator[tuple[Ratings | ChunkedRatings, float]]":
    """Give the same, in memory or in files."""
    from lpbandits.data.spill import open_ratings

    start = time.perf_counter()
    with ExitStack() as open_:
        with stage_bars() as report:
            log = open_.enter_context(
                open_ratings(
                    source, max_memory=max_memory, scratch=scratch, files=files, progress=report, **_options(options)
                )
            )
        _say_layout(log.layout, options["layout"])
        yield log, time.perf_counter() - start


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return options as the library takes them."""
    from lpbandits import validate

    limit = given.get("unpack_limit")
    return given | {"unpack_limit": None if limit is None else validate.as_bytes(limit, "--unpack-limit")}


def _say_layout(found: str, asked: str) -> None:
    if asked == "auto" and found in _TAKEN:
        typer.echo(f"note: read as {found}: {_TAKEN[found]} (see --layout)", err=True)


def options_of(context: typer.Context) -> dict[str, Any]:
    """Return what a command was told of how to read its log."""
    from lpbandits.data import read_ratings

    return {name: context.params[name] for name in inspect.signature(read_ratings).parameters if name != "source"}


def number_of_states(text: str) -> "int | Literal['auto']":
    """Return what `--states` says."""
    import re

    from lpbandits import validate

    if text == "auto":
        return "auto"
    return validate.as_count(int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text, "states", high=10_000)
