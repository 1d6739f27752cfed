"""`lpb bound`: lower bounds on regret."""

from functools import partial
from pathlib import Path
from typing import Any

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import COMPILES, print_json, print_report, print_table, progress_bar, say
from lpbandits.errors import InvalidInput

NOT_OF_MODELS = ("states", "actions", "people", "gap", "seed", "policies", "rounds", "repeats", "against", "threads")
"""Options that cannot be combined with --model."""


def bound(
    context: typer.Context,
    states: int = typer.Option(20, help="Latent states (m)."),
    actions: int = typer.Option(20, help="Actions (k)."),
    people: int = typer.Option(20, help="Number of random people; new orderings are drawn for each."),
    gap: float = typer.Option(0.2, help="Minimum gap between consecutive means (Δ)."),
    noise: float | None = typer.Option(None, help="Standard deviation of rewards (σ); default 1, or the --model's."),
    seed: options.Seed = 0,
    policies: str = typer.Option("", help="Policies to simulate and compare with the bounds, separated by commas."),
    rounds: int = typer.Option(20_000, help="Rounds of a simulated run (T, with --policies)."),
    repeats: int = typer.Option(10, help="Simulated runs per person (with --policies)."),
    against: str = typer.Option(
        "", help="Also vary **size** (k = m), **states** or **gap** over a range of values; comma-separated if several."
    ),
    model: Path | None = typer.Option(None, help="Model file; one person per state replaces the random people."),
    state: int | None = typer.Option(None, help="Only the person of this state (with --model)."),
    means: str = typer.Option("", help="Means of the person, separated by commas (with --model and --state)."),
    plugin: options.Plugins = None,
    threads: int | None = typer.Option(None, help="Threads; default all cores. Does not change results."),
    out: options.ReportFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute lower bounds on regret for policies without prior knowledge, with known orderings, and with known means.

    Example: `lpb bound --states 10 --actions 20 --policies lpbts,ts --against size --out bounds`
    """
    from lpbandits import validate
    from lpbandits.io.atomic import as_folder
    from lpbandits.model import PreferenceModel
    from lpbandits.simulation.bounds import AXES, bound_model, bound_world, world_at
    from lpbandits.views.bound_report import bound_table, content_of, described, save_bounds
    from lpbandits.worlds import SyntheticWorld

    options.load_plugins(plugin)
    axes = [validate.as_choice(axis, "against", AXES) for axis in options.split_list(against)]
    names = options.split_list(policies)
    try:
        own_means = [float(word) for word in options.split_list(means)]
    except ValueError:
        raise InvalidInput(f"means must be numbers separated by commas, such as 3.5,2,1, got {means!r}") from None
    if model is not None:
        options.reject(context, NOT_OF_MODELS, "has no effect with --model; remove it")
    else:
        options.reject(context, ("state", "means"), "needs --model; add it, or remove it")
        if not names:
            options.reject(context, ("rounds", "repeats"), "needs --policies; add them, or remove it")
    sizes: dict[str, Any] = {"states": states, "actions": actions, "gap": gap, "noise": 1.0 if noise is None else noise}
    run = partial(bound_world, people=people, seed=seed, policies=names, rounds=rounds, repeats=repeats)
    if out is not None:
        as_folder(out)
    with progress_bar(f"computing ({COMPILES})") as report:
        if model is not None:
            bounds = bound_model(PreferenceModel.load(model), state=state, means=own_means or None, noise=noise)
        else:
            bounds = run(SyntheticWorld(**sizes), threads=threads, progress=report)
        studies = {
            axis: [(x, run(world_at(axis, x, **sizes), threads=threads, progress=report)) for x in AXES[axis][1]]
            for axis in axes
        }
    if out is not None:
        with progress_bar("drawing charts"):
            save_bounds(bounds, studies, out)
    if as_json:
        print_json(content_of(bounds, studies))
        return
    print_table(described(bounds), *bound_table(bounds))
    for axis, study in studies.items():
        for value, at in study:
            print_table(f"\n{AXES[axis][0]}: {value:g}", *bound_table(at))
    error = bounds.summary()["largest_gap"]
    say(f"\nrelative error at most {f'{error:.0e}' if error else 0} (certified); {bounds.seconds:.1f} s", style="dim")
    print_report(out)
