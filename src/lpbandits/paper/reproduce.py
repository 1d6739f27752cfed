"""Reproducing the paper: run every case of the chosen figures, keep each as it ends, then check claims and report."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import joblib
import polars as pl

from lpbandits import validate
from lpbandits.paper.claims import check_claims
from lpbandits.paper.claims.check import Claim
from lpbandits.paper.datasets import locate, require
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.report import write_paper_report
from lpbandits.paper.spec import FULL, Case, Figure, Size
from lpbandits.simulation.results import versions
from lpbandits.typing import Json
from lpbandits.views.charts import save_chart

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Reproduction:
    """What a run made: the tables and claims, what was skipped and why, and where the report is."""

    tables: dict[str, pl.DataFrame]
    claims: list[Claim]
    skipped: dict[str, str]
    seconds: float
    report: Path


def reproduce(
    names: Sequence[str] = (),
    *,
    out: str | Path = "results",
    size: Size = FULL,
    seed: int = 0,
    jobs: int = 1,
    resume: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Run figures by name (all by default) and write their files, the claims and the report to `out`.

    With `resume`, cases that an earlier run of the same specification, size and seed finished are not run again.
    Results do not depend on `jobs`, the number of processes.
    """
    figures, skipped = _chosen(names)
    seed = validate.as_seed(seed)
    jobs = validate.as_count(jobs, "jobs", high=1024)
    started = time.perf_counter()
    folder = validate.as_folder(Path(out) / "cases")
    work = [(figure, case) for figure in figures for case in figure.cases(size)]
    todo = [(figure, case) for figure, case in work if not (resume and _saved(folder, figure, case, seed).is_file())]
    done = len(work) - len(todo)
    if progress is not None:
        progress("starting", done, len(work))
    threads = None if jobs == 1 else max(1, joblib.cpu_count() // jobs)
    run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(
        joblib.delayed(run_case)(figure.name, case, seed, threads) for figure, case in todo
    )
    for name, case, table, seconds in run:
        place = _saved(folder, FIGURES[name], case, seed)
        table.write_parquet(place.with_suffix(".part"))
        place.with_suffix(".json").write_text(json.dumps({**asdict(case), "seconds": seconds}) + "\n", encoding="utf-8")
        place.with_suffix(".part").rename(place)
        done += 1
        if progress is not None:
            progress(f"{name}, {case.name}", done, len(work))
    tables = {figure.name: _table(folder, figure, size, seed) for figure in figures}
    for figure in figures:
        _write_figure(Path(out), figure, tables[figure.name], size, seed)
    claims = check_claims(tables)
    text = json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False)
    (Path(out) / "claims.json").write_text(text + "\n", encoding="utf-8")
    seconds = time.perf_counter() - started
    report = write_paper_report(Path(out) / "report.html", figures, tables, claims, skipped, size, seed, seconds)
    return Reproduction(tables, claims, skipped, seconds, report)


def run_case(name: str, case: Case, seed: int, threads: int | None) -> tuple[str, Case, pl.DataFrame, float]:
    """Run one case, in whatever process; figures are found by name because charts do not travel."""
    started = time.perf_counter()
    table = FIGURES[name].run(case, seed, threads)
    return name, case, table, time.perf_counter() - started


def listing() -> list[Json]:
    """Return the figures for `lpb reproduce --list`."""
    return [
        {
            "name": figure.name,
            "shows": figure.shows,
            "settings": [case.name for case in figure.cases(FULL)],
            "needs_data": figure.data,
            "data_here": figure.data is None or locate(figure.data) is not None,
        }
        for figure in FIGURES.values()
    ]


def _chosen(names: Sequence[str]) -> tuple[list[Figure], dict[str, str]]:
    """Return the figures to run; of all, those without their data are skipped; one asked for by name is an error."""
    for name in names:
        validate.as_choice(name, "figure", FIGURES)
        if FIGURES[name].data is not None:
            require(str(FIGURES[name].data))
    if names:
        return [FIGURES[name] for name in dict.fromkeys(names)], {}
    skipped = {
        figure.name: f"MovieLens {figure.data} is not here; run `lpb data movielens {figure.data}`"
        for figure in FIGURES.values()
        if figure.data is not None and locate(figure.data) is None
    }
    return [figure for figure in FIGURES.values() if figure.name not in skipped], skipped


def _saved(folder: Path, figure: Figure, case: Case, seed: int) -> Path:
    return folder / f"{figure.name}-{case.digest(figure.version, seed)}.parquet"


def _table(folder: Path, figure: Figure, size: Size, seed: int) -> pl.DataFrame:
    return pl.concat(
        [
            pl.read_parquet(_saved(folder, figure, case, seed)).with_columns(case=pl.lit(case.name))
            for case in figure.cases(size)
        ],
        how="diagonal",
    )


def _write_figure(out: Path, figure: Figure, table: pl.DataFrame, size: Size, seed: int) -> None:
    table.write_parquet(out / f"{figure.name}.parquet")
    chart = figure.chart(table)
    for ending in ("png", "svg"):
        save_chart(chart, out / f"{figure.name}.{ending}")
    about = {
        "figure": figure.name,
        "version": figure.version,
        "shows": figure.shows,
        "size": asdict(size),
        "seed": seed,
        "cases": [asdict(case) for case in figure.cases(size)],
        "versions": versions(),
    }
    (out / f"{figure.name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
