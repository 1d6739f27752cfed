"""What everybody likes, each person in units of their own: scales of people, average likings, the popular ordering."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpbandits.data.blocks import LARGE_LOG, Blocks, as_blocks, parallel_sum, reduce_add
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels import popularity as kernels
from lpbandits.parallel import Threads
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
    means, spreads = np.concatenate([np.empty((2, 0)), *blocks.map(_scales)], axis=1)
    return Scales(blocks.log.counts, means, spreads)


def _scales(block: Ratings, threads: Threads) -> FloatArray:
    found = np.empty((2, len(block.people)))
    threads.run(kernels.own_scales, len(block.people), block.offsets, block.rating, *found, blocks=4, smallest=1024)
    return found


@dataclass(frozen=True, eq=False)
class ItemMeans:
    """By action: how many rated it, and u, what these think of it on average, in units of each person's spread."""

    raters: FloatArray
    means: FloatArray


class StandardizedRatings:
    """The people of a log, each in units of their own, and what groups of them like: worked out once, when asked for.

    Going through an enormous log is what costs, so groups that are asked for together share their passes. If `popular`,
    what everybody likes will be asked for, and is worked out with the first group.

    >>> crowd = StandardizedRatings(as_blocks(Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1, 5, 2, 8])))
    >>> (liked,) = crowd.likings(crowd.own.differ)
    >>> liked.raters.tolist(), liked.means.round(3).tolist()
    ([2.0, 2.0], [-0.091, 0.091])
    """

    def __init__(self, log: Blocks, *, popular: bool = False) -> None:
        self.log, self._popular = log, popular
        self._known: dict[bytes, ItemMeans] = {}

    @cached_property
    def own(self) -> Scales:
        """Everybody's scale."""
        return scales(self.log)

    @cached_property
    def everybody(self) -> BoolArray:
        """Who makes an action popular: who is `telling`, or where nobody has three ratings, whose ratings differ."""
        told = self.own.telling
        return told if told.any() else self.own.differ

    def likings(self, *groups: BoolArray) -> list[ItemMeans]:
        """Return what groups of people like: u and the people's offsets, each a mean of what the other leaves."""
        wanted = {used.tobytes(): used for used in (*groups, *([self.everybody] if self._popular else []))}
        new = {key: used for key, used in wanted.items() if key not in self._known}
        self._known |= zip(new, _likings(self.log, self.own, list(new.values())), strict=True)
        return [self._known[used.tobytes()] for used in groups]


def as_crowd(log: Ratings | Blocks | StandardizedRatings, threads: Threads | None = None) -> StandardizedRatings:
    """Return the people of a log, with these threads or one; what is a crowd stays as it is."""
    return log if isinstance(log, StandardizedRatings) else StandardizedRatings(as_blocks(log, threads))


def telling(log: Ratings | Blocks) -> IntArray:
    """Return the people from whom a taste can be learned, by index.

    >>> telling(Ratings.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [5, 3, 1, 2, 2, 2])).tolist()
    [0]
    """
    return np.flatnonzero(scales(log).telling)


def _likings(log: Blocks, own: Scales, groups: list[BoolArray]) -> list[ItemMeans]:
    """Work out what groups like; when one has settled does not depend on the others."""
    if not groups:
        return []
    sums = reduce_add(log.map(_liked, per_person=(own.means, own.spreads, *groups)))
    raters, liked = sums[:, kernels.RATERS], sums[:, kernels.LIKED]
    means = liked / (raters + PSEUDO_RATERS)
    going = list(range(len(groups)))
    for _ in range(SWEEPS - 1):
        levels = reduce_add(log.map(_levels, means[going], per_person=[groups[g] for g in going]))
        before = means.copy()
        means[going] = (liked[going] + levels) / (raters[going] + PSEUDO_RATERS)
        if len(log.log) > LARGE_LOG:
            going = [g for g in going if np.ptp((means[g] - before[g])[raters[g] > 0]) >= SETTLED]
            if not going:
                break
    return [ItemMeans(*both) for both in zip(raters, means, strict=True)]


def _liked(block: Ratings, threads: Threads, means: FloatArray, spreads: FloatArray, *groups: BoolArray) -> FloatArray:
    shape = (2, len(block.actions))
    sums = [parallel_sum(kernels.add_liked, block, threads, shape, block.rating, one, means, spreads) for one in groups]
    return np.stack(sums)


def _levels(block: Ratings, threads: Threads, means: FloatArray, *groups: BoolArray) -> FloatArray:
    shape = (len(block.actions),)
    sums = [parallel_sum(kernels.add_levels, block, threads, shape, *both) for both in zip(groups, means, strict=True)]
    return np.stack(sums)


def popular_ordering(log: Ratings | Blocks | StandardizedRatings, threads: Threads | None = None) -> IntArray | None:
    """Return all actions, what everybody together likes most first; None where nobody's ratings differ.

    By the means u of one state, over people who are `telling`, or where nobody has three ratings, over all whose
    ratings differ. What nobody rated comes last.

    >>> popular_ordering(Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 2], [1, 5, 2, 8], actions=range(4))).tolist()
    [1, 2, 0, 3]
    """
    crowd = as_crowd(log, threads)
    if not crowd.everybody.any():
        return None
    unrated = ~np.logical_or.reduce(list(crowd.log.map(_rated)))
    (liked,) = crowd.likings(crowd.everybody)
    return np.lexsort((-liked.means, unrated))


def _rated(block: Ratings, threads: Threads) -> BoolArray:
    del threads
    rated = np.zeros(len(block.actions), dtype=np.bool_)
    rated[block.action] = True
    return rated
