"""`lpb simulate`: compare policies on a world."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli.screen import console, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from lpbandits.simulation import Results

NUMBERS = {"regret", "± se", "sd", "median", "5-95 %", "best action", "true state", "weak regret", "both best"}
DEFAULT = {"absolute": "lpbts,mts,ts,ts-top", "duel": "lpb-duel,double-ts"}


def simulate(
    context: typer.Context,
    states: int = typer.Option(5, help="Latent states (m)."),
    actions: int = typer.Option(10, help="Actions (k)."),
    people: int = typer.Option(50, help="People per state."),
    rounds: int = typer.Option(200, help="Rounds per person (T)."),
    scale: str = typer.Option(
        "same", help="**same**: people of a state share their means; **different**: each has own."
    ),
    gap: float = typer.Option(0.2, help="Least difference between neighbours' means (Δ)."),
    noise: float | None = typer.Option(None, help="Standard deviation of rewards (σ): 1, and 0.5 for Bernoulli."),
    draws: int = typer.Option(1, help="Independent draws of the orderings."),
    policies: str | None = typer.Option(
        None,
        help="Policies, by name, with commas; see `lpb policies`. By default **lpbts,mts,ts,ts-top**, and for duels "
        "**lpb-duel,double-ts** (there is also double-ts-top).",
    ),
    feedback: str = typer.Option("absolute", help="**absolute**: a reward; **duel**: which of two actions won."),
    comparison: str = typer.Option("rewards", help="How duels are decided: noisy **rewards** or **bradley-terry**."),
    seed: int = typer.Option(0, help="Seed of everything random."),
    first: str = typer.Option("prior", help="First action of sampling policies: **prior** or **uniform**."),
    jitter: float = typer.Option(0.05, help="Random part of the differences (ε)."),
    base: float | None = typer.Option(None, help="Level of the means (C); 9 for the same scale, 6 for different."),
    spread: float = typer.Option(0.4, help="Spread of people's levels, times k (γ), for different scales."),
    model: Path | None = typer.Option(None, help="Simulate a model file with means instead of the synthetic world."),
    rewards: str = typer.Option("gaussian", help="Rewards of --model: gaussian, bernoulli or poisson."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default. Never changes a result."),
    out: Path | None = typer.Option(None, help="Folder for Parquet tables, manifest, charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare policies on the same people with the same luck.

    Example: `lpb simulate --states 20 --actions 20 --scale different --draws 10 --out results`
    """
    from lpbandits import validate
    from lpbandits.duels import DuellingWorld
    from lpbandits.model import PreferenceModel
    from lpbandits.rewards import Rewards
    from lpbandits.simulation import simulate as run
    from lpbandits.simulation import simulate_duels
    from lpbandits.worlds import MeansWorld, SyntheticWorld, World

    validate.as_choice(feedback, "feedback", DEFAULT)
    _refuse_idle(context, model is not None, feedback == "duel")
    own = Rewards(rewards, noise)  # type: ignore[arg-type] # Rewards checks the family
    world: World
    if model is None:
        world = SyntheticWorld(
            states=states, actions=actions, scale=scale, gap=gap, jitter=jitter, noise=own.sd, base=base, spread=spread
        )
    else:
        world = MeansWorld(PreferenceModel.load(model), rewards=own)
    if out is not None:
        validate.as_folder(out)
    chosen = DEFAULT[feedback] if policies is None else policies
    names = [name.strip() for name in chosen.split(",") if name.strip()]
    size = {"people": people, "rounds": rounds, "draws": draws, "seed": seed, "threads": threads}
    with progress_bar("simulating (a first run also compiles)") as report:
        if feedback == "duel":
            duelling = DuellingWorld(world, comparison)
            results = simulate_duels(duelling, names, **size, progress=report)  # type: ignore[arg-type] # as declared
        else:
            results = run(world, names, **size, first=first, progress=report)  # type: ignore[arg-type] # as declared
    written = None
    if out is not None:
        from lpbandits.views.compare import save_comparison

        with progress_bar("drawing charts"):
            written = save_comparison(results, out)
    if as_json:
        print_json(results.to_dict())
        return
    _show(results, written)


def _refuse_idle(context: typer.Context, has_model: bool, is_duel: bool) -> None:
    """Refuse options that would change nothing, so that nobody believes they did."""
    from lpbandits.errors import InvalidInput

    idle = {"rewards": "applies to --model"} if not has_model else {}
    if has_model:
        of_world = ("states", "actions", "scale", "gap", "jitter", "base", "spread")
        idle |= dict.fromkeys(of_world, "does not apply to --model, which brings its own")
    idle |= {"first": "applies to absolute feedback"} if is_duel else {"comparison": "applies to --feedback duel"}
    for name, why in idle.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--{name} {why}; leave it out")


def _show(results: "Results", written: Path | None) -> None:
    from lpbandits.simulation.duels import duel_comparison
    from lpbandits.simulation.tables import comparison, described

    table = duel_comparison if results.settings.get("feedback") == "duel" else comparison
    print_table(described(results), *table(results), right=NUMBERS)
    people = len(next(iter(results.policies.values())).people["regret"])
    decisions = people * results.settings["rounds"] * len(results.policies)
    console().print(f"\n{decisions:,} decisions in {results.seconds:.2f} s", style="dim")
    if written is not None:
        console().print(f"Report: {written}")
