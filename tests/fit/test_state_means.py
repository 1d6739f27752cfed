"""Test the means of states, the noise and the popular ordering."""

import math
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.fit import Em, Mixture, TwoStage, match_orderings
from lpbandits.fit.methods.estimator import Estimate, Estimator
from lpbandits.fit.state_means import state_means
from lpbandits.fit.taste.popularity import as_standardized
from lpbandits.fit.uncertainty import Scatter
from lpbandits.model import PreferenceModel
from lpbandits.simulation.bounds import bound_model
from lpbandits.typing import FloatArray, IntArray
from tests import naive, naive_recovery
from tests.synthetic_recovery import arrays_of, estimate_of, quick_fit

ESTIMATORS: list[Estimator] = [TwoStage(), Mixture(restarts=2), Em(restarts=1)]
ZERO_ONE, COUNTS = "zeros and ones", "counts"
PSEUDO_RATERS = 5


def planted(
    seed: int, *, people: int, actions: int, rated: int, kind: str = "normal", states: int = 3
) -> tuple[FloatArray, Ratings, IntArray]:
    """Draw ratings of people with known states and means; noise and individual levels have variance 0.25."""
    rng = np.random.default_rng([seed, people, actions])
    low, high = (0.05, 0.95) if kind == ZERO_ONE else (1.0, 5.0)
    means = rng.uniform(low, high, (states, actions))
    state = np.arange(people) % states
    action = np.concatenate([rng.choice(actions, rated, replace=False) for _ in range(people)])
    person = np.repeat(np.arange(people), rated)
    drawn = means[state[person], action]
    if kind == "normal":
        drawn = drawn + 0.5 * rng.normal(size=people)[person] + 0.5 * rng.normal(size=len(drawn))
    elif kind == COUNTS:
        drawn = rng.poisson(drawn)
    else:
        drawn = rng.random(len(drawn)) < drawn
    labels: dict[str, Any] = {"people": tuple(range(people)), "actions": tuple(range(actions))}
    return means, Ratings.from_codes(person, action, drawn.astype(np.float64), **labels), state


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.method)
@pytest.mark.parametrize("kind", ["normal", ZERO_ONE, COUNTS])
def test_planted_means_are_recovered_within_their_errors(kind: str, estimator: Estimator) -> None:
    """In units of the standard error of a plain mean, whose mean square is 1 for known states."""
    means, log, state = planted(3, people=1500, actions=40, rated=20, kind=kind)
    fit = quick_fit(log, estimator, states=3)
    matched = match_orderings(PreferenceModel(np.argsort(-means, axis=1)), fit.model).assignment
    count = np.zeros_like(means)
    np.add.at(count, (state[log.owner], log.action), 1)
    variance = {"normal": np.full_like(means, 0.5), ZERO_ONE: means * (1 - means), COUNTS: means}[kind]
    away = (arrays_of(fit)[2][matched] - means) / np.sqrt(variance / count)
    # 120 means: their squares' mean has sd √(2/120) = 0.13 about 1, and few people are in a wrong state.
    assert np.mean(away**2) < 1 + 4 * 0.13
    assert abs(away.mean()) < 4 / math.sqrt(120)
    assert fit.model.noise == fit.report.noise
    assert fit.model.noise == pytest.approx(math.sqrt(variance.mean()), rel=0.02)


def naive_means(log: Ratings, weight: FloatArray, utilities: FloatArray, ordering: IntArray) -> FloatArray:
    """Return one state's means by their definition: shrunken to a line, then the min-max formula."""
    rows = list(zip(weight[log.owner].tolist(), log.action.tolist(), log.rating.tolist(), strict=True))
    actions = range(len(utilities))
    count = np.array([sum(w for w, b, _ in rows if b == a) for a in actions])
    total = np.array([sum(w * r for w, b, r in rows if b == a) for a in actions])
    rated = count > 0
    slope, level = np.polyfit(utilities[rated], (total / np.maximum(count, 1e-9))[rated], 1, w=np.sqrt(count[rated]))
    line = np.clip(level + slope * utilities, log.rating.min(), log.rating.max())
    pulled = (total + PSEUDO_RATERS * line) / (count + PSEUDO_RATERS)
    out = np.empty(len(utilities))
    out[ordering] = naive.isotonic(pulled[ordering], (count + PSEUDO_RATERS)[ordering])
    return out


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.method)
def test_means_and_noise_equal_their_definition(estimator: Estimator) -> None:
    _, log, _ = planted(5, people=60, actions=8, rated=5, states=2)
    estimate = estimate_of(estimator, log, 2).distinct()
    result = state_means(log, estimate)
    weights = np.eye(2)[estimate.labels] if estimate.membership is None else estimate.membership
    squares, blocks = 0.0, 0
    for z in range(2):
        twin = naive_means(log, weights[:, z], estimate.utilities[z], estimate.orderings[z])
        for value in np.unique(twin.round(9)):  # separated means keep the mean of their block
            same = np.isclose(twin, value)
            blocks += 1
            count = [float(weights[log.owner[log.action == a], z].sum()) + PSEUDO_RATERS for a in np.flatnonzero(same)]
            assert np.average(result.means[z, same], weights=count) == pytest.approx(value, abs=2e-5)
        along = result.means[z, estimate.orderings[z]]
        assert np.all(np.diff(along) < 0)
        squares += float(weights[log.owner, z] @ (log.rating - result.means[z, log.action]) ** 2)
    assert result.noise == pytest.approx(math.sqrt(squares / (len(log) - blocks)))


def test_memberships_of_em_are_joined_with_their_states() -> None:
    _, log, _ = planted(6, people=80, actions=6, rated=4, states=2)
    estimate = estimate_of(Em(restarts=1), log, 2)
    chance = estimate.membership
    assert chance is not None
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    fits = (*estimate.fits, estimate.fits[0])
    joined = Estimate(
        fits,
        np.append(estimate.shares, 0.0),
        estimate.labels,
        *Scatter(np.zeros((3, 6)), np.zeros((3, 6))).utilities(fits, prior_sd=1.0, shrink=False),
        membership=np.column_stack([0.25 * chance[:, 0], chance[:, 1], 0.75 * chance[:, 0]]),
    ).distinct()
    assert joined.membership is not None
    np.testing.assert_allclose(joined.membership, chance[:, np.argsort(-estimate.shares)])


def test_means_of_zeros_and_ones_and_of_counts_are_possible_rewards() -> None:
    binary = [
        Ratings.from_matrix([[1, 1, 0, 0]] * 15 + [[0, 0, 1, 1]] * 15),
        Ratings.from_matrix(np.ones((12, 3))),
        Ratings.from_matrix(np.zeros((12, 3))),
        planted(1, people=90, actions=6, rated=4, kind=ZERO_ONE)[1],
    ]
    counts = np.hstack([np.random.default_rng(0).poisson(3, (40, 4)), np.zeros((40, 1))])
    cases = [(log, lpb.Rewards("bernoulli"), 1.0) for log in binary]
    for log, rewards, limit in [*cases, (Ratings.from_matrix(counts), lpb.Rewards("poisson"), counts.max())]:
        fit = quick_fit(log, states=2)
        means = arrays_of(fit)[2]
        assert 0 < means.min() <= means.max() < limit
        lpb.simulate(lpb.MeansWorld(fit.model, rewards=rewards), ["mts"], people=2, rounds=3, threads=1)


def test_an_outlier_does_not_change_the_rounding_of_means() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(1, 6, (61, 5)).astype(np.float64)
    values[60] = (1, 2, 10**9, 3, 4)
    _, _, means = arrays_of(quick_fit(Ratings.from_matrix(values), states=2))
    np.testing.assert_allclose(means[0], values[:60].mean(axis=0), atol=0.5)
    assert len(np.unique(means[0])) == 5


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e9])
def test_means_follow_the_units_of_ratings(factor: float) -> None:
    _, log, _ = planted(2, people=60, actions=6, rated=4)
    moved = Ratings(log.offsets, log.action, (log.rating - 7) * factor, log.people, log.actions)
    one, other = (quick_fit(each, states=2) for each in (log, moved))
    np.testing.assert_allclose(arrays_of(other)[2] / factor, arrays_of(one)[2] - 7, atol=3e-5)
    assert other.report.noise == pytest.approx(one.report.noise * factor, rel=1e-4)


def test_unknown_actions_have_the_lowest_mean() -> None:
    nan = math.nan
    _, _, means = arrays_of(quick_fit(Ratings.from_matrix([[5, 3, 1, nan, nan]] * 12 + [[nan, nan, nan, nan, 5]])))
    np.testing.assert_array_equal(means[0, 3:], means[0, 2])
    assert means[0, 2] == means.min()


def test_worlds_and_bounds_have_the_noise_of_a_fitted_model() -> None:
    _, log, _ = planted(4, people=200, actions=8, rated=5)
    model = quick_fit(log, states=3).model
    assert lpb.MeansWorld(model).rewards.noise == bound_model(model).settings["noise"] == model.noise
    assert lpb.MeansWorld(model.replace(noise=None)).rewards.noise == 1.0
    plain, noisy = (bound_model(model, noise=noise).column("plain") for noise in (None, 2 * (model.noise or 0)))
    np.testing.assert_allclose(noisy, 4 * plain)


def popular_order(values: Any) -> list[int] | None:
    order = as_standardized(Ratings.from_matrix(values)).popular_ordering()
    return None if order is None else order.tolist()


def test_popular_is_the_order_of_shrunken_standardised_means() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random((80, 12)) < 0.5, rng.normal(rng.normal(0, 1, 12), 1.0, (80, 12)), np.nan)
    values = values[(~np.isnan(values)).sum(axis=1) >= 3]
    scaled = values * rng.uniform(0.1, 9, (len(values), 1)) + rng.normal(0, 50, (len(values), 1))
    item_means = naive_recovery.likings(Ratings.from_matrix(values), np.ones(len(values), dtype=np.bool_))
    popular = np.argsort(-item_means, kind="stable").tolist()
    assert popular_order(scaled) == popular
    model = quick_fit(Ratings.from_matrix(scaled), states=2).model
    np.testing.assert_array_equal(model.popular, popular)
    assert lpb.Agent(lpb.Popular(model), seed=0).ask() == popular[0]


def test_popular_ignores_constant_raters_and_puts_unrated_actions_last() -> None:
    nan = math.nan
    informative = [[1, 2, 3, nan], [1, 3, 2, nan], [2, 1, 9, nan]]
    constant = [[7, 7, 7, nan]] * 30
    assert popular_order(constant) is None
    assert popular_order(informative) == popular_order(informative + constant) == [2, 1, 0, 3]
    assert popular_order([[1, 2, nan], [nan, 1, 2], [1, nan, 5]]) == [2, 1, 0]  # no person has three ratings
    assert quick_fit(Ratings.from_matrix(constant)).model.popular is None


def test_the_range_of_ratings_is_stored() -> None:
    _, log, _ = planted(4, people=60, actions=6, rated=5, kind=COUNTS)
    low, high = float(log.rating.min()), float(log.rating.max())
    assert quick_fit(log, TwoStage(), states=2).model.reward_range == (low, high)
