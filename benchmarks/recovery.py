"""Counting pairs, Bradley-Terry models and mixtures, compared with scipy.sparse, choix and scikit-learn."""

from collections.abc import Iterator

import choix
import numpy as np
from scipy import sparse
from sklearn.mixture import GaussianMixture

from benchmarks.measure import Row, interleaved, ratio
from lpbandits.data import Ratings
from lpbandits.data.blocks import as_blocks
from lpbandits.fit import Mixture, TwoStage, fit_bradley_terry, fit_states
from lpbandits.fit.comparisons import compare, count_wins
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray, IntArray

PEOPLE, ACTIONS, RATINGS, STATES = 42_197, 8_777, 19_832_758, 5


def blocks(people: int, seed: int, size: int = 500) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield person, action and rating by person: ten rating values, five states, popularity as in film logs."""
    rng = np.random.default_rng(seed)
    popularity = -0.75 * np.log(np.arange(1, ACTIONS + 1) + 30.0)
    quality = rng.normal(0, 0.5, ACTIONS)
    taste = quality + rng.normal(0, 0.5, (STATES, ACTIONS))
    spread = 0.75
    typical = np.log(RATINGS / PEOPLE) - spread**2 / 2
    for first in range(0, people, size):
        here = min(size, people - first)
        keys = rng.random((here, ACTIONS), dtype=np.float32)
        keys = popularity.astype(np.float32) - np.log(-np.log(keys.clip(1e-7, 1 - 1e-7)))
        for n in range(here):
            count = int(np.clip(np.exp(rng.normal(typical, spread)), 30, ACTIONS - 1))
            rated = np.argpartition(-keys[n], count)[:count]
            preference = taste[(first + n) % STATES, rated] + rng.normal(0, 0.8, count)
            level = np.clip(np.rint(2 * (3.5 + rng.normal(0, 0.4) + preference)) / 2, 0.5, 5.0)
            yield np.full(count, first + n), rated.astype(np.int64), level


def generated(people: int, seed: int = 0) -> tuple[IntArray, IntArray, FloatArray]:
    person, action, rating = zip(*blocks(people, seed), strict=True)
    return np.concatenate(person), np.concatenate(action), np.concatenate(rating)


def sparse_products(log: Ratings) -> FloatArray:
    """Return 2 × wins + ties by one pair of sparse products per rating value, a plain SciPy implementation."""
    total = sparse.csr_array((len(log.actions), len(log.actions)), dtype=np.int32)
    for level in np.unique(log.rating):
        at = log.matrix((log.rating == level).astype(np.int32))
        under = log.matrix((log.rating < level).astype(np.int32))
        at.eliminate_zeros()
        under.eliminate_zeros()
        total = total + at.T @ (under * 2 + at)
    dense = total.toarray().astype(np.float64)
    np.fill_diagonal(dense, 0)
    return dense


def counting() -> list[Row]:
    """Count the pairs of one state, for a tenth of the people of MovieLens-32M's shape."""
    person, action, rating = generated(PEOPLE // 10)
    mine = person % STATES == 0
    log = Ratings.from_arrays(person[mine], action[mine], rating[mine], actions=range(ACTIONS))
    comparisons = compare(log)
    np.testing.assert_array_equal(count_wins(comparisons), sparse_products(log))
    ours, theirs = interleaved(lambda: count_wins(comparisons), lambda: sparse_products(log), repeats=3)
    pairs = float(comparisons.pairs.sum())
    return [ratio("pair counts vs scipy.sparse, MovieLens-32M shape", theirs / pairs, ours / pairs, 15.0)]


def contest(k: int, games: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    beta = rng.normal(0, 1, k)
    upper = np.triu(rng.binomial(games, 1 / (1 + np.exp(beta[None, :] - beta[:, None]))), 1)
    return (upper + np.triu(games - upper, 1).T).astype(np.float64)


def bradley_terry() -> list[Row]:
    wins = contest(1_132, 20)
    ours, theirs = interleaved(lambda: fit_bradley_terry(wins), lambda: choix.ilsr_pairwise_dense(wins), repeats=3)
    dense = fit_bradley_terry(wins)
    wins[7] = 0
    loser = fit_bradley_terry(wins)
    return [
        ratio("Bradley-Terry vs choix ilsr_pairwise_dense, k=1132", theirs, ours, 8.0),
        Row("passes over k², dense, to 1e-6", dense.passes, 30, at_most=True, unit=""),
        Row("passes over k², an action that never wins", loser.passes, 40, at_most=True, unit=""),
    ]


def mixtures() -> list[Row]:
    """Fit mixtures: to half of a matrix against two stages, and to the whole one against scikit-learn.

    Both mixtures start 20 times and stop at the same gain per rating. scikit-learn has a variance per action and state,
    and no offset of a person; it gets standardized rows.
    """
    rng = np.random.default_rng(0)
    people, k, starts, tolerance = 2_000, 30, 20, 1e-6
    utilities = rng.normal(0, 1, (STATES, k))
    matrix = utilities[np.arange(people) % STATES] + rng.normal(0, 0.8, (people, k))
    matrix = (matrix - matrix.mean(axis=1, keepdims=True)) / matrix.std(axis=1, keepdims=True)
    rated = [np.nonzero(rng.random((people, k)) < share) for share in (0.5, 1.0)]
    half, complete = (Ratings.from_arrays(n, a, matrix[n, a], actions=range(k)) for n, a in rated)
    ours, two_stage = interleaved(
        lambda: fit_states(half, Mixture(), states=STATES, taste=False, threads=1),
        lambda: fit_states(half, TwoStage(), states=STATES, taste=False, threads=1),
        repeats=3,
    )
    estimator = Mixture(restarts=starts, tolerance=tolerance)
    theirs = GaussianMixture(
        STATES, covariance_type="diag", n_init=starts, tol=tolerance * k, max_iter=200, random_state=0
    )
    alone, sklearn = interleaved(
        lambda: estimator.components(as_blocks(complete), STATES, watch=Stopwatch()),
        lambda: theirs.fit(matrix),
        repeats=3,
    )
    return [
        ratio(
            "whole fit of a mixture vs two stages, 2,000 people, 15 of 30 rated", ours, two_stage, 10.0, at_most=True
        ),
        ratio("mixture vs scikit-learn's GaussianMixture, 2,000 people, 30 actions", sklearn, alone, 0.5),
    ]


def rows() -> list[Row]:
    return counting() + bradley_terry() + mixtures()
