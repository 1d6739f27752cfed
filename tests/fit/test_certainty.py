"""Compare probabilities of pairs and rank intervals with random draws."""

import numpy as np
import pytest

from lpbandits.fit.uncertainty import MAX_PAIRED, expected_pairs_right, probability_above, rank_intervals
from lpbandits.model import PreferenceModel


def test_probabilities_agree_with_draws() -> None:
    """4 standard errors of 100,000 draws are at most 0.0064."""
    rng = np.random.default_rng(0)
    utilities, errors = rng.normal(0, 1, 6), rng.uniform(0.2, 1.5, 6)
    drawn = utilities + errors * rng.standard_normal((100_000, 6))
    for a, b in ((0, 1), (2, 5), (4, 3)):
        assert abs(probability_above(utilities, errors, a, b) - np.mean(drawn[:, a] > drawn[:, b])) < 0.0064
    order = np.argsort(-utilities)
    right = [np.mean(drawn[:, order[i]] > drawn[:, order[j]]) for i in range(6) for j in range(i + 1, 6)]
    assert expected_pairs_right(utilities, errors) == pytest.approx(np.mean(right), abs=0.0064)


def test_rank_intervals_have_their_coverage() -> None:
    """Ranks are integers, so intervals cover up to 5 % more than 90 % of 4,000 drawn truths."""
    rng = np.random.default_rng(1)
    utilities, errors = rng.normal(0, 1, 60), rng.uniform(0.1, 0.8, 60)
    ends = rank_intervals(utilities, errors, np.arange(60))
    truth = utilities + errors * rng.standard_normal((4000, 60))
    places = 1 + np.argsort(np.argsort(-truth, axis=1), axis=1)
    inside = np.mean((places >= ends[:, 0]) & (places <= ends[:, 1]))
    assert 0.89 < inside < 0.95
    np.testing.assert_array_equal(ends, rank_intervals(utilities, errors, np.arange(60)))
    assert ends.min() >= 1
    assert ends.max() <= 60


def test_many_actions_are_represented_by_a_sample() -> None:
    rng = np.random.default_rng(2)
    utilities, errors = rng.normal(0, 1, 3 * MAX_PAIRED), rng.uniform(0.3, 0.6, 3 * MAX_PAIRED)
    third = expected_pairs_right(utilities[::3], errors[::3])
    assert expected_pairs_right(utilities, errors) == pytest.approx(third, abs=0.01)


@pytest.mark.parametrize(("away", "chance"), [(0.0, 0.5), (1.0, 1.0), (-1.0, 0.0)])
def test_without_errors_a_difference_is_certain(away: float, chance: float) -> None:
    assert probability_above(np.array([away, 0.0]), np.zeros(2), 0, 1) == chance


def test_logits_need_errors_and_are_finite_at_utilities_of_0_and_1() -> None:
    assert PreferenceModel([[0, 1]], utilities=[[0.7, 0.2]]).logits is None
    sure = PreferenceModel([[0, 1]], utilities=[[1.0, 0.0]], errors=[[0.0, 0.0]]).logits
    assert sure is not None
    assert np.isfinite(sure).all()
    assert expected_pairs_right(np.zeros(1), np.zeros(1)) is None
