"""Fitting people's tastes: average likings, factors from shrunken covariances, and what is left to each action.

A rating is r0 + s_i (α_i + u_a + q_a·p_i + e_a). In units of a person's own spread, u are means shrunken to 0, and the
covariance of two actions over the people who rated both, shrunken by λ people of no covariance, is q_a·q_b. With states
u is that of the person's state, and their chances of states weigh it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits.parallel import one_thread
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.taste_states import mixture
from lpbandits.taste import LEAST_VARIANCE, TasteModel
from lpbandits.typing import FloatArray, IntArray

SWEEPS = 20
PSEUDO_RATERS = 20
"""Raters of average opinion that are added to an action's own, in its mean and in its variance."""

COMMUNALITIES = 6
SETTLED = 1e-3
"""How often, at most, the share of variance that the factors explain is worked out anew, and when it has settled."""

FLOOR = 0.6
"""Share of the weakest eigenvalue that is taken for noise, and away from all of them."""

LEAST_SPREAD = 0.05
"""Of a person's ratings, as a share of the usual one: who rates nearly everything alike says nothing of their taste."""
LEAST_RATINGS = 3
"""Of a person who counts: fewer do not show a scale."""

MOST_CROSSED = 2_000
"""Actions whose covariances are known; of more, those of the most rated are, and the others have means alone."""

TINY = 1e-300
BLOCK = 512
DENSE = 200
"""Up to so many actions all eigenvectors are worked out."""


@dataclass(frozen=True, eq=False)
class Moments:
    """What a log says, whatever the number of factors and the shrinkage: sums over people."""

    means: FloatArray
    """k: u; with states m×k."""
    prior: FloatArray
    """m: the shares of the states, of which there is one by default."""
    crossed: IntArray
    """The c actions, in rising order, of which covariances are known: all, or of very many the most rated."""
    products: FloatArray
    """c×c: Σ_i e_ia e_ib over people who rated both, e what is left of a rating in the person's units."""
    raters: FloatArray
    """c×c: how many those are."""
    variances: FloatArray
    """k: mean of e_ia²."""
    offset: float
    level: float
    log_scale: float
    log_scale_sd: float


def telling(ratings: Ratings) -> IntArray:
    """Return the people from whom a taste can be learned: with a few ratings that are not all alike.

    >>> telling(Ratings.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [5, 3, 1, 2, 2, 2])).tolist()
    [0]
    """
    own = spreads(ratings)
    apart = (ratings.counts >= LEAST_RATINGS) & (own > 1e-9 * (1 + np.abs(ratings.means)))
    usual = float(np.median(own[apart])) if apart.any() else 0.0
    return np.flatnonzero(apart & (own >= LEAST_SPREAD * usual))


def spreads(ratings: Ratings) -> FloatArray:
    """Return the standard deviation of each person's ratings (0 for a person without any)."""
    away = ratings.rating - ratings.means[ratings.owner]
    squares = np.bincount(ratings.owner, weights=away**2, minlength=len(ratings.people))
    return np.sqrt(squares / np.maximum(ratings.counts, 1))


def moments(ratings: Ratings, states: int = 1, seed: int = 0) -> Moments:
    """Return the sums that a fit needs, of people who all are `telling`."""
    owner, action, k = ratings.owner, ratings.action, len(ratings.actions)
    raters = np.bincount(action, minlength=k)
    spread = spreads(ratings)
    y = (ratings.rating - ratings.means[owner]) / spread[owner]
    means, offsets = _likings(ratings, y)
    left, prior = y - means[action], np.ones(1)
    if states > 1:
        found = mixture(ratings, left, states, seed)
        for shift, chance in zip(found.shifts, found.chance.T, strict=True):
            left -= chance[owner] * shift[action]
        offsets = np.bincount(owner, weights=left, minlength=len(ratings.people)) / ratings.counts
        means, prior = means + found.shifts, found.prior
    left -= offsets[owner]
    squares = np.bincount(action, weights=left**2, minlength=k)
    typical = float(squares.sum() / len(left))
    variances = (squares + PSEUDO_RATERS * typical) / (raters + PSEUDO_RATERS)
    level = float(ratings.means.mean())
    logs = np.log(spread)
    noise = float(np.mean(0.5 / (ratings.counts - 1)))  # of the logarithm of a spread of so many ratings
    crossed = np.sort(np.argsort(-raters, kind="stable")[:MOST_CROSSED])
    products, both = _crossed(ratings, left, crossed)
    return Moments(
        means=means,
        prior=prior,
        crossed=crossed,
        products=products,
        raters=both,
        variances=np.maximum(variances, LEAST_VARIANCE),
        offset=float(np.var(offsets + (ratings.means - level) / np.maximum(spread, 0.5 * np.median(spread)))),
        level=level,
        log_scale=float(logs.mean()),
        log_scale_sd=float(np.sqrt(max(logs.var() - noise, 0.01))),
    )


def _likings(ratings: Ratings, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return u and the people's offsets, of standardised ratings y: each is a mean of what the other leaves."""
    owner, action, k, people = ratings.owner, ratings.action, len(ratings.actions), len(ratings.people)
    raters = np.bincount(action, minlength=k)
    means, offsets = np.zeros(k), np.zeros(people)
    for _ in range(SWEEPS):
        means = np.bincount(action, weights=y - offsets[owner], minlength=k) / (raters + PSEUDO_RATERS)
        offsets = np.bincount(owner, weights=y - means[action], minlength=people) / ratings.counts
    return means, offsets


def popular_ordering(ratings: Ratings) -> IntArray | None:
    """Return all actions, what everybody together likes most first; None where nobody's ratings differ.

    By the means u of one state, over people who are `telling`, or where nobody has three ratings, over all whose
    ratings differ. What nobody rated comes last.

    >>> popular_ordering(Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 2], [1, 5, 2, 8], actions=range(4))).tolist()
    [1, 2, 0, 3]
    """
    people = telling(ratings)
    if not len(people):
        people = np.flatnonzero(spreads(ratings) > 1e-9 * (1 + np.abs(ratings.means)))
    if not len(people):
        return None
    some = ratings.subset(people)
    y = (some.rating - some.means[some.owner]) / spreads(some)[some.owner]
    unrated = np.bincount(ratings.action, minlength=len(ratings.actions)) == 0
    return np.lexsort((-_likings(some, y)[0], unrated))


def _crossed(ratings: Ratings, left: FloatArray, actions: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ_i e_ia e_ib and the number of people who rated a and b, on one thread so that sums have one order."""
    c = len(actions)
    products, both = np.zeros((c, c)), np.zeros((c, c), dtype=np.float32)
    matrix, seen = ratings.matrix(left), ratings.matrix(np.ones(len(left)))
    if c < len(ratings.actions):
        matrix, seen = matrix[:, actions], seen[:, actions]
    with one_thread("blas"):
        for start in range(0, len(ratings.people), BLOCK):
            part = matrix[start : start + BLOCK].toarray()
            products += part.T @ part
            known = seen[start : start + BLOCK].toarray().astype(np.float32)
            both += known.T @ known
    return products, both.astype(np.float64)


def leading_factors(seen: Moments, count: int, shrinkage: float) -> FloatArray:
    """Return k×count factors q, strongest first, from covariances shrunken by so many people; 0 where none are known.

    h_a = |q_a|², the variance of a that they explain, stands on the diagonal: it follows from them, and they from it.
    Noise alone has large eigenvalues too; most of the weakest one is taken away from all, so that many factors do
    little harm.
    """
    shrunken = seen.products / (seen.raters + shrinkage)
    variances = seen.variances[seen.crossed]
    q = np.zeros((len(variances), 0))
    explained = 0.3 * variances
    with one_thread("blas"):
        for _ in range(COMMUNALITIES if count else 0):
            np.fill_diagonal(shrunken, explained)
            q = _leading(shrunken, count)
            before, explained = explained, np.minimum((q**2).sum(axis=1), 0.95 * variances)
            if np.mean(np.abs(explained - before) / variances) < SETTLED:
                break
    strengths = (q**2).sum(axis=0)
    kept = np.zeros((len(seen.variances), count))
    kept[seen.crossed] = q * np.sqrt(1.0 - FLOOR * strengths.min(initial=np.inf) / np.maximum(strengths, TINY))
    return kept


def taste_with(seen: Moments, factors: FloatArray, **others: Any) -> TasteModel:
    """Return the taste with these factors: what they do not explain of an action's variance is its own."""
    own = np.maximum(seen.variances - (factors**2).sum(axis=1), 0.1 * seen.variances)
    return TasteModel(
        seen.means,
        factors,
        np.maximum(own, LEAST_VARIANCE),
        offset=seen.offset,
        level=seen.level,
        log_scale=seen.log_scale,
        log_scale_sd=seen.log_scale_sd,
        prior=seen.prior,
        **others,
    )


def _leading(matrix: FloatArray, count: int) -> FloatArray:
    """Return E √w of the `count` largest eigenvalues w, none below 0; of each column the largest entry is positive."""
    from scipy.linalg import eigh  # noqa: PLC0415 - heavy, and only fits need it
    from scipy.sparse.linalg import eigsh  # noqa: PLC0415

    k = len(matrix)
    if k <= DENSE or count > k // 4:
        values, vectors = eigh(matrix, subset_by_index=(k - count, k - 1))
    else:
        values, vectors = eigsh(matrix, count, which="LA", v0=np.ones(k))
    order = np.argsort(-values)
    vectors = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(count)])
    found: FloatArray = vectors * np.where(signs < 0, -1.0, 1.0)
    return found
