"""Reproducing the paper: run every case of the chosen figures, keep each as it ends, then check claims and report."""

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lpbandits import validate
from lpbandits.datasets.movielens import fingerprint_of, locate, require
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.atomic import as_folder
from lpbandits.io.paths import as_path
from lpbandits.paper.cases import keep, kept
from lpbandits.paper.claims import check_claims
from lpbandits.paper.claims.check import Claim
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.report import save_reproduction
from lpbandits.paper.spec import FULL, GROUPS, Case, Figure, Size
from lpbandits.parallel import Workers, executor_for
from lpbandits.progress import Progress
from lpbandits.typing import Json


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


@translate_errors("reproducing")
def reproduce(
    names: Sequence[str] = (),
    *,
    out: str | Path = "results",
    size: Size = FULL,
    seed: int = 0,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Run figures by name (all by default) and write their files, the claims and the report to `out`.

    The names "paper" and "beyond" stand for the figures of the paper and for those beyond it.

    With `resume`, cases that an earlier run of the same specification, size and seed finished are not run again; a file
    that is not exactly what that run wrote is not believed, and its case is run again.
    `jobs` is how many processes run cases at a time, or `Workers(…)` for those of a cluster; by default this one runs
    them one after another. A case has `threads`, by default as many as there are cores for it. No result depends on
    either.
    """
    figures, skipped = _chosen(names)
    seed = validate.as_seed(seed)
    work = [(figure, case) for figure in figures for case in figure.cases(size)]
    work.sort(key=lambda one: one[0].check(one[1]), reverse=True)  # the longest first: none is left over at the end
    started = time.perf_counter()
    folder = as_folder(as_path(out) / "cases")
    found = [kept(folder, figure, case, seed) if resume else None for figure, case in work]
    recomputed = [what for what in found if isinstance(what, str)]
    left = [which for which, table in zip(work, found, strict=True) if not isinstance(table, pl.DataFrame)]
    done = len(work) - len(left)
    with executor_for(jobs, threads=threads, max_jobs=len(left)) as executor:
        if progress is not None:
            progress("starting", done, len(work))
        tasks = ((figure.name, case, seed, executor.threads, _content(figure)) for figure, case in left)
        for number, (table, taken) in executor.as_completed(run_case, tasks, batch=False):
            figure, case = left[number]
            keep(folder, figure, case, seed, table, taken)  # at once: an interrupted run loses no case that ended
            done += 1
            if progress is not None:
                progress(f"{figure.name}, {case.name}", done, len(work))
    tables = {figure.name: _table(folder, figure, size, seed) for figure in figures}
    claims = check_claims(tables)
    seconds = time.perf_counter() - started
    report = save_reproduction(
        out, figures, tables, claims=claims, skipped=skipped, size=size, seed=seed, seconds=seconds
    )
    return Reproduction(tables, claims, skipped, recomputed, seconds, report)


def run_case(name: str, case: Case, seed: int, threads: int, content: str | None) -> tuple[pl.DataFrame, float]:
    """Run one case, in whatever process; return its table, and the seconds that it took.

    Figures are found by name because charts do not travel between processes. Nor does data: where the figure needs
    some, it must be there, with the same `content`.
    """
    started = time.perf_counter()
    figure = FIGURES[name]
    if figure.data is not None and (locate(figure.data) is None or _content(figure) != content):
        raise InvalidInput(
            f"a worker on {platform.node()} has no MovieLens {figure.data}, or another one than this machine; run "
            f"`lpb data movielens {figure.data}` there too, or use workers of this machine (--backend processes)"
        )
    table = figure.run(case, seed, threads)
    return table, time.perf_counter() - started


def _content(figure: Figure) -> str | None:
    """Return the hash of the data that a figure needs."""
    return None if figure.data is None else fingerprint_of(figure.data)


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
