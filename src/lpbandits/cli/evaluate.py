"""`lpb evaluate`: compare policies with popularity on held-out people of a log."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import options, sources
from lpbandits.cli.screen import COMPILES, print_json, print_report, print_table, progress_bar, say
from lpbandits.errors import InvalidInput, LpbError
from lpbandits.text import LINE, display

if TYPE_CHECKING:
    from lpbandits.evaluation import Evaluation
    from lpbandits.model import PreferenceModel


def evaluate(
    context: typer.Context,
    ratings: Path | None = typer.Argument(None, help=options.KINDS),
    store: sources.LogStore = None,
    project: sources.Project = None,
    model: Path | None = typer.Option(
        None,
        help="Model file to evaluate. With --new-people, or if it does not record its settings, it is used unchanged; "
        "otherwise it is refitted with the same settings, without the held-out people. The verdict is written into it, "
        "for `lpb decide`.",
    ),
    new_people: bool = typer.Option(
        False, "--new-people", help="Use the model unchanged: none of these people are in its training data."
    ),
    states: str = typer.Option("auto", help="Number of latent states, or **auto**: select on the development set."),
    scale: str | None = typer.Option(
        None,
        show_default="try mixture, and two-stage with cosine",
        help="Try only the two-stage method, on this scale: cosine, raw, centered or standardized.",
    ),
    rounds: int = typer.Option(
        20, help="Rounds per person, limited to half of the actions they rated (without --repeats)."
    ),
    policies: str | None = typer.Option(
        None,
        help="Comma-separated names of policies (`lpb policies`), **random**, **item-knn**, **ease**, **ceiling** or "
        "**best-possible**. The popularity baseline is always included.",
    ),
    people: Path | None = typer.Option(
        None,
        help="Table of people with covariates (age, sex, …): say whether they help. It is that of `lpb fit --people`.",
    ),
    max_people: int | None = typer.Option(
        None, show_default="2000", help="Maximum number of people in the report set."
    ),
    repeats: bool = typer.Option(False, "--repeats", help="Allow actions to be played again, with the same reward."),
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
    seed: int = typer.Option(0, help="Random seed of the split and the policies."),
    plugin: options.Plugins = None,
    jobs: options.Jobs = None,
    backend: options.Backend = "processes",
    address: options.Address = None,
    threads: options.Threads = None,
    out: Path | None = typer.Option(None, help="Folder for tables, charts, a report and, without --model, a model."),
    as_json: options.AsJson = False,
) -> None:
    """Compare policies with popularity by replaying held-out people of a log.

    At least 12 people must have four or more ratings (three with --repeats) that are not all equal.

    Example: `lpb evaluate ratings.csv --model model.json --out verdict`
    """
    from lpbandits.evaluation import evaluate as run
    from lpbandits.io.atomic import as_folder, check_writable
    from lpbandits.model import PreferenceModel
    from lpbandits.people.covariates import CovariateTable

    options.load_plugins(plugin)
    chosen_workers = options.workers_of(jobs, backend, address)
    loaded = None if model is None else PreferenceModel.load(model)
    if model is not None:
        check_writable(model)
    if out is not None:
        as_folder(out)
    table = None
    if people is not None:
        if str(people).isdigit() and not people.exists():
            raise InvalidInput(
                f"--people must be a table of people, got {people}; their number is --max-people {people}"
            )
        kinds = loaded.covariates.column_kinds if loaded is not None and new_people and loaded.covariates else None
        table = CovariateTable.read(people, kinds=kinds, person=person, decimal_comma=decimal_comma)
    with sources.log_of(context, ratings, store, project) as source:
        reading = source.reading
        if loaded is not None and loaded.lower_is_better:
            reading["lower_is_better"] = True
        log, seconds = options.read_log(source.path, **reading)
    with progress_bar(note=COMPILES) as report:
        evaluation = run(
            log,
            model=loaded,
            new_people=new_people,
            states=options.number_of_states(states),
            scale=scale,
            policies=None if policies is None else options.split_list(policies),
            rounds=rounds,
            people=table,
            max_people=max_people,
            repeats=repeats,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    if out is not None:
        from lpbandits.views.evaluation_report import save_evaluation

        refitted = None
        if model is None:
            with progress_bar("refitting the model to all people"):
                refitted = evaluation.refit(log, people=table, threads=threads, jobs=chosen_workers)
        with progress_bar("drawing charts"):
            save_evaluation(evaluation, out, source=source.name, model=refitted)
    fault = None
    if loaded is not None and model is not None:
        fault = _add_verdict(loaded, evaluation, model)
        model = model if fault is None else None
    elif out is not None:
        model = out / "model.json"
    if as_json:
        times = {"read": round(seconds, 3), **evaluation.seconds}
        files = {"report": None if out is None else out / "report.html", "model": model}
        print_json({**evaluation.to_dict(), "seconds": times, **files})
    else:
        _show(evaluation, out, model, lower_is_better=log.lower_is_better)
    if fault is not None:
        raise fault


def _add_verdict(loaded: "PreferenceModel", evaluation: "Evaluation", path: Path) -> LpbError | None:
    """Write the verdict into the model file; return the error, so that the result of a long evaluation is shown first.

    A model that was put there during the evaluation is not overwritten.
    """
    from lpbandits.io.atomic import atomic_file

    try:
        with atomic_file(path) as part:
            loaded.replace(evaluation=evaluation.note()).save(part)
            if type(loaded).load(path).to_dict() != loaded.to_dict():
                raise InvalidInput("it changed during the evaluation; evaluate the new model")
    except LpbError as error:
        return InvalidInput(f"the verdict was not written into {path}: {error}")
    return None


def _show(evaluation: "Evaluation", out: Path | None, model: Path | None, *, lower_is_better: bool) -> None:
    from lpbandits.evaluation.results import titled
    from lpbandits.views.evaluation_report import describe, group_table, loss_summary, score_table

    better = "below" if lower_is_better else "above"
    rule = f"Scores: 0 is a person's mean rating, 1 is one standard deviation {better} it."
    columns, rows = score_table(evaluation)
    print_table(describe(evaluation), columns, rows, note=rule, spare=("± se", *columns[1:-4]))
    if evaluation.candidate is not None:
        title = f"\nGain of {evaluation.subject} by group"
        print_table(title, *group_table(evaluation), note=loss_summary(evaluation))
    for note in evaluation.warnings:
        say(f"note: {display(options.known_only(note), LINE)}", style="yellow")
    for name, why in evaluation.left_out.items():
        say(f"not evaluated: {titled(name)}: {display(options.known_only(why), LINE)}", style="yellow")
    say(f"\n{evaluation.verdict}", style="bold")
    if evaluation.covariates is not None:
        say(evaluation.covariates.sentence, style="bold")
    print_report(out)
    if model is not None:
        path = display(model, None)
        say(f"Model: {path} (next: lpb decide --model {path} history.csv)")
