"""The scaling section: exact counts against enumeration and against drawing."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lpbandits.errors import InvalidInput
from lpbandits.theory import differ_probability, expected_inversions, inversion_counts, nearest_inversions


def inversions(ordering: tuple[int, ...]) -> int:
    return sum(a > b for a, b in itertools.combinations(ordering, 2))


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_counts_equal_enumeration(k: int) -> None:
    every = list(itertools.permutations(range(k)))
    found = [inversions(p) for p in every]
    assert inversion_counts(k) == tuple(found.count(d) for d in range(math.comb(k, 2) + 1))
    distinct = every[1:]
    assert expected_inversions(k) == Fraction(sum(found), len(distinct))
    for positions in range(k + 1):
        differ = sum(sum(a != i for i, a in enumerate(p)) == positions for p in distinct)
        assert differ_probability(k, positions) == Fraction(differ, len(distinct))


def test_the_nearest_neighbour_equals_enumeration() -> None:
    others = [inversions(p) for p in itertools.permutations(range(4))][1:]
    for states in (2, 3, 4):
        sets = list(itertools.combinations(others, states - 1))
        assert nearest_inversions(states, 4) == Fraction(sum(map(min, sets)), len(sets))
    assert nearest_inversions(24, 4) == 1, "with every ordering a state, the nearest is one inversion away"


def test_the_papers_example() -> None:
    assert differ_probability(10) == Fraction(45, 3_628_799)
    assert sum(differ_probability(12, j) for j in range(13)) == 1
    assert differ_probability(200) < Fraction(1, 10**370), "beyond what floats can hold"


@pytest.mark.parametrize("wrong", [[3], 2.5, "3", 0])
def test_a_wrong_number_of_actions_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="actions must"):
        inversion_counts(wrong)  # type: ignore[arg-type] # wrong on purpose


def test_drawing_agrees() -> None:
    # 40,000 pairs of orderings of 5: a swap has probability 10/119, so one standard error is 0.0014; 4 are allowed
    rng = np.random.default_rng(5)
    n = 40_000
    one, other = (np.argsort(rng.random((n, 5)), axis=1) for _ in range(2))
    distinct = (one != other).any(axis=1)
    swaps = ((one != other).sum(axis=1) == 2)[distinct].mean()
    assert abs(swaps - float(differ_probability(5))) < 4 * 0.0014
    ranks = [np.argsort(x, axis=1) for x in (one[distinct], other[distinct])]
    upper = np.triu_indices(5, 1)
    signs = [np.sign(r[:, upper[0]] - r[:, upper[1]]) for r in ranks]
    discordant = (signs[0] != signs[1]).sum(axis=1)
    error = discordant.std() / math.sqrt(len(discordant))
    assert abs(discordant.mean() - float(expected_inversions(5))) < 4 * error


def test_the_true_state_stands_out_more_as_k_grows() -> None:
    shares = [float(nearest_inversions(k, k)) / math.comb(k, 2) for k in (6, 7, 8, 9, 10, 20, 30)]
    assert shares == sorted(shares)
    assert shares[0] < float(nearest_inversions(5, 5)) / 10, "below 6 it falls"
    assert all(share < 0.5 for share in shares)
