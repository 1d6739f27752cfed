"""`lpb inspect`: what a model says."""

from pathlib import Path

import typer

from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import shown, shown_apart

WIDE = 12
"""States that have a column in a table."""


def inspect(
    model: Path = typer.Argument(help="A model file, as `lpb fit` writes it."),
    top: int = typer.Option(5, help="How many actions to show at each end, and how many disagreements."),
    names: Path | None = typer.Option(None, help="CSV of labels and names, or a MovieLens folder, to show names."),
    out: Path | None = typer.Option(None, help="Folder for charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Show a model's states: shares, best and worst actions, distances, and where states disagree most.

    Example: `lpb inspect model.json --out report`
    """
    from lpbandits.model import PreferenceModel
    from lpbandits.recovery.action_names import read_names
    from lpbandits.recovery.report import counted
    from lpbandits.views.inspection import FIRST, PAIRS, inspect_model, place_rule, place_table, state_table

    known = None if names is None else read_names(names)
    seen = inspect_model(PreferenceModel.load(model), top=top, names=known)
    written = None
    if out is not None:
        from lpbandits.views.model_report import save_inspection

        with progress_bar("drawing charts"):
            written = save_inspection(seen, out, source=model.name)
    if as_json:
        print_json(seen.to_dict())
        return
    print_table(
        f"{shown(model, None)}: {counted(len(seen.states), 'state')}, {seen.actions:,} actions",
        *state_table(seen),
        right={"share", PAIRS},
    )
    if any(s.unknown for s in seen.states):
        say("Unknown actions are left out of these lists, and of distances and disagreements.", style="dim")
    few = seen.first(WIDE)
    columns, rows = place_table(few)
    if rows:
        print_table("\nHow sure are the first places?", columns, rows, right={FIRST})
        say(place_rule(few), style="dim")
    part = f", for the first {WIDE} (all: --json)" if len(seen.states) > WIDE else ""
    numbers = [str(s.state) for s in few.states]
    rows = [[numbers[z], *("–" if x is None else f"{x:.0%}" for x in row)] for z, row in enumerate(few.kendall)]
    print_table(
        f"\nAction pairs that two states order differently{part}", ["state", *numbers], rows, right=set(numbers)
    )
    if seen.disagreements:
        rows = [
            [name, f"{d.spread:.0%}", *("–" if r is None else str(r) for r in d.ranks[:WIDE])]
            for name, d in zip(shown_apart(d.action for d in seen.disagreements), seen.disagreements, strict=True)
        ]
        columns = ["action", "spread", *(f"in {name}" for name in numbers)]
        print_table(
            f"\nWhere states disagree most (place in each state, 1 is best, – unknown){part}",
            columns,
            rows,
            right=set(columns[1:]),
        )
    if written is not None:
        say(f"\nReport: {shown(written, None)}")
