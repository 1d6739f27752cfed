"""Reproduce the paper: run the cases of the chosen figures, check the claims and write the report."""

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lpbandits import validate
from lpbandits.datasets.movielens import locate, require
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.atomic import as_folder
from lpbandits.io.paths import PACKAGE, as_path
from lpbandits.paper.claims import check_claims
from lpbandits.paper.claims.check import Claim
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.report import save_reproduction
from lpbandits.paper.spec import FULL, GROUPS, Case, Figure, Run, Size, load_case, store_case
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
    work.sort(key=lambda one: (one[0].data is not None, _cost(one[1])), reverse=True)  # longest first
    started = time.perf_counter()
    folder = as_folder(as_path(out) / "cases")
    finished: dict[tuple[str, str], pl.DataFrame] = {}
    missing: list[tuple[Figure, Case]] = []
    recomputed: list[str] = []
    for figure, case in work:
        stored = load_case(folder, figure, case, seed) if resume else None
        if isinstance(stored, pl.DataFrame):
            finished[case.figure, case.name] = stored
        else:
            missing.append((figure, case))
            recomputed += [] if stored is None else [stored]
    report = progress or (lambda *_: None)
    with executor_for(jobs, threads=threads, max_jobs=len(missing)) as executor:
        report("starting", len(finished), len(work))
        tasks = ((_runner(figure), case, seed, executor.threads, figure.data_hash) for figure, case in missing)
        for number, (table, seconds) in executor.as_completed(run_case, tasks):
            figure, case = missing[number]
            store_case(folder, figure, case, seed, table, seconds)  # at once, so that interrupts lose no case
            finished[case.figure, case.name] = table
            report(f"{figure.name}, {case.name}", len(finished), len(work))
    named = {key: table.with_columns(case=pl.lit(key[1])) for key, table in finished.items()}
    tables = {
        figure.name: pl.concat([named[figure.name, case.name] for case in figure.cases(size)], how="diagonal")
        for figure in figures
    }
    claims = check_claims(tables)
    seconds = time.perf_counter() - started
    page = save_reproduction(
        out, figures, tables, claims=claims, skipped=skipped, size=size, seed=seed, seconds=seconds
    )
    return Reproduction(tables, claims, skipped, recomputed, seconds, page)


def _runner(figure: Figure) -> str | Run:
    """Return the name of a figure of this package, which workers have, or the function of a plug-in."""
    inside = getattr(figure.run, "__module__", PACKAGE).partition(".")[0] == PACKAGE
    return figure.name if inside else figure.run


def run_case(name: str | Run, case: Case, seed: int, threads: int, content: str | None) -> tuple[pl.DataFrame, float]:
    """Run one case in a worker; return its table and the seconds it took.

    Workers look figures up by name because charts cannot be pickled; a plug-in's is given by its function `run`. Data
    is not sent to workers: the dataset must be installed there with the hash `content`.
    """
    started = time.perf_counter()
    if callable(name):
        return name(case.settings, seed, threads), time.perf_counter() - started
    figure = FIGURES[name]
    if figure.data is not None and (locate(figure.data) is None or figure.data_hash != content):
        raise InvalidInput(
            f"the worker on {platform.node()} does not have this MovieLens {figure.data}; run "
            f"`lpb data movielens {figure.data}` there, or use local workers (--backend processes)"
        )
    return figure.run(case.settings, seed, threads), time.perf_counter() - started


def _cost(case: Case) -> float:
    """Return a rough measure of a case's run time; two policies take a hundred times as long as the others."""
    settings = {"states": case.settings.get("x", 5), **case.settings, **case.settings.get("world", {})}
    sizes = [settings.get(name, 1) for name in ("people", "rounds", "draws", "repeats", "states", "actions")]
    return float(math.prod(sizes) * (100 if {"lpbts-marginal", "lpb-horizon"} & {*settings.get("policies", ())} else 1))


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
        for figure in FIGURES.values():
            if name not in (figure.name, figure.group):
                continue
            if figure.data is None or locate(figure.data) is not None:
                chosen[figure.name] = figure
            elif name == figure.name:
                require(figure.data)
            else:
                command = f"`lpb data movielens {figure.data}`"
                skipped[figure.name] = f"MovieLens {figure.data} is not installed; run {command}"
    return list(chosen.values()), skipped
