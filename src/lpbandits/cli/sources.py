"""Where `lpb fit` and `lpb evaluate` read ratings: a file, an export, or a project of a store."""

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import progress_bar
from lpbandits.errors import InvalidInput
from lpbandits.text import display

if TYPE_CHECKING:
    from lpbandits.service.store.database import Store

StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        show_default="a file in your data folder",
        help="Database of `lpb serve`: **sqlite:///lpb.db** or **postgresql://user@host/name**.",
    ),
]
LogStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Read the outcomes of a project from this database of `lpb serve`, instead of a file.",
    ),
]
Project = Annotated[str | None, typer.Option("--project", help="Project of the store. Default: its only project.")]


@dataclass(frozen=True)
class Log:
    """A log to read.

    Attributes
    ----------
    path
        File or folder of the ratings.
    reading
        Fields of `ReadOptions`.
    name
        What it is called in reports.
    words
        The same log on a command line.
    """

    path: Path
    reading: dict[str, Any]
    name: str
    words: str


@contextlib.contextmanager
def opened_store(url: str | None) -> "Iterator[Store]":
    """Yield a store that is only read."""
    try:
        from lpbandits.service.store.database import Store
    except ModuleNotFoundError as error:
        raise InvalidInput(f"stores need {error.name}: pip install 'lpbandits[serve]'") from None
    with Store(url) as store:
        yield store


@contextlib.contextmanager
def log_of(context: typer.Context, ratings: Path | None, store: str | None, project: str | None) -> Iterator[Log]:
    """Yield the log that a command reads; that of a store is an export of its ratings in a temporary folder.

    Repeated ratings of an export are averaged, unless the command line says otherwise.
    """
    from lpbandits.data.exports import reading_of

    if (ratings is None) == (store is None and project is None):
        got = "neither" if ratings is None else "both"
        raise InvalidInput(
            f"RATINGS must be a log, or left out with a store or its project (--store, --project), got {got}"
        )
    with contextlib.ExitStack() as stack:
        if ratings is None:
            path, name, words = _from_store(stack, store, project)
        else:
            path, name, words = ratings, ratings.name, display(ratings, None)
        given = options.given(context)
        defaults = {key: value for key, value in reading_of(path).items() if key not in given}
        yield Log(path, {**options.read_options(context), **defaults}, name, words)


def _from_store(stack: contextlib.ExitStack, url: str | None, project: str | None) -> tuple[Path, str, str]:
    """Write the ratings of a project to a temporary folder; return it, its name and the options for it."""
    from lpbandits.io.compressed import temporary_folder

    folder = stack.enter_context(temporary_folder())
    with opened_store(url) as opened, progress_bar() as report:
        from lpbandits.service.export import export_folder

        about = export_folder(opened, folder / "ratings", project=project, only_ratings=True, progress=report)
        shown = None if url is None else opened.url.render_as_string()
    name = about["project"]
    if not about["counts"]["ratings"]:
        raise InvalidInput(f"project {name} has no outcomes with a reward; report some first")
    words = [*(() if shown is None else ("--store", shown)), "--project", name]
    return folder / "ratings", f"project {name}", display(shlex.join(words), None)
