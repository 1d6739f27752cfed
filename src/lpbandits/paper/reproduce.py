"""Reproduce the paper: run the cases of the chosen figures, check the claims and write the report."""

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
    """Results of a reproduction: tables, claims, skipped figures with reasons, and the report's path."""

    tables: dict[str, pl.DataFrame]
    claims: list[Claim]
    skipped: dict[str, str]
    recomputed: list[str]
    """Stored cases that `resume` rejected, each with the reason."""
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
    """Run figures and write their files, the claims and the report to `out`.

    Parameters
    ----------
    names
        Names of figures, or of the groups "paper" and "beyond"; all figures by default.
    jobs
        Number of worker processes, or `Workers(…)` for a cluster; by default cases run in this process. Results do not
        depend on it.
    threads
        Threads per case; by default the cores are shared. Results do not depend on it.
    resume
        Skip cases that an earlier run of the same size, seed and version has finished. A stored case that does not
        match its record is computed again.
    """
    figures, skipped = _chosen(names)
    seed = validate.as_seed(seed)
    work = [(figure, case) for figure in figures for case in figure.cases(size)]
    work.sort(key=lambda one: one[0].check(one[1]), reverse=True)  # the longest first
    started = time.perf_counter()
    folder = as_folder(as_path(out) / "cases")
    stored = [kept(folder, figure, case, seed) if resume else None for figure, case in work]
    recomputed = [message for message in stored if isinstance(message, str)]
    missing = [which for which, table in zip(work, stored, strict=True) if not isinstance(table, pl.DataFrame)]
    done = len(work) - len(missing)
    with executor_for(jobs, threads=threads, max_jobs=len(missing)) as executor:
        if progress is not None:
            progress("starting", done, len(work))
        tasks = ((figure.name, case, seed, executor.threads, _content(figure)) for figure, case in missing)
        for number, (table, taken) in executor.as_completed(run_case, tasks, batch=False):
            figure, case = missing[number]
            keep(folder, figure, case, seed, table, taken)  # at once, so that an interrupt loses no finished case
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
    """Run one case in a worker; return its table and the seconds it took.

    Workers look figures up by name because charts cannot be pickled. Data is not sent to workers: the dataset must be
    installed there with the hash `content`.
    """
    started = time.perf_counter()
    figure = FIGURES[name]
    if figure.data is not None and (locate(figure.data) is None or _content(figure) != content):
        raise InvalidInput(
            f"the worker on {platform.node()} does not have this MovieLens {figure.data}; run "
            f"`lpb data movielens {figure.data}` there, or use local workers (--backend processes)"
        )
    table = figure.run(case, seed, threads)
    return table, time.perf_counter() - started


def _content(figure: Figure) -> str | None:
    """Return the hash of the figure's dataset."""
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
    """Return the figures to run, and those of a group that are skipped because their data is not installed.

    A figure that is requested by name must have its data.
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
                skipped[figure.name] = (
                    f"MovieLens {figure.data} is not installed; run `lpb data movielens {figure.data}`"
                )
            elif figure.group == name:
                chosen[figure.name] = figure
    return list(chosen.values()), skipped


def _table(folder: Path, figure: Figure, size: Size, seed: int) -> pl.DataFrame:
    """Load and join the stored cases of a figure."""
    tables = []
    for case in figure.cases(size):
        table = kept(folder, figure, case, seed)
        if not isinstance(table, pl.DataFrame):
            raise InvalidInput(f"{table or 'a finished case is missing'}: another program changed {folder}; run again")
        tables.append(table.with_columns(case=pl.lit(case.name)))
    return pl.concat(tables, how="diagonal")
