"""`lpb inspect`: what a model says."""

from pathlib import Path

import typer

from lpbandits.cli.screen import console, print_json, print_table, progress_bar


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
    from lpbandits.experiments.inspection import inspect_model, state_table
    from lpbandits.model import PreferenceModel
    from lpbandits.recovery.action_names import read_names
    from lpbandits.recovery.report import counted

    known = None if names is None else read_names(names)
    seen = inspect_model(PreferenceModel.load(model), top=top, names=known)
    written = None
    if out is not None:
        from lpbandits.experiments.model_report import save_inspection

        with progress_bar("drawing charts"):
            written = save_inspection(seen, out, source=model.name)
    if as_json:
        print_json(seen.to_dict())
        return
    print_table(
        f"{model}: {counted(len(seen.states), 'state')}, {seen.actions:,} actions", *state_table(seen), right={"share"}
    )
    if any(s.unknown for s in seen.states):
        console().print("Unknown actions are left out of these lists, and of distances and disagreements.", style="dim")
    numbers = [str(s.state) for s in seen.states]
    rows = [[numbers[z], *("–" if x is None else f"{x:.0%}" for x in row)] for z, row in enumerate(seen.kendall)]
    print_table("\nAction pairs that two states order differently", ["state", *numbers], rows, right=set(numbers))
    if seen.disagreements:
        rows = [
            [str(d.action), f"{d.spread:.0%}", *("–" if r is None else str(r) for r in d.ranks)]
            for d in seen.disagreements
        ]
        columns = ["action", "spread", *(f"in {name}" for name in numbers)]
        print_table(
            "\nWhere states disagree most (place in each state, 1 is best, – unknown)",
            columns,
            rows,
            right=set(columns[1:]),
        )
    if written is not None:
        console().print(f"\nReport: {written}")
