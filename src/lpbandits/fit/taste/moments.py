"""Fitting people's tastes: average likings, factors from shrunken covariances, and what is left to each action.

A rating is r0 + s_i (α_i + u_a + q_a·p_i + e_a). In units of a person's own spread, u are means shrunken to 0, and the
covariance of two actions over the people who rated both, shrunken by λ people of no covariance, is q_a·q_b. With states
u is that of the person's state, and their chances of states weigh it.
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
from lpbandits.fit.kernels.popularity import NOWHERE, count_placed, leave
from lpbandits.fit.kernels.symmetric import symmetric_times
from lpbandits.fit.taste.cross_products import MOST_CROSSED, Residuals, mirrored
from lpbandits.fit.taste.popularity import PSEUDO_RATERS, ItemMeans, Scales, StandardizedRatings, as_crowd
from lpbandits.fit.taste.states import Mixture, mixture, nobody
from lpbandits.parallel import Threads, one_thread
from lpbandits.taste_model import LEAST_VARIANCE, TasteModel
from lpbandits.typing import BoolArray, FloatArray, IntArray

COMMUNALITIES = 6
SETTLED = 1e-3
"""How often, at most, the share of variance that the factors explain is worked out anew, and when it has settled."""

FLOOR = 0.6
"""Share of the weakest eigenvalue that is taken for noise, and away from all of them."""

TINY = 1e-300
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


def moments(
    log: Ratings | Blocks | StandardizedRatings,
    states: int = 1,
    seed: int = 0,
    *,
    people: IntArray | None = None,
    threads: Threads | None = None,
) -> Moments:
    """Return the sums that a fit needs, of some people, by index, or of all: they must all be `telling`."""
    crowd = as_crowd(log, threads)
    everybody = np.arange(len(crowd.own.counts))
    (found,) = moments_of(crowd, [everybody if people is None else people], states, seed)
    return found


def moments_of(crowd: StandardizedRatings, groups: Sequence[IntArray], states: int = 1, seed: int = 0) -> list[Moments]:
    """Return the sums of several groups of people, who share the passes over the log."""
    own = crowd.own
    masks = [np.isin(np.arange(len(own.counts)), people) for people in groups]
    parts = [
        _Part(used, liked, _kinds(crowd, used, liked.means, states, seed))
        for used, liked in zip(masks, crowd.likings(*masks), strict=True)
    ]
    return [_moments(own, part, sums) for part, sums in zip(parts, _sums(crowd, parts), strict=True)]


def _kinds(crowd: StandardizedRatings, used: BoolArray, means: FloatArray, states: int, seed: int) -> Mixture:
    if states == 1:
        return nobody(len(used), len(means))
    return mixture(crowd.log, crowd.own, used, means, states, seed)


@dataclass(frozen=True, eq=False)
class _Part:
    """A group of people: who they are, what they like, and of what kinds they are."""

    used: BoolArray
    liked: ItemMeans
    kinds: Mixture

    @cached_property
    def crossed(self) -> IntArray:
        """The actions, in rising order, that most of them rated."""
        return np.sort(np.argsort(-self.liked.raters, kind="stable")[:MOST_CROSSED])


def _moments(own: Scales, part: _Part, sums: "_Sums") -> Moments:
    used, liked, kinds, crossed = part.used, part.liked, part.kinds, part.crossed
    typical = float(sums.squares.sum() / liked.raters.sum())
    variances = (sums.squares + PSEUDO_RATERS * typical) / (liked.raters + PSEUDO_RATERS)
    own_offsets = np.concatenate(sums.offsets)
    offsets, spread, mean, counts = (values[used] for values in (own_offsets, own.spreads, own.means, own.counts))
    level = float(mean.mean())
    logs = np.log(spread)
    noise = float(np.mean(0.5 / (counts - 1)))  # of the logarithm of a spread of so many ratings
    return Moments(
        means=liked.means + kinds.shifts if len(kinds.shifts) else liked.means,
        prior=kinds.prior,
        crossed=crossed,
        products=mirrored(sums.products, len(crossed)),
        raters=mirrored(sums.raters, len(crossed)),
        variances=np.maximum(variances, LEAST_VARIANCE),
        offset=float(np.var(offsets + (mean - level) / np.maximum(spread, 0.5 * np.median(spread)))),
        level=level,
        log_scale=float(logs.mean()),
        log_scale_sd=float(np.sqrt(max(logs.var() - noise, 0.01))),
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Of what is left of ratings: products of pairs of actions (see `crossed`), squares by action, people's offsets."""

    products: FloatArray
    raters: NDArray[np.uint32]
    squares: FloatArray
    offsets: list[FloatArray]
    """Block by block: they are joined once, at the end."""

    def add(self, more: "_Sums") -> "_Sums":
        """Take in those of the people who come next."""
        self.offsets.extend(more.offsets)
        return _Sums(
            iadd(self.products, more.products),
            iadd(self.raters, more.raters),
            iadd(self.squares, more.squares),
            self.offsets,
        )


def _sums(crowd: StandardizedRatings, parts: Sequence[_Part]) -> list[_Sums]:
    """Add up, in the order of the people, what is left of ratings after likings, states and the person's offset."""
    common: list[tuple[FloatArray, FloatArray, NDArray[np.uint16]]] = []
    own: list[Any] = [crowd.own.means, crowd.own.spreads]
    for part in parts:
        place = np.full(len(part.liked.means), NOWHERE, dtype=np.uint16)
        place[part.crossed] = np.arange(len(part.crossed))
        common.append((part.liked.means, np.ascontiguousarray(part.kinds.shifts.T), place))
        own += [part.used, part.kinds.chance]
    log, pairs = crowd.log, sum(len(part.crossed) ** 2 for part in parts)
    if not log.budget.shared(BYTES_PER_SENT_PAIR * pairs, in_order=True):
        log = log.local
    return functools.reduce(_added, log.fold_runs(_all_left, common, per_person=own))


def _added(totals: list[_Sums], more: list[_Sums]) -> list[_Sums]:
    return [total.add(one) for total, one in zip(totals, more, strict=True)]


def _all_left(
    block: Ratings,
    threads: Threads,
    totals: list[_Sums] | None,
    common: list[tuple[FloatArray, FloatArray, NDArray[np.uint16]]],
    means: FloatArray,
    spreads: FloatArray,
    *own: Any,
) -> list[_Sums]:
    """Add what a block leaves, for each group of people: who is in it, and their chances of states, are its `own`."""
    here = [
        _left(block, threads, *one, used, means, spreads, chance)
        for one, used, chance in zip(common, own[::2], own[1::2], strict=True)
    ]
    return here if totals is None else _added(totals, here)


def _left(
    block: Ratings, threads: Threads, means: FloatArray, shifts: FloatArray, place: NDArray[np.uint16], *own: Any
) -> _Sums:
    people, used = len(block.people), own[0]
    counts, offsets = np.empty(people, dtype=np.int64), np.empty(people)
    layout = block.offsets, block.action.view(np.uint32)
    threads.run(count_placed, people, *layout, used, place, counts, blocks=4, smallest=1024)
    upto = np.cumsum(counts)
    placed = np.empty(int(upto[-1]), dtype=np.uint16), np.empty(int(upto[-1]))
    arrays = block.rating, *own, means, shifts, place, upto - counts, *placed, offsets
    squares = parallel_sum(leave, block, threads, (len(means),), *arrays)
    kept = np.concatenate([[0], upto[counts > 0]])
    products, raters = Residuals(kept, *placed, int(np.count_nonzero(place != NOWHERE))).crossed(threads)
    return _Sums(products, raters, squares, [offsets])


def leading_factors(seen: Moments, count: int, shrinkage: float) -> FloatArray:
    """Return c×count factors q of the crossed actions, strongest first, from covariances shrunken by so many people.

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
    kept: FloatArray = q * np.sqrt(1.0 - FLOOR * strengths.min(initial=np.inf) / np.maximum(strengths, TINY))
    return kept


def taste_with(seen: Moments, factors: FloatArray, **others: Any) -> TasteModel:
    """Return the taste with these factors of the crossed actions: what they do not explain of a variance is its own."""
    every = np.zeros((len(seen.variances), factors.shape[1]))
    every[seen.crossed] = factors
    own = np.maximum(seen.variances - (every**2).sum(axis=1), 0.1 * seen.variances)
    return TasteModel(
        seen.means,
        every,
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
    found: FloatArray = vectors * np.where(signs < 0, -1.0, 1.0)
    return found
