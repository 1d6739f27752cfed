"""`fit_states`: from a log of ratings to a model with a report."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.special import expit

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks, block_edges, largest_block
from lpbandits.data.chunked import ChunkedRatings, DiskBlocks
from lpbandits.data.memory import BYTES_PER_TASTE_PAIR, memory_budget
from lpbandits.data.names import Naming, name_actions
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.data.spill import write_chunks
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import SLOW_KMEANS_RATINGS
from lpbandits.fit.estimator import Estimator, States, as_estimator, distinct, score_comparisons
from lpbandits.fit.provenance import sketch
from lpbandits.fit.report import Fit, report_of
from lpbandits.fit.selection import HeldOutScore, candidates_up_to, choose_states, score_heldout, split_people
from lpbandits.fit.state_means import state_means
from lpbandits.fit.taste.cross_products import MAX_COVARIANCE_ACTIONS
from lpbandits.fit.taste.popularity import StandardizedRatings, popular_ordering
from lpbandits.fit.taste.tuning import TasteFit, fit_taste
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.model import MAX_LOGIT_ERROR, PreferenceModel
from lpbandits.parallel import Threads, Workers, executor_for, one_thread
from lpbandits.parallel.workers import as_workers
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import Json

PACKAGES = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose versions are recorded in a model."""


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
    workers = as_workers(jobs)
    limit_bytes = None if max_memory is None else validate.as_bytes(max_memory, "max_memory")
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
            local_workers=0 if workers is None else workers.n_local,
            workers=0 if executor.in_process else executor.n_workers,
            limit_bytes=limit_bytes,
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
        Number of states, or "auto": the fewest with a held-out score within one standard error of the best.
    max_states
        Maximum number of states that "auto" tries, by default 12.
    pairs_per_person
        Maximum number of comparisons per person: a random subset, weighted so that expected counts stay the same.
    heldout
        Share of people held out to score the fit in the report: a second model is fitted without them; 0 skips this. On
        a log of more than five million ratings the second fit reuses the clusters of the first.
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
        errors, means, noise, the ordering by popularity and the taste model.

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
    validate.check_progress(progress)
    if not np.any(ratings.counts > 1):
        raise InvalidInput("ratings must have a person with two rated actions; there is nothing to compare")
    options: Json = {
        "states": "auto" if validate.is_exactly(states, "auto") else _as_number_of_states(states, max_states),
        "max_states": None if max_states is None else validate.as_count(max_states, "max_states", high=10_000),
        "pairs_per_person": pairs_per_person,
        "heldout": validate.as_number(heldout, "heldout", low=0, high=0.9),
        "taste": validate.as_flag(taste, "taste"),
    }
    if pairs_per_person is not None:
        options["pairs_per_person"] = validate.as_count(pairs_per_person, "pairs_per_person")
    naming, watch = name_actions(ratings.actions, names), Stopwatch(progress)
    with open_blocks(ratings, jobs, threads, scratch=scratch, max_memory=max_memory) as log:
        if options["taste"]:
            size = BYTES_PER_TASTE_PAIR * min(len(ratings.actions), MAX_COVARIANCE_ACTIONS) ** 2
            log.budget.check("the covariances of the taste model", size, "fit without it (taste=False; --no-taste)")
        return _fit(log, estimator, options, naming, watch)


def _fit(log: Blocks, estimator: Estimator, options: Json, naming: Naming, watch: Stopwatch) -> Fit:
    """Fit the requested or chosen number of states, score it, fit means, taste and popularity, and make the model."""
    states, cap, share = options["states"], options["pairs_per_person"], options["heldout"]
    ratings, people, seed, curve = log.log, len(log.log.people), estimator.seed, None
    if states == "auto":
        tried: Json = {"candidates": candidates_up_to(options["max_states"] or 12), "progress": watch.progress}
        with Stopwatch(seconds=watch.seconds).part("how many states"):  # `choose_states` reports its own progress
            curve = choose_states(log, estimator=estimator, **tried, pairs_per_person=cap, seed=seed)
        states = curve.states
    # Avoid a second KMeans: the states are fitted with and without the held-out people from the same clusters.
    quick = share > 0 and curve is None and cap is None and len(ratings) > SLOW_KMEANS_RATINGS
    holdout = split_people(people, share, seed)[1] if quick else None
    estimate = distinct(estimator(log, states, pairs_per_person=cap, holdout=holdout, watch=watch))
    with watch.part("likelihood"):
        training = score_comparisons(log, estimate, pairs_per_person=cap, seed=seed)
    heldout = HeldOutScore()
    if curve is not None:
        value = float(curve.log_likelihood[curve.candidates.index(states)])
        heldout = HeldOutScore(value, curve.people, people - curve.people)
    elif share:
        with watch.part("held-out"):
            fewer = estimate.excluding_holdout
            heldout = score_heldout(log, estimator, states, share=share, excluding_holdout=fewer, pairs_per_person=cap)
    with watch.part("means"):
        means, noise = state_means(log, estimate)
    standardized = StandardizedRatings(log, popular=True)
    taste = fit_taste(standardized, seed=seed, watch=watch) if options["taste"] else TasteFit()
    with watch.part("popularity"):
        popular = popular_ordering(standardized)
    findings: Json = {"estimate": estimate, "training": training, "heldout": heldout, "curve": curve, "taste": taste}
    report = report_of(log, estimator, naming, watch, noise=noise, **findings)
    utilities = expit(estimate.utilities)
    for row, unknown in zip(utilities, estimate.unknown, strict=True):
        if not unknown.all():
            row[unknown] = row[~unknown].min()
    model = PreferenceModel(
        estimate.orderings,
        actions=ratings.actions,
        names=naming.names,
        prior=estimate.shares,
        utilities=utilities,
        errors=np.minimum(estimate.errors, MAX_LOGIT_ERROR),
        means=means,
        noise=noise,
        popular=popular,
        taste=taste.taste,
        provenance={
            "made_by": f"recovery, {estimator.method}",
            "data_sha256": ratings.sha256,
            "settings": {"method": estimator.method, **options, **estimator.settings()},
            "versions": {name: version(name) for name in PACKAGES},
            "never_compared": [np.flatnonzero(row).tolist() for row in estimate.never_compared],
            "people_sketch": list(sketch(ratings.people)),
            "report": {name: value for name, value in vars(report).items() if name not in ("seconds", "space")},
        },
    )
    return Fit(model, report)


def _as_number_of_states(states: Any, max_states: Any) -> int:
    if isinstance(states, str):
        raise validate.invalid("states", "a number or 'auto'", states)
    if max_states is not None:
        raise InvalidInput(
            f"max_states must be left out unless states='auto' (--states auto), got "
            f"{validate.short_repr(max_states)} with states={validate.short_repr(states)}"
        )
    return validate.as_count(states, "states")
