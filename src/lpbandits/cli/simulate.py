"""`lpb simulate` and `lpb demo`: compare policies in simulation."""

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import COMPILES, print_json, print_report, print_table, progress_bar, say
from lpbandits.errors import InvalidInput
from lpbandits.text import display

if TYPE_CHECKING:
    from lpbandits.worlds import World

DEFAULT = {"rewards": "lpbts,mts,ts,ts-top", "duels": "lpb-duel,double-ts"}
SPARE = ("knows", "median", "sd", "5-95 %")
"""Columns of a comparison that a narrow terminal does not show."""

WORLD_OPTIONS = (
    *("states", "actions", "scale", "gap", "jitter", "noise", "base", "spread", "gaps", "swap"),
    *("model_error", "assumed_noise", "noise_family", "tiers", "break_ties", "model", "rewards", "log", "least"),
)
"""Options that are settings of worlds."""


def simulate(
    context: typer.Context,
    states: int = typer.Option(5, help="Latent states (m)."),
    actions: int = typer.Option(10, help="Actions (k)."),
    people: int = typer.Option(50, help="People per state; with --log, people in total."),
    rounds: int | None = typer.Option(
        None, show_default="200, or --least with --world replay", help="Rounds per person (T)."
    ),
    scale: str = typer.Option(
        "same", help="**same**: people of a state share means; **different**: each has their own, in the state's order."
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
    feedback: str = typer.Option("rewards", help="Observed: **rewards**, or **duels** (the winner of two actions)."),
    comparison: str = typer.Option("rewards", help="Winner of a duel: by noisy **rewards** or **bradley-terry**."),
    seed: options.Seed = 0,
    first: str = typer.Option("prior", help="First action of sampling policies: **prior** or **uniform**."),
    jitter: float = typer.Option(0.05, help="Random part of the gaps (ε)."),
    base: float | None = typer.Option(None, help="Level of the means (C); default 9, or 6 with --scale different."),
    spread: float = typer.Option(0.4, help="With --scale different: range of people's levels per action (γ)."),
    gaps: str = typer.Option(
        "paper",
        help="Gaps between consecutive means: **paper** (--gap and --jitter); **exponential** (mean 0.225); **cliff** "
        "(0.05, one gap of 2 in the middle); **steps** (1 with probability 0.2, else 0.02). With all but **paper**, "
        "--jitter has no effect and --gap changes only the level of the best mean.",
    ),
    swap: float = typer.Option(0.0, help="Probability that two neighbours in a person's ordering are swapped."),
    model_error: float = typer.Option(0.0, help="Error of the model's orderings: mean of 1 − Kendall's τ, below 1."),
    assumed_noise: float | None = typer.Option(None, help="Noise that policies assume; default the true noise."),
    noise_family: str = typer.Option("normal", help="Distribution of noise: **normal** or **student** (heavy tails)."),
    tiers: int | None = typer.Option(
        None,
        help="Size of the tiers of each state's ordering, of which the last may be smaller; people differ within them.",
    ),
    break_ties: bool = typer.Option(
        False, "--break-ties", help="Give policies a random order within each tier instead of the tiers."
    ),
    explore: float = typer.Option(0.0, help="Minimum probability of every allowed action; at most 1 / actions."),
    stop: float | None = typer.Option(
        None,
        show_default="people do not stop",
        help="Confidence that an action is the best (as in `Agent.best`) at which a person stops learning.",
    ),
    world: str | None = typer.Option(
        None,
        help="World: **synthetic** (the paper's), **means** (people of --model), **replay** (real people of --log, "
        "with the orderings of --model), or a plug-in's.",
    ),
    model: Path | None = typer.Option(None, help="Model file."),
    log: Path | None = typer.Option(None, help="Log of ratings, for --world replay."),
    layout: options.Layout = "auto",
    person: options.Person = None,
    action: options.Action = None,
    rating: options.Rating = None,
    rank: options.Rank = None,
    time: options.Time = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    duplicates: options.Duplicates = "error",
    missing: options.Missing = "skip",
    lower_is_better: options.LowerIsBetter = False,
    decimal_comma: options.DecimalComma = False,
    min_person: options.MinPerson = 0,
    min_action: options.MinAction = 0,
    unpack_limit: options.UnpackLimit = None,
    least: int = typer.Option(20, help="Minimum number of ratings of a replayed person; at least --rounds."),
    rewards: str | None = typer.Option(
        None,
        show_default="the model's, else gaussian",
        help="Family of the rewards, with --model: **gaussian**, **bernoulli** or **poisson**.",
    ),
    settings: list[str] = typer.Option(
        [], "--set", metavar="<name=value>", help="Further setting of the world; can be repeated."
    ),
    plugin: options.Plugins = None,
    jobs: options.Jobs = None,
    backend: options.Backend = "processes",
    address: options.Address = None,
    threads: options.Threads = None,
    out: options.ReportFolder = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare policies on the same people and the same random draws.

    Example: `lpb simulate --states 20 --actions 20 --scale different --draws 10 --out results`
    """
    from lpbandits import validate
    from lpbandits.io.atomic import as_folder
    from lpbandits.simulation import simulate as run
    from lpbandits.worlds import DuellingWorld

    options.load_plugins(plugin)
    chosen_workers = options.workers_of(jobs, backend, address)
    validate.as_choice(feedback, "feedback", DEFAULT)
    duels = feedback == "duels"
    unused = ("first", "assumed_noise", "stop") if duels else ("comparison",)
    options.reject(context, unused, f"has no effect for {feedback}; remove it")
    reading = options.read_options(context)
    if log is None:
        options.reject(context, reading, "needs --log")
    chosen = world or ("replay" if log is not None else "means" if model is not None else "synthetic")
    place = world_of(chosen, {k: v for k, v in options.given(context).items() if k in WORLD_OPTIONS}, settings, reading)
    if duels:
        place = DuellingWorld(place, comparison)
    if out is not None:
        as_folder(out)
    with progress_bar(f"simulating ({COMPILES})") as report:
        results = run(
            place,
            options.split_list(DEFAULT[feedback] if policies is None else policies),
            people=people,
            rounds=(least if chosen == "replay" else 200) if rounds is None else rounds,
            draws=draws,
            seed=seed,
            first=first,
            explore=explore,
            stop=stop,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    if out is not None:
        from lpbandits.views.comparison_report import save_comparison

        with progress_bar("drawing charts"):
            save_comparison(results, out)
    if as_json:
        print_json(results.to_dict())
        return
    from lpbandits.views.tables import comparison as table_of
    from lpbandits.views.tables import comparison_note, described

    print_table(described(results), *table_of(results), note=comparison_note(results), spare=SPARE)
    people = len(next(iter(results.policies.values())).people["regret"])
    decisions = people * results.settings["rounds"] * len(results.policies)
    say(f"\n{decisions:,} decisions in {results.seconds:.2f} s", style="dim")
    print_report(out)


def demo(
    out: Path = typer.Option(Path("lpb-demo"), help="Output folder for tables, charts and the HTML report."),
    seed: options.Seed = 0,
    draws: int = typer.Option(10, help="Independent draws of the orderings."),
    as_json: options.AsJson = False,
) -> None:
    """Compare lpbTS with mTS and TS on simulated people, on the same scale and on different scales.

    Example: `lpb demo --out my-demo --seed 1`
    """
    from lpbandits.io.atomic import as_folder
    from lpbandits.views.comparison_report import findings, run_demo
    from lpbandits.views.tables import comparison, comparison_note, described

    as_folder(out)
    with progress_bar(f"simulating ({COMPILES})") as report:
        by_scale = run_demo(out, seed=seed, draws=draws, progress=report)
    if as_json:
        print_json({scale: results.to_dict() for scale, results in by_scale.items()})
        return
    for results in by_scale.values():
        print_table(described(results), *comparison(results), note=comparison_note(results), spare=SPARE)
        say("")
    for sentence in findings(by_scale):
        say(f"• {sentence}")
    say(f"\nPicture: {display(out / 'regret.png', None)}\nReport:  {display(out / 'report.html', None)}")


def world_of(name: str, chosen: dict[str, Any], settings: list[str], reading: dict[str, Any]) -> "World":
    """Build a world from options; an option that the world does not have is an error.

    A log is read with the options `reading`; low ratings are good if they are good for the model.
    """
    from lpbandits import validate
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
        if key in chosen:
            raise InvalidInput(f"{key} is set twice, once by --set {validate.short_repr(pair)}; set it once")
        chosen[key] = Path(value) if key in ("model", "log") else _value(value)
    accepted = {*takes, "noise"} if "rewards" in takes else takes
    if unknown := [key.replace("_", "-") for key in chosen if key not in accepted]:
        raise InvalidInput(f"--{unknown[0]} is not a setting of the world {name!r}; remove it")
    files = {"model": "model.json", "log": "ratings.csv"}
    if missing := [key for key in files if key in takes and key not in chosen]:
        raise InvalidInput(f"the world {name!r} needs a {missing[0]}; add --{missing[0]} {files[missing[0]]}")
    if "model" in chosen:
        chosen["model"] = PreferenceModel.load(chosen["model"])
    if "rewards" in takes:
        _set_rewards(chosen, factory)
    if "log" in chosen:
        if "model" in chosen and chosen["model"].lower_is_better:
            reading = {**reading, "lower_is_better": True}
        chosen["log"], _ = options.read_log(chosen["log"], **reading)
    try:
        world: World = factory(**chosen)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise InvalidInput(
            f"the world {name!r} cannot be built: {error}; set missing values with --set name=value"
        ) from None
    return world


def _set_rewards(chosen: dict[str, Any], factory: Any) -> None:
    """Combine the family and the noise into `Rewards`, unless both are the model's."""
    from lpbandits.model import as_model
    from lpbandits.rewards import Rewards
    from lpbandits.worlds import MeansWorld
    from lpbandits.worlds.means import model_rewards

    of_model = as_model(chosen["model"]).rewards or "gaussian" if "model" in chosen else "gaussian"
    family, noise = chosen.pop("rewards", of_model), chosen.pop("noise", None)
    if noise is not None:
        chosen["rewards"] = Rewards(family, noise)
    elif family != of_model:
        from_model = factory is MeansWorld
        chosen["rewards"] = model_rewards(chosen["model"], family) if from_model else Rewards(family)


def _value(text: str) -> Any:
    """Parse the value of a setting as JSON, or return the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
