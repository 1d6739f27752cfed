"""`lpb demo`: the paper's main comparison."""

from pathlib import Path

import typer

from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import display


def demo(
    out: Path = typer.Option(Path("lpb-demo"), help="Output folder for tables, charts and the HTML report."),
    seed: int = typer.Option(0, help="Random seed."),
    draws: int = typer.Option(10, help="Independent draws of the orderings."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Compare lpbTS with mTS and TS on simulated people, on the same scale and on different scales.

    Example: `lpb demo --out my-demo --seed 1`
    """
    from lpbandits.cli.simulate import NUMBERS
    from lpbandits.io.atomic import as_folder
    from lpbandits.views.demo import findings, run_demo
    from lpbandits.views.tables import comparison, described

    as_folder(out)
    with progress_bar("simulating (the first run also compiles)") as report:
        done = run_demo(out, seed=seed, draws=draws, progress=report)
    if as_json:
        print_json({scale: results.to_dict() for scale, results in done.results.items()})
        return
    for results in done.results.values():
        print_table(described(results), *comparison(results), right=NUMBERS)
        say("")
    for sentence in findings(done.results):
        say(f"• {sentence}")
    say(f"\nPicture: {display(done.picture, None)}\nReport:  {display(done.report, None)}")
