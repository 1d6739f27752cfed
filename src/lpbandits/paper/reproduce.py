"""Reproducing the paper: run every case of the chosen figures, keep each as it ends, then check claims and report."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from lpbandits import validate
from lpbandits.paper.claims import check_claims
from lpbandits.paper.claims.check import Claim
from lpbandits.paper.datasets import locate, require
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.report import save_reproduction
from lpbandits.paper.spec import FULL, Case, Figure, Size
from lpbandits.parallel import Progress, cores, each, workers_of
from lpbandits.typing import Json


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
    jobs: int | None = 1,
    resume: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Run figures by name (all by default) and write their files, the claims and the report to `out`.

    With `resume`, cases that an earlier run of the same specification, size and seed finished are not run again.
    Results do not depend on `jobs`, the number of processes; None is one per core.
    """
    figures, skipped = _chosen(names)
    seed = validate.as_seed(seed)
    workers = workers_of(jobs, "jobs")
    started = time.perf_counter()
    folder = validate.as_folder(Path(out) / "cases")
    work = [(figure, case, _place(folder, figure, case, seed)) for figure in figures for case in figure.cases(size)]
    todo = [(figure, case, place) for figure, case, place in work if not (resume and place.is_file())]
    threads = None if workers == 1 else max(1, cores() // workers)
    done = len(work) - len(todo)
    if progress is not None:
        progress("starting", done, len(work))
    tasks = [(figure.name, case, seed, threads, place) for figure, case, place in todo]
    for what in each(run_case, tasks, workers=workers, kind="processes"):
        done += 1
        if progress is not None:
            progress(what, done, len(work))
    tables = {figure.name: _table(folder, figure, size, seed) for figure in figures}
    claims = check_claims(tables)
    seconds = time.perf_counter() - started
    report = save_reproduction(
        out, figures, tables, claims=claims, skipped=skipped, size=size, seed=seed, seconds=seconds
    )
    return Reproduction(tables, claims, skipped, seconds, report)


def run_case(name: str, case: Case, seed: int, threads: int | None, place: Path) -> str:
    """Run one case, in whatever process, and keep its table at `place`; return what was run.

    It is kept here, so that an interrupted run loses no case that ended, in whatever order. Figures are found by name
    because charts do not travel between processes.
    """
    started = time.perf_counter()
    table = FIGURES[name].run(case, seed, threads)
    seconds = time.perf_counter() - started
    table.write_parquet(place.with_suffix(".part"))
    place.with_suffix(".json").write_text(json.dumps({**asdict(case), "seconds": seconds}) + "\n", encoding="utf-8")
    place.with_suffix(".part").rename(place)
    return f"{name}, {case.name}"


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


def _place(folder: Path, figure: Figure, case: Case, seed: int) -> Path:
    return folder / f"{figure.name}-{case.digest(figure.version, seed)}.parquet"


def _table(folder: Path, figure: Figure, size: Size, seed: int) -> pl.DataFrame:
    return pl.concat(
        [
            pl.read_parquet(_place(folder, figure, case, seed)).with_columns(case=pl.lit(case.name))
            for case in figure.cases(size)
        ],
        how="diagonal",
    )
