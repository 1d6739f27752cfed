"""Synthetic worlds that break the paper's assumptions: gaps, swaps, wrong models, wrong noise and heavy tails."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.kernels.random import student_quantile
from lpbandits.policies import Setting
from lpbandits.rewards import Rewards
from lpbandits.simulation import rollout, simulate
from lpbandits.simulation.bounds import bound_world
from lpbandits.views.tables import described
from lpbandits.worlds import MeansWorld, SyntheticWorld
from lpbandits.worlds.misspecified import expected_error, noise_for, noisy_model
from lpbandits.worlds.synthetic import GAPS
from tests import naive

BROKEN: dict[str, Any] = {"gaps": "steps", "swap": 0.3, "model_error": 0.2, "assumed_noise": 0.4}
"""All options that break assumptions, except heavy tails."""


@pytest.mark.jitless
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 3),
    st.sampled_from(["same", "different"]),
    st.floats(0, 1),
    st.sampled_from(list(GAPS)),
)
def test_swaps_equal_the_naive_twin(seed: int, draw: int, scale: str, swap: float, gaps: str) -> None:
    settings: dict[str, Any] = {"states": 2, "actions": 5, "scale": scale, "gaps": gaps}
    usual = SyntheticWorld(**settings).draw(people=3, seed=seed, draw=draw)
    people = SyntheticWorld(**settings, swap=swap).draw(people=3, seed=seed, draw=draw)
    assert people.model == usual.model
    np.testing.assert_array_equal(people.truth, usual.truth)
    for p, z in enumerate(people.truth):
        ordering = usual.model.orderings[z]
        swapped = naive.swapped(ordering.tolist(), seed, draw * 6 + p, swap)
        np.testing.assert_array_equal(people.means[p, swapped], usual.means[p, ordering])


@given(st.integers(2, 40), st.floats(1e-6, 1 - 1e-6))
def test_the_noise_gives_the_expected_error(actions: int, error: float) -> None:
    noise = noise_for(error, actions)
    x = naive.noisy_utilities(range(actions), 0.0, 0, 0, 0)
    pairs = [abs(x[i] - x[j]) for i in range(actions) for j in range(i)]
    shares = stats.norm.cdf(-np.array(pairs) / (noise * np.sqrt(2)))
    np.testing.assert_allclose(2 * shares.mean(), error, rtol=1e-9)
    np.testing.assert_allclose(expected_error(noise, actions), error, rtol=1e-9)


@pytest.mark.jitless
def test_noisy_models_equal_the_naive_twin() -> None:
    settings: dict[str, Any] = {"states": 3, "actions": 6, "scale": "same"}
    true = SyntheticWorld(**settings).draw(people=2, seed=9, draw=2)
    people = SyntheticWorld(**settings, model_error=0.4).draw(people=2, seed=9, draw=2)
    noisy: Any = people.model  # it has utilities, errors and means
    noise = noise_for(0.4, 6)
    for z in range(3):
        x = naive.noisy_utilities(true.model.orderings[z].tolist(), noise, 9, 2, z)
        np.testing.assert_array_equal(noisy.orderings[z], np.argsort(-x))
        np.testing.assert_allclose(noisy.utilities[z], 1 / (1 + np.exp(-x / (1 + noise**2))), rtol=1e-12)
        np.testing.assert_allclose(noisy.errors[z], noise / np.sqrt(1 + noise**2), rtol=1e-12)
        by_rank = np.sort(true.means[true.truth == z][0])[::-1]
        np.testing.assert_array_equal(noisy.means[z, noisy.orderings[z]], by_rank)
    np.testing.assert_array_equal(people.means, true.means)


@pytest.mark.parametrize("error", [0.001, 0.01, 0.1, 0.5, 0.95])
def test_noisy_orderings_are_distinct_if_every_ordering_is_a_state(error: float) -> None:
    for draw in range(20):
        noisy = SyntheticWorld(states=6, actions=3, model_error=error).draw(people=1, seed=0, draw=draw).model
        assert len({tuple(row) for row in noisy.orderings.tolist()}) == 6


def test_too_many_states_for_distinct_noisy_orderings_raise() -> None:
    every = np.array(list(itertools.permutations(range(6))))
    with pytest.raises(InvalidInput, match=r"states must be fewer than 720"):
        noisy_model(every, 0.1, seed=0, draw=0)


@pytest.mark.jitless
@given(st.floats(1e-15, 1 - 1e-15))
def test_student_quantiles_equal_scipy(p: float) -> None:
    expected = stats.t(4).ppf(p) / np.sqrt(2)  # which loses digits near the middle
    np.testing.assert_allclose(student_quantile(p), expected, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(student_quantile(1 - p), -student_quantile(p), rtol=1e-3 if p < 1e-9 else 1e-6)


@pytest.mark.jitless
def test_student_quantiles_at_the_ends_and_in_the_middle() -> None:
    assert student_quantile(0.5) == 0.0
    for p in (2.0**-53, 1 - 2.0**-53):
        np.testing.assert_allclose(student_quantile(p), stats.t(4).ppf(p) / np.sqrt(2), rtol=1e-9)
    # the density of t at 0 is 3/8
    np.testing.assert_allclose(student_quantile(0.5 + 1e-9), 1e-9 * 8 / 3 / np.sqrt(2), rtol=1e-6)


def test_heavy_tailed_rewards_equal_the_naive_twin_and_have_the_given_noise() -> None:
    world = SyntheticWorld(states=2, actions=3, noise=0.8, noise_family="student")
    people = world.draw(people=100, seed=2)
    trace = rollout(lpb.Uniform(people.model), people, rounds=200, seed=5)
    noise = trace.rewards - np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    for p, t in ((0, 0), (3, 7), (150, 199)):
        twin = naive.reward("student", 0.0, 0.8, naive.words(5, p, t, naive.STATE, 0)[1])
        np.testing.assert_allclose(noise[p, t], twin, rtol=1e-9, atol=1e-9)
    # Kolmogorov-Smirnov at level 10⁻⁴: a normal noise of this size would fail
    assert stats.kstest(noise.ravel(), stats.t(4, scale=0.8 / np.sqrt(2)).cdf).pvalue > 1e-4
    assert stats.kstest(noise.ravel(), stats.norm(scale=0.8).cdf).pvalue < 1e-6


def test_duels_may_have_heavy_tails() -> None:
    usual, heavy = (
        simulate(SyntheticWorld(states=2, actions=3, noise_family=family), ["lpb-duel"], people=20, rounds=40)
        for family in ("normal", "student")
    )
    assert usual["lpb-duel"].reward.tolist() != heavy["lpb-duel"].reward.tolist()


MODEL = SyntheticWorld(states=2, actions=3).draw(people=1, seed=0).model


@pytest.mark.parametrize(
    ("usual", "misled"),
    [
        [SyntheticWorld(states=2, actions=3, noise=2.0, assumed_noise=noise) for noise in (None, 0.25)],
        [MeansWorld(MODEL, rewards=Rewards(noise=2.0), assumed_noise=noise) for noise in (None, 0.25)],
    ],
    ids=["synthetic", "means"],
)
def test_policies_assume_another_noise_than_that_of_the_rewards(usual: Any, misled: Any) -> None:
    settings: list[Setting] = []

    def build(setting: Setting) -> lpb.Policy:
        settings.append(setting)
        return lpb.Uniform(setting.model)

    results = simulate(misled, {"mine": build, "ts": "ts"}, people=3, rounds=20)
    plain = simulate(usual, {"mine": "uniform", "ts": "ts"}, people=3, rounds=20)
    assert {setting.rewards.sd for setting in settings} == {0.25}
    assert (results.settings["noise"], results.settings["assumed_noise"]) == (2.0, 0.25)
    np.testing.assert_array_equal(results["mine"].reward, plain["mine"].reward)  # the same random draws
    assert not np.array_equal(results["ts"].regret.mean, plain["ts"].regret.mean)
    assert "noise 2, assumed noise 0.25" in described(results)


def test_results_describe_broken_assumptions() -> None:
    world = SyntheticWorld(states=2, actions=3, noise_family="student", **BROKEN)
    assert {**BROKEN, "noise_family": "student"}.items() <= world.to_dict().items()
    line = described(simulate(world, ["ts"], people=1, rounds=2))
    assert "same scale, steps gaps, noise 1, Student's t noise, assumed noise 0.4, swap 0.3, model error 0.2" in line


def test_options_do_not_change_the_draws_of_other_options() -> None:
    shape: dict[str, Any] = {"states": 3, "actions": 5, "scale": "different"}
    usual = SyntheticWorld(**shape).draw(people=4, seed=3)
    noisy = SyntheticWorld(**shape, model_error=0.3, assumed_noise=3.0, noise_family="student").draw(people=4, seed=3)
    np.testing.assert_array_equal(noisy.means, usual.means)
    np.testing.assert_array_equal(noisy.truth, usual.truth)
    swapped = SyntheticWorld(**shape, swap=0.4).draw(people=4, seed=3)
    both = SyntheticWorld(**shape, swap=0.4, model_error=0.3).draw(people=4, seed=3)
    np.testing.assert_array_equal(np.sort(swapped.means), np.sort(usual.means))
    np.testing.assert_array_equal(both.means, swapped.means)
    assert both.model == noisy.model


@pytest.mark.parametrize(("name", "value"), [("swap", 0.2), ("model_error", 0.2), ("noise_family", "student")])
def test_bounds_need_a_correct_model(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"{name} must .*got .*{value}"):
        bound_world(SyntheticWorld(states=2, actions=3, **{name: value}), people=1)


def test_measured_growth_depends_on_the_assumed_noise_and_bounds_do_not() -> None:
    run: dict[str, Any] = {"people": 2, "policies": ["ts"], "rounds": 100, "repeats": 2}
    one, two = (bound_world(SyntheticWorld(states=2, actions=3, assumed_noise=x), **run) for x in (None, 5.0))
    assert one.column("preference").tolist() == two.column("preference").tolist()
    assert one.growth["ts"].tolist() != two.growth["ts"].tolist()
