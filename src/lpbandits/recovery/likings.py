"""What everybody likes, each person in units of their own: scales of people, average likings, the popular ordering."""

from dataclasses import dataclass

import numpy as np

from lpbandits.kernels import likings as kernels
from lpbandits.parallel import Threads
from lpbandits.recovery.blocks import ENORMOUS, Blocks, as_blocks
from lpbandits.recovery.parts import added, summed
from lpbandits.recovery.ratings import Ratings
from lpbandits.typing import BoolArray, FloatArray, IntArray

SWEEPS = 20
SETTLED = 1e-7
"""Of an enormous log: when all likings move alike, but for so much, only their common level is still open."""
PSEUDO_RATERS = 20
"""Raters of average opinion that are added to an action's own, in its mean and in its variance."""

LEAST_SPREAD = 0.05
"""Of a person's ratings, as a share of the usual one: who rates nearly everything alike says nothing of their taste."""
LEAST_RATINGS = 3
"""Of a person who counts: fewer do not show a scale."""


@dataclass(frozen=True, eq=False)
class Scales:
    """By person: how many ratings, their mean, and their standard deviation (both 0 for a person without any)."""

    counts: IntArray
    means: FloatArray
    spreads: FloatArray

    @property
    def differ(self) -> BoolArray:
        """Whose ratings are not all alike."""
        apart: BoolArray = self.spreads > 1e-9 * (1 + np.abs(self.means))
        return apart

    @property
    def telling(self) -> BoolArray:
        """From whom a taste can be learned: with a few ratings that are not all alike."""
        apart = (self.counts >= LEAST_RATINGS) & self.differ
        usual = float(np.median(self.spreads[apart])) if apart.any() else 0.0
        return apart & (self.spreads >= LEAST_SPREAD * usual)


def scales(log: Ratings | Blocks) -> Scales:
    """Return each person's scale.

    >>> own = scales(Ratings.from_arrays([0, 0, 1], [0, 1, 0], [5, 3, 2]))
    >>> own.means.tolist(), own.spreads.tolist()
    ([4.0, 2.0], [1.0, 0.0])
    """
    blocks = as_blocks(log)
    means, spreads = np.concatenate([np.empty((2, 0)), *blocks.each(_scales)], axis=1)
    return Scales(blocks.log.counts, means, spreads)


def _scales(block: Ratings, threads: Threads) -> FloatArray:
    found = np.empty((2, len(block.people)))
    threads.run(kernels.own_scales, len(block.people), block.offsets, block.rating, *found, blocks=4, smallest=1024)
    return found


def telling(log: Ratings | Blocks) -> IntArray:
    """Return the people from whom a taste can be learned, by index.

    >>> telling(Ratings.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [5, 3, 1, 2, 2, 2])).tolist()
    [0]
    """
    return np.flatnonzero(scales(log).telling)


@dataclass(frozen=True, eq=False)
class Likings:
    """By action: how many rated it, and u, what these think of it on average, in units of each person's spread."""

    raters: FloatArray
    means: FloatArray


def likings(log: Blocks, own: Scales, used: BoolArray) -> Likings:
    """Return what the people in use like: u and the people's offsets, each a mean of what the other leaves."""
    everybody = (used, own.means, own.spreads)
    raters, liked = added(log.each(_liked, own=everybody))
    means = liked / (raters + PSEUDO_RATERS)
    for _ in range(SWEEPS - 1):
        before = means
        means = (liked + added(log.each(_levels, means, own=(used,)))) / (raters + PSEUDO_RATERS)
        if len(log.log) > ENORMOUS and np.ptp((means - before)[raters > 0]) < SETTLED:
            break
    return Likings(raters, means)


def _liked(block: Ratings, threads: Threads, *own: object) -> FloatArray:
    return summed(kernels.add_liked, block, threads, (2, len(block.actions)), block.rating, *own)


def _levels(block: Ratings, threads: Threads, means: FloatArray, used: BoolArray) -> FloatArray:
    return summed(kernels.add_levels, block, threads, (len(block.actions),), used, means)


def popular_ordering(log: Ratings | Blocks, threads: Threads | None = None) -> IntArray | None:
    """Return all actions, what everybody together likes most first; None where nobody's ratings differ.

    By the means u of one state, over people who are `telling`, or where nobody has three ratings, over all whose
    ratings differ. What nobody rated comes last.

    >>> popular_ordering(Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 2], [1, 5, 2, 8], actions=range(4))).tolist()
    [1, 2, 0, 3]
    """
    blocks = as_blocks(log, threads)
    own = scales(blocks)
    used = own.telling
    if not used.any():
        used = own.differ
    if not used.any():
        return None
    unrated = ~np.logical_or.reduce(list(blocks.each(_rated)))
    return np.lexsort((-likings(blocks, own, used).means, unrated))


def _rated(block: Ratings, threads: Threads) -> BoolArray:
    del threads
    rated = np.zeros(len(block.actions), dtype=np.bool_)
    rated[block.action] = True
    return rated
