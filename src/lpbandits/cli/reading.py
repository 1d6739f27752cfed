"""How commands read a log of ratings: the options that they share, and the one call behind them."""

import inspect
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lpbandits.cli.screen import stage_bars

if TYPE_CHECKING:
    from lpbandits.recovery import Ratings

KINDS = "CSV or TSV (may be gzipped), Parquet, Excel, rankings of PrefLib, or a MovieLens folder or zip."

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


def read_log(
    source: Path,
    *,
    layout: str = "auto",
    person: str | None = None,
    action: str | None = None,
    rating: str | None = None,
    rank: str | None = None,
    duplicates: str = "error",
    decimal_comma: bool = False,
    min_person: int = 0,
    min_action: int = 0,
    unpack_limit: str | None = None,
) -> "tuple[Ratings, float]":
    """Return a log, read under a progress bar, and the seconds that took; what was taken unasked is said on stderr."""
    from lpbandits import validate
    from lpbandits.recovery import read_ratings

    limit = None if unpack_limit is None else validate.as_bytes(unpack_limit, "--unpack-limit")
    start = time.perf_counter()
    with stage_bars() as report:
        report("read", 0, 1)
        log = read_ratings(
            source,
            layout=layout,
            person=person,
            action=action,
            rating=rating,
            rank=rank,
            duplicates=duplicates,
            decimal_comma=decimal_comma,
            min_person=min_person,
            min_action=min_action,
            unpack_limit=limit,
        )
        report("read", 1, 1)
    if layout == "auto" and log.layout in _TAKEN:
        typer.echo(f"note: read as {log.layout}: {_TAKEN[log.layout]} (see --layout)", err=True)
    return log, time.perf_counter() - start


def options_of(context: typer.Context) -> dict[str, Any]:
    """Return what a command was told of how to read its log."""
    return {name: context.params[name] for name in inspect.signature(read_log).parameters if name != "source"}


def number_of_states(text: str) -> "int | Literal['auto']":
    """Return what `--states` says."""
    import re

    from lpbandits import validate

    if text == "auto":
        return "auto"
    return validate.as_count(int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text, "states", high=10_000)
