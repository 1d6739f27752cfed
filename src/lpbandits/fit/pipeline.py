"""From a log of ratings to a model: the whole way, with a report."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks, block_edges, largest_block
from lpbandits.data.chunked import ChunkedRatings, DiskBlocks, peak_of_process
from lpbandits.data.memory import memory_budget
from lpbandits.data.names import name_actions
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.data.spill import write_chunks
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import HUGE, sorted_by
from lpbandits.fit.counting import raters_of
from lpbandits.fit.estimator import Estimator, as_estimator, distinct, score_comparisons, to_model
from lpbandits.fit.report import Fit
from lpbandits.fit.selection import (
    HeldOutScore,
    StateCurve,
    candidates_up_to,
    curve_of,
    score_heldout,
    split_people,
)
from lpbandits.fit.state_means import state_means
from lpbandits.fit.summary import Findings, provenance_of, report_of
from lpbandits.fit.taste.popularity import StandardizedRatings, popular_ordering
from lpbandits.fit.taste.tuning import TasteFit, fit_taste
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.parallel import Threads, Workers, executor_for, one_thread
from lpbandits.parallel.workers import as_workers
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import Json

States = int | Literal["auto"]


@contextlib.contextmanager
def opened(
    ratings: Ratings | ChunkedRatings,
    jobs: int | Workers | None,
    threads: int | None,
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
) -> Iterator[Blocks]:
    """Give a log in blocks: in memory, or in files that workers read, too; a single block cannot be shared out."""
    workers, most = as_workers(jobs), None if max_memory is None else validate.as_bytes(max_memory, "max_memory")
    single = isinstance(ratings, Ratings) and len(block_edges(ratings.counts)) <= 2
    if single and workers is not None and workers.address is None:
        workers = None
    with contextlib.ExitStack() as open_:
        open_.enter_context(one_thread("blas"))  # what is done here, too, has one order of sums
        executor = open_.enter_context(executor_for(workers, threads=threads))
        pool = open_.enter_context(Threads(threads))
        held = len(ratings) if isinstance(ratings, Ratings) else 0
        room = memory_budget(
            ratings.people,
            block=largest_block(ratings.counts),
            held=held,
            here=0 if workers is None else workers.here,
            sending=0 if executor.in_process else executor.n_workers,
            most=most,
        )
        if isinstance(ratings, Ratings) and executor.in_process:
            yield MemoryBlocks(ratings, pool, room)
            return
        if isinstance(ratings, Ratings):
            place = open_.enter_context(temporary_folder(None if scratch is None else as_path(scratch).absolute()))
            ratings = write_chunks(ratings, place)
        log = DiskBlocks(ratings, executor, pool, room)
        log.probe()
        yield log


@translate_errors("fitting states")
def fit_states(
    ratings: Ratings | ChunkedRatings,
    estimator: Estimator,
    *,
    states: States = 5,
    max_states: int | None = None,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    taste: bool = True,
    names: Mapping[str, str] | None = None,
    threads: int | None = None,
    jobs: int | Workers | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit with any estimator, `TwoStage(…)` or `Em(…)`, and report; the arguments are those of `recover_two_stage`.

    Of a log in files (`spill_ratings`) no more than a few blocks of people are in memory at a time.

    >>> from lpbandits import TwoStage
    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> fit = fit_states(Ratings.from_arrays(*zip(*rows)), TwoStage(seed=1), states=2)
    >>> fit.report.people, fit.report.comparisons, round(fit.report.log_likelihood, 3)
    (10, 30.0, -0.29)
    >>> fit.model.means.round(1).tolist()
    [[0.0, 1.0, 2.0], [0.0, -1.0, -2.0]]
    """
    if not isinstance(ratings, ChunkedRatings):
        as_ratings(ratings)
    as_estimator(estimator)
    if not np.any(ratings.counts > 1):
        raise InvalidInput("nobody rated two actions, so there is nothing to compare; give more ratings per person")
    asked: Json = {
        "states": _as_states(states),
        "max_states": _as_max_states(max_states, states),
        "pairs_per_person": None,
        "heldout": validate.as_number(heldout, "heldout", low=0, high=0.9),
        "taste": validate.as_flag(taste, "taste"),
    }
    if pairs_per_person is not None:
        asked["pairs_per_person"] = validate.as_count(pairs_per_person, "pairs_per_person")
    called = name_actions(ratings.actions, names)
    watch = Stopwatch(progress)
    with opened(ratings, jobs, threads, scratch=scratch, max_memory=max_memory) as log:
        curve = _curve(log, estimator, asked, watch) if asked["states"] == "auto" else None
        found = _findings(log, estimator, asked, curve, watch)
        report = report_of(found, ratings, estimator, called, watch.seconds, space_of(log))
    settings = {"method": estimator.method, **asked, **estimator.settings()}
    provenance = provenance_of(report, settings, ratings, found.estimate)
    model = to_model(found.estimate, ratings.actions, provenance).replace(
        means=found.means.means,
        noise=found.means.noise,
        names=called.names,
        popular=found.popular,
        taste=found.tastes.taste,
    )
    return Fit(model, report)


def _findings(log: Blocks, estimator: Estimator, asked: Json, curve: StateCurve | None, watch: Stopwatch) -> Findings:
    """Fit the number of states that was asked for, or chosen, and all that goes with them."""
    number = asked["states"] if curve is None else curve.states
    cap, share, people = asked["pairs_per_person"], asked["heldout"], len(log.log.people)
    scored = share > 0 and curve is None
    quick = scored and cap is None and len(log.log) > HUGE
    holdout = split_people(people, share, estimator.seed)[1] if quick else None
    estimate = distinct(estimator(log, number, pairs_per_person=cap, holdout=holdout, watch=watch))
    with watch.part("likelihood"):
        seen = score_comparisons(log, estimate, pairs_per_person=cap, seed=estimator.seed)
    unseen = HeldOutScore() if curve is None else curve.score_of_choice(people)
    if share and curve is None:
        with watch.part("held-out"):
            unseen = score_heldout(
                log, estimator, number, share=share, without=estimate.excluding_holdout, pairs_per_person=cap
            )
    with watch.part("means"):
        means = state_means(log, estimate)
        raters = raters_of(log, estimate.labels, len(estimate.fits))
        sorts = sorted_by(log, estimate.labels)
    crowd, tastes = StandardizedRatings(log, popular=True), TasteFit()
    if asked["taste"]:
        tastes = fit_taste(crowd, seed=estimator.seed, watch=watch)
    with watch.part("popularity"):
        popular = popular_ordering(crowd)
    return Findings(estimate, raters, sorts, seen, unseen, curve, means, popular, tastes)


def space_of(log: Blocks) -> Json:
    """Return where a log was, in how many parts, and the most that there was on the disk, and in each process's memory.

    A system tells the height of a process since it began, also of what it did before.
    """
    peaks, scratch = dict([peak_of_process()]), 0
    if isinstance(log, DiskBlocks):
        peaks, scratch = log.peaks | peaks, log.log.scratch
    return {
        "log": "files" if isinstance(log, DiskBlocks) else "memory",
        "parts": len(log.edges) - 1,
        "scratch_bytes": scratch,
        "peak_bytes": sum(peaks.values()) or None,
    }


def _curve(log: Blocks, estimator: Estimator, asked: Json, watch: Stopwatch) -> StateCurve:
    """Find out how many states do well on unseen people."""
    with Stopwatch(seconds=watch.seconds).part("how many states"):  # it reports its own progress
        return curve_of(
            log,
            estimator,
            candidates_up_to(asked["max_states"]),
            pairs_per_person=asked["pairs_per_person"],
            watch=Stopwatch(watch.progress),
        )


def _as_states(states: Any) -> States:
    if not isinstance(states, str):
        return validate.as_count(states, "states")
    if str.__str__(states) != "auto":
        raise InvalidInput(f"states is {validate.short_repr(states)}; give a number, or 'auto'")
    return "auto"


def _as_max_states(most: Any, states: Any) -> int | None:
    if most is None:
        return None
    if not isinstance(states, str):
        raise InvalidInput(
            f"max_states is {validate.short_repr(most)}, but states is {validate.short_repr(states)}; it is for "
            "states='auto' (--states auto): leave it out"
        )
    return validate.as_count(most, "max_states", high=10_000)
