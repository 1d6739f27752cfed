"""`lpb fit`: from a log of ratings to a model."""

import contextlib
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from lpbandits.cli import options, sources
from lpbandits.cli.screen import COMPILES, SPARE, print_json, print_table, progress_bar, say
from lpbandits.errors import InvalidInput
from lpbandits.text import LINE, display, pluralize, share_text, size_text

if TYPE_CHECKING:
    from lpbandits.fit import Fit
    from lpbandits.typing import Json


def fit(
    context: typer.Context,
    ratings: Path | None = typer.Argument(None, help=options.KINDS),
    store: sources.LogStore = None,
    project: sources.Project = None,
    out: Path | None = typer.Option(None, help="File for the model (JSON)."),
    states: str = typer.Option("5", help="Number of latent states, or **auto**: chosen on held-out people."),
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
    method: str = typer.Option(
        "mixture",
        help="**mixture** (of Gaussians, then Bradley-Terry), **two-stage** (the paper's: cluster, then Bradley-Terry) "
        "or **em** (mixture of Bradley-Terry models).",
    ),
    scale: str | None = typer.Option(
        None,
        show_default="cosine",
        help="Features for clustering, only with --method two-stage or em: **cosine** (ignores how highly and how "
        "often a person rates), **raw** (the paper's), **centered** or **standardized**.",
    ),
    max_states: int | None = typer.Option(None, help="Maximum number of states that **auto** tries; 12 by default."),
    names: options.Names = None,
    people: Path | None = typer.Option(
        None,
        help="Table of people with covariates (age, sex, …): learn the probability of each state from them, if that "
        "predicts held-out people.",
    ),
    assignments: Path | None = typer.Option(None, help="File for each person's likeliest state (.parquet or .csv)."),
    escape_formulas: options.EscapeFormulas = False,
    min_person: options.MinPerson = 0,
    min_action: options.MinAction = 0,
    prior_sd: float = typer.Option(1.0, help="Standard deviation of the Gaussian prior of a utility."),
    pairs_per_person: int | None = typer.Option(None, help="Maximum number of comparisons per person."),
    shrink: bool = typer.Option(True, help="Shrink utilities towards those of the other states."),
    restarts: int | None = typer.Option(
        None, help="Number of starts (KMeans 10, or 2 above 5 million ratings; mixture 20; EM 3)."
    ),
    no_taste: bool = typer.Option(False, "--no-taste", help="Do not fit a taste model (for the policy **taste**)."),
    unpack_limit: options.UnpackLimit = None,
    seed: options.Seed = 0,
    max_memory: str | None = typer.Option(
        None, help="Memory limit of all processes on this machine, such as **8GB**. Larger logs are processed on disk."
    ),
    scratch: Path | None = typer.Option(
        None, help="Folder for temporary files; workers on other machines must have access to it."
    ),
    threads: options.Threads = None,
    jobs: options.Jobs = None,
    backend: options.Backend = "processes",
    address: options.Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit latent states and their preference orderings to a log of ratings.

    Example: `lpb fit ratings.csv --states 5 --min-person 200 --min-action 200 --out model.json`

    The paper's method: `lpb fit ratings.csv --method two-stage --scale raw --no-shrink --out model.json`

    A log larger than memory: `lpb fit 'ratings/*.parquet' --max-memory 8GB --jobs 2 --out model.json`
    """
    from lpbandits import validate
    from lpbandits.data import open_ratings
    from lpbandits.data.names import read_names
    from lpbandits.fit import fit_states
    from lpbandits.fit.assign import states_of
    from lpbandits.fit.methods.em import slow_note
    from lpbandits.fit.provenance import METHODS
    from lpbandits.io.atomic import check_table_path, check_writable, write_stream
    from lpbandits.people.covariates import CovariateTable

    validate.as_choice(method, "method", tuple(METHODS))
    number = options.number_of_states(states)
    if out is not None:
        check_writable(out)
    if assignments is not None:
        check_table_path(assignments, "--assignments")
    covariates = None
    if people is not None:
        covariates = CovariateTable.read(people, person=person, decimal_comma=decimal_comma)
    action_names = None if names is None else read_names(names)
    settings: dict[str, Any] = {"prior_sd": prior_sd, "shrink": shrink, "seed": validate.as_seed(seed)}
    if scale is not None:
        if method == "mixture":
            raise InvalidInput(
                f"--scale must be left out with --method mixture, which does not cluster, got {scale!r}; "
                "add --method two-stage"
            )
        settings["scale"] = scale
    if restarts is not None:
        settings["restarts"] = validate.as_count(restarts, "restarts", high=1000)
    estimator = METHODS[method](**settings)
    chosen_workers = options.workers_of(jobs, backend, address)
    most = None if max_memory is None else validate.as_bytes(max_memory, "--max-memory")
    started = perf_counter()
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(sources.log_of(context, ratings, store, project))
        with progress_bar() as report:
            opened = open_ratings(
                source.path,
                max_memory=most,
                scratch=scratch,
                files=None if chosen_workers in (None, 1) else True,
                progress=report,
                **source.reading,
            )
            log = stack.enter_context(opened)
        read_seconds = perf_counter() - started
        options.note_layout(log, layout, person)
        note = slow_note(log) if method == "em" else None
        if note:
            typer.echo(f"note: {options.known_only(note)}", err=True)
        with progress_bar(note=COMPILES) as report:
            result = fit_states(
                log,
                estimator,
                states=number,
                max_states=max_states,
                pairs_per_person=pairs_per_person,
                taste=not no_taste,
                names=action_names,
                people=covariates,
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
            write_stream(assignments, table.lazy(), escape_formulas=escape_formulas)
    seconds = {"read": round(read_seconds, 3), **result.report.seconds}
    result = replace(result, report=replace(result.report, seconds=seconds))
    if as_json:
        print_json(result.report.to_dict() | {"out": out, "assignments": assignments})
    else:
        _show(result, source.words, time, out, assignments)


def _show_covariates(covariates: "Json | None") -> None:
    """Print whether covariates help, and for how many people."""
    if covariates is None:
        return
    used = ", ".join(map(display, covariates["columns"])) or "none"
    say(f"Covariates ({used}): {display(covariates['summary'], None)}")
    counts = {"people of the log without covariates": covariates["without"]}
    counts["people of the table without ratings"] = covariates["others"]
    for what, count in counts.items():
        if count:
            say(f"  {what}: {count:,}")


def _show(result: "Fit", source: str, time: str | None, out: Path | None, assignments: Path | None) -> None:
    from lpbandits.inspection.facts import noise_line, taste_lines
    from lpbandits.inspection.inspect import CURVE_NOTE, PAIR_NOTE, curve_table, inspect, state_table

    report = result.report
    say(
        f"{report.sizes}, {pluralize(round(report.comparisons), 'comparison')}",
        style="bold",
    )
    for line in options.dropped_lines(report.dropped, time):
        say(f"  {line}")
    inspection = inspect(result.model, top=4)
    if inspection.fit.curve:
        print_table(
            "\nHow many states?",
            *curve_table(inspection.fit.curve),
            note=f"{CURVE_NOTE} lpb inspect --out draws the curve.",
        )
    title = f"\n{pluralize(report.states, 'state')}, by {report.method}"
    print_table(title, *state_table(inspection), note=PAIR_NOTE, spare=SPARE)
    heldout = "not computed: too few people"
    if report.heldout_log_likelihood is not None:
        heldout = (
            f"{report.heldout_log_likelihood:.4f} (fitted to "
            f"{pluralize(report.heldout_fit_people, 'person', 'people')}, "
            f"scored on {pluralize(report.heldout_people, 'other')})"
        )
    say(
        f"\nLog-likelihood per comparison: {report.log_likelihood:.4f} (chance level: -0.6931)\n"
        f"Log-likelihood on held-out people: {heldout}\n"
        f"The states explain {share_text(report.count_variance_explained)} of the variance of people's number of "
        f"ratings and {share_text(report.mean_variance_explained)} of their mean rating (a small share is good)"
    )
    if report.named:
        say(f"Names: {report.named:,} of {pluralize(report.actions, 'action')}")
    _show_covariates(report.covariates)
    for line in [
        *noise_line(inspection.noise, lower_is_better=inspection.lower_is_better),
        *taste_lines(inspection.taste),
    ]:
        say(line)
    for warning in report.warnings:
        say(f"warning: {display(options.known_only(warning), LINE)}", style="yellow")
    longest = {stage.replace(", ", " "): seconds for stage, seconds in report.seconds.items() if seconds >= 0.1}
    parts = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in longest.items())
    say(f"{sum(report.seconds.values()):.1f} s" + (f": {parts}" if parts else ""), style="dim")
    space = report.space
    where = "in memory"
    if space["log"] == "files":
        where = f"on disk: {pluralize(space['parts'], 'block')}, at most {size_text(space['scratch_bytes'])}"
    if space["peak_bytes"] is not None:
        where += f"; peak memory of all processes {size_text(space['peak_bytes'])}"
    say(f"The log was processed {where}", style="dim")
    if out is None:
        say("The model was not saved: add --out model.json", style="yellow")
    else:
        name = display(out, None)
        say(f"Model: {name} (next: lpb inspect {name}; lpb evaluate {source} --model {name})")
    if assignments is not None:
        say(f"States of the people: {display(assignments, None)}")
