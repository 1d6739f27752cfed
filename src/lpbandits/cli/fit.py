"""`lpb fit`: from a log of ratings to a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli.screen import console, print_json, print_table, stage_bars

if TYPE_CHECKING:
    from lpbandits.recovery import Fit


def fit(
    ratings: Path = typer.Argument(help="CSV, TSV or Parquet (also gzipped), or a MovieLens folder or zip."),
    out: Path | None = typer.Option(None, help="File for the model (JSON)."),
    states: str = typer.Option("5", help="Latent states: a number, or **auto** to choose by unseen people."),
    person: str | None = typer.Option(None, help="Column of the person; guessed when obvious."),
    action: str | None = typer.Option(None, help="Column of the action; guessed when obvious."),
    rating: str | None = typer.Option(None, help="Column of the rating; guessed when obvious."),
    method: str = typer.Option("two-stage", help="**two-stage** (cluster, then Bradley-Terry) or **em** (mixture)."),
    scale: str = typer.Option(
        "raw", help="What clustering sees: **raw**, **centered**, **standardized** or **cosine**."
    ),
    min_person: int = typer.Option(0, help="Keep people with at least this many ratings."),
    min_action: int = typer.Option(0, help="Then keep actions with at least this many."),
    prior_sd: float = typer.Option(1.0, help="Standard deviation of the Gaussian prior of a utility."),
    pairs_per_person: int | None = typer.Option(None, help="Use at most so many comparisons of a person."),
    restarts: int | None = typer.Option(None, help="Starts of the clustering (10; 2 for huge logs) or of EM (3)."),
    seed: int = typer.Option(0, help="Seed of everything random."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default. Never changes a result."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a summary."),
) -> None:
    """Learn the states' preference orderings from a log of ratings.

    Example: `lpb fit ratings.csv --states 5 --scale cosine --min-person 200 --min-action 200 --out model.json`
    """
    from lpbandits import validate
    from lpbandits.errors import InvalidInput
    from lpbandits.recovery import Em, TwoStage, fit_states, read_ratings

    validate.as_choice(method, "method", ("two-stage", "em"))
    number = _states(states)
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"cannot write {out}: there is no folder {out.parent}; make it first")
    settings: dict[str, Any] = {"scale": scale, "prior_sd": prior_sd, "seed": validate.as_seed(seed)}
    if restarts is not None:
        settings["restarts"] = validate.as_count(restarts, "restarts", high=1000)
    estimator = TwoStage(**settings) if method == "two-stage" else Em(**settings)
    with stage_bars() as report:
        report("read", 0, 1)
        log = read_ratings(
            ratings, person=person, action=action, rating=rating, min_person=min_person, min_action=min_action
        )
        report("read", 1, 1)
        made = fit_states(
            log,
            estimator,
            states=number,  # type: ignore[arg-type] # a number or "auto"
            pairs_per_person=pairs_per_person,
            threads=threads,
            progress=report,
        )
    if out is not None:
        made.model.save(out)
    if as_json:
        print_json({**made.report.to_dict(), "out": None if out is None else str(out)})
        return
    _show(made, out)


def _states(text: str) -> int | str:
    from lpbandits import validate

    if text == "auto":
        return text
    return validate.as_count(int(text) if text.lstrip("-").isdigit() else text, "states", high=10_000)


def _show(made: "Fit", out: Path | None) -> None:
    from lpbandits.experiments.inspection import inspect_model, state_table

    report = made.report
    screen = console()
    screen.print(
        f"{report.ratings:,} ratings by {report.people:,} people of {report.actions:,} actions, "
        f"{report.comparisons:,.0f} comparisons",
        style="bold",
        highlight=False,
    )
    for reason, count in report.dropped.items():
        if count:
            screen.print(f"  left out: {count:,} {reason.replace('_', ' ')}", highlight=False)
    if report.curve:
        rows = [
            [str(row["states"]), f"{row['heldout_log_likelihood']:.4f}", f"{row['score']:.4f}"] for row in report.curve
        ]
        print_table("\nHow many states?", ["states", "held-out", "score"], rows, right={"states", "held-out", "score"})
    print_table(
        f"\n{report.states} states, by {report.method}", *state_table(inspect_model(made.model, top=4)), right={"share"}
    )
    unseen = "–" if report.heldout_log_likelihood is None else f"{report.heldout_log_likelihood:.4f}"
    screen.print(
        f"\nLog-likelihood per comparison {report.log_likelihood:.4f}; of people not used in the fit {unseen} "
        "(a coin toss: -0.6931)\n"
        f"The states explain {report.count_variance_explained:.0%} of the variance of how much people rate, "
        f"{report.mean_variance_explained:.0%} of how highly",
        highlight=False,
    )
    for warning in report.warnings:
        screen.print(f"warning: {warning}", style="yellow", highlight=False)
    times = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items())
    screen.print(times, style="dim", highlight=False)
    if out is not None:
        screen.print(f"Model: {out}   (look at it: lpb inspect {out})", highlight=False)
