"""`lpb data`: an example log, and the datasets that figures of the paper need."""

from pathlib import Path

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import print_json, progress_bar, say
from lpbandits.errors import InvalidInput
from lpbandits.text import display


def data(
    family: str = typer.Argument(help="**example** or **movielens**"),
    name: str | None = typer.Argument(None, help="MovieLens dataset: **1m**, **20m**, **32m** or **latest-small**"),
    source: Path | None = typer.Option(None, "--from", help="Install from this zip file or folder; no download."),
    out: Path | None = typer.Option(None, show_default="lpb-example", help="Folder for the example."),
    as_json: options.AsJson = False,
) -> None:
    """Write a small example log, or install a dataset in your cache folder, by download or from a file.

    Example: `lpb data example`, or `lpb data movielens 1m --from ml-1m.zip`
    """
    from lpbandits import validate

    validate.as_choice(family, "family", ("example", "movielens"))
    for option, value, for_example in (("NAME", name, False), ("--from", source, False), ("--out", out, True)):
        if value is not None and for_example != (family == "example"):
            raise InvalidInput(f"{option} cannot be combined with {family}; leave it out")
    if family == "example":
        _example(Path("lpb-example") if out is None else out, as_json)
    else:
        _movielens(name, source, as_json)


def _example(folder: Path, as_json: bool) -> None:
    from lpbandits.datasets.example import write_example

    rows = write_example(folder)
    if as_json:
        print_json({"folder": str(folder), "files": rows})
        return
    place = display(folder, None)
    say(f"A generated canteen log: {rows['ratings.csv']:,} ratings from 1 to 5 stars of {rows['titles.csv']} dishes")
    for file, what in (
        ("ratings.csv", "guest, dish, stars: the log"),
        ("titles.csv", "titles of the dishes"),
        ("newcomers.csv", "a few ratings of guests who are not in the log"),
    ):
        say(f"  {place}/{file:<13}   {what}")
    say(f"Next: lpb fit {place}/ratings.csv --states 4 --names {place}/titles.csv --out model.json")


def _movielens(name: str | None, source: Path | None, as_json: bool) -> None:
    from lpbandits import validate
    from lpbandits.datasets.movielens import DATASETS, install, stored_checks

    if name is None:
        raise InvalidInput(f"NAME is missing; give one of {', '.join(DATASETS)}, such as lpb data movielens 1m")
    validate.as_choice(name, "dataset", DATASETS)
    with progress_bar(f"MovieLens {name}") as report:
        folder = install(name, source, progress=report)
    checks, terms = stored_checks(folder), DATASETS[name].terms
    if as_json:
        print_json({"dataset": name, "folder": folder, "checked": checks, "terms": terms})
    else:
        typer.echo(f"MovieLens {name}: {display(folder, None)}\nChecked: {checks}\n{terms}")
