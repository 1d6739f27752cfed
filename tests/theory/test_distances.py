"""Distances between random orderings, compared with enumeration and with samples."""

import itertools
import math
from fractions import Fraction

import pytest

from lpbandits.errors import InvalidInput
from lpbandits.theory import differ_probability, expected_inversions, inversion_counts, nearest_inversions


def inversions(ordering: tuple[int, ...]) -> int:
    return sum(a > b for a, b in itertools.combinations(ordering, 2))


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_counts_equal_enumeration(k: int) -> None:
    every = list(itertools.permutations(range(k)))
    counts = [inversions(p) for p in every]
    assert inversion_counts(k) == tuple(counts.count(d) for d in range(math.comb(k, 2) + 1))
    distinct = every[1:]
    assert expected_inversions(k) == Fraction(sum(counts), len(distinct))
    for positions in range(k + 1):
        differ = sum(sum(a != i for i, a in enumerate(p)) == positions for p in distinct)
        assert differ_probability(k, positions) == Fraction(differ, len(distinct))


def test_the_nearest_neighbour_equals_enumeration() -> None:
    others = [inversions(p) for p in itertools.permutations(range(4))][1:]
    for states in (2, 3, 4):
        sets = list(itertools.combinations(others, states - 1))
        assert nearest_inversions(states, 4) == Fraction(sum(map(min, sets)), len(sets))
    assert nearest_inversions(24, 4) == 1  # every ordering is a state


@pytest.mark.parametrize("actions", [[3], 2.5, "3", 0])
def test_invalid_actions_raise(actions: object) -> None:
    with pytest.raises(InvalidInput, match="actions must"):
        inversion_counts(actions)  # type: ignore[arg-type] # wrong on purpose
