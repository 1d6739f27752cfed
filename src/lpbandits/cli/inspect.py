"""`lpb inspect`: states, uncertainty and differences of a model."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import SPARE, print_json, print_report, print_table, progress_bar, say
from lpbandits.text import LINE, display, unique_labels

if TYPE_CHECKING:
    from lpbandits.inspection.inspect import Inspection

MAX_STATE_COLUMNS = 12
"""Maximum number of states with a column in a table."""


def inspect(
    model: Path = typer.Argument(help="Model file of `lpb fit`."),
    top: int = typer.Option(5, help="Length of lists: first and last actions, informative pairs, disagreements."),
    names: options.Names = None,
    out: Path | None = typer.Option(None, help="Folder for charts and an HTML report."),
    as_json: options.AsJson = False,
) -> None:
    """Show the states of a model, their uncertainty, the most informative pairs of actions, and the taste.

    Example: `lpb inspect model.json --out report`
    """
    from lpbandits.data.names import name_actions, read_names
    from lpbandits.inspection.facts import TASTE_NOTE, taste_lines, taste_table, verdict_lines, warning_lines
    from lpbandits.inspection.inspect import inspect as run
    from lpbandits.model import PreferenceModel

    new_names = None if names is None else read_names(names)
    loaded = PreferenceModel.load(model)
    inspection = run(loaded, top=top, names=new_names)
    for note in name_actions(loaded.actions, new_names).warnings:
        typer.echo(f"warning: {display(note, LINE)}", err=True)
    if out is not None:
        from lpbandits.views.model_report import save_inspection

        with progress_bar("drawing charts"):
            save_inspection(inspection, out, source=model.name)
    if as_json:
        print_json(inspection.to_dict())
        return
    for line in verdict_lines(inspection.evaluation):
        say(line, style="bold")
    _show_states(inspection, display(model, None))
    if not inspection.silence:
        _show_contrasts(inspection)
    if inspection.taste is not None:
        say("\n" + "\n".join(taste_lines(inspection.taste)))
        if inspection.taste.directions:
            print_table("\nStrongest taste factors", *taste_table(inspection.taste), note=TASTE_NOTE)
    for warning in warning_lines(inspection.fit):
        say(f"warning: {options.known_only(warning)}", style="yellow")
    if out is not None:
        say("")
    print_report(out)


def _show_states(inspection: "Inspection", source: str) -> None:
    from lpbandits.inspection.facts import fit_lines, noise_line
    from lpbandits.inspection.inspect import place_note, place_table, state_table

    print_table(f"{source}: {inspection.sizes}", *state_table(inspection), spare=SPARE)
    if any(s.unknown for s in inspection.states):
        say("Actions never compared in a state are left out of its lists and of everything below.", style="dim")
    if inspection.silence:
        say(inspection.silence, style="yellow")
    for line in [*fit_lines(inspection.fit), *noise_line(inspection.noise)]:
        say(line)
    few = inspection.first(MAX_STATE_COLUMNS)
    columns, rows = place_table(few)
    if rows:
        print_table("\nUncertainty of the first ranks", columns, rows, note=place_note(few))


def _show_contrasts(inspection: "Inspection") -> None:
    from lpbandits.inspection import contrasts as pairs

    part = f", for the first {MAX_STATE_COLUMNS} (all: --json)" if len(inspection.states) > MAX_STATE_COLUMNS else ""
    few = inspection.first(MAX_STATE_COLUMNS).contrasts
    if few.pairs:
        largest = max(s.share for s in inspection.states)
        rule = pairs.pair_note(inspection.contrasts, actions=inspection.actions, largest=largest)
        print_table(f"\n{pairs.ASK}", *pairs.pair_table(inspection.contrasts), note=rule)
    if few.traits:
        print_table(f"\n{pairs.TRAITS}{part}", *pairs.trait_table(few), note=pairs.TRAIT_NOTE)
    numbers = [str(s.state) for s in inspection.states[:MAX_STATE_COLUMNS]]
    if len(numbers) > 1:
        rows = [[numbers[z], *("–" if x is None else f"{x:.0%}" for x in row)] for z, row in enumerate(few.kendall)]
        title = f"\nShare of action pairs that two states order differently{part}"
        print_table(title, ["state", *numbers], rows)
    if disagreements := inspection.contrasts.disagreements:
        rows = [
            [name, f"{d.spread:.0%}", *("–" if r is None else str(r) for r in d.ranks[:MAX_STATE_COLUMNS])]
            for name, d in zip(unique_labels(d.action for d in disagreements), disagreements, strict=True)
        ]
        title = f"\nActions with the most different ranks (1 is best, – unknown){part}"
        print_table(title, ["action", "spread", *(f"in {name}" for name in numbers)], rows)
