"""`lpb inspect`: states, uncertainty and differences of a model."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import LINE, display, unique_labels

if TYPE_CHECKING:
    from lpbandits.inspection.inspect import Inspection

MAX_COLUMNS = 12
"""Maximum number of states with a column in a table."""


def inspect(
    model: Path = typer.Argument(help="Model file of `lpb fit`."),
    top: int = typer.Option(5, help="Number of actions at each end, of pairs and of disagreements."),
    names: Path | None = typer.Option(
        None, help="CSV of labels and names, or a MovieLens folder; by default the names in the model."
    ),
    out: Path | None = typer.Option(None, help="Folder for charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Show the states of a model, their uncertainty, the most informative pairs of actions, and the taste.

    Example: `lpb inspect model.json --out report`
    """
    from lpbandits.data.names import read_names, unmatched
    from lpbandits.inspection.facts import warning_lines
    from lpbandits.inspection.inspect import inspect_model
    from lpbandits.model import PreferenceModel

    given = None if names is None else read_names(names)
    loaded = PreferenceModel.load(model)
    seen = inspect_model(loaded, top=top, names=given)
    if given is not None and (note := unmatched(given, loaded.actions)):
        typer.echo(f"warning: {display(note, LINE)}", err=True)
    written = None
    if out is not None:
        from lpbandits.views.model_report import save_inspection

        with progress_bar("drawing charts"):
            written = save_inspection(seen, out, source=model.name)
    if as_json:
        print_json(seen.to_dict())
        return
    for line in seen.verdict.lines():
        say(line, style="bold")
    _show_states(seen, display(model, None))
    if not seen.silence:
        _show_contrasts(seen)
    _show_taste(seen)
    for warning in warning_lines(seen.fit):
        say(f"warning: {warning}", style="yellow")
    if written is not None:
        say(f"\nReport: {display(written, None)}")


def _show_states(seen: "Inspection", source: str) -> None:
    from lpbandits.inspection.facts import fit_lines, noise_line
    from lpbandits.inspection.inspect import FIRST, MEANS, PAIRS, place_rule, place_table, state_table
    from lpbandits.text import pluralize

    people = "" if seen.fit.people is None else f", fitted to {pluralize(seen.fit.people, 'person', 'people')}"
    title = f"{source}: {pluralize(len(seen.states), 'state')}, {pluralize(seen.actions, 'action')}{people}"
    print_table(title, *state_table(seen), right={"share", "people", MEANS, PAIRS})
    if any(s.unknown for s in seen.states):
        say("Actions never compared in a state are left out of its lists and of everything below.", style="dim")
    if seen.silence:
        say(seen.silence, style="yellow")
    for line in [*fit_lines(seen.fit), *noise_line(seen.noise)]:
        say(line)
    few = seen.first(MAX_COLUMNS)
    columns, rows = place_table(few)
    if rows:
        print_table("\nUncertainty of the first ranks", columns, rows, right={FIRST})
        say(place_rule(few), style="dim")


def _show_contrasts(seen: "Inspection") -> None:
    from lpbandits.inspection import tables as pairs

    part = f", for the first {MAX_COLUMNS} (all: --json)" if len(seen.states) > MAX_COLUMNS else ""
    few = seen.first(MAX_COLUMNS).contrasts
    if few.pairs:
        print_table(f"\n{pairs.ASK}", *pairs.pair_table(seen.contrasts), right={pairs.TELLS, pairs.GUESSED})
        largest = max(s.share for s in seen.states)
        say(pairs.pair_rule(seen.contrasts, actions=seen.actions, largest=largest), style="dim")
    if few.traits:
        print_table(f"\n{pairs.TRAITS}{part}", *pairs.trait_table(few), right={pairs.OWN, pairs.OTHERS})
        say(pairs.TRAIT_RULE, style="dim")
    numbers = [str(s.state) for s in seen.states[:MAX_COLUMNS]]
    if len(numbers) > 1:
        rows = [[numbers[z], *("–" if x is None else f"{x:.0%}" for x in row)] for z, row in enumerate(few.kendall)]
        title = f"\nShare of action pairs that two states order differently{part}"
        print_table(title, ["state", *numbers], rows, right=set(numbers))
    if found := seen.contrasts.disagreements:
        rows = [
            [name, f"{d.spread:.0%}", *("–" if r is None else str(r) for r in d.ranks[:MAX_COLUMNS])]
            for name, d in zip(unique_labels(d.action for d in found), found, strict=True)
        ]
        columns = ["action", "spread", *(f"in {name}" for name in numbers)]
        title = f"\nActions with the most different ranks (1 is best, – unknown){part}"
        print_table(title, columns, rows, right=set(columns[1:]))


def _show_taste(seen: "Inspection") -> None:
    from lpbandits.inspection.facts import TASTE_RULE, taste_lines, taste_table

    if seen.taste is None:
        return
    say("\n" + "\n".join(taste_lines(seen.taste)))
    if seen.taste.directions:
        print_table("\nStrongest factors of the taste", *taste_table(seen.taste))
        say(TASTE_RULE, style="dim")
