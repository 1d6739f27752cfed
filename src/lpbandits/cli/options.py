"""Options that several commands share: workers, output and the log of ratings, with the calls that read it."""

import csv
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer
from typer.core import TyperCommand

from lpbandits.cli.screen import progress_bar
from lpbandits.errors import InvalidInput, LpbError
from lpbandits.text import display

if TYPE_CHECKING:
    from lpbandits.data import Ratings
    from lpbandits.parallel import Workers

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
"""An option in a text."""

REMARK = re.compile(r" ?\(([^()]*)\)")
"""A remark in brackets: messages of the library name options of commands there."""

_known: ContextVar[frozenset[str] | None] = ContextVar("options of the running command", default=None)

Jobs = Annotated[
    int | None,
    typer.Option(
        show_default="this process only",
        help="Number of worker processes; on a cluster, number of jobs at a time. Does not change results.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="**processes** of this machine, or **dask**: the cluster at --address, or without it a temporary one on "
        "this machine (pip install 'lpbandits[dask]')."
    ),
]
Address = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.")]
Threads = Annotated[
    int | None, typer.Option(help="Threads per process; default all cores, shared by --jobs. Does not change results.")
]
EscapeFormulas = Annotated[
    bool,
    typer.Option("--escape-formulas", help="In CSV, put ' before text that a spreadsheet would run as a formula."),
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ReportFolder = Annotated[Path | None, typer.Option(help="Output folder for tables, charts and an HTML report.")]

Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="<path>",
        help="Python file that registers policies, worlds or figures, which can then be named; can be repeated.",
    ),
]

Names = Annotated[
    Path | None,
    typer.Option(help="Names of actions: a CSV of labels and names, a MovieLens folder or movies.dat."),
]

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
Person = Annotated[str | None, typer.Option(help="Column that holds the person; found by its name by default.")]
Action = Annotated[str | None, typer.Option(help="Column that holds the action; found by its name by default.")]
Rating = Annotated[str | None, typer.Option(help="Column that holds the rating; found by its name by default.")]
Rank = Annotated[str | None, typer.Option(help="Column that holds a rank, 1 the best, instead of a rating.")]
Time = Annotated[
    str | None,
    typer.Option(help="Column that holds the time of a rating, number or ISO date: **last** then means the latest."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns of a wide table that are actions, separated by commas as in CSV. Default: all but the person's."
    ),
]
Ignore = Annotated[
    str | None, typer.Option(help="Columns that are not read, separated by commas as in CSV: **age,sex**.")
]
Duplicates = Annotated[
    str,
    typer.Option(
        help="A person's second rating of an action: **error**, keep the **last** (row, or with --time the latest), or "
        "the **mean**."
    ),
]
Missing = Annotated[
    str, typer.Option(help="Rows without a rating in a long table: **skip** and count them, or **error**.")
]
LowerIsBetter = Annotated[
    bool, typer.Option("--lower-is-better", help="Low ratings are good, such as pain scores. The model remembers it.")
]
DecimalComma = Annotated[bool, typer.Option("--decimal-comma", help="Read 4,5 as 4.5, in all tables.")]
MinPerson = Annotated[int, typer.Option(help="Keep people with at least this many ratings.")]
MinAction = Annotated[int, typer.Option(help="Then keep actions with at least this many ratings.")]
UnpackLimit = Annotated[
    str | None,
    typer.Option(help="Maximum decompressed size, such as **50GB**; default 200 times the file, 64 MiB to 20 GB."),
]


def workers_of(jobs: int | None, backend: str, address: str | None) -> "int | Workers | None":
    """Validate the options, before a command reads files, and return what the library takes as `jobs`."""
    from lpbandits.parallel import Workers

    if backend == "processes" and address is None:
        if jobs is not None:
            Workers(jobs)
        return jobs
    return Workers(jobs, backend, address)  # type: ignore[arg-type] # validated there


def known_only(text: str) -> str:
    """Leave out the remarks in brackets that name an option which the running command does not have."""
    known = _known.get()

    def kept(match: re.Match[str]) -> str:
        return match[0] if known is None or "lpb " in match[1] or known.issuperset(OPTION.findall(match[1])) else ""

    return REMARK.sub(kept, text)


def load_plugins(paths: Iterable[Path] | None) -> None:
    """Run the files of `--plugin`."""
    from lpbandits.register import load_plugin

    for path in paths or ():
        load_plugin(path)


def split_list(text: str) -> list[str]:
    """Return the items of a comma-separated list.

    >>> split_list("lpbts, ts,")
    ['lpbts', 'ts']
    """
    return [item.strip() for item in text.split(",") if item.strip()]


def split_columns(text: str, option: str) -> list[str]:
    """Return the columns of a comma-separated list; as in CSV, quotes enclose a name that has a comma.

    >>> split_columns('tea, "age, years"', "--ignore")
    ['tea', 'age, years']
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise InvalidInput(
            f"{option} must be names separated by commas, got {text!r}; enclose a name with a comma or a quote in "
            "quotes, and double those inside"
        ) from None
    return [item.strip() for row in rows for item in row if item.strip()]


def given(context: typer.Context) -> dict[str, Any]:
    """Return the options that are on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name: context.params[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def reject(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Raise if one of these options is on the command line."""
    for name in names:
        if name in given(context):
            raise InvalidInput(f"--{name.replace('_', '-')} {why}")


class Read(Protocol):
    """What was read, such as a log."""

    @property
    def layout(self) -> str:
        """Its layout."""

    @property
    def person_column(self) -> str | None:
        """Name of the column of the people."""


_LAYOUTS = {
    "wide": "a column per action",
    "rankings": "each person's actions in order of preference; ratings stand for ranks, and only their order counts",
}


def read_log(source: Path, **options: Any) -> "tuple[Ratings, float]":
    """Return a log in memory and the seconds that reading took."""
    from lpbandits.data import read_ratings

    start = time.perf_counter()
    with progress_bar("reading"):
        log = read_ratings(source, **options)
    note_layout(log, options.get("layout", "auto"), options.get("person"))
    for line in dropped_lines(log.dropped, options.get("time")):
        if not line.startswith("dropped"):
            typer.echo(f"note: {line}", err=True)
    return log, time.perf_counter() - start


def note_layout(read: Read, requested: str, person: str | None) -> None:
    """Print the detected layout to stderr if it is not one rating per row, and the column taken for the people."""
    column = read.person_column if person is None else None
    if read.layout in _LAYOUTS and (requested == "auto" or column is not None):
        people = "" if column is None else f"; the people are in column {display(column)}"
        text = f"note: read as {read.layout}: {_LAYOUTS[read.layout]}{people} (see --layout, --person)"
        typer.echo(known_only(text), err=True)


def dropped_lines(dropped: Mapping[str, int], time: str | None) -> list[str]:
    """Return what reading a log did to its rows, a line for each reason.

    >>> dropped_lines({"missing_ratings": 2, "blank_lines": 0, "people_below_min_person": 1}, None)
    ['skipped rows without a rating: 2 (--missing error: refuse them)', 'dropped people below --min-person: 1']
    """
    latest = (
        "the last row counts; --time COLUMN: the latest" if time is None else f"the latest by {display(time)} counts"
    )
    words = {
        "missing_ratings": "skipped rows without a rating: {:,} (--missing error: refuse them)",
        "row_numbers": "ignored the first column, which has no name and counts the rows",
        "repeated_ratings": f"skipped repeated ratings: {{:,}} ({latest})",
        "averaged_ratings": "averaged repeated ratings: {:,} (with the others of the same person and action)",
    }
    return [
        words[reason].format(count)
        if reason in words
        else f"dropped {reason.replace('_', ' ').replace('below min ', 'below --min-')}: {count:,}"
        for reason, count in dropped.items()
        if count
    ]


def read_options(context: typer.Context) -> dict[str, Any]:
    """Return the options of `ReadOptions` that a command has."""
    from lpbandits import validate
    from lpbandits.data import ReadOptions

    options = {field.name: context.params[field.name] for field in fields(ReadOptions) if field.name in context.params}
    options["columns"] = None if options["columns"] is None else split_columns(options["columns"], "--columns")
    options["ignore"] = split_columns(options["ignore"] or "", "--ignore")
    if options["unpack_limit"] is not None:
        options["unpack_limit"] = validate.as_bytes(options["unpack_limit"], "--unpack-limit")
    return options


def number_of_states(text: str) -> "int | Literal['auto']":
    """Return the value of `--states`."""
    from lpbandits import validate

    if text == "auto":
        return "auto"
    return validate.as_count(int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text, "states", high=10_000)


class Command(TyperCommand):
    """A command that explains how to pass many files when the shell has expanded a pattern.

    Its errors name only its own options.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        before = _known.set(frozenset(name for one in self.params for name in (*one.opts, *one.secondary_opts)))
        try:
            return super().invoke(ctx)
        except LpbError as error:
            error.args = (known_only(str(error)),)
            raise
        finally:
            _known.reset(before)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reject extra arguments with a hint."""
        ctx.allow_extra_args = True
        extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            more = f" and {len(extra) - 1:,} more" if len(extra) > 1 else ""
            shell_pattern = any(map(os.path.exists, extra))
            hint = "; pass many files as one quoted pattern: 'ratings/*.parquet'" if shell_pattern else ""
            ctx.fail(f"Got unexpected extra argument(s) ({display(extra[0])}{more}){hint}")
        return extra
