"""`lpb bound`: how little regret is possible."""

from pathlib import Path

import typer

from lpbandits.cli.screen import print_json, print_table, progress_bar, say
from lpbandits.text import display

NUMBERS = {"mean", "± se", "sd", "median", "as printed"}


def bound(
    context: typer.Context,
    states: int = typer.Option(20, help="Latent states (m)."),
    actions: int = typer.Option(20, help="Actions (k)."),
    people: int = typer.Option(20, help="Random people, each with fresh orderings."),
    gap: float = typer.Option(0.2, help="Least difference between neighbours' means (Δ)."),
    noise: float | None = typer.Option(
        None, show_default="1; with --model what it says", help="Standard deviation of rewards (σ)."
    ),
    seed: int = typer.Option(0, help="Seed of everything random."),
    policies: str = typer.Option("", help="Also measure how these policies' regret grows, by name, with commas."),
    rounds: int = typer.Option(20_000, help="Rounds of that measurement (T)."),
    repeats: int = typer.Option(10, help="Runs per person of that measurement."),
    against: str = typer.Option("", help="Also draw against **size** (k = m), **states**, **gap**, with commas."),
    model: Path | None = typer.Option(None, help="A model file instead of random people: one person per state."),
    state: int | None = typer.Option(None, help="With --model: only the person of this state."),
    means: str = typer.Option("", help="With --model and --state: the person's means, with commas."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default. Never changes a result."),
    out: Path | None = typer.Option(None, help="Folder for Parquet tables, manifest, charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compute how little regret is possible, by what a policy knows: nothing, the orderings, the means.

    Example: `lpb bound --states 10 --actions 20 --policies lpbts,ts --against size --out bounds`
    """
    from lpbandits import validate
    from lpbandits.io.atomic import as_folder
    from lpbandits.model import PreferenceModel
    from lpbandits.simulation.bounds import AXES, MOST_PEOPLE, bound_model, bound_world, bounds_against, world_at
    from lpbandits.simulation.growth import check_growth
    from lpbandits.simulation.size import check_bounds
    from lpbandits.views.bound_report import bound_table, content_of, described, save_bounds
    from lpbandits.worlds import SyntheticWorld

    axes = [validate.as_choice(axis, "against", AXES) for axis in _split(against)]
    names = _split(policies)
    _refuse_idle(context, model is not None, bool(names))
    workers = check_growth(names, rounds, repeats, threads)[2]
    sizes = {"states": states, "actions": actions, "gap": gap, "noise": 1.0 if noise is None else noise}
    places = [] if model is not None else [SyntheticWorld(**sizes)]  # type: ignore[arg-type] # it looks at all
    places += [world_at(axis, value, **sizes) for axis in axes for value in AXES[axis][1]]  # type: ignore[arg-type]
    crowd = validate.as_count(people, "people", high=MOST_PEOPLE)
    check_bounds(places, people=crowd, policies=names, rounds=rounds, repeats=repeats, workers=workers)
    if out is not None:
        as_folder(out)
    run = {"people": people, "seed": validate.as_seed(seed), "policies": names, "rounds": rounds, "repeats": repeats}
    studies = {}
    with progress_bar("computing") as report:
        if model is not None:
            found = bound_model(PreferenceModel.load(model), state=state, means=_numbers(means), noise=noise)
        else:
            found = bound_world(places[0], **run, threads=threads, progress=report)  # type: ignore[arg-type] # as declared
        for axis in axes:
            studies[axis] = bounds_against(
                axis,
                **sizes,  # type: ignore[arg-type] # as declared
                **run,  # type: ignore[arg-type]
                threads=threads,
                progress=report,
            )
    written = None
    if out is not None:
        with progress_bar("drawing charts"):
            written = save_bounds(found, studies, out)
    if as_json:
        print_json(content_of(found, studies))
        return
    print_table(described(found), *bound_table(found), right=NUMBERS)
    for axis, study in studies.items():
        for value, own in study:
            print_table(f"\n{AXES[axis][0]}: {value:g}", *bound_table(own), right=NUMBERS)
    gap_ = found.summary()["largest_gap"]
    say(f"\ncertified to a relative error of {gap_:.0e}; {found.seconds:.1f} s", style="dim")
    if written is not None:
        say(f"Report: {display(written, None)}")


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float] | None:
    from lpbandits.errors import InvalidInput

    try:
        return [float(word) for word in _split(text)] or None
    except ValueError:
        raise InvalidInput(f"means is {text!r}; give numbers with commas between them, such as 3.5,2,1") from None


def _refuse_idle(context: typer.Context, has_model: bool, is_measured: bool) -> None:
    """Refuse options that would change nothing, so that nobody believes they did."""
    from lpbandits.errors import InvalidInput

    if has_model:
        of_random = (
            "states",
            "actions",
            "people",
            "gap",
            "seed",
            "policies",
            "rounds",
            "repeats",
            "against",
            "threads",
        )
        idle = dict.fromkeys(of_random, "is for random people, not for --model;")
    else:
        idle = dict.fromkeys(("state", "means"), "describes a person of a model; name it (--model model.json), or")
        if not is_measured:
            idle |= dict.fromkeys(("rounds", "repeats"), "is for the measurement of --policies; name some, or")
    for name, why in idle.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--{name} {why} leave it out")
