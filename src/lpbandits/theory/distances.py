"""Distances between random orderings, as exact fractions: with many actions, similar orderings are rare."""

import math
from fractions import Fraction
from itertools import accumulate

from lpbandits import validate


def differ_probability(actions: int, positions: int = 2) -> Fraction:
    """Return the probability that two distinct random orderings differ in exactly `positions` positions.

    For two positions, the minimum, it is binom(k, 2) / (k! − 1), as in the paper.

    >>> differ_probability(3), differ_probability(10)
    (Fraction(3, 5), Fraction(45, 3628799))
    """
    k = validate.as_count(actions, "actions", low=2, high=100_000)
    j = validate.as_count(positions, "positions", low=0, high=k)
    deranged, sign = 1, 1  # permutations of j positions without a fixed point
    for i in range(1, j + 1):
        sign = -sign
        deranged = deranged * i + sign
    return Fraction(math.comb(k, j) * deranged, math.factorial(k) - 1) if j else Fraction(0)


def expected_inversions(actions: int) -> Fraction:
    """Return the expected number of pairs of actions that two distinct random orderings order differently.

    It is k (k − 1) / 4 for independent orderings, and slightly more for distinct ones.

    >>> expected_inversions(3), float(expected_inversions(10))
    (Fraction(9, 5), 22.500006...)
    """
    k = validate.as_count(actions, "actions", low=2, high=100_000)
    orderings = math.factorial(k)
    return Fraction(k * (k - 1), 4) * Fraction(orderings, orderings - 1)


def inversion_counts(actions: int) -> tuple[int, ...]:
    """Return the number of orderings with 0, 1, …, k (k − 1) / 2 inversions (Mahonian numbers).

    >>> inversion_counts(4)
    (1, 3, 5, 6, 5, 3, 1)
    """
    counts = [1]
    for length in range(2, validate.as_count(actions, "actions", low=1, high=200) + 1):
        # the next action adds 0 to length − 1 inversions: sums of `length` neighbouring counts
        sums = [0] * length + list(accumulate(counts + [0] * (length - 1)))
        counts = [high - low for low, high in zip(sums, sums[length:], strict=False)]
    return tuple(counts)


def nearest_inversions(states: int, actions: int) -> Fraction:
    """Return the expected number of inversions between a state and its nearest other state.

    The `states` orderings are random and distinct: the others are drawn without replacement from k! − 1.

    >>> [round(float(nearest_inversions(k, k)) / math.comb(k, 2), 3) for k in (5, 10, 20, 50)]
    [0.298, 0.316, 0.351, 0.391]
    """
    counts = inversion_counts(actions)
    possible = sum(counts) - 1
    others = validate.as_count(states, "states", low=2, high=possible + 1) - 1
    farther = possible  # orderings with d inversions or more
    ways = 0  # of drawing all others from these, summed over d
    for d in range(1, len(counts)):
        ways += math.perm(farther, others)
        farther -= counts[d]
    return Fraction(ways, math.perm(possible, others))
