"""Kinds of people, each with average likings of its own: a mixture, by EM, under the factors of a taste."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits.data.blocks import Blocks, as_blocks, parallel_sum, reduce_add, subsample
from lpbandits.data.ratings import Ratings
from lpbandits.fit.clusters import cluster_people
from lpbandits.fit.kernels import mixture as kernels
from lpbandits.fit.taste.popularity import Scales
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray

STEPS = 100
SETTLED = 1e-4
"""When EM ends: after so many steps, or when nobody's chances change by more."""

PSEUDO_RATERS = 3
"""Raters who think as everybody does that are added to those of a state, in the mean of an action."""

RESTARTS = 3


@dataclass(frozen=True, eq=False)
class Mixture:
    """States of a taste, the largest first."""

    shifts: FloatArray
    """m×k: by how much the state likes each action more than everybody does."""
    chance: FloatArray
    """People × m: how probable each state is for each person; 0 for those not in use."""
    prior: FloatArray
    """The share of each state."""


def nobody(people: int, actions: int) -> Mixture:
    """Return the mixture without any shift: everybody is alike."""
    return Mixture(np.zeros((0, actions)), np.zeros((people, 0)), np.ones(1))


def mixture(
    log: Ratings | Blocks, own: Scales, used: BoolArray, likings: FloatArray, states: int, seed: int
) -> Mixture:
    """Fit states to what is left of each rating after everybody's likings, in the person's units, by EM.

    In state z it is α + shift_z(a) + noise, with an offset α for each person and state; a state's shift is the mean
    over those of its people who rated the action, and a few who think as everybody does. It starts from clusters, of
    a sample of the people of a large log; states that nobody is left in are left out.

    >>> n, a = np.divmod(np.arange(40), 4)
    >>> log = Ratings.from_arrays(n, a, np.where(n < 6, 1.0, -1.0) * (a - 1.5))
    >>> own = Scales(log.counts, log.means, np.ones(10))
    >>> found = mixture(log, own, np.full(10, True), np.zeros(4), 2, seed=0)
    >>> found.prior.round(2).tolist(), found.shifts.round(1).tolist()
    ([0.6, 0.4], [[-1.0, -0.3, 0.3, 1.0], [0.9, 0.3, -0.3, -0.9]])
    """
    blocks = as_blocks(log)
    scale = own.means, np.where(used, own.spreads, 1.0)
    chance = _clusters(blocks, own, used, likings, states, seed)
    counts = np.maximum(own.counts, 1)[:, None]
    shifts = np.zeros((len(likings), chance.shape[1]))
    totals, squares = np.concatenate(list(blocks.map(_left, likings, per_person=scale)), axis=1)[:, :, None]
    offsets = np.repeat(totals / counts, chance.shape[1], axis=1)
    for _ in range(STEPS):
        raters, liked = reduce_add(blocks.map(_shifts, likings, per_person=(*scale, chance, offsets)))
        shifts = liked / (raters + PSEUDO_RATERS)
        fitted, bent = np.moveaxis(np.concatenate(list(blocks.map(_fitted, likings, shifts, per_person=scale))), 1, 0)
        offsets = (totals - fitted) / counts
        left = squares + bent - counts * offsets**2  # Σ_a (v − shift_z − α)²
        noise = max(float((chance * left).sum() / (chance * counts).sum()), 1e-9)
        with np.errstate(divide="ignore"):
            logs = np.log(chance.sum(axis=0) / chance.sum()) - 0.5 * left / noise
        before, chance = chance, np.exp(logs - logs.max(axis=1, keepdims=True)) * used[:, None]
        chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1.0)  # at least 1, but for those not in use
        if np.abs(chance - before).max() < SETTLED:
            break
    sizes = chance.sum(axis=0)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    order = order[sizes[order] >= min(1.0, sizes.max())]
    chance = np.ascontiguousarray(chance[:, order])
    chance[used] /= chance[used].sum(axis=1, keepdims=True)
    return Mixture(np.ascontiguousarray(shifts.T[order]), chance, chance.sum(axis=0) / np.count_nonzero(used))


def _clusters(log: Blocks, own: Scales, used: BoolArray, likings: FloatArray, states: int, seed: int) -> FloatArray:
    """Return people × m: 1 for the cluster of a person; of people not in the sample nothing is known yet."""
    people = subsample(np.flatnonzero(used), own.counts)
    some = log.subset(people)
    away = (some.rating - own.means[people][some.owner]) / own.spreads[people][some.owner] - likings[some.action]
    shown = Ratings.trusted(some.offsets, some.action, away, some.people, some.actions)
    labels = cluster_people(shown, states, scale="cosine", restarts=RESTARTS, seed=seed, threads=1).labels
    chance = np.zeros((len(used), labels.max() + 1))
    chance[people, labels] = 1.0
    return chance


def _left(block: Ratings, threads: Threads, likings: FloatArray, means: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return each person's Σ v and Σ v²."""
    del threads
    owner = block.owner
    v = (block.rating - means[owner]) / spreads[owner] - likings[block.action]
    return np.stack([np.bincount(owner, weights=part, minlength=len(block.people)) for part in (v, v**2)])


def _shifts(block: Ratings, threads: Threads, likings: FloatArray, *own: Any) -> FloatArray:
    shape = (2, len(likings), own[-1].shape[1])
    return parallel_sum(kernels.add_kinds, block, threads, shape, block.rating, *own, likings)


def _fitted(block: Ratings, threads: Threads, likings: FloatArray, shifts: FloatArray, *own: Any) -> FloatArray:
    fitted = np.empty((len(block.people), 2, shifts.shape[1]))
    arrays = block.offsets, block.action.view(np.uint32), block.rating, *own, likings, shifts, fitted
    threads.run(kernels.fit_kinds, len(fitted), *arrays, blocks=4, smallest=256)
    return fitted
