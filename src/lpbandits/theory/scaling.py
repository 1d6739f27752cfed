"""Why many actions make the true state stand out: random orderings are hardly ever alike. All counts are exact."""

import math
from fractions import Fraction
from functools import cache

from lpbandits import validate
from lpbandits.limits import check_resources


def differ_probability(actions: int, positions: int = 2) -> Fraction:
    """Return the chance that two distinct random orderings of `actions` differ in exactly so many positions.

    Two positions (a swap) is the least possible: binom(k, 2) / (k! − 1), the paper's observation on rarity.

    >>> differ_probability(3), float(round(differ_probability(10) * 10**7)) / 100
    (Fraction(3, 5), 1.24)
    """
    k = validate.as_count(actions, "actions", low=2, high=100_000)
    j = validate.as_count(positions, "positions", low=0, high=k)
    if j == 0:
        return Fraction(0)
    return Fraction(math.comb(k, j) * _derangements(j), math.factorial(k) - 1)


def expected_inversions(actions: int) -> Fraction:
    """Return how many pairs of actions two distinct random orderings order differently, on average.

    It is k (k − 1) / 4 for independent orderings, and a trifle more for distinct ones.

    >>> expected_inversions(3), float(expected_inversions(10))
    (Fraction(9, 5), 22.500006...)
    """
    k = validate.as_count(actions, "actions", low=2, high=100_000)
    whole = math.factorial(k)
    return Fraction(k * (k - 1), 4) * Fraction(whole, whole - 1)


def inversion_counts(actions: int) -> tuple[int, ...]:
    """Return, for each number of inversions from 0 to k (k − 1) / 2, how many orderings have it (Mahonian numbers).

    >>> inversion_counts(4)
    (1, 3, 5, 6, 5, 3, 1)
    """
    return _mahonian(validate.as_count(actions, "actions", low=1, high=200))


@cache
def _mahonian(k: int) -> tuple[int, ...]:
    counts = [1]
    for length in range(2, k + 1):
        longer = [0] * (len(counts) + length - 1)
        running = 0
        for i in range(len(longer)):
            running += counts[i] if i < len(counts) else 0
            running -= counts[i - length] if i >= length else 0
            longer[i] = running
        counts = longer
    return tuple(counts)


def nearest_inversions(states: int, actions: int) -> Fraction:
    """Return how many pairs the true state's nearest neighbour orders differently, on average.

    The `states` orderings are distinct and random: the others are drawn without replacement from all k! − 1.

    >>> [round(float(nearest_inversions(k, k)) / math.comb(k, 2), 3) for k in (5, 10, 20, 50)]
    [0.298, 0.316, 0.351, 0.391]
    """
    counts = inversion_counts(actions)
    possible = sum(counts) - 1
    others = validate.as_count(states, "states", low=2, high=possible + 1) - 1
    digits = others * possible.bit_length() // 30 + 1
    check_resources(
        f"an exact number of about {9 * digits:,} digits",
        "take fewer states or actions",
        size=40 * digits,
        operations=4 * len(counts) * digits**1.6,
    )
    left = possible
    ways = 0  # of drawing the others so that all have d inversions or more, summed over d
    for d in range(1, len(counts)):
        ways += math.perm(left, others)
        left -= counts[d]
    return Fraction(ways, math.perm(possible, others))


@cache
def _derangements(n: int) -> int:
    """Return the number of orderings of n that leave nothing in place."""
    count, sign = 1, 1
    for i in range(1, n + 1):
        sign = -sign
        count = count * i + sign
    return count
