"""`lpb demo`: the paper's headline comparison."""

from pathlib import Path

import typer

from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import display


def demo(
    out: Path = typer.Option(Path("lpb-demo"), help="Folder for the tables, charts and the HTML report."),
    seed: int = typer.Option(0, help="Seed of everything random."),
    draws: int = typer.Option(10, help="Independent draws of the orderings."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """See it work: lpbTS against mTS and TS, when people share a scale and when each has their own.

    Example: `lpb demo --out my-demo --seed 1`
    """
    from lpbandits.cli.simulate import NUMBERS
    from lpbandits.io.atomic import as_folder
    from lpbandits.views.demo import findings, run_demo
    from lpbandits.views.tables import comparison, described

    as_folder(out)
    with progress_bar("simulating (the first run also compiles)") as report:
        made = run_demo(out, seed=seed, draws=draws, progress=report)
    if as_json:
        print_json({scale: results.to_dict() for scale, results in made.results.items()})
        return
    for results in made.results.values():
        print_table(described(results), *comparison(results), right=NUMBERS)
        say("")
    for sentence in findings(made.results):
        say(f"• {sentence}")
    say(f"\nPicture: {display(made.picture, None)}\nReport:  {display(made.report, None)}")
