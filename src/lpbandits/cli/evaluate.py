"""`lpb evaluate`: whether policies help the people of a log more than what is popular."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli import reading, workers
from lpbandits.cli.screen import print_json, print_table, progress_bar, say, stage_bars
from lpbandits.text import LINE, display

if TYPE_CHECKING:
    from lpbandits.evaluation import Evaluation

MODEL = "model.json"
"""The model that is written beside a report."""


def evaluate(
    context: typer.Context,
    ratings: Path = typer.Argument(help=reading.KINDS),
    model: Path | None = typer.Option(
        None,
        help="A model file. It is fitted anew in the same way without those replayed, or used as it is if none of them "
        "were in its fit; the verdict is written into it, for `lpb decide`.",
    ),
    states: str = typer.Option("auto", help="Number of latent states, or **auto**: what helps development people."),
    scale: str | None = typer.Option(
        None, show_default="chosen", help="What clustering sees: **cosine**, **raw**, **centered**, **standardized**."
    ),
    rounds: int = typer.Option(20, help="Rounds per person, at most half of what they rated."),
    policies: str | None = typer.Option(
        None,
        help="Policies, by name, with commas (`lpb policies`), and **random**, **item-knn**, **ease**, **ceiling**, "
        "**best-possible**; popularity is always there.",
    ),
    people: int | None = typer.Option(None, show_default="2000", help="Replay at most so many people."),
    repeats: bool = typer.Option(False, "--repeats", help="Actions may be played again, with the same reward."),
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
    seed: int = typer.Option(0, help="Seed of everything random: who is set aside, and the luck of policies."),
    jobs: workers.Jobs = None,
    backend: workers.Backend = "processes",
    address: workers.Address = None,
    threads: workers.Threads = None,
    out: Path | None = typer.Option(
        None, help="Folder for tables, manifest, charts and an HTML report; and, without --model, for a model."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Replay people of a log who were held out of the fit, and say whether policies would have helped them.

    Example: `lpb evaluate ratings.csv --model model.json --out verdict`
    """
    from lpbandits.evaluation import evaluate as run
    from lpbandits.evaluation import fit_as_chosen
    from lpbandits.io.atomic import as_folder, check_writable
    from lpbandits.model import PreferenceModel

    chosen_workers = workers.workers_of(jobs, backend, address)
    given = None if model is None else PreferenceModel.load(model)
    if model is not None:
        check_writable(model)
    if out is not None:
        as_folder(out)
    log, seconds = reading.read_log(ratings, **reading.options_of(context))
    with stage_bars() as report:
        found = run(
            log,
            model=given,
            states=reading.number_of_states(states),
            scale=scale,
            policies=None if policies is None else [name.strip() for name in policies.split(",") if name.strip()],
            rounds=rounds,
            people=people,
            repeats=repeats,
            seed=seed,
            jobs=chosen_workers,
            threads=threads,
            progress=report,
        )
    kept = model
    if given is not None and model is not None:
        given.replace(evaluation=found.note()).save(model)
    written = None
    if out is not None:
        from lpbandits.views.evaluation_report import save_evaluation

        with progress_bar("drawing charts"):
            written = save_evaluation(found, out, source=ratings.name)
        if given is None:
            with progress_bar("fitting everybody as was chosen"):
                fit_as_chosen(log, found, threads=threads, jobs=chosen_workers).save(out / MODEL)
            kept = out / MODEL
    if as_json:
        times = {"read": round(seconds, 3), **found.seconds}
        places = {"report": None if written is None else str(written), "model": None if kept is None else str(kept)}
        print_json({**found.to_dict(), "seconds": times, **places})
        return
    _show(found, written, kept)


def _show(found: "Evaluation", written: Path | None, kept: Path | None) -> None:
    from lpbandits.evaluation.results import titled
    from lpbandits.views.evaluation_report import GAIN, described, group_table, losers, score_table

    columns, rows = score_table(found)
    print_table(described(found), columns, rows, right={*columns[1:-2], GAIN})
    say("Scores: 0 is a person's mean rating, 1 a standard deviation above it.", style="dim")
    if found.candidate is not None:
        columns, rows = group_table(found)
        print_table(f"\nWho gains by {titled(found.candidate)}, and who loses?", columns, rows, right=set(columns[1:]))
        say(losers(found), style="dim")
    for note in found.warnings:
        say(f"note: {display(note, LINE)}", style="yellow")
    for name, why in found.left_out.items():
        say(f"left out: {titled(name)}: {display(why, LINE)}", style="yellow")
    say(f"\n{found.verdict}", style="bold")
    if written is not None:
        say(f"Report: {display(written, None)}")
    if kept is not None:
        place = display(kept, None)
        say(f"Model: {place} knows what is best here (decide with it: lpb decide --model {place} history.csv)")
