"""The addressed random numbers and the quantiles they go through."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from lpbandits.kernels import random as kernels
from tests import naive

pytestmark = pytest.mark.jitless

WORD = st.integers(0, 2**32 - 1)

# the known-answer vectors of Random123 for philox4x32, 10 rounds
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(word) for word in kernels.philox(*(np.uint64(word) for word in (*counter, *key))))


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_philox_gives_the_known_answers(counter: tuple[int, ...], key: tuple[int, ...], block: tuple[int, ...]) -> None:
    assert philox(counter, key) == block
    assert naive.philox(counter, key) == block


@given(st.tuples(WORD, WORD, WORD, WORD), st.tuples(WORD, WORD))
def test_philox_equals_its_twin(counter: tuple[int, ...], key: tuple[int, ...]) -> None:
    assert philox(counter, key) == naive.philox(counter, key)


@given(st.integers(0, 2**63 - 1), WORD, WORD, st.integers(0, 10), WORD)
def test_uniform_equals_its_twin_and_lies_strictly_inside(
    seed: int, person: int, round_: int, purpose: int, index: int
) -> None:
    u = kernels.uniform(seed, person, round_, purpose, index)
    assert u == naive.uniform(seed, person, round_, purpose, index)
    assert 0.0 < u < 1.0


def test_every_part_of_the_address_matters() -> None:
    address = (5, 4, 3, 2, 1)
    others = [tuple(x + (i == at) for i, x in enumerate(address)) for at in range(5)]
    high_half = (address[0] + 2**32, *address[1:])
    draws = {kernels.uniform(*a) for a in (address, high_half, *others)}
    assert len(draws) == 7


def test_normal_quantile_equals_scipys_in_all_its_branches() -> None:
    p = np.concatenate([np.logspace(-300, -1, 200), np.linspace(0.07, 0.93, 200), 1 - np.logspace(-15, -1, 50)])
    got = [kernels.normal_quantile(float(x)) for x in p]
    np.testing.assert_allclose(got, ndtri(p), rtol=1e-13, atol=1e-15)


@given(st.floats(1e-300, 0.074))
def test_upper_quantile_equals_scipys(tail: float) -> None:
    np.testing.assert_allclose(kernels.upper_quantile(tail), -ndtri(tail), rtol=1e-13)


@given(st.integers(0, 2**63 - 1), WORD, WORD)
def test_an_address_has_two_words_of_its_own(seed: int, person: int, index: int) -> None:
    one, other = kernels.words(seed, person, 3, 2, index)
    assert (int(one), int(other)) == naive.words(seed, person, 3, 2, index)
    assert kernels.unit(np.uint64(one)) == kernels.uniform(seed, person, 3, 2, index)


def test_splitmix_gives_the_known_answers() -> None:
    # the published sequence of the seed 1234567
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert [int(kernels.scrambled(np.uint64(1234567), i)) for i in range(1, 6)] == known


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**31))
def test_scrambled_words_equal_their_twins(word: int, index: int) -> None:
    assert int(kernels.scrambled(np.uint64(word), index)) == naive.splitmix(word, index)


@given(st.integers(0, 2**64 - 1) | st.integers(0, 2**52 - 1).map(lambda x: x * 2**12))
def test_normal_equals_its_twin(word: int) -> None:
    # a multiple of 2¹² names the lowest layer, the one with the tail
    np.testing.assert_allclose(kernels.normal(np.uint64(word)), naive.normal(word), rtol=1e-12, atol=1e-15)


def test_normal_numbers_are_normal() -> None:
    count = 20_000
    x = np.array([kernels.normal(np.uint64(kernels.scrambled(np.uint64(77), i))) for i in range(count)])
    # the Kolmogorov-Smirnov statistic of so many true normals exceeds this once in 10⁴
    assert stats.kstest(x, "norm").statistic < 2.23 / np.sqrt(count)
    # four standard errors of the mean, the variance and the fourth moment
    assert abs(x.mean()) < 4 / np.sqrt(count)
    assert abs((x**2).mean() - 1) < 4 * np.sqrt(2 / count)
    assert abs((x**4).mean() - 3) < 4 * np.sqrt(96 / count)


def test_the_tail_of_normal_numbers_is_that_of_the_normal() -> None:
    # words of the lowest layer whose point lies beyond its core always end in the tail
    count = 4000
    outside = [int(kernels.scrambled(np.uint64(5), i)) | (2**64 - 2**57) for i in range(count)]
    x = np.array([kernels.normal(np.uint64(word - word % 256)) for word in outside])
    assert x.min() > kernels.TAIL
    conditional = stats.norm.sf(x) / stats.norm.sf(kernels.TAIL)
    assert stats.kstest(conditional, "uniform").statistic < 2.23 / np.sqrt(count)


def test_layers_have_equal_area() -> None:
    edges = kernels._EDGES
    heights = np.exp(-0.5 * edges[1:] ** 2)
    areas = edges[1:-1] * np.diff(heights)
    np.testing.assert_allclose(areas, areas[0], rtol=1e-7)  # the published constants have about this precision
    np.testing.assert_allclose(kernels._INSIDE, edges[1:] / edges[:-1])


@pytest.mark.parametrize("n", [1, 2, 7, 10**3, 10**9, 10**15])
def test_largest_normal_has_the_distribution_of_a_maximum(n: int) -> None:
    for u in (1e-6, 0.1, 0.5, 0.9, 1 - 1e-6):
        x = kernels.largest_normal(u, n)
        # P(max ≤ x) = (1 - P(Z > x))^n, formed from the tail so that it holds for huge n too
        np.testing.assert_allclose(np.exp(n * np.log1p(-stats.norm.sf(x))), u, rtol=1e-8)


@given(st.floats(1e-9, 1 - 1e-9), st.floats(0, 60))
def test_poisson_quantile_equals_scipys(p: float, mean: float) -> None:
    got = kernels.poisson_quantile(p, mean)
    # p may fall on a step of the distribution function, up to rounding
    low = stats.poisson.ppf(p * (1 - 1e-12), mean)
    high = stats.poisson.ppf(p + (1 - p) * 1e-9, mean)
    assert max(low, 0.0) <= got <= max(high, 0.0)  # SciPy says -1 for the quantile of 0


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 10**9))
def test_below_stays_below(u: float, n: int) -> None:
    assert kernels.below(u, n) == min(int(u * n), n - 1)
    assert 0 <= kernels.below(np.nextafter(1.0, 0.0), n) < n
