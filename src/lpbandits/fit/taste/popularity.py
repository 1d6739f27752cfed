"""Item means on standardized ratings: each person's mean and standard deviation, u per action, popular ordering."""

from dataclasses import dataclass

import numpy as np

from lpbandits.data.blocks import MAX_EXACT_RATINGS, Blocks, as_blocks, parallel_sum, reduce_add
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels import ratings as kernels
from lpbandits.fit.methods.clusters import raters_of
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray

SWEEPS = 20
"""Maximum number of alternating updates of item means and person offsets."""

SETTLED = 1e-7
"""With more than `MAX_EXACT_RATINGS` ratings, stop when the changes of a group's item means agree to within this."""

PSEUDO_RATERS = 20
"""Shrinkage: raters with the average opinion that are added to each action's raters, for its mean and its variance."""

MIN_SPREAD = 0.05
"""Minimum standard deviation of an informative person's ratings, as a share of the median one."""

MIN_RATINGS = 3
"""Minimum number of ratings of an informative person."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Per person: number of ratings, mean and standard deviation (0 for a person without ratings)."""

    counts: IntArray
    means: FloatArray
    spreads: FloatArray

    @property
    def has_variation(self) -> BoolArray:
        """True for people with at least two different ratings."""
        return np.asarray(self.spreads > 1e-9 * (1 + np.abs(self.means)))

    @property
    def informative(self) -> BoolArray:
        """True for people from whom a taste model can learn: enough ratings, with enough variance."""
        enough = (self.counts >= MIN_RATINGS) & self.has_variation
        median = float(np.median(self.spreads[enough])) if enough.any() else 0.0
        return enough & (self.spreads >= MIN_SPREAD * median)


def scales(log: Ratings | Blocks) -> Scales:
    """Return each person's mean and standard deviation."""
    blocks = as_blocks(log)
    return Scales(blocks.log.counts, *np.concatenate([np.empty((2, 0)), *blocks.map(_scales)], axis=1))


def _scales(block: Ratings, _: Threads) -> FloatArray:
    away = block.rating - block.means[block.owner]
    squares = np.bincount(block.owner, weights=away**2, minlength=len(block.people))
    return np.stack([block.means, np.sqrt(squares / np.maximum(block.counts, 1))])


def informative(log: Ratings | Blocks) -> IntArray:
    """Return the indices of the people from whom a taste model can learn."""
    return np.flatnonzero(scales(log).informative)


@dataclass(frozen=True, eq=False)
class ItemMeans:
    """Per action: the number of raters, and the shrunk mean u of their standardized ratings."""

    raters: FloatArray
    means: FloatArray


class StandardizedRatings:
    """Ratings in units of each person's standard deviation, with cached item means of groups of people.

    Groups requested together share their passes over the log. With `popular`, the means behind the popular ordering are
    computed together with the first request.
    """

    def __init__(self, log: Blocks, *, popular: bool = False) -> None:
        self.log, self.scales, self._popular = log, scales(log), popular
        self._cache: dict[bytes, ItemMeans] = {}
        informative = self.scales.informative
        self.voters = informative if informative.any() else self.scales.has_variation
        """People who define the popular ordering: the informative ones or, without any, all who have variation."""

    def item_means(self, *groups: BoolArray) -> list[ItemMeans]:
        """Return the item means of groups of people, given as masks."""
        wanted = {mask.tobytes(): mask for mask in (*groups, *([self.voters] if self._popular else []))}
        new = {key: mask for key, mask in wanted.items() if key not in self._cache}
        self._cache |= zip(new, _item_means(self.log, self.scales, list(new.values())), strict=True)
        return [self._cache[mask.tobytes()] for mask in groups]

    def popular_ordering(self) -> IntArray | None:
        """Order all actions by their item means, highest first; None if no person has two different ratings.

        Unrated actions come last.
        """
        if not self.voters.any():
            return None
        unrated = raters_of(self.log, np.zeros(len(self.voters), dtype=np.int64), 1)[0] == 0
        (items,) = self.item_means(self.voters)
        return np.lexsort((-items.means, unrated))


def as_standardized(log: Ratings | Blocks | StandardizedRatings, threads: Threads | None = None) -> StandardizedRatings:
    """Wrap a log, using `threads` or one thread."""
    return log if isinstance(log, StandardizedRatings) else StandardizedRatings(as_blocks(log, threads))


def _item_means(log: Blocks, scale: Scales, groups: list[BoolArray]) -> list[ItemMeans]:
    """Alternate between item means u and person offsets, each the mean residual given the other.

    The number of sweeps of a group does not depend on the other groups.
    """
    if not groups:
        return []
    sums = reduce_add(log.map(_rating_sums, per_person=(scale.means, scale.spreads, *groups)))
    raters, totals = sums[:, kernels.RATERS], sums[:, kernels.TOTAL]
    means = totals / (raters + PSEUDO_RATERS)
    active = list(range(len(groups)))
    for _ in range(SWEEPS - 1):
        levels = reduce_add(log.map(_level_sums, means[active], per_person=[groups[g] for g in active]))
        before = means.copy()
        means[active] = (totals[active] + levels) / (raters[active] + PSEUDO_RATERS)
        if len(log.log) > MAX_EXACT_RATINGS:
            active = [g for g in active if np.ptp((means[g] - before[g])[raters[g] > 0]) >= SETTLED]
            if not active:
                break
    return [ItemMeans(*both) for both in zip(raters, means, strict=True)]


def _rating_sums(
    block: Ratings, threads: Threads, means: FloatArray, spreads: FloatArray, *groups: BoolArray
) -> FloatArray:
    shape = (2, len(block.actions))
    return np.stack([parallel_sum(kernels.add_ratings, block, threads, shape, g, means, spreads) for g in groups])


def _level_sums(block: Ratings, threads: Threads, means: FloatArray, *groups: BoolArray) -> FloatArray:
    shape, pairs = (len(block.actions),), zip(groups, means, strict=True)
    return np.stack([parallel_sum(kernels.add_levels, block, threads, shape, *pair) for pair in pairs])
