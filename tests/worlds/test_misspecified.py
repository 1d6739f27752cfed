"""Synthetic worlds that break the paper's assumptions: gaps, swaps, what policies are told, and tails."""

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
from lpbandits.worlds import MeansWorld, Population, SyntheticWorld
from lpbandits.worlds.misspecified import expected_error, noise_for, noisy_model
from lpbandits.worlds.synthetic import GAPS, expected_descent
from tests import naive
from tests.conftest import ANYWHERE

BROKEN: dict[str, Any] = {"gaps": "steps", "swap": 0.3, "model_error": 0.2, "assumed_noise": 0.4}
"""Everything that may break at once, but for the tails."""


def along(people: Population, world: SyntheticWorld, seed: int, draw: int = 0) -> Any:
    """Return the means of people along their true state's ordering, which a world without model_error tells."""
    settings = {**world.to_dict(), "model_error": 0.0}
    settings.pop("world")
    true = SyntheticWorld(**settings).draw(people=1, seed=seed, draw=draw).model.orderings
    return np.take_along_axis(people.means, true[people.truth], axis=1)


@pytest.mark.parametrize(
    ("gaps", "law"),
    [("exponential", stats.expon(scale=0.225)), ("paper", stats.uniform(0.2, 0.05))],
)
def test_gaps_that_vary_follow_their_law(gaps: str, law: Any) -> None:
    world = SyntheticWorld(scale="different", gaps=gaps)
    found = -np.diff(along(world.draw(people=200, seed=1), world, seed=1), axis=1).ravel()
    # Kolmogorov-Smirnov at level 10⁻⁴
    assert stats.kstest(found, law.cdf).pvalue > 1e-4


def test_steps_are_large_with_chance_a_fifth() -> None:
    world = SyntheticWorld(scale="different", gaps="steps")
    found = -np.diff(along(world.draw(people=200, seed=1), world, seed=1), axis=1).ravel()
    large = found > 0.5
    np.testing.assert_allclose(found, np.where(large, 1.0, 0.02), rtol=0, atol=1e-12)
    assert abs(large.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / len(found))  # four standard errors


@pytest.mark.parametrize(("actions", "place"), [(2, 0), (3, 0), (4, 1), (9, 3), (10, 4)])
def test_a_cliff_is_in_the_middle(actions: int, place: int) -> None:
    world = SyntheticWorld(states=2, actions=actions, gaps="cliff")
    found = -np.diff(along(world.draw(people=1, seed=3), world, seed=3), axis=1)
    expected = np.where(np.arange(actions - 1) == place, 2.0, 0.05)
    np.testing.assert_allclose(found, np.tile(expected, (2, 1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("gaps", GAPS)
def test_the_best_mean_does_not_depend_on_the_gaps(gaps: str) -> None:
    for scale, gap in itertools.product(("same", "different"), (0.2, 0.7)):
        usual, other = (
            SyntheticWorld(states=3, actions=5, scale=scale, gap=gap, gaps=name).draw(people=4, seed=6)
            for name in ("paper", gaps)
        )
        np.testing.assert_array_equal(other.means.max(axis=1), usual.means.max(axis=1))


@pytest.mark.parametrize("gaps", GAPS)
def test_different_scales_tell_the_expectation_of_every_family(gaps: str) -> None:
    population = SyntheticWorld(states=2, actions=5, scale="different", gaps=gaps).draw(people=20_000, seed=2)
    assert population.model.means is not None
    for z in range(2):
        own = population.means[population.truth == z]
        error = own.std(axis=0, ddof=1) / np.sqrt(len(own))
        assert np.all(np.abs(own.mean(axis=0) - population.model.means[z]) < 4 * error)
    assert expected_descent(gaps, 1, gap=0.2, jitter=0.1).tolist() == [0.0]


@pytest.mark.jitless
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 3),
    st.sampled_from(["same", "different"]),
    st.floats(0, 1),
    st.sampled_from(list(GAPS)),
)
def test_swapped_people_equal_the_twin(seed: int, draw: int, scale: str, swap: float, gaps: str) -> None:
    settings: dict[str, Any] = {"states": 2, "actions": 5, "scale": scale, "gaps": gaps}
    usual = SyntheticWorld(**settings).draw(people=3, seed=seed, draw=draw)
    people = SyntheticWorld(**settings, swap=swap).draw(people=3, seed=seed, draw=draw)
    assert people.model == usual.model
    np.testing.assert_array_equal(people.truth, usual.truth)
    for p, z in enumerate(people.truth):
        ordering = usual.model.orderings[z]
        own = naive.swapped(ordering.tolist(), seed, draw * 6 + p, swap)
        np.testing.assert_array_equal(people.means[p, own], usual.means[p, ordering])


@pytest.mark.parametrize("scale", ["same", "different"])
def test_neighbours_are_swapped_at_the_rate_that_is_asked_for(scale: str) -> None:
    world = SyntheticWorld(states=3, actions=4, scale=scale, swap=0.3)
    people = world.draw(people=4000, seed=1)
    first = people.model.orderings[people.truth, 0]
    lost = people.means.argmax(axis=1) != first
    # the first place is swapped, or it is not: four standard errors
    assert abs(lost.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / len(lost))
    last = people.means.argmin(axis=1) == first  # the best fell through all three places
    assert abs(last.mean() - 0.3**3) < 4 * np.sqrt(0.3**3 / len(last))


def test_certain_swaps_make_the_best_the_worst() -> None:
    people = SyntheticWorld(states=2, actions=6, swap=1.0).draw(people=1, seed=0)
    for p, z in enumerate(people.truth):
        own = np.argsort(-people.means[p])
        np.testing.assert_array_equal(own, np.roll(people.model.orderings[z], -1))


@pytest.mark.parametrize("error", [0.02, 0.2, 0.7])
@pytest.mark.parametrize("actions", [3, 8])
def test_the_models_error_is_what_was_asked_for(actions: int, error: float) -> None:
    world = SyntheticWorld(states=2, actions=actions, model_error=error)
    found = []
    for draw in range(600):
        told = world.draw(people=1, seed=4, draw=draw)
        true = along(told, world, seed=4, draw=draw)
        assert np.all(np.diff(true, axis=1) <= 0)  # people follow the true orderings
        # one state of each draw: the other's noise is drawn again if both would be alike
        found.append(1 - stats.kendalltau(told.means[0], -told.model.ranks[0]).statistic)
    assert abs(np.mean(found) - error) < 4 * np.std(found, ddof=1) / np.sqrt(len(found))  # four standard errors


@given(st.integers(2, 40), st.floats(1e-6, 1 - 1e-6))
def test_the_noise_gives_the_error_exactly(actions: int, error: float) -> None:
    noise = noise_for(error, actions)
    x = naive.noisy_utilities(range(actions), 0.0, 0, 0, 0)
    pairs = [abs(x[i] - x[j]) for i in range(actions) for j in range(i)]
    shares = stats.norm.cdf(-np.array(pairs) / (noise * np.sqrt(2)))
    np.testing.assert_allclose(2 * shares.mean(), error, rtol=1e-9)
    np.testing.assert_allclose(expected_error(noise, actions), error, rtol=1e-9)


@pytest.mark.jitless
def test_told_orderings_utilities_and_errors_equal_the_twin() -> None:
    settings: dict[str, Any] = {"states": 3, "actions": 6, "scale": "same"}
    true = SyntheticWorld(**settings).draw(people=2, seed=9, draw=2).model
    people = SyntheticWorld(**settings, model_error=0.4).draw(people=2, seed=9, draw=2)
    told = people.model
    assert told.utilities is not None
    assert told.errors is not None
    assert told.means is not None
    assert true.means is not None
    noise = noise_for(0.4, 6)
    for z in range(3):
        x = naive.noisy_utilities(true.orderings[z].tolist(), noise, 9, 2, z)
        np.testing.assert_array_equal(told.orderings[z], np.argsort(-x))
        np.testing.assert_allclose(told.utilities[z], 1 / (1 + np.exp(-x / (1 + noise**2))), rtol=1e-12)
        np.testing.assert_allclose(told.errors[z], noise / np.sqrt(1 + noise**2), rtol=1e-12)
        np.testing.assert_array_equal(told.means[z, told.orderings[z]], true.means[z, true.orderings[z]])
    np.testing.assert_array_equal(people.means, true.means[people.truth])


@pytest.mark.parametrize("error", [0.001, 0.01, 0.1, 0.5, 0.95])
def test_told_orderings_are_distinct_even_when_all_are_needed(error: float) -> None:
    for draw in range(20):
        told = SyntheticWorld(states=6, actions=3, model_error=error).draw(people=1, seed=0, draw=draw).model
        assert len({tuple(row) for row in told.orderings.tolist()}) == 6


def test_a_state_that_finds_no_free_ordering_is_refused_in_time() -> None:
    every = np.array(list(itertools.permutations(range(6))))
    with pytest.raises(InvalidInput, match=r"states must be fewer than 720"):
        noisy_model(every, 0.1, seed=0, draw=0)


@pytest.mark.jitless
@given(st.floats(1e-15, 1 - 1e-15))
def test_students_quantile_is_scipys(p: float) -> None:
    # SciPy's own loses digits near the middle
    expected = stats.t(4).ppf(p) / np.sqrt(2)
    np.testing.assert_allclose(student_quantile(p), expected, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(student_quantile(1 - p), -student_quantile(p), rtol=1e-3 if p < 1e-9 else 1e-6)


@pytest.mark.jitless
def test_students_quantile_near_its_ends_and_its_middle() -> None:
    assert student_quantile(0.5) == 0.0
    for p in (2.0**-53, 1 - 2.0**-53):
        np.testing.assert_allclose(student_quantile(p), stats.t(4).ppf(p) / np.sqrt(2), rtol=1e-9)
    # the density of t at 0 is 3/8
    np.testing.assert_allclose(student_quantile(0.5 + 1e-9), 1e-9 * 8 / 3 / np.sqrt(2), rtol=1e-6)


def test_rewards_with_students_tails_equal_the_twin_and_have_the_same_noise() -> None:
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


def test_duels_may_have_students_tails() -> None:
    usual, heavy = (
        simulate(SyntheticWorld(states=2, actions=3, noise_family=family), ["lpb-duel"], people=20, rounds=40)
        for family in ("normal", "student")
    )
    assert usual["lpb-duel"].reward.tolist() != heavy["lpb-duel"].reward.tolist()


def test_policies_are_told_one_noise_and_rewards_have_another() -> None:
    seen: list[Setting] = []

    def build(setting: Setting) -> lpb.Policy:
        seen.append(setting)
        return lpb.Uniform(setting.model)

    model = SyntheticWorld(states=2, actions=3).draw(people=1, seed=0).model
    for world, usual in (
        (
            SyntheticWorld(states=2, actions=3, noise=2.0, assumed_noise=0.25),
            SyntheticWorld(states=2, actions=3, noise=2.0),
        ),
        (
            MeansWorld(model, rewards=Rewards(noise=2.0), assumed_noise=0.25),
            MeansWorld(model, rewards=Rewards(noise=2.0)),
        ),
    ):
        seen.clear()
        results = simulate(world, {"mine": build, "ts": "ts"}, people=3, rounds=20, traces=True)
        plain = simulate(usual, {"mine": "uniform", "ts": "ts"}, people=3, rounds=20, traces=True)
        assert {s.rewards.sd for s in seen} == {0.25}
        assert results.settings["noise"] == 2.0
        assert results.settings["assumed_noise"] == 0.25
        mine, theirs = results["mine"].trace, plain["mine"].trace
        assert mine is not None
        assert theirs is not None
        np.testing.assert_array_equal(mine.rewards, theirs.rewards)  # the same luck
        assert not np.array_equal(results["ts"].regret.mean, plain["ts"].regret.mean)  # another policy
        assert "noise 2, assumed noise 0.25" in described(results)


def test_a_run_says_what_is_broken() -> None:
    world = SyntheticWorld(states=2, actions=3, noise_family="student", **BROKEN)
    line = described(simulate(world, ["ts"], people=1, rounds=2))
    assert "same scale, steps gaps, noise 1, Student's t noise, assumed noise 0.4, swap 0.3, model error 0.2" in line


@pytest.mark.parametrize("scale", ["same", "different"])
@pytest.mark.parametrize("family", ["normal", "student"])
def test_policies_meet_the_same_people_with_the_same_luck(scale: str, family: str) -> None:
    world = SyntheticWorld(states=3, actions=4, scale=scale, noise_family=family, **BROKEN)
    together = simulate(world, ANYWHERE, people=3, rounds=12, draws=2, seed=2, threads=2)
    for name in ANYWHERE:
        alone = simulate(world, [name], people=3, rounds=12, draws=2, seed=2, threads=1)
        np.testing.assert_array_equal(alone[name].people["regret"], together[name].people["regret"])
    twice = simulate(world, {"one": "lpbts", "two": "lpbts"}, people=3, rounds=12, seed=2)
    assert twice.difference("one", "two") == (0.0, 0.0)


def test_each_way_of_breaking_leaves_the_others_draws_alone() -> None:
    shape: dict[str, Any] = {"states": 3, "actions": 5, "scale": "different"}
    usual = SyntheticWorld(**shape).draw(people=4, seed=3)
    told = SyntheticWorld(**shape, model_error=0.3, assumed_noise=3.0, noise_family="student").draw(people=4, seed=3)
    np.testing.assert_array_equal(told.means, usual.means)
    np.testing.assert_array_equal(told.truth, usual.truth)
    swapped = SyntheticWorld(**shape, swap=0.4).draw(people=4, seed=3)
    both = SyntheticWorld(**shape, swap=0.4, model_error=0.3).draw(people=4, seed=3)
    np.testing.assert_array_equal(np.sort(swapped.means), np.sort(usual.means))
    np.testing.assert_array_equal(both.means, swapped.means)
    assert both.model == told.model


def test_settings_hold_all_that_is_broken() -> None:
    world = SyntheticWorld(noise_family="student", **BROKEN)
    assert {**BROKEN, "noise_family": "student"}.items() <= world.to_dict().items()
    usual = {"gaps": "paper", "swap": 0.0, "model_error": 0.0, "assumed_noise": None, "noise_family": "normal"}
    assert usual.items() <= SyntheticWorld().to_dict().items()


@pytest.mark.parametrize("setting", [{"swap": 0.2}, {"model_error": 0.2}, {"noise_family": "student"}])
def test_bounds_are_of_people_who_are_as_told(setting: dict[str, Any]) -> None:
    name, value = next(iter(setting.items()))
    with pytest.raises(InvalidInput, match=rf"{name} must .*got .*{value}"):
        bound_world(SyntheticWorld(states=2, actions=3, **setting), people=1)


def test_growth_is_of_policies_that_are_told_another_noise() -> None:
    found = [
        bound_world(
            SyntheticWorld(states=2, actions=3, assumed_noise=noise), people=2, policies=["ts"], rounds=100, repeats=2
        )
        for noise in (None, 5.0)
    ]
    assert found[0].column("preference").tolist() == found[1].column("preference").tolist()
    assert found[0].growth()["ts"].tolist() != found[1].growth()["ts"].tolist()
