"""`lpb bound`: lower bounds on regret."""

from pathlib import Path
from typing import Any

import typer

from lpbandits.cli.arguments import is_given, split_list
from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import display

NUMBERS = {"mean", "± se", "sd", "median", "as printed"}


def bound(
    context: typer.Context,
    states: int = typer.Option(20, help="Latent states (m)."),
    actions: int = typer.Option(20, help="Actions (k)."),
    people: int = typer.Option(20, help="Random people, each with new orderings."),
    gap: float = typer.Option(0.2, help="Minimum gap between consecutive means (Δ)."),
    noise: float | None = typer.Option(
        None, show_default="1; with --model, the model's", help="Standard deviation of rewards (σ)."
    ),
    seed: int = typer.Option(0, help="Random seed."),
    policies: str = typer.Option("", help="Policies whose growth of regret is measured, separated by commas."),
    rounds: int = typer.Option(20_000, help="Rounds of the measurement (T)."),
    repeats: int = typer.Option(10, help="Runs per person of the measurement."),
    against: str = typer.Option(
        "", help="Also compute against **size** (k = m), **states** or **gap**, separated by commas."
    ),
    model: Path | None = typer.Option(None, help="Model file; one person per state replaces the random people."),
    state: int | None = typer.Option(None, help="Only the person of this state (with --model)."),
    means: str = typer.Option("", help="Means of the person, separated by commas (with --model and --state)."),
    threads: int | None = typer.Option(None, help="Threads; default all cores. Results do not depend on it."),
    out: Path | None = typer.Option(None, help="Output folder for tables, charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compute lower bounds on regret for policies that know nothing, the orderings or the means.

    Example: `lpb bound --states 10 --actions 20 --policies lpbts,ts --against size --out bounds`
    """
    from lpbandits import validate
    from lpbandits.io.atomic import as_folder
    from lpbandits.model import PreferenceModel
    from lpbandits.simulation.bounds import AXES, MAX_PEOPLE, bound_model, bound_world, bounds_against, world_at
    from lpbandits.simulation.growth import check_growth
    from lpbandits.simulation.size import check_bounds
    from lpbandits.views.bound_report import bound_table, content_of, described, save_bounds
    from lpbandits.worlds import SyntheticWorld

    axes = [validate.as_choice(axis, "against", AXES) for axis in split_list(against)]
    names = split_list(policies)
    _reject_unused(context, model is not None, bool(names))
    workers = check_growth(names, rounds, repeats, threads)[2]
    sizes: dict[str, Any] = {"states": states, "actions": actions, "gap": gap, "noise": 1.0 if noise is None else noise}
    worlds = [] if model is not None else [SyntheticWorld(**sizes)]
    worlds += [world_at(axis, value, **sizes) for axis in axes for value in AXES[axis][1]]
    n_people = validate.as_count(people, "people", high=MAX_PEOPLE)
    check_bounds(worlds, people=n_people, policies=names, rounds=rounds, repeats=repeats, workers=workers)
    if out is not None:
        as_folder(out)
    run: dict[str, Any] = {
        "people": people,
        "seed": validate.as_seed(seed),
        "policies": names,
        "rounds": rounds,
        "repeats": repeats,
    }
    studies = {}
    with progress_bar("computing") as report:
        if model is not None:
            bounds = bound_model(PreferenceModel.load(model), state=state, means=_numbers(means), noise=noise)
        else:
            bounds = bound_world(worlds[0], **run, threads=threads, progress=report)
        for axis in axes:
            studies[axis] = bounds_against(axis, **sizes, **run, threads=threads, progress=report)
    written = None
    if out is not None:
        with progress_bar("drawing charts"):
            written = save_bounds(bounds, studies, out)
    if as_json:
        print_json(content_of(bounds, studies))
        return
    print_table(described(bounds), *bound_table(bounds), right=NUMBERS)
    for axis, study in studies.items():
        for value, at in study:
            print_table(f"\n{AXES[axis][0]}: {value:g}", *bound_table(at), right=NUMBERS)
    error = bounds.summary()["largest_gap"]
    say(f"\ncertified to a relative error of {error:.0e}; {bounds.seconds:.1f} s", style="dim")
    if written is not None:
        say(f"Report: {display(written, None)}")


def _numbers(text: str) -> list[float] | None:
    from lpbandits.errors import InvalidInput

    try:
        return [float(word) for word in split_list(text)] or None
    except ValueError:
        raise InvalidInput(f"means must be numbers separated by commas, such as 3.5,2,1, got {text!r}") from None


def _reject_unused(context: typer.Context, has_model: bool, is_measured: bool) -> None:
    """Reject options that have no effect."""
    from lpbandits.errors import InvalidInput

    if has_model:
        idle = dict.fromkeys(
            ["states", "actions", "people", "gap", "seed", "policies", "rounds", "repeats", "against", "threads"],
            "has no effect with --model;",
        )
    else:
        idle = dict.fromkeys(("state", "means"), "needs --model; add it, or")
        if not is_measured:
            idle |= dict.fromkeys(("rounds", "repeats"), "needs --policies; add them, or")
    for name, why in idle.items():
        if is_given(context, name):
            raise InvalidInput(f"--{name} {why} remove it")
