"""`lpb model`: models that are not fitted to a log."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import print_json, print_table, say
from lpbandits.text import display, pluralize, share_text, significant
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.model import PreferenceModel

LAYOUTS = {
    "text": "one ordering per row",
    "rankings": "a column per rank",
    "long": "an expert, an action and its rank per row",
    "wide": "a column per action with its ranks, 1 is best",
}

MAX_SHOWN = 12
"""Maximum number of actions in an ordering that is shown in full."""

MAX_STATES = 50
"""Maximum number of states in the table."""

model = typer.Typer(no_args_is_help=True)


@model.callback()
def group() -> None:
    """Make a model without a log.

    Example: `lpb model new --from experts.csv --out model.json`
    """


@model.command("new", cls=options.Command)
def new(
    experts: Path = typer.Option(
        ..., "--from", help="Table of the experts' orderings: CSV or TSV (may be gzipped), Excel or Parquet."
    ),
    out: Path | None = typer.Option(None, help="File for the model (JSON)."),
    unranked: str = typer.Option(
        "error", help="Actions that only other experts rank: **error**, or **last**: one tier after all others."
    ),
    as_json: options.AsJson = False,
) -> None:
    """Make a model from the orderings of experts; those who agree are one state.

    Example: `lpb model new --from experts.csv --out model.json`
    """
    from lpbandits.fit.experts import model_from_experts
    from lpbandits.io.atomic import check_writable

    if out is not None:
        check_writable(out)
    made = model_from_experts(experts, unranked=unranked)  # type: ignore[arg-type] # validated there
    if out is not None:
        made.save(out)
    states = [
        {
            "state": z,
            "name": None if made.state_names is None else made.state_names[z],
            "share": float(made.prior[z]),
            "ordering": made_tiers(made, z),
        }
        for z in range(made.n_states)
    ]
    about = {key: made.provenance[key] for key in ("experts", "layout", "sum_of_shares", "unranked")}
    if as_json:
        print_json({"actions": list(made.actions), "states": states, **about, "out": out})
    else:
        _show(made, states, experts, out)


def made_tiers(made: "PreferenceModel", state: int) -> list[list[str | int]]:
    """Return the labels of a state's ordering, a list per tier."""
    labels = iter(made.actions[a] for a in made.orderings[state].tolist())
    sizes = [1] * made.n_actions if made.tiers is None else made.tiers[state]
    return [[next(labels) for _ in range(size)] for size in sizes]


def _ordering(tiers: list[list[str | int]]) -> str:
    """Return an ordering as text, with tiers of several actions in braces and the middle of a long one left out.

    >>> _ordering([["tea"], ["jam", "egg"]]), _ordering([[label] for label in "ABCDEFGHIJKLMN"])
    ('tea > {jam, egg}', 'A > B > C > D > E > F > G > H > … > L > M > N')
    """
    shown = []
    for tier in tiers:
        names = [display(label) for label in tier[:MAX_SHOWN]] + ["…"] * (len(tier) > MAX_SHOWN)
        shown.append("{" + ", ".join(names) + "}" if len(names) > 1 else names[0])
    if sum(map(len, tiers)) > MAX_SHOWN and len(shown) > MAX_SHOWN:
        shown = [*shown[:8], "…", *shown[-3:]]
    return " > ".join(shown)


def _show(made: "PreferenceModel", states: list[Json], source: Path, out: Path | None) -> None:
    about = made.provenance
    sizes = (
        f"{pluralize(made.n_states, 'state')} and {pluralize(made.n_actions, 'action')}, from "
        f"{pluralize(about['experts'], 'expert')} ({display(source, None)}: {LAYOUTS[about['layout']]})"
    )
    rows = [
        [str(one["state"]), display(one["name"] or "–"), share_text(one["share"]), _ordering(one["ordering"])]
        for one in states[:MAX_STATES]
    ]
    more = f"The first {MAX_STATES} states are shown (all: --json)." if len(states) > MAX_STATES else ""
    print_table(sizes, ["state", "experts", "share", "prefers"], rows, note=more)
    say("")
    if made.tiers is not None:
        say("Braces hold a tier: actions about whose order nothing is known.")
    total = about["sum_of_shares"]
    if total is None:
        say("Without a column of shares, every expert has the same share.")
    elif abs(total - 1.0) > 1e-9:
        say(f"Shares are divided by their sum, {significant(total)}.")
    for name, labels in about["unranked"].items():
        say(f"Not ranked by {display(name)}, so in the last tier: {', '.join(map(display, labels))}")
    if made.n_states == 1:
        say("All experts agree: with one state, policies have no states to tell apart.", style="yellow")
    if out is None:
        say("The model was not saved: add --out model.json", style="yellow")
    else:
        name = display(out, None)
        say(f"Model: {name} (next: lpb inspect {name}; lpb decide --model {name} history.csv)")
