"""`lpb simulate`: compare policies in simulation."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli import workers
from lpbandits.cli.arguments import is_given, split_list
from lpbandits.cli.reading import read_log
from lpbandits.cli.screen import notes, print_json, print_table, progress_bar, say
from lpbandits.text import display

if TYPE_CHECKING:
    from lpbandits.simulation import Results
    from lpbandits.worlds import World

NUMBERS = {"regret", "± se", "sd", "median", "5-95 %", "best action", "true state", "weak regret", "both best"}
DEFAULT = {"rewards": "lpbts,mts,ts,ts-top", "duels": "lpb-duel,double-ts"}
OF_WORLDS = (
    *("states", "actions", "scale", "gap", "jitter", "noise", "base", "spread", "gaps", "swap"),
    *("model_error", "assumed_noise", "noise_family", "model", "rewards", "log", "least"),
)
"""Options that are settings of worlds."""


def simulate(
    context: typer.Context,
    states: int = typer.Option(5, help="Latent states (m)."),
    actions: int = typer.Option(10, help="Actions (k)."),
    people: int = typer.Option(50, help="People per state; with --log, people in total."),
    rounds: int | None = typer.Option(None, show_default="200; --least with --log", help="Rounds per person (T)."),
    scale: str = typer.Option(
        "same", help="**same**: people of a state share mean rewards; **different**: each person has own means."
    ),
    gap: float = typer.Option(0.2, help="Minimum gap between consecutive means (Δ)."),
    noise: float | None = typer.Option(
        None, help="Standard deviation of rewards (σ); default 1, 0.5 for Bernoulli, or the noise of a fitted --model."
    ),
    draws: int = typer.Option(1, help="Independent draws of the orderings."),
    policies: str | None = typer.Option(
        None,
        help="Policies, separated by commas; see `lpb policies`. Default **lpbts,mts,ts,ts-top**; for duels "
        "**lpb-duel,double-ts**.",
    ),
    feedback: str = typer.Option("rewards", help="Feedback: **rewards**, or **duels** (the winner of two actions)."),
    comparison: str = typer.Option("rewards", help="Winner of a duel: by noisy **rewards** or **bradley-terry**."),
    seed: int = typer.Option(0, help="Random seed."),
    first: str = typer.Option("prior", help="First action of sampling policies: **prior** or **uniform**."),
    jitter: float = typer.Option(0.05, help="Random part of the gaps (ε)."),
    base: float | None = typer.Option(
        None, help="Level of the means (C); default 9 on the same scale, 6 on different scales."
    ),
    spread: float = typer.Option(0.4, help="Spread of people's levels on different scales, divided by k (γ)."),
    gaps: str = typer.Option(
        "paper",
        help="Gaps between consecutive means: **paper** (--gap and --jitter); **exponential** (mean 0.225); **cliff** "
        "(0.05, one gap of 2 in the middle); **steps** (1 with probability 0.2, else 0.02). With all but **paper**, "
        "--jitter has no effect and --gap changes only the level of the best mean.",
    ),
    swap: float = typer.Option(0.0, help="Probability that two neighbours in a person's ordering are swapped."),
    model_error: float = typer.Option(0.0, help="Error of the model's orderings: mean of 1 − Kendall's τ, below 1."),
    assumed_noise: float | None = typer.Option(None, help="Noise that policies assume; default the true noise."),
    noise_family: str = typer.Option(
        "normal", help="Distribution of the noise: **normal**, or **student** (heavy tails, the same --noise)."
    ),
    explore: float = typer.Option(0.0, help="Minimum probability of every allowed action; at most 1 / actions."),
    world: str | None = typer.Option(
        None,
        help="World: **synthetic** (the paper's), **means** (people of --model), **replay** (real people of --log, "
        "with the orderings of --model), or a plug-in's.",
    ),
    model: Path | None = typer.Option(None, help="Model file."),
    log: Path | None = typer.Option(None, help="Log of ratings, for --world replay."),
    least: int = typer.Option(20, help="Minimum number of ratings of a replayed person; at least --rounds."),
    rewards: str = typer.Option("gaussian", help="Rewards of a --model: **gaussian**, **bernoulli** or **poisson**."),
    settings: list[str] = typer.Option(
        [], "--set", help="Further setting of the world as name=value; can be repeated."
    ),
    jobs: workers.Jobs = None,
    backend: workers.Backend = "processes",
    address: workers.Address = None,
    threads: workers.Threads = None,
    out: Path | None = typer.Option(None, help="Output folder for tables, charts and an HTML report."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare policies on the same people and the same random draws.

    Example: `lpb simulate --states 20 --actions 20 --scale different --draws 10 --out results`
    """
    from lpbandits import validate
    from lpbandits.io.atomic import as_folder
    from lpbandits.simulation import simulate as run
    from lpbandits.worlds import DuellingWorld

    chosen_workers = workers.workers_of(jobs, backend, address)
    validate.as_choice(feedback, "feedback", DEFAULT)
    duels = feedback == "duels"
    options = {name: context.params[name] for name in context.params if is_given(context, name)}
    _refuse(options, "first" if duels else "comparison", f"has no effect for {feedback}")
    if duels:
        _refuse(options, "assumed_noise", "has no effect for duels")
    chosen = world or ("replay" if log is not None else "means" if model is not None else "synthetic")
    place = world_of(chosen, {name: options[name] for name in OF_WORLDS if name in options}, settings)
    if duels:
        place = DuellingWorld(place, comparison)
    if out is not None:
        as_folder(out)
    names = split_list(DEFAULT[feedback] if policies is None else policies)
    with notes(), progress_bar("simulating (a first run also compiles)") as report:
        results = run(
            place,
            names,
            people=people,
            rounds=(least if chosen == "replay" else 200) if rounds is None else rounds,
            draws=draws,
            seed=seed,
            first=first,
            explore=explore,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    written = None
    if out is not None:
        from lpbandits.views.comparison_report import save_comparison

        with progress_bar("drawing charts"):
            written = save_comparison(results, out)
    if as_json:
        print_json(results.to_dict())
        return
    _show(results, written)


def world_of(name: str, options: dict[str, Any], settings: list[str]) -> "World":
    """Build a world from options; an option that the world does not have is an error."""
    import inspect

    from lpbandits import validate
    from lpbandits.errors import InvalidInput
    from lpbandits.model import PreferenceModel
    from lpbandits.policies.registry import load_outside
    from lpbandits.worlds import WORLDS

    if name not in WORLDS:
        load_outside()
    factory: Any = WORLDS[validate.as_choice(name, "world", WORLDS)]
    takes = inspect.signature(factory).parameters
    for pair in settings:
        key, equals, value = pair.partition("=")
        if not equals or key not in takes:
            raise InvalidInput(
                f"--set {validate.short_repr(pair)} is not a setting of the world {name!r}; it has {', '.join(takes)}"
                + validate.did_you_mean(key, takes)
            )
        if key in options:
            raise InvalidInput(f"{key} is set twice, once by --set {validate.short_repr(pair)}; set it once")
        options[key] = Path(value) if key in ("model", "log") else _value(value)
    understood = {*takes, "noise"} if "rewards" in takes else takes
    for key in options:
        _refuse(options if key not in understood else {}, key, f"is not a setting of the world {name!r}")
    for key, option in (("model", "--model model.json"), ("log", "--log ratings.csv")):
        if key in takes and key not in options:
            raise InvalidInput(f"the world {name!r} needs a {key}; add {option}")
    if isinstance(options.get("model"), Path):
        options["model"] = PreferenceModel.load(options["model"])
    if "rewards" in takes:
        _set_rewards(options, factory)
    if isinstance(options.get("log"), Path):
        options["log"], _ = read_log(options["log"])
    try:
        world: World = factory(**options)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise InvalidInput(
            f"the world {name!r} cannot be built: {error}; set missing values with --set name=value"
        ) from None
    return world


def _set_rewards(options: dict[str, Any], factory: Any) -> None:
    """Combine the family and the noise to `Rewards`; the default noise of the world "means" is the model's."""
    from lpbandits.model import as_model
    from lpbandits.rewards import Rewards
    from lpbandits.worlds import MeansWorld
    from lpbandits.worlds.means import model_rewards

    if not {"rewards", "noise"} & set(options):
        return
    family, noise = options.get("rewards", "gaussian"), options.pop("noise", None)
    from_model = noise is None and factory is MeansWorld
    options["rewards"] = model_rewards(as_model(options["model"]), family) if from_model else Rewards(family, noise)


def _value(text: str) -> Any:
    """Parse the value of a setting as JSON, or return the text."""
    import json

    from lpbandits.errors import InvalidInput

    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except (ValueError, RecursionError):
        raise InvalidInput("the value of --set has too many digits or brackets") from None


def _refuse(options: dict[str, Any], name: str, why: str) -> None:
    """Reject an option that has no effect."""
    from lpbandits.errors import InvalidInput

    if name in options:
        raise InvalidInput(f"--{name.replace('_', '-')} {why}; remove it")


def _show(results: "Results", written: Path | None) -> None:
    from lpbandits.views.tables import comparison, described

    print_table(described(results), *comparison(results), right=NUMBERS)
    people = len(next(iter(results.policies.values())).people["regret"])
    decisions = people * results.settings["rounds"] * len(results.policies)
    say(f"\n{decisions:,} decisions in {results.seconds:.2f} s", style="dim")
    if written is not None:
        say(f"Report: {display(written, None)}")
