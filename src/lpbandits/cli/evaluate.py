"""`lpb evaluate`: compare policies with popularity on held-out people of a log."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import reading, workers
from lpbandits.cli.arguments import split_list
from lpbandits.cli.screen import print_json, print_table, progress_bar, say, stage_bars
from lpbandits.text import LINE, display

if TYPE_CHECKING:
    from lpbandits.evaluation import Evaluation

MODEL = "model.json"
"""File name of the model that is written next to a report."""


def evaluate(
    context: typer.Context,
    ratings: Path = typer.Argument(help=reading.KINDS),
    model: Path | None = typer.Option(
        None,
        help="Model file to evaluate. It is refitted with the same settings without the held-out people, or used as it "
        "is if none of these people are in its training data. The verdict is written into it, for `lpb decide`.",
    ),
    states: str = typer.Option("auto", help="Number of latent states, or **auto**: select on the development set."),
    scale: str | None = typer.Option(
        None,
        show_default="selected",
        help="Scale of the ratings in clustering: **cosine**, **raw**, **centered** or **standardized**.",
    ),
    rounds: int = typer.Option(20, help="Rounds per person, limited to half of the actions they rated."),
    policies: str | None = typer.Option(
        None,
        help="Comma-separated names of policies (`lpb policies`), **random**, **item-knn**, **ease**, **ceiling** or "
        "**best-possible**. The popularity baseline is always included.",
    ),
    people: int | None = typer.Option(None, show_default="2000", help="Maximum number of people to replay."),
    repeats: bool = typer.Option(False, "--repeats", help="Allow actions to be played again, with the same reward."),
    layout: reading.Layout = "auto",
    person: reading.Person = None,
    action: reading.Action = None,
    rating: reading.Rating = None,
    rank: reading.Rank = None,
    duplicates: reading.Duplicates = "error",
    decimal_comma: reading.DecimalComma = False,
    min_person: reading.MinPerson = 0,
    min_action: reading.MinAction = 0,
    unpack_limit: reading.UnpackLimit = None,
    seed: int = typer.Option(0, help="Random seed of the split and the policies."),
    jobs: workers.Jobs = None,
    backend: workers.Backend = "processes",
    address: workers.Address = None,
    threads: workers.Threads = None,
    out: Path | None = typer.Option(
        None, help="Folder for tables, manifest, charts, an HTML report and, without --model, a model."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Compare policies with popularity by replaying held-out people of a log.

    Example: `lpb evaluate ratings.csv --model model.json --out verdict`
    """
    from lpbandits.evaluation import evaluate as run
    from lpbandits.io.atomic import as_folder, check_writable
    from lpbandits.model import PreferenceModel

    chosen_workers = workers.workers_of(jobs, backend, address)
    loaded = None if model is None else PreferenceModel.load(model)
    if model is not None:
        check_writable(model)
    if out is not None:
        as_folder(out)
    log, seconds = reading.read_log(ratings, **reading.options_of(context))
    with stage_bars() as report:
        evaluation = run(
            log,
            model=loaded,
            states=reading.number_of_states(states),
            scale=scale,
            policies=None if policies is None else split_list(policies),
            rounds=rounds,
            people=people,
            repeats=repeats,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    if loaded is not None and model is not None:
        loaded.replace(evaluation=evaluation.note()).save(model)
    report_path = None
    if out is not None:
        from lpbandits.views.evaluation_report import save_evaluation

        with progress_bar("drawing charts"):
            report_path = save_evaluation(evaluation, out, source=ratings.name)
        if model is None:
            with progress_bar("refitting the model to all people"):
                evaluation.refit(log, threads=threads, jobs=chosen_workers).save(out / MODEL)
            model = out / MODEL
    if as_json:
        times = {"read": round(seconds, 3), **evaluation.seconds}
        paths = {"report": report_path, "model": model}
        files = {name: None if path is None else str(path) for name, path in paths.items()}
        print_json({**evaluation.to_dict(), "seconds": times, **files})
        return
    _show(evaluation, report_path, model)


def _show(evaluation: "Evaluation", report: Path | None, model: Path | None) -> None:
    from lpbandits.evaluation.results import titled
    from lpbandits.views.evaluation_report import GAIN, describe, group_table, loss_summary, score_table

    columns, rows = score_table(evaluation)
    print_table(describe(evaluation), columns, rows, right={*columns[1:-2], GAIN})
    say("Scores: 0 is a person's mean rating, 1 is one standard deviation above it.", style="dim")
    if evaluation.candidate is not None:
        columns, rows = group_table(evaluation)
        title = f"\nGain of {titled(evaluation.candidate)} by group"
        print_table(title, columns, rows, right=set(columns[1:]))
        say(loss_summary(evaluation), style="dim")
    for note in evaluation.warnings:
        say(f"note: {display(note, LINE)}", style="yellow")
    for name, why in evaluation.left_out.items():
        say(f"left out: {titled(name)}: {display(why, LINE)}", style="yellow")
    say(f"\n{evaluation.verdict}", style="bold")
    if report is not None:
        say(f"Report: {display(report, None)}")
    if model is not None:
        path = display(model, None)
        say(f"Model: {path} (next: lpb decide --model {path} history.csv)")
