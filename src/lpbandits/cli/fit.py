"""`lpb fit`: from a log of ratings to a model."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli import reading, workers
from lpbandits.cli.screen import print_json, print_table, say, stage_bars
from lpbandits.text import LINE, display, size_text

if TYPE_CHECKING:
    from lpbandits.fit import Fit


def fit(
    context: typer.Context,
    ratings: Path = typer.Argument(help=reading.KINDS),
    out: Path | None = typer.Option(None, help="File for the model (JSON)."),
    states: str = typer.Option("5", help="Number of latent states, or **auto**: chosen on held-out people."),
    layout: reading.Layout = "auto",
    person: reading.Person = None,
    action: reading.Action = None,
    rating: reading.Rating = None,
    rank: reading.Rank = None,
    duplicates: reading.Duplicates = "error",
    decimal_comma: reading.DecimalComma = False,
    method: str = typer.Option("two-stage", help="**two-stage** (cluster, then Bradley-Terry) or **em** (mixture)."),
    scale: str = typer.Option(
        "cosine",
        help="Features for clustering: **cosine** (ignores level and activity), **raw** (the paper's), **centered** or "
        "**standardized**.",
    ),
    max_states: int | None = typer.Option(None, help="Maximum number of states that **auto** tries; 12 by default."),
    names: Path | None = typer.Option(
        None, help="Names of actions: a CSV of labels and names, a MovieLens folder, or its movies.dat."
    ),
    assignments: Path | None = typer.Option(None, help="File for each person's likeliest state (.parquet or .csv)."),
    min_person: reading.MinPerson = 0,
    min_action: reading.MinAction = 0,
    prior_sd: float = typer.Option(1.0, help="Standard deviation of the Gaussian prior of a utility."),
    pairs_per_person: int | None = typer.Option(None, help="Maximum number of comparisons per person."),
    shrink: bool = typer.Option(True, help="Shrink utilities towards the other states."),
    restarts: int | None = typer.Option(None, help="Number of starts of KMeans (10; 2 for huge logs) or of EM (3)."),
    no_taste: bool = typer.Option(False, "--no-taste", help="Do not fit a taste model (for the policy **taste**)."),
    unpack_limit: reading.UnpackLimit = None,
    seed: int = typer.Option(0, help="Random seed."),
    max_memory: str | None = typer.Option(
        None, help="Memory limit of all processes on this machine, such as **8GB**. Larger logs are processed on disk."
    ),
    scratch: Path | None = typer.Option(
        None, help="Folder for temporary files; workers on other machines must see it."
    ),
    threads: workers.Threads = None,
    jobs: workers.Jobs = None,
    backend: workers.Backend = "processes",
    address: workers.Address = None,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a summary."),
) -> None:
    """Fit latent states and their preference orderings to a log of ratings.

    Example: `lpb fit ratings.csv --states 5 --min-person 200 --min-action 200 --out model.json`

    A log larger than memory: `lpb fit 'ratings/*.parquet' --max-memory 8GB --jobs 2 --out model.json`
    """
    from lpbandits import validate
    from lpbandits.data.names import read_names
    from lpbandits.fit import Em, TwoStage, fit_states
    from lpbandits.fit.assign import states_of
    from lpbandits.fit.em import slow_note
    from lpbandits.io.atomic import check_table_path, check_writable, write_stream

    validate.as_choice(method, "method", ("two-stage", "em"))
    number = reading.number_of_states(states)
    if out is not None:
        check_writable(out)
    if assignments is not None:
        check_table_path(assignments, "--assignments")
    action_names = None if names is None else read_names(names)
    settings: dict[str, Any] = {"scale": scale, "prior_sd": prior_sd, "shrink": shrink, "seed": validate.as_seed(seed)}
    if restarts is not None:
        settings["restarts"] = validate.as_count(restarts, "restarts", high=1000)
    estimator = TwoStage(**settings) if method == "two-stage" else Em(**settings)
    chosen_workers = workers.workers_of(jobs, backend, address)
    most = None if max_memory is None else validate.as_bytes(max_memory, "--max-memory")
    with reading.open_log(
        ratings, max_memory=most, scratch=scratch, files=chosen_workers not in (None, 1), **reading.options_of(context)
    ) as (log, read_seconds):
        note = slow_note(log) if method == "em" else None
        if note:
            typer.echo(f"note: {note}", err=True)
        with stage_bars() as report:
            result = fit_states(
                log,
                estimator,
                states=number,
                max_states=max_states,
                pairs_per_person=pairs_per_person,
                taste=not no_taste,
                names=action_names,
                threads=threads,
                jobs=chosen_workers,
                scratch=scratch,
                max_memory=most,
                progress=report,
            )
        if out is not None:
            result.model.save(out)
        if assignments is not None:
            table = states_of(result.model, log, threads=threads, jobs=chosen_workers)
            write_stream(assignments, table.lazy())
    seconds = {"read": round(read_seconds, 3), **result.report.seconds}
    result = replace(result, report=replace(result.report, seconds=seconds))
    if as_json:
        paths = {"out": out, "assignments": assignments}
        texts = {name: None if path is None else str(path) for name, path in paths.items()}
        print_json(result.report.to_dict() | texts)
        return
    _show(result, out, assignments)


def _show(result: "Fit", out: Path | None, assignments: Path | None) -> None:
    from lpbandits.inspection.facts import noise_line, taste_lines
    from lpbandits.inspection.inspect import CURVE_RULE, PAIR_RULE, PAIRS, curve_table, inspect_model, state_table
    from lpbandits.text import pluralize

    report = result.report
    say(
        f"{report.ratings:,} ratings by {report.people:,} people of {report.actions:,} actions, "
        f"{report.comparisons:,.0f} comparisons",
        style="bold",
    )
    for reason, count in report.dropped.items():
        if count:
            say(f"  dropped: {count:,} {reason.replace('_', ' ')}")
    inspection = inspect_model(result.model, top=4)
    if inspection.fit.curve:
        columns, rows = curve_table(inspection.fit.curve)
        print_table("\nHow many states?", columns, rows, right=set(columns[:-1]))
        say(CURVE_RULE, style="dim")
    columns, rows = state_table(inspection)
    print_table(
        f"\n{pluralize(report.states, 'state')}, by {report.method}", columns, rows, right={"share", "people", PAIRS}
    )
    say(PAIR_RULE, style="dim")
    heldout = "unknown: too few people to hold out a share"
    if report.heldout_log_likelihood is not None:
        heldout = (
            f"{report.heldout_log_likelihood:.4f} (fitted to "
            f"{pluralize(report.heldout_fit_people, 'person', 'people')}, "
            f"scored on {pluralize(report.heldout_people, 'other')})"
        )
    say(
        f"\nLog-likelihood per comparison {report.log_likelihood:.4f} (a coin toss: -0.6931)\n"
        f"on held-out people {heldout}\n"
        f"The states explain {report.count_variance_explained:.0%} of the variance in how much people rate and "
        f"{report.mean_variance_explained:.0%} in how highly"
    )
    if report.named:
        say(f"Names: {report.named:,} of {pluralize(report.actions, 'action')}")
    for line in [*noise_line(inspection.noise), *taste_lines(inspection.taste)]:
        say(line)
    for warning in report.warnings:
        say(f"warning: {display(warning, LINE)}", style="yellow")
    say(", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in report.seconds.items()), style="dim")
    say(_space(report.space), style="dim")
    if out is not None:
        name = display(out, None)
        say(f"Model: {name}   (next: lpb inspect {name}; lpb evaluate RATINGS --model {name})")
    if assignments is not None:
        say(f"States of the people: {display(assignments, None)}")


def _space(space: dict[str, Any]) -> str:
    """Summarize where the log was processed, and the peak of disk and memory use."""
    from lpbandits.text import pluralize

    where = "in memory"
    if space["log"] == "files":
        where = f"on disk: {pluralize(space['parts'], 'part')}, at most {size_text(space['scratch_bytes'])}"
    if space["peak_bytes"] is not None:
        where += f"; peak memory of all processes {size_text(space['peak_bytes'])}"
    return f"The log was processed {where}"
