"""`lpb decide`: the next action for each person of a history."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import COMPILES, notes, print_json, print_table, progress_bar, say
from lpbandits.text import display, pluralize, significant
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.decisions.files import Summary


def decide(
    context: typer.Context,
    history: Path = typer.Argument(
        help="Outcomes of people, in any layout and format of a log; a row without a reward is pending."
    ),
    model: Path = typer.Option(..., help="Model file, as written by `lpb fit`."),
    out: Path | None = typer.Option(None, help="File for the decisions, **.parquet** or **.csv**."),
    policy: str = typer.Option(
        "auto",
        help="Name of a policy (`lpb policies`). **auto**: the best policy of the model's evaluation; without one, "
        "taste if the model has a taste model, else lpbts.",
    ),
    exclude_seen: bool = typer.Option(False, "--exclude-seen", help="Exclude the actions of a person's history."),
    allowed: str | None = typer.Option(
        None,
        help="Allowed actions: comma-separated labels, a table with an action column (for all people), or a table with "
        "a person and an action column (for each person).",
    ),
    people: Path | None = typer.Option(
        None,
        help="Table of the people to decide for, with or without a history; its covariates, if the model has any, "
        "give each person's prior. Default: all people of the history.",
    ),
    prior: Path | None = typer.Option(
        None,
        help="Table of the probability of each state before the first outcome: a person and a column per state, or "
        "person, state and probability. Other people have the model's prior.",
    ),
    unknown: str = typer.Option("error", help="Outcomes of actions that are not in the model: **error** or **skip**."),
    escape_formulas: options.EscapeFormulas = False,
    rewards: str | None = typer.Option(
        None,
        show_default="the model's, else gaussian",
        help="Family of the rewards: **gaussian**, **bernoulli** or **poisson**.",
    ),
    noise: float | None = typer.Option(
        None,
        show_default="the model's, as a first guess",
        help="Known standard deviation of Gaussian rewards. Policies on utilities (lpb-ids, …) take it as a first "
        "guess.",
    ),
    rounds: int | None = typer.Option(
        None,
        show_default="required by lpb-horizon; 200 for mucb",
        help="Planned number of rounds per person, those of the history included, for policies that plan.",
    ),
    explore: float = typer.Option(0.0, help="Minimum probability of each allowed action, as in a randomised trial."),
    layout: options.Layout = "auto",
    person: options.Person = None,
    action: options.Action = None,
    rating: options.Rating = None,
    rank: options.Rank = None,
    time: options.Time = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    decimal_comma: options.DecimalComma = False,
    unpack_limit: options.UnpackLimit = None,
    seed: options.Seed = 0,
    plugin: options.Plugins = None,
    jobs: options.Jobs = None,
    backend: options.Backend = "processes",
    address: options.Address = None,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Decide for each person of a history: the next action, its chance to be played, the runner-up and a forecast.

    Example: `lpb decide --model model.json history.parquet --exclude-seen --out decisions.parquet`
    """
    from lpbandits.decisions.files import decide_file
    from lpbandits.model import PreferenceModel
    from lpbandits.people.covariates import has_covariates
    from lpbandits.policies.choose import choose_policy

    options.load_plugins(plugin)
    chosen_workers = options.workers_of(jobs, backend, address)
    loaded = PreferenceModel.load(model)
    informed = people is not None and has_covariates(people, loaded, person=person)
    settings: Json = {"rewards": rewards, "noise": noise, "rounds": rounds, "explore": explore}
    with notes():
        chosen = choose_policy(loaded, policy, **settings, states=prior is not None or informed)
    if policy == "auto" and not as_json:
        typer.echo(f"note: policy {chosen.name}: {display(chosen.why, None)}", err=True)
    if informed and not chosen.policy.evidence.latent:
        typer.echo(f"note: policy {chosen.name} has no states, so covariates are not used", err=True)
    with progress_bar(f"deciding ({COMPILES})") as report:
        summary = decide_file(
            chosen,
            history,
            out=out,
            reading=options.read_options(context),
            allowed=allowed,
            exclude_seen=exclude_seen,
            people=people,
            prior=prior,
            unknown=unknown,
            escape_formulas=escape_formulas,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    options.note_layout(summary, layout, person)
    if as_json:
        print_json(summary.to_dict())
    else:
        _show(summary)


def _show(summary: "Summary") -> None:
    from lpbandits.views.tables import decision_headers

    if summary.out is None and summary.people:
        rows = [
            [significant(cell) if cell is None or isinstance(cell, float) else display(cell) for cell in row]
            for row in summary.first.rows()
        ]
        title = f"First {len(rows)} of {pluralize(summary.people, 'decision')} (--out writes all)"
        print_table(
            title, decision_headers(summary.first.columns), rows, spare=("runner_up", "runner_up_name", "action")
        )
        say("")
    rows = [[display(one["name"]), f"{one['people']:,}", f"{one['share']:.1%}"] for one in summary.chosen]
    title = f"{summary.decided:,} of {pluralize(summary.people, 'person', 'people')}, by {summary.policy}"
    print_table(title, ["most chosen", "people", "share"], rows)
    counts = {"without history": summary.without_history, "no action left": summary.nothing_left}
    counts["pending outcomes (given, but not evidence)"] = summary.pending
    counts |= {f"skipped {what}": count for what, count in summary.skipped.items()}
    counts |= {"with a prior of their own": summary.with_prior, "priors of other people": summary.unknown_priors}
    parts = [f"{what}: {count:,}" for what, count in counts.items() if count]
    if summary.mean_probability is not None:
        parts.append(f"mean probability of being played: {summary.mean_probability:.2f}")
    say("\n" + "; ".join([*parts, f"{summary.seconds:.2f} s"]), style="dim")
    if summary.out is not None:
        say(f"Decisions: {display(summary.out, None)}")
