"""`fit_states`: from a log of ratings to a model with a report."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, block_edges, largest_block
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.memory import BYTES_PER_TASTE_PAIR, memory_budget
from lpbandits.data.names import name_actions
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.data.spill import write_chunks
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.covariates import fit_covariates
from lpbandits.fit.methods.clusters import SLOW_KMEANS_RATINGS
from lpbandits.fit.methods.estimator import Estimator, States, as_estimator, fit_options
from lpbandits.fit.methods.mixture import Mixture
from lpbandits.fit.report import Fit
from lpbandits.fit.scores import draw_holdout, score_fit
from lpbandits.fit.selection import CANDIDATES, candidates_up_to, choose_states
from lpbandits.fit.state_means import state_means
from lpbandits.fit.taste.cross_products import MAX_COVARIANCE_ACTIONS
from lpbandits.fit.taste.popularity import StandardizedRatings
from lpbandits.fit.taste.tuning import TasteFit, fit_taste
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.parallel import Threads, Workers, executor_for, one_thread
from lpbandits.parallel.workers import as_workers
from lpbandits.people.covariates import as_covariates
from lpbandits.progress import Progress, Stopwatch

DEFAULT = Mixture()
"""Default method, see ADR 27."""


@contextlib.contextmanager
def open_blocks(
    ratings: Ratings | ChunkedRatings,
    jobs: int | Workers | None,
    threads: int | None,
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
) -> Iterator[Blocks]:
    """Yield a log as blocks, in memory or in files for workers; a single block is processed in this process."""
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
        if isinstance(ratings, Ratings) and not executor.in_process:
            folder = stack.enter_context(temporary_folder(None if scratch is None else as_path(scratch).absolute()))
            ratings = write_chunks(ratings, folder)
        if isinstance(ratings, ChunkedRatings):
            ratings.probe(executor)
        yield Blocks(ratings, pool, budget, executor)


@translate_errors("fitting states")
def fit_states(
    ratings: Ratings | ChunkedRatings,
    estimator: Estimator = DEFAULT,
    *,
    states: States = 5,
    max_states: int | None = None,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    taste: bool = True,
    names: Mapping[str, str] | None = None,
    people: Any = None,
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
        `Mixture(…)`, `TwoStage(…)` or `Em(…)`.
    states
        Number of states, or "auto": that of `choose_states`, for every estimator.
    max_states
        Maximum number of states that "auto" tries, by default 12.
    pairs_per_person
        Maximum number of comparisons per person: a random subset, weighted so that expected counts stay the same.
    heldout
        Share of people held out to score the fit in the report: a second model is fitted without them; 0 skips this. On
        a log of more than five million ratings without `pairs_per_person`, `Mixture` and `TwoStage` reuse the states of
        all people for the second fit.
    taste
        Also fit a `TasteModel`, for the policy "taste".
    names
        Names of actions, by label.
    people
        Covariates, such as age and sex: a table (path or frame) with a person column. The model then holds p(state |
        covariates), and the report says whether that predicts held-out people better than the shares of the states.
    threads
        Number of threads, by default one per core. Results do not depend on it.
    jobs
        Number of worker processes, or `Workers(…)`. Results do not depend on it.
    scratch
        Folder for temporary files; remote workers must have access to it.
    max_memory
        Memory limit of all processes on this machine, such as "8GB".
    progress
        Called with the stage, the number of finished parts and the number of all parts.

    Returns
    -------
    Fit
        The model and its report. The model has orderings, prior, utilities (the sigmoid of the Bradley-Terry β) with
        errors, means, noise, the ordering by popularity and the taste model.

    Examples
    --------
    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> fit = fit_states(Ratings.from_arrays(*zip(*rows)), states=2)
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
    options = fit_options(
        states=states, max_states=max_states, pairs_per_person=pairs_per_person, heldout=heldout, taste=taste
    )
    states, cap, share = options["states"], options["pairs_per_person"], options["heldout"]
    n_people, seed, watch, curve = len(ratings.people), estimator.seed, Stopwatch(progress), None
    table = None if people is None else as_covariates(people)
    naming = name_actions(ratings.actions, names)
    with open_blocks(ratings, jobs, threads, scratch=scratch, max_memory=max_memory) as log:
        if options["taste"]:
            size = BYTES_PER_TASTE_PAIR * min(len(ratings.actions), MAX_COVARIANCE_ACTIONS) ** 2
            log.budget.check("the covariances of the taste model", size, "fit without it (taste=False; --no-taste)")
        if states == "auto":
            most = options["max_states"]
            numbers = CANDIDATES if most is None else candidates_up_to(most)
            with Stopwatch(seconds=watch.seconds).part("how many states"):  # `choose_states` reports its own progress
                curve = choose_states(log, candidates=numbers, seed=seed, progress=progress)
            states = curve.states
        # Avoid a second search for states: with and without the held-out people, the same members are fitted.
        reuse_clusters = share > 0 and cap is None and len(ratings) > SLOW_KMEANS_RATINGS
        holdout = np.isin(np.arange(n_people), draw_holdout(n_people, share, seed)[1]) if reuse_clusters else None
        estimate = estimator(log, states, pairs_per_person=cap, holdout=holdout, watch=watch).distinct()
        scores = score_fit(log, estimator, estimate, options, curve=curve, holdout=holdout, watch=watch)
        with watch.part("means"):
            means = state_means(log, estimate)
        standardized = StandardizedRatings(log, popular=True)
        taste_fit = fit_taste(standardized, seed=seed, watch=watch) if options["taste"] else TasteFit()
        with watch.part("popularity"):
            popular = standardized.popular_ordering()
        known = None
        if table is not None:
            with watch.part("covariates"):
                known = fit_covariates(table, ratings.people, estimate.probabilities, estimate.shares, seed=seed)
        return Fit.of(
            log,
            estimator,
            options,
            estimate,
            naming=naming,
            scores=scores,
            means=means,
            popular=popular,
            taste=taste_fit,
            covariates=known,
            watch=watch,
        )
