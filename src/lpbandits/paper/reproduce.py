"""Reproducing the paper: run every case of the chosen figures, keep each as it ends, then check claims and report."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput, door
from lpbandits.files.places import as_path
from lpbandits.files.writing import as_folder
from lpbandits.limits import affordable
from lpbandits.paper.cases import keep, kept
from lpbandits.paper.claims import check_claims
from lpbandits.paper.claims.check import Claim
from lpbandits.paper.datasets import locate, require
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.report import save_reproduction
from lpbandits.paper.spec import FULL, GROUPS, Case, Figure, Size
from lpbandits.parallel import Progress, cores, each, workers_of
from lpbandits.typing import Json

PROCESS = 2**28
"""Bytes that a process takes before it does anything."""


@dataclass(frozen=True)
class Reproduction:
    """What a run made: the tables and claims, what was skipped and why, and where the report is."""

    tables: dict[str, pl.DataFrame]
    claims: list[Claim]
    skipped: dict[str, str]
    recomputed: list[str]
    """What `resume` found and did not believe, each with the reason."""
    seconds: float
    report: Path


@door("reproducing")
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

    The names "paper" and "beyond" stand for the figures of the paper and for those beyond it.

    With `resume`, cases that an earlier run of the same specification, size and seed finished are not run again; a file
    that is not exactly what that run wrote is not believed, and its case is run again.
    Results do not depend on `jobs`, the number of processes; None is one per core.
    """
    figures, skipped = _chosen(names)
    seed = validate.as_seed(seed)
    workers = workers_of(jobs, "jobs")
    work = [(figure, case) for figure in figures for case in figure.cases(size)]
    for figure, case in work:
        if figure.check is not None:
            figure.check(case)
    processes = min(workers, len(work))
    affordable(f"{processes:,} processes", "use fewer jobs", size=PROCESS * processes)
    started = time.perf_counter()
    folder = as_folder(as_path(out) / "cases")
    found = [kept(folder, figure, case, seed) if resume else None for figure, case in work]
    recomputed = [what for what in found if isinstance(what, str)]
    tasks = [
        (figure.name, case, seed, None if workers == 1 else max(1, cores() // workers), folder)
        for (figure, case), table in zip(work, found, strict=True)
        if not isinstance(table, pl.DataFrame)
    ]
    done = len(work) - len(tasks)
    if progress is not None:
        progress("starting", done, len(work))
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
    return Reproduction(tables, claims, skipped, recomputed, seconds, report)


def run_case(name: str, case: Case, seed: int, threads: int | None, folder: Path) -> str:
    """Run one case, in whatever process, and keep its table in `folder`; return what was run.

    It is kept here, so that an interrupted run loses no case that ended, in whatever order. Figures are found by name
    because charts do not travel between processes.
    """
    started = time.perf_counter()
    table = FIGURES[name].run(case, seed, threads)
    keep(folder, FIGURES[name], case, seed, table, time.perf_counter() - started)
    return f"{name}, {case.name}"


def listing() -> list[Json]:
    """Return the figures for `lpb reproduce --list`."""
    return [
        {
            "name": figure.name,
            "group": figure.group,
            "shows": figure.shows,
            "settings": [case.name for case in figure.cases(FULL)],
            "draws": figure.draws,
            "needs_data": figure.data,
            "data_here": figure.data is None or locate(figure.data) is not None,
        }
        for figure in FIGURES.values()
    ]


def _chosen(names: Sequence[str]) -> tuple[list[Figure], dict[str, str]]:
    """Return the figures to run; of a group, those without their data are skipped; one asked for by name is an error.

    Groups stand where they are asked for, their figures in the order of the report.
    """
    chosen: dict[str, Figure] = {}
    skipped: dict[str, str] = {}
    for name in names or GROUPS:
        validate.as_choice(name, "figure", (*GROUPS, *FIGURES))
        if name in FIGURES:
            chosen[name] = FIGURES[name]
            if FIGURES[name].data is not None:
                require(str(FIGURES[name].data))
        for figure in FIGURES.values():
            if figure.group == name and figure.data is not None and locate(figure.data) is None:
                skipped[figure.name] = f"MovieLens {figure.data} is not here; run `lpb data movielens {figure.data}`"
            elif figure.group == name:
                chosen[figure.name] = figure
    return list(chosen.values()), skipped


def _table(folder: Path, figure: Figure, size: Size, seed: int) -> pl.DataFrame:
    """Return all cases of a figure, as they were kept."""
    tables = []
    for case in figure.cases(size):
        table = kept(folder, figure, case, seed)
        if not isinstance(table, pl.DataFrame):
            raise InvalidInput(f"{table or 'a finished case is gone'}: another program changes {folder}; run it again")
        tables.append(table.with_columns(case=pl.lit(case.name)))
    return pl.concat(tables, how="diagonal")
