"""`lpb data`: the datasets that figures of the paper need."""

from pathlib import Path

import typer

from lpbandits.cli.screen import print_json, progress_bar
from lpbandits.text import shown


def data(
    family: str = typer.Argument(help="**movielens**"),
    name: str = typer.Argument(help="**1m**, **20m**, **32m** or **latest-small**"),
    source: Path | None = typer.Option(None, "--from", help="Your own zip or folder, instead of a download."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Put a dataset into your cache folder: by download, or from a file you have.

    Example: `lpb data movielens 1m --from ml-1m.zip`
    """
    from lpbandits import validate
    from lpbandits.paper.datasets import DATASETS, checked, install

    validate.as_choice(family, "family", ("movielens",))
    validate.as_choice(name, "dataset", DATASETS)
    with progress_bar(f"MovieLens {name}") as report:
        folder = install(name, source, progress=report)
    if as_json:
        print_json({"dataset": name, "folder": str(folder), "checked": checked(folder), "terms": DATASETS[name].terms})
        return
    typer.echo(f"MovieLens {name}: {shown(folder, None)}\nChecked: {checked(folder)}\n{DATASETS[name].terms}")
