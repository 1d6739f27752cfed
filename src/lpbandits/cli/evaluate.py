"""`lpb evaluate`: does it help these people more than what is popular?"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lpbandits.cli.screen import print_table, progress_bar, stage_bars

if TYPE_CHECKING:
    pass


def evaluate(
    ratings: Path = typer.Argument(help="CSV or TSV (may be gzipped), Parquet, or a MovieLens folder or zip."),
    model: Path | None = typer.Option(
        None, help="A model file: it is fitted anew in the same way, without those replayed, and told the verdict."
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
    seed: int = typer.Option(0, help="Seed of everything random: who is set aside, and the luck of policies."),
    threads: int | None = typer.Option(None, help="Threads; all cores by default. It never changes a result."),
    out: Path | None = typer.Option(None, help="Folder for tables, manifest, charts, an HTML report, and a model."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of tables."),
) -> None:
    """Replay people of a log, held out of the fit, and say whether policies would have helped them.

    Example: `lpb evaluate ratings.csv --model model.json --out verdict`
    """
    from lpbandits.evaluation import evaluate as run
    from lpbandits.files.writing import as_folder, check_place
    from lpbandits.model import PreferenceModel
    from lpbandits.recovery import read_ratings

    given = None if model is None else PreferenceModel.load(model)
    if model is not None:
        check_place(model)
    if out is not None:
        as_folder(out)
    with stage_bars() as report:
        log = read_ratings(ratings)
        found = run(
            log,
            model=given,
            states=states,
            scale=scale,
            policies=None if policies is None else [name.strip() for name in policies.split(",") if name.strip()],
            rounds=rounds,
            people=people,
            repeats=repeats,
            seed=seed,
            threads=threads,
            progress=report,
        )
    if out is not None:
        from lpbandits.views.evaluation_report import save_evaluation

        with progress_bar("drawing charts"):
            written = save_evaluation(found, out, source=ratings.name)
    print_table("x", *score_table(found))
