"""`fit_states`: from a log of ratings to a model with a report."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks, block_edges, largest_block
from lpbandits.data.chunked import ChunkedRatings, DiskBlocks, peak_of_process
from lpbandits.data.memory import memory_budget
from lpbandits.data.names import name_actions
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.data.spill import write_chunks
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import HUGE, raters_of, variance_between
from lpbandits.fit.estimator import Estimator, States, as_estimator, distinct, score_comparisons, to_model
from lpbandits.fit.provenance import PACKAGES, Provenance, sketch
from lpbandits.fit.report import Findings, Fit, report_of
from lpbandits.fit.selection import (
    HeldOutScore,
    StateCurve,
    candidates_up_to,
    curve_of,
    score_heldout,
    split_people,
)
from lpbandits.fit.state_means import state_means
from lpbandits.fit.taste.popularity import StandardizedRatings, popular_ordering
from lpbandits.fit.taste.tuning import TasteFit, fit_taste
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.parallel import Threads, Workers, executor_for, one_thread
from lpbandits.parallel.workers import as_workers
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import Json


@contextlib.contextmanager
def open_blocks(
    ratings: Ratings | ChunkedRatings,
    jobs: int | Workers | None,
    threads: int | None,
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
) -> Iterator[Blocks]:
    """Yield a log as blocks, in memory or in files that workers read; a single block stays in this process."""
    workers, most = as_workers(jobs), None if max_memory is None else validate.as_bytes(max_memory, "max_memory")
    single = isinstance(ratings, Ratings) and len(block_edges(ratings.counts)) <= 2
    if single and workers is not None and workers.address is None:
        workers = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(one_thread("blas"))  # one order of sums in this process, too
        executor = stack.enter_context(executor_for(workers, threads=threads))
        pool = stack.enter_context(Threads(threads))
        budget = memory_budget(
            ratings.people,
            block=largest_block(ratings.counts),
            held=len(ratings) if isinstance(ratings, Ratings) else 0,
            here=0 if workers is None else workers.n_local,
            sending=0 if executor.in_process else executor.n_workers,
            most=most,
        )
        if isinstance(ratings, Ratings) and executor.in_process:
            yield MemoryBlocks(ratings, pool, budget)
            return
        if isinstance(ratings, Ratings):
            folder = stack.enter_context(temporary_folder(None if scratch is None else as_path(scratch).absolute()))
            ratings = write_chunks(ratings, folder)
        log = DiskBlocks(ratings, executor, pool, budget)
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
    """Fit latent states to a log of ratings.

    Parameters
    ----------
    ratings
        A log in memory, or one on disk from `spill_ratings`, of which only a few blocks of people are in memory.
    estimator
        `TwoStage(…)` or `Em(…)`.
    states
        Number of states, or "auto": the fewest that predict held-out people within one standard error of the best.
    max_states
        Maximum number of states that "auto" tries, by default 12.
    pairs_per_person
        Maximum number of comparisons per person: a random subset, weighted so that expected counts stay the same.
    heldout
        Share of people on whom a second fit, made without them, is scored for the report; 0 for none. On a log of more
        than five million ratings the second fit reuses the clusters of the first.
    taste
        Also fit a `TasteModel`, for the policy "taste".
    names
        Names of actions, by label.
    threads
        Number of threads, by default one per core. Results do not depend on it.
    jobs
        Number of worker processes, or `Workers(…)`. Results do not depend on it.
    scratch
        Folder for temporary files, which remote workers must see.
    max_memory
        Memory limit of all processes on this machine, such as "8GB".
    progress
        Called with stage, finished parts and their total.

    Returns
    -------
    Fit
        The model and its report. The model has orderings, prior, utilities (the sigmoid of the Bradley-Terry β) with
        errors, means, noise, the popular ordering and the taste.

    Examples
    --------
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
        raise InvalidInput("ratings must have a person with two rated actions; there is nothing to compare")
    options: Json = {
        "states": _as_states(states),
        "max_states": _as_max_states(max_states, states),
        "pairs_per_person": None,
        "heldout": validate.as_number(heldout, "heldout", low=0, high=0.9),
        "taste": validate.as_flag(taste, "taste"),
    }
    if pairs_per_person is not None:
        options["pairs_per_person"] = validate.as_count(pairs_per_person, "pairs_per_person")
    naming = name_actions(ratings.actions, names)
    watch = Stopwatch(progress)
    with open_blocks(ratings, jobs, threads, scratch=scratch, max_memory=max_memory) as log:
        findings = _fit(log, estimator, options, watch)
        report = report_of(findings, ratings, estimator, naming, watch.seconds, _space(log))
    provenance = Provenance(
        settings={"method": estimator.method, **options, **estimator.settings()},
        data_sha256=ratings.sha256,
        versions={name: version(name) for name in PACKAGES},
        never_compared=tuple(tuple(np.flatnonzero(row).tolist()) for row in findings.estimate.never_compared),
        people_sketch=sketch(ratings.people),
        report={name: value for name, value in report.to_dict().items() if name not in ("seconds", "space")},
    )
    model = to_model(
        findings.estimate,
        ratings.actions,
        provenance=provenance.to_dict(),
        means=findings.means.means,
        noise=findings.means.noise,
        names=naming.names,
        popular=findings.popular,
        taste=findings.taste.taste,
    )
    return Fit(model, report)


def _fit(log: Blocks, estimator: Estimator, options: Json, watch: Stopwatch) -> Findings:
    """Fit the requested or chosen number of states, score it, and fit means, taste and popularity."""
    cap, share, people = options["pairs_per_person"], options["heldout"], len(log.log.people)
    curve = _curve(log, estimator, options, watch) if options["states"] == "auto" else None
    number = options["states"] if curve is None else curve.states
    quick = share > 0 and curve is None and cap is None and len(log.log) > HUGE
    holdout = split_people(people, share, estimator.seed)[1] if quick else None
    estimate = distinct(estimator(log, number, pairs_per_person=cap, holdout=holdout, watch=watch))
    with watch.part("likelihood"):
        training = score_comparisons(log, estimate, pairs_per_person=cap, seed=estimator.seed)
    heldout = HeldOutScore() if curve is None else curve.score_of_choice(people)
    if share and curve is None:
        with watch.part("held-out"):
            fewer = estimate.excluding_holdout
            heldout = score_heldout(log, estimator, number, share=share, excluding_holdout=fewer, pairs_per_person=cap)
    with watch.part("means"):
        means = state_means(log, estimate)
        raters = raters_of(log, estimate.labels, len(estimate.fits))
        explained = variance_between(log, estimate.labels)
    standardized, taste = StandardizedRatings(log, popular=True), TasteFit()
    if options["taste"]:
        taste = fit_taste(standardized, seed=estimator.seed, watch=watch)
    with watch.part("popularity"):
        popular = popular_ordering(standardized)
    return Findings(estimate, raters, explained, training, heldout, curve, means, popular, taste)


def _curve(log: Blocks, estimator: Estimator, options: Json, watch: Stopwatch) -> StateCurve:
    with Stopwatch(seconds=watch.seconds).part("how many states"):  # `curve_of` reports its own progress
        return curve_of(
            log,
            estimator,
            candidates_up_to(options["max_states"]),
            pairs_per_person=options["pairs_per_person"],
            watch=Stopwatch(watch.progress),
        )


def _space(log: Blocks) -> Json:
    """Return where the log was, its number of parts, and the peaks of disk and memory use."""
    peaks, scratch = dict([peak_of_process()]), 0
    if isinstance(log, DiskBlocks):
        peaks, scratch = log.peaks | peaks, log.log.scratch
    return {
        "log": "files" if isinstance(log, DiskBlocks) else "memory",
        "parts": len(log.edges) - 1,
        "scratch_bytes": scratch,
        "peak_bytes": sum(peaks.values()) or None,
    }


def _as_states(states: Any) -> States:
    if not isinstance(states, str):
        return validate.as_count(states, "states")
    if str.__str__(states) != "auto":
        raise InvalidInput(f"states must be a number or 'auto', got {validate.short_repr(states)}")
    return "auto"


def _as_max_states(max_states: Any, states: Any) -> int | None:
    if max_states is None:
        return None
    if not isinstance(states, str):
        raise InvalidInput(
            f"max_states must be left out unless states='auto' (--states auto), got "
            f"{validate.short_repr(max_states)} with states={validate.short_repr(states)}"
        )
    return validate.as_count(max_states, "max_states", high=10_000)
