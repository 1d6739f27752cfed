import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbandits.data import Ratings
from lpbandits.fit.bradley_terry import MAX_UTILITY
from lpbandits.fit.comparisons import compare, count_wins, gather
from lpbandits.fit.methods.estimator import log_likelihoods
from tests import naive_recovery as naive
from tests.synthetic_recovery import readers


@st.composite
def logs(draw: st.DrawFn) -> Ratings:
    actions = draw(st.integers(1, 8))
    rows = draw(
        st.dictionaries(
            st.tuples(st.integers(0, 6), st.integers(0, actions - 1)), st.integers(1, 4), min_size=1, max_size=40
        )
    )
    person, action = zip(*rows, strict=True)
    return Ratings.from_arrays(person, action, list(rows.values()), actions=range(actions))


@pytest.mark.jitless
@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(0, 99))
def test_counts_equal_an_enumeration_of_pairs(log: Ratings, seed: int) -> None:
    counts, wanted = count_wins(compare(log)), naive.halves_won(log)
    assert counts.dtype == np.uint16
    np.testing.assert_array_equal(counts, wanted)
    both = gather(counts)
    np.testing.assert_array_equal(both.double_counts, wanted + wanted.T)
    np.testing.assert_array_equal(both.wins, wanted.sum(axis=1) / 2)
    weight = np.random.default_rng(seed).choice([0.0, 0.25, 1.0, 0.7], len(log.people))
    np.testing.assert_allclose(count_wins(compare(log), weight), naive.halves_won(log, weight), rtol=1e-13)


@pytest.mark.jitless
@settings(max_examples=40, deadline=None)
@given(logs(), st.floats(0.1, 200))
def test_likelihoods_equal_a_sum_over_pairs(log: Ratings, spread: float) -> None:
    rng = np.random.default_rng(3)
    utilities = np.clip(rng.normal(0, spread, (2, len(log.actions))), -MAX_UTILITY, MAX_UTILITY)  # fits stop there
    wanted = [[naive.log_likelihood(history, row) for row in utilities] for history in naive.histories(log)]
    np.testing.assert_allclose(log_likelihoods(compare(log), utilities), wanted, rtol=1e-11, atol=1e-11)


def test_likelihood_of_long_histories_neither_overflows_nor_underflows() -> None:
    rng = np.random.default_rng(0)
    log = Ratings.from_arrays(np.zeros(520, dtype=int), np.arange(520), rng.integers(1, 6, 520))
    for spread in (0.01, 60.0):
        utilities = rng.normal(0, spread, (1, 520))
        wanted = naive.log_likelihood(naive.histories(log)[0], utilities[0])
        np.testing.assert_allclose(log_likelihoods(compare(log), utilities), [[wanted]], rtol=1e-11)


def test_cells_widen_before_they_overflow() -> None:
    people = 32_768
    log = Ratings.from_arrays(np.repeat(np.arange(people), 2), np.tile([0, 1], people), np.tile([2, 1], people))
    counts = count_wins(compare(log))
    assert counts.dtype == np.uint32
    assert counts[0, 1] == 2 * people
    fewer = count_wins(compare(log), (np.arange(people) > 0).astype(float))
    assert fewer.dtype == np.uint16
    assert fewer[0, 1] == 2 * people - 2


def _long_log(people: int = 6, length: int = 40) -> Ratings:
    rng = np.random.default_rng(1)
    return Ratings.from_arrays(
        np.repeat(np.arange(people), length), np.tile(np.arange(length), people), rng.integers(1, 6, people * length)
    )


@pytest.mark.jitless
@pytest.mark.parametrize("ratings", range(2, 40))
def test_capped_histories_keep_the_cap_and_the_total_weight(ratings: int) -> None:
    log, pairs = _long_log(people=1, length=ratings), ratings * (ratings - 1) // 2
    for cap in {*range(1, 12), 20, 100, *range(max(pairs - 9, 1), pairs + 2)}:
        capped = compare(log, pairs_per_person=cap, seed=5)
        lengths = capped.lengths
        assert lengths.sum() <= ratings
        assert min(cap, pairs) * 0.4 <= (lengths * (lengths - 1) // 2).sum() <= cap
        np.testing.assert_allclose(capped.pairs, pairs)


def test_cap_is_unbiased_and_seeded() -> None:
    log = _long_log()
    full = count_wins(compare(log)).astype(float)
    draws = np.stack([count_wins(compare(log, pairs_per_person=60, seed=seed)) for seed in range(400)]).astype(float)
    lengths = compare(log, pairs_per_person=60).lengths
    kept = float(np.sum(lengths * (lengths - 1) / 2)) / (len(log.people) * 780)
    alone = [naive.halves_won(log, np.arange(len(log.people)) == n) for n in range(len(log.people))]
    error = np.sqrt(np.sum(np.square(alone), axis=0) * (1 - kept) / kept / len(draws))
    z = ((draws.mean(axis=0) - full)[full > 0]) / error[full > 0]
    # 780 pairs: the largest of that many normal numbers is rarely beyond 4.8; their mean square is 1, ± 4 × √(2/780).
    assert np.abs(z).max() < 4.8
    assert abs(np.mean(z**2) - 1) < 0.2
    again = count_wins(compare(log, pairs_per_person=60, seed=7))
    np.testing.assert_array_equal(again, draws[7])
    assert not np.array_equal(draws[7], draws[8])


@pytest.mark.parametrize("chunk", [1, 30, 10**6])
def test_counts_do_not_depend_on_the_chunk_size(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = readers(3, people=25, actions=20, states=2)
    monkeypatch.setattr("lpbandits.fit.comparisons.CHUNK", chunk)
    np.testing.assert_array_equal(count_wins(compare(log)), naive.halves_won(log))
