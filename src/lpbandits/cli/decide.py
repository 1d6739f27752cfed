"""`lpb decide`: the next action for each person of a history."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import options
from lpbandits.cli.screen import COMPILES, print_json, print_table, progress_bar, say
from lpbandits.text import display, pluralize, significant

if TYPE_CHECKING:
    from lpbandits.decisions.files import Summary


def decide(
    history: Path = typer.Argument(
        help="Outcomes of people, one per row: CSV or TSV (may be gzipped), or one or many Parquet files."
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
        None, help="Table of the people to decide for, with or without a history. Default: all people of the history."
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
    rounds: int = typer.Option(
        200, help="Planned number of rounds per person, those of the history included, for policies that plan."
    ),
    explore: float = typer.Option(0.0, help="Minimum probability of each allowed action, as in a randomised trial."),
    person: str | None = typer.Option(None, help="Column of the person; found by its name by default."),
    action: str | None = typer.Option(None, help="Column of the action; found by its name by default."),
    rating: str | None = typer.Option(None, help="Column of the reward; found by its name by default."),
    seed: options.Seed = 0,
    plugin: options.Plugins = None,
    jobs: options.Jobs = None,
    backend: options.Backend = "processes",
    address: options.Address = None,
    threads: options.Threads = None,
    as_json: options.AsJson = False,
) -> None:
    """Decide for each person of a history: the next action, its probability, the runner-up and a forecast.

    Example: `lpb decide --model model.json history.parquet --exclude-seen --out decisions.parquet`
    """
    from lpbandits.decisions.files import decide_file
    from lpbandits.model import PreferenceModel
    from lpbandits.policies.choose import choose_policy

    options.load_plugins(plugin)
    chosen_workers = options.workers_of(jobs, backend, address)
    chosen = choose_policy(
        PreferenceModel.load(model), policy, rewards=rewards, noise=noise, rounds=rounds, explore=explore
    )
    if policy == "auto" and not as_json:
        typer.echo(f"note: policy {chosen.name}: {display(chosen.why, None)}", err=True)
    with progress_bar(f"deciding ({COMPILES})") as report:
        summary = decide_file(
            chosen,
            history,
            out=out,
            columns={"person": person, "action": action, "rating": rating},
            allowed=allowed,
            exclude_seen=exclude_seen,
            people=people,
            unknown=unknown,
            escape_formulas=escape_formulas,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    if as_json:
        print_json(summary.to_dict())
    else:
        _show(summary)


def _show(summary: "Summary") -> None:
    if summary.out is None and summary.people:
        rows = [
            [significant(cell) if cell is None or isinstance(cell, float) else display(cell) for cell in row]
            for row in summary.first.rows()
        ]
        title = f"First {len(rows)} of {pluralize(summary.people, 'decision')} (--out writes all)"
        print_table(title, summary.first.columns, rows, spare=("runner_up", "runner_up_name", "action"))
        say("")
    rows = [[display(one["name"]), f"{one['people']:,}", f"{one['share']:.1%}"] for one in summary.chosen]
    title = f"{summary.decided:,} of {pluralize(summary.people, 'person', 'people')}, by {summary.policy}"
    print_table(title, ["most chosen", "people", "share"], rows)
    counts = {"without history": summary.without_history, "no action left": summary.nothing_left}
    counts |= {f"skipped {what}": count for what, count in summary.skipped.items()}
    parts = [f"{what}: {count:,}" for what, count in counts.items() if count]
    if summary.mean_probability is not None:
        parts.append(f"mean probability of being played: {summary.mean_probability:.2f}")
    say("\n" + "; ".join([*parts, f"{summary.seconds:.2f} s"]), style="dim")
    if summary.out is not None:
        say(f"Decisions: {display(summary.out, None)}")
