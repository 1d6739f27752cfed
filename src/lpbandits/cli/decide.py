"""`lpb decide`: the next action for everybody in a history."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli import workers
from lpbandits.cli.screen import notes, print_json, print_table, progress_bar, say
from lpbandits.text import display

if TYPE_CHECKING:
    from lpbandits.decisions.files import Summary

NUMBERS = {"probability", "expected", "low", "high", "people", "share"}


def decide(
    history: Path = typer.Argument(
        help="What people did and how it went, an outcome per row: CSV or TSV (may be gzipped), or Parquet, "
        "one file or many."
    ),
    model: Path = typer.Option(..., help="A model file, as `lpb fit` writes it."),
    out: Path | None = typer.Option(None, help="File for the decisions, **.parquet** or **.csv**."),
    policy: str = typer.Option(
        "auto",
        help="A policy by name; see `lpb policies`. **auto**: what an evaluation found best, or suits the model.",
    ),
    exclude_seen: bool = typer.Option(False, "--exclude-seen", help="Nobody gets an action that is in their history."),
    allowed: str | None = typer.Option(
        None,
        help="Actions that may be given: labels with commas, or a table with an action column (for everybody), or with "
        "a person and an action column (for each).",
    ),
    people: Path | None = typer.Option(
        None, help="A table of the people to decide for, who need not have a history; by default all of the history."
    ),
    unknown: str = typer.Option("error", help="Actions that the model does not have: **error**, or **skip** them."),
    rewards: str = typer.Option("gaussian", help="What rewards are: gaussian, bernoulli or poisson."),
    noise: float | None = typer.Option(None, help="A guess of the standard deviation of rewards; else the model's."),
    explore: float = typer.Option(0.0, help="A floor for the chance of every allowed action, as trials need it."),
    person: str | None = typer.Option(None, help="Column that holds the person; guessed when obvious."),
    action: str | None = typer.Option(None, help="Column that holds the action; guessed when obvious."),
    rating: str | None = typer.Option(None, help="Column that holds the reward; guessed when obvious."),
    seed: int = typer.Option(0, help="Seed of everybody's luck."),
    jobs: workers.Jobs = None,
    backend: workers.Backend = "processes",
    address: workers.Address = None,
    threads: workers.Threads = None,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a summary."),
) -> None:
    """Decide for everybody in a history: the next action, its probability, the runner-up and what to expect.

    Example: `lpb decide --model model.json history.parquet --exclude-seen --out decisions.parquet`
    """
    from lpbandits.decisions.choose_policy import choose_policy
    from lpbandits.decisions.files import decide_file
    from lpbandits.model import PreferenceModel

    chosen_workers = workers.workers_of(jobs, backend, address)
    chosen = choose_policy(PreferenceModel.load(model), policy, rewards=rewards, noise=noise, explore=explore)
    if policy == "auto" and not as_json:
        typer.echo(f"note: {chosen.name}: {display(chosen.why, None)}", err=True)
    with notes(), progress_bar("deciding (a first run also compiles)") as report:
        summary = decide_file(
            chosen,
            history,
            out=out,
            columns={"person": person, "action": action, "rating": rating},
            allowed=allowed,
            exclude_seen=exclude_seen,
            people=people,
            unknown=unknown,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    if as_json:
        print_json(summary.to_dict())
        return
    _show(summary)


def _show(summary: "Summary") -> None:
    if summary.out is None and summary.first is not None:
        rows = [[_cell(value) for value in row] for row in summary.first.rows()]
        title = f"The first {len(rows)} of {summary.people:,} decisions (--out writes all of them)"
        print_table(title, summary.first.columns, rows, right=NUMBERS)
        say("")
    rows = [[display(one["name"]), f"{one['people']:,}", f"{one['share']:.1%}"] for one in summary.chosen]
    title = f"{summary.decided:,} of {summary.people:,} people, by {summary.policy}"
    print_table(title, ["most chosen", "people", "share"], rows, right=NUMBERS)
    counts = {"without history": summary.without_history, "with nothing left to get": summary.nothing_left}
    counts |= {f"{what} skipped": count for what, count in summary.skipped.items()}
    said = [f"{what}: {count:,}" for what, count in counts.items() if count]
    if summary.mean_probability is not None:
        said.append(f"mean probability: {summary.mean_probability:.2f}")
    say("\n" + "; ".join([*said, f"{summary.seconds:.2f} s"]), style="dim")
    if summary.out is not None:
        say(f"Decisions: {display(summary.out, None)}")


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else display(value)
