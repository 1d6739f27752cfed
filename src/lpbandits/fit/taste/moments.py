"""Estimate a taste model by moments: item means, factors from shrunken covariances, per-action residual variance.

A rating is r0 + s_i (α_i + u_a + q_a·p_i + e_a). In units of a person's standard deviation, u are means shrunken
towards 0. The covariance of two actions over the people who rated both, shrunken by λ pseudo-people without covariance,
is q_a·q_b.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import Blocks, iadd, parallel_sum
from lpbandits.data.memory import BYTES_PER_SENT_PAIR
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels.popularity import NOWHERE, count_placed, residuals
from lpbandits.fit.kernels.symmetric import symmetric_times
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
"""Share of the smallest eigenvalue that is treated as noise and subtracted from all of them."""

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
    scale = ratings.scales
    masks = [np.isin(np.arange(len(scale.counts)), people) for people in groups]
    parts = [_Group(mask, items) for mask, items in zip(masks, ratings.item_means(*masks), strict=True)]
    return [_moments(scale, part, sums) for part, sums in zip(parts, _sums(ratings, parts), strict=True)]


@dataclass(frozen=True, eq=False)
class _Group:
    """A group of people, as a mask, and its item means."""

    mask: BoolArray
    items: ItemMeans

    @cached_property
    def covariance_actions(self) -> IntArray:
        """The actions that most people of the group rated, in ascending order."""
        return np.sort(np.argsort(-self.items.raters, kind="stable")[:MAX_COVARIANCE_ACTIONS])

    @property
    def places(self) -> NDArray[np.uint16]:
        """Each action's place among `covariance_actions`, or NOWHERE."""
        place = np.full(len(self.items.means), NOWHERE, dtype=np.uint16)
        place[self.covariance_actions] = np.arange(len(self.covariance_actions))
        return place


def _moments(scale: Scales, group: _Group, sums: "_Sums") -> Moments:
    mask, items, chosen = group.mask, group.items, group.covariance_actions
    typical = float(sums.squares.sum() / items.raters.sum())
    variances = (sums.squares + PSEUDO_RATERS * typical) / (items.raters + PSEUDO_RATERS)
    every_offset = np.concatenate(sums.offsets)
    offsets, spread, mean, counts = (v[mask] for v in (every_offset, scale.spreads, scale.means, scale.counts))
    level = float(mean.mean())
    logs = np.log(spread)
    noise = float(np.mean(0.5 / (counts - 1)))  # sampling variance of the log of a standard deviation
    return Moments(
        means=items.means,
        covariance_actions=chosen,
        products=mirrored(sums.products, len(chosen)),
        raters=mirrored(sums.raters, len(chosen)),
        variances=np.maximum(variances, MIN_VARIANCE),
        offset=float(np.var(offsets + (mean - level) / np.maximum(spread, 0.5 * np.median(spread)))),
        level=level,
        log_scale=float(logs.mean()),
        log_scale_sd=float(np.sqrt(max(logs.var() - noise, 0.01))),
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of residuals: cross-products of pairs of actions, squares per action, offsets per person."""

    products: FloatArray
    raters: NDArray[np.uint32]
    squares: FloatArray
    offsets: list[FloatArray]
    """One array per block; joined once, at the end."""

    def add(self, more: "_Sums") -> "_Sums":
        """Add the sums of the people who follow."""
        self.offsets.extend(more.offsets)
        return _Sums(
            iadd(self.products, more.products),
            iadd(self.raters, more.raters),
            iadd(self.squares, more.squares),
            self.offsets,
        )


def _sums(ratings: StandardizedRatings, groups: Sequence[_Group]) -> list[_Sums]:
    """Sum the residuals of each group, in the order of the people."""
    common = [(group.items.means, group.places) for group in groups]
    masks = [group.mask for group in groups]
    log, pairs = ratings.log, sum(len(group.covariance_actions) ** 2 for group in groups)
    if not log.budget.shared(BYTES_PER_SENT_PAIR * pairs, in_order=True):
        log = log.local
    per_person = (ratings.scales.means, ratings.scales.spreads, *masks)
    return functools.reduce(_add_each, log.fold_runs(_add_block, common, per_person=per_person))


def _add_each(totals: list[_Sums], more: list[_Sums]) -> list[_Sums]:
    return [total.add(one) for total, one in zip(totals, more, strict=True)]


def _add_block(
    block: Ratings,
    threads: Threads,
    totals: list[_Sums] | None,
    common: list[tuple[FloatArray, NDArray[np.uint16]]],
    means: FloatArray,
    spreads: FloatArray,
    *masks: BoolArray,
) -> list[_Sums]:
    sums = [
        _block_sums(block, threads, items, place, mask, means, spreads)
        for (items, place), mask in zip(common, masks, strict=True)
    ]
    return sums if totals is None else _add_each(totals, sums)


def _block_sums(
    block: Ratings,
    threads: Threads,
    items: FloatArray,
    place: NDArray[np.uint16],
    mask: BoolArray,
    means: FloatArray,
    spreads: FloatArray,
) -> _Sums:
    people = len(block.people)
    counts, offsets = np.empty(people, dtype=np.int64), np.empty(people)
    layout = block.offsets, block.action.view(np.uint32)
    threads.run(count_placed, people, *layout, mask, place, counts, blocks=4, smallest=1024)
    upto = np.cumsum(counts)
    placed = np.empty(int(upto[-1]), dtype=np.uint16), np.empty(int(upto[-1]))
    arrays = block.rating, mask, means, spreads, items, place, upto - counts, *placed, offsets
    squares = parallel_sum(residuals, block, threads, (len(items),), *arrays)
    kept = np.concatenate([[0], upto[counts > 0]])
    products, raters = Residuals(kept, *placed, int(np.count_nonzero(place != NOWHERE))).cross_products(threads)
    return _Sums(products, raters, squares, [offsets])


def leading_factors(moments: Moments, count: int, shrinkage: float) -> FloatArray:
    """Return c×count factors q, strongest first, from covariances shrunken by `shrinkage` pseudo-people.

    The diagonal holds the explained variances h_a = |q_a|², which depend on the factors, so both are updated in turn.
    Noise alone has large eigenvalues too: `FLOOR` times the smallest is subtracted from all, so that extra factors do
    little harm.
    """
    shrunken = moments.products / (moments.raters + shrinkage)
    variances = moments.variances[moments.covariance_actions]
    q = np.zeros((len(variances), 0))
    explained = 0.3 * variances
    with one_thread("blas"):
        for _ in range(MAX_COMMUNALITY_STEPS if count else 0):
            np.fill_diagonal(shrunken, explained)
            q = _leading(shrunken, count)
            before, explained = explained, np.minimum((q**2).sum(axis=1), 0.95 * variances)
            if np.mean(np.abs(explained - before) / variances) < SETTLED:
                break
    strengths = (q**2).sum(axis=0)
    kept: FloatArray = q * np.sqrt(1.0 - FLOOR * strengths.min(initial=np.inf) / np.maximum(strengths, TINY))
    return kept


def taste_with(moments: Moments, factors: FloatArray, **others: Any) -> TasteModel:
    """Return the taste model with these factors; unexplained variance becomes residual variance."""
    every = np.zeros((len(moments.variances), factors.shape[1]))
    every[moments.covariance_actions] = factors
    residual = np.maximum(moments.variances - (every**2).sum(axis=1), 0.1 * moments.variances)
    return TasteModel(
        moments.means,
        every,
        np.maximum(residual, MIN_VARIANCE),
        offset=moments.offset,
        level=moments.level,
        log_scale=moments.log_scale,
        log_scale_sd=moments.log_scale_sd,
        **others,
    )


def _leading(matrix: FloatArray, count: int) -> FloatArray:
    """Return E √w for the `count` largest eigenvalues w, clipped at 0; each column's largest entry is positive."""
    from scipy.linalg import eigh  # noqa: PLC0415 - heavy, and only fits need it
    from scipy.sparse.linalg import LinearOperator, eigsh  # noqa: PLC0415

    k = len(matrix)
    if k <= DENSE or count > k // 4:
        values, vectors = eigh(matrix, subset_by_index=(k - count, k - 1))
    else:
        times = LinearOperator((k, k), matvec=lambda x: symmetric_times(matrix, x.ravel()), dtype=np.float64)
        values, vectors = eigsh(times, count, which="LA", v0=np.ones(k))
    order = np.argsort(-values)
    vectors = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(count)])
    factors: FloatArray = vectors * np.where(signs < 0, -1.0, 1.0)
    return factors
