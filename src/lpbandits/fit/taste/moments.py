"""Estimate a taste model by moments: item means, factors from shrunk covariances, per-action residual variance.

A rating is r0 + s_i (α_i + u_a + q_a·p_i + e_a). In units of a person's standard deviation, u are means shrunk
towards 0. The covariance of two actions over the people who rated both, shrunk by λ pseudo-people without covariance,
is q_a·q_b.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import Blocks, iadd_each, parallel_sum
from lpbandits.data.memory import BYTES_PER_SENT_PAIR
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels.ratings import NOWHERE, residuals
from lpbandits.fit.taste.cross_products import MAX_COVARIANCE_ACTIONS, Residuals, mirrored
from lpbandits.fit.taste.popularity import PSEUDO_RATERS, ItemMeans, Scales, StandardizedRatings, as_standardized
from lpbandits.parallel import Threads, one_thread
from lpbandits.taste_model import MIN_VARIANCE, TasteModel
from lpbandits.typing import BoolArray, FloatArray, IntArray

MAX_COMMUNALITY_STEPS = 6
"""Maximum number of updates of the share of variance that the factors explain."""

SETTLED = 1e-3
"""Stop these updates when the explained share changes by less on average."""

FLOOR = 0.6
"""The smallest kept eigenvalue times this is taken as noise and subtracted from every kept eigenvalue."""

TINY = 1e-300
DENSE = 200
"""Maximum number of actions for which all eigenvectors are computed."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over people that suffice for any number of factors and any shrinkage."""

    means: FloatArray
    """k: u."""
    covariance_actions: IntArray
    """The c actions with known covariances, in ascending order: all, or the most rated."""
    products: FloatArray
    """c×c: Σ_i e_ia e_ib over people who rated both, e the residual in the person's units."""
    raters: FloatArray
    """c×c: the number of these people."""
    variances: FloatArray
    """k: mean of e_ia²."""
    offset: float
    level: float
    log_scale: float
    log_scale_sd: float


def moments(
    log: Ratings | Blocks | StandardizedRatings, *, people: IntArray | None = None, threads: Threads | None = None
) -> Moments:
    """Return the moments of all people, or of `people` (indices), who must be `informative`."""
    ratings = as_standardized(log, threads)
    everyone = np.arange(len(ratings.scales.counts))
    (result,) = moments_of(ratings, [everyone if people is None else people])
    return result


def moments_of(ratings: StandardizedRatings, groups: Sequence[IntArray]) -> list[Moments]:
    """Return the moments of several groups of people, sharing the passes over the log."""
    masks = [np.isin(np.arange(len(ratings.scales.counts)), people) for people in groups]
    items = ratings.item_means(*masks)
    most_rated = [np.sort(np.argsort(-one.raters, kind="stable")[:MAX_COVARIANCE_ACTIONS]) for one in items]
    common = []
    for one, actions in zip(items, most_rated, strict=True):
        place = np.full(len(one.means), NOWHERE, dtype=np.uint16)
        place[actions] = np.arange(len(actions))
        common.append((one.means, place))
    log = ratings.log
    if not log.budget.shared(BYTES_PER_SENT_PAIR * sum(len(actions) ** 2 for actions in most_rated), in_order=True):
        log = log.local
    per_person = (ratings.scales.means, ratings.scales.spreads, *masks)
    sums = functools.reduce(_add_each, log.fold_runs(_add_block, common, per_person=per_person))
    return [_moments(ratings.scales, *group) for group in zip(masks, items, most_rated, sums, strict=True)]


def _moments(scales: Scales, mask: BoolArray, items: ItemMeans, actions: IntArray, sums: "_Sums") -> Moments:
    typical = float(sums.squares.sum() / items.raters.sum())
    variances = (sums.squares + PSEUDO_RATERS * typical) / (items.raters + PSEUDO_RATERS)
    offsets, spread, mean, counts = (v[mask] for v in (sums.offsets, scales.spreads, scales.means, scales.counts))
    level = float(mean.mean())
    logs = np.log(spread)
    noise = float(np.mean(0.5 / (counts - 1)))  # sampling variance of the log of a standard deviation
    return Moments(
        means=items.means,
        covariance_actions=actions,
        products=mirrored(sums.products, len(actions)),
        raters=mirrored(sums.raters, len(actions)),
        variances=np.maximum(variances, MIN_VARIANCE),
        offset=float(np.var(offsets + (mean - level) / np.maximum(spread, 0.5 * np.median(spread)))),
        level=level,
        log_scale=float(logs.mean()),
        log_scale_sd=float(np.sqrt(max(logs.var() - noise, 0.01))),
    )


class _Sums(NamedTuple):
    """Sums of residuals: cross-products of pairs of actions, squares per action, and the offset of each person."""

    products: FloatArray
    raters: NDArray[np.uint32]
    squares: FloatArray
    offsets: FloatArray


def _add_each(totals: list[_Sums], more: list[_Sums]) -> list[_Sums]:
    """Add the sums of the next people to the totals of each group, and append their offsets."""
    sums = []
    for total, one in zip(totals, more, strict=True):
        products, raters, squares = iadd_each(total[:3], one[:3])
        sums.append(_Sums(products, raters, squares, np.append(total.offsets, one.offsets)))
    return sums


def _add_block(
    block: Ratings,
    threads: Threads,
    totals: list[_Sums] | None,
    common: list[tuple[FloatArray, NDArray[np.uint16]]],
    means: FloatArray,
    spreads: FloatArray,
    *masks: BoolArray,
) -> list[_Sums]:
    """Add the residuals of a block's people to the sums of each group."""
    sums, people = [], len(block.people)
    for (items, place), mask in zip(common, masks, strict=True):
        placed_before = np.concatenate([[0], np.cumsum(place[block.action] != NOWHERE, dtype=np.int32)])
        counts, offsets = np.diff(placed_before[block.offsets]) * mask, np.empty(people)
        upto = np.cumsum(counts)
        placed = np.empty(int(upto[-1]), dtype=np.uint16), np.empty(int(upto[-1]))
        arrays = (mask, means, spreads), items, place, (offsets, upto - counts, *placed)
        squares = parallel_sum(residuals, block, threads, (len(items),), *arrays)
        kept = np.concatenate([[0], upto[counts > 0]])
        pairs = Residuals(kept, *placed, int(np.count_nonzero(place != NOWHERE))).cross_products(threads)
        sums.append(_Sums(*pairs, squares, offsets))
    return sums if totals is None else _add_each(totals, sums)


def leading_factors(moments: Moments, count: int, shrinkage: float) -> FloatArray:
    """Return c×count factors q, strongest first, from covariances shrunk by `shrinkage` pseudo-people.

    The diagonal holds the explained variances h_a = |q_a|², which depend on the factors, so both are updated in turn.
    Noise alone has large eigenvalues too: `FLOOR` times the smallest of the `count` largest is subtracted from each of
    them, so that extra factors do little harm.
    """
    shrunk = moments.products / (moments.raters + shrinkage)
    variances = moments.variances[moments.covariance_actions]
    q = np.zeros((len(variances), 0))
    explained = 0.3 * variances
    with one_thread("blas"):
        for _ in range(MAX_COMMUNALITY_STEPS if count else 0):
            np.fill_diagonal(shrunk, explained)
            q = _leading(shrunk, count)
            before, explained = explained, np.minimum((q**2).sum(axis=1), 0.95 * variances)
            if np.mean(np.abs(explained - before) / variances) < SETTLED:
                break
    strengths = (q**2).sum(axis=0)
    kept: FloatArray = q * np.sqrt(1.0 - FLOOR * strengths.min(initial=np.inf) / np.maximum(strengths, TINY))
    return kept


def taste_with(moments: Moments, factors: FloatArray, **others: Any) -> TasteModel:
    """Return the taste model with these factors; unexplained variance becomes residual variance."""
    loadings = np.zeros((len(moments.variances), factors.shape[1]))
    loadings[moments.covariance_actions] = factors
    residual = np.maximum(moments.variances - (loadings**2).sum(axis=1), 0.1 * moments.variances)
    return TasteModel(
        moments.means,
        loadings,
        np.maximum(residual, MIN_VARIANCE),
        offset=moments.offset,
        level=moments.level,
        log_scale=moments.log_scale,
        log_scale_sd=moments.log_scale_sd,
        **others,
    )


def _leading(matrix: FloatArray, count: int) -> FloatArray:
    """Return E √w for the `count` largest eigenvalues w, clipped at 0; each column's largest entry is positive."""
    from scipy.linalg import blas, eigh  # noqa: PLC0415 - heavy, and only fits need it
    from scipy.sparse.linalg import LinearOperator, eigsh  # noqa: PLC0415

    k = len(matrix)
    if k <= DENSE or count > k // 4:
        values, vectors = eigh(matrix, subset_by_index=(k - count, k - 1))
    else:
        # `dsymv` reads half of the matrix; transposed, a matrix in rows is not copied.
        times = LinearOperator((k, k), matvec=lambda x: blas.dsymv(1.0, matrix.T, x), dtype=np.float64)
        values, vectors = eigsh(times, count, which="LA", v0=np.ones(k))
    order = np.argsort(-values)
    vectors = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(count)])
    factors: FloatArray = vectors * np.where(signs < 0, -1.0, 1.0)
    return factors
