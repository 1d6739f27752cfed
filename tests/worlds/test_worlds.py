"""The contract of every registered world, and the laws of the paper's synthetic one."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.worlds import WORLDS, MeansWorld, Population, SyntheticWorld, World
from lpbandits.worlds.kernels import order_keys
from tests import naive
from tests.conftest import EXAMPLE_WORLDS, WORLDS_BY_NAME

each_world = pytest.mark.parametrize("make", EXAMPLE_WORLDS)


def test_every_registered_world_has_an_example() -> None:
    assert set(WORLDS_BY_NAME) == set(WORLDS)
    for name, makes in WORLDS_BY_NAME.items():
        assert all(isinstance(make(), WORLDS[name]) for make in makes)


@each_world
def test_draws_people_by_state_with_means_of_their_own(make: Callable[[], World]) -> None:
    population = make().draw(people=3, seed=5)
    m, k = population.model.n_states, population.model.n_actions
    np.testing.assert_array_equal(population.truth, np.repeat(np.arange(m), 3))
    assert population.means.shape == (3 * m, k)
    assert population.means.flags.c_contiguous
    assert population.means.dtype == np.float64
    assert population.truth.dtype == np.int64
    along = np.take_along_axis(population.means, population.model.orderings[population.truth], axis=1)
    assert np.all(np.diff(along, axis=1) <= 0)
    assert population.offered.shape == (1, 1, 0)


@each_world
def test_is_a_function_of_seed_and_draw(make: Callable[[], World]) -> None:
    one, same, other = (make().draw(people=2, seed=8, draw=draw) for draw in (4, 4, 5))
    assert one.model == same.model
    np.testing.assert_array_equal(one.means, same.means)
    if isinstance(make(), SyntheticWorld):
        assert one.model != other.model
        assert one.model != make().draw(people=2, seed=9, draw=4).model


@each_world
def test_settings_are_json(make: Callable[[], World]) -> None:
    world = make()
    settings = json.loads(json.dumps(world.to_dict()))
    assert settings["world"] in WORLDS
    assert (settings["states"], settings["actions"]) == (4, 6)


@pytest.mark.jitless
@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 3),
    st.sampled_from(["same", "different"]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(-10, 10),
    st.floats(0, 2),
    st.sampled_from(["paper", "exponential", "cliff", "steps"]),
)
def test_synthetic_people_equal_the_twin(
    seed: int, draw: int, scale: str, gap: float, jitter: float, base: float, spread: float, gaps: str
) -> None:
    k = 4
    world = SyntheticWorld(
        states=3, actions=k, scale=scale, gap=gap, jitter=jitter, base=base, spread=spread, gaps=gaps
    )
    population = world.draw(people=2, seed=seed, draw=draw)
    low = base + gap * k
    for p, state in enumerate(population.truth):
        ordering = population.model.orderings[state].tolist()
        if scale == "same":
            twin = naive.synthetic_means(ordering, seed, draw * 3 + int(state), low, 1.0, gap, jitter, gaps)
        else:
            twin = naive.synthetic_means(ordering, seed, draw * 6 + p, low, spread * k, gap, jitter, gaps)
        np.testing.assert_allclose(population.means[p], twin, rtol=1e-12, atol=1e-12)


@pytest.mark.jitless
def test_synthetic_orderings_sort_the_keys_of_their_address() -> None:
    seed, draw, k = 12, 3, 5
    keys = np.empty(k)
    order_keys(seed, draw, 0, keys)
    np.testing.assert_array_equal(keys, [naive.uniform(seed, draw, 0, naive.ORDER, a) for a in range(k)])
    model = SyntheticWorld(states=1, actions=k).draw(people=1, seed=seed, draw=draw).model
    np.testing.assert_array_equal(model.orderings[0], np.argsort(keys))


def test_synthetic_orderings_are_uniform() -> None:
    world = SyntheticWorld(states=1, actions=3)
    rows = [tuple(world.draw(people=1, seed=0, draw=d).model.orderings[0].tolist()) for d in range(1200)]
    counts = np.array([rows.count(row) for row in set(rows)])
    assert len(counts) == 6
    # χ² at level 10⁻⁴
    assert stats.chisquare(counts).pvalue > 1e-4


def test_synthetic_orderings_are_distinct_even_when_all_are_needed() -> None:
    model = SyntheticWorld(states=6, actions=3).draw(people=1, seed=0).model
    assert len({tuple(row) for row in model.orderings.tolist()}) == 6


@pytest.mark.parametrize(("scale", "low", "width"), [("same", 11.0, 1.0), ("different", 8.0, 4.0)])
def test_synthetic_means_follow_the_paper(scale: str, low: float, width: float) -> None:
    # m = 5, k = 10, Δ = 0.2, ε = 0.05; C = 9 or C̄ = 6, γ = 0.4
    tops, steps = [], []
    for draw in range(80):
        population = SyntheticWorld(scale=scale).draw(people=1, seed=1, draw=draw)
        along = np.take_along_axis(population.means, population.model.orderings[population.truth], axis=1)
        tops.append(along[:, 0])
        steps.append(-np.diff(along, axis=1).ravel())
    # Kolmogorov-Smirnov at level 10⁻⁴
    assert stats.kstest(np.concatenate(tops), stats.uniform(low, width).cdf).pvalue > 1e-4
    assert stats.kstest(np.concatenate(steps), stats.uniform(0.2, 0.05).cdf).pvalue > 1e-4


def test_same_scale_shares_means_and_tells_them_exactly() -> None:
    population = SyntheticWorld(states=3, actions=4).draw(people=5, seed=2)
    assert population.model.means is not None
    np.testing.assert_array_equal(population.means, population.model.means[population.truth])


def test_different_scales_tell_the_expected_means() -> None:
    population = SyntheticWorld(states=3, actions=4, scale="different").draw(people=20_000, seed=2)
    assert population.model.means is not None
    for z in range(3):
        own = population.means[population.truth == z]
        assert len(np.unique(own[:, 0])) == len(own)
        error = own.std(axis=0, ddof=1) / np.sqrt(len(own))
        assert np.all(np.abs(own.mean(axis=0) - population.model.means[z]) < 4 * error)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states must .*got 0"),
        ({"states": 2.5}, "states .*2.5"),
        ({"actions": -1}, "actions .*-1"),
        ({"states": 7, "actions": 3}, "states must .*6.*got 7"),
        ({"scale": "equal"}, "scale must .*got 'equal'"),
        ({"gap": -0.1}, "gap must .*got -0.1"),
        ({"jitter": float("nan")}, "jitter must .*got nan"),
        ({"noise": 0}, "noise must .*got 0"),
        ({"noise": "1"}, "noise must .*got '1'"),
        ({"base": float("inf")}, "base .*inf"),
        ({"spread": -1}, "spread .*-1"),
        ({"gaps": "wide"}, "gaps must .*got 'wide'"),
        ({"swap": -0.1}, "swap must .*got -0.1"),
        ({"swap": 1.5}, "swap must .*got 1.5"),
        ({"swap": float("nan")}, "swap must .*got nan"),
        ({"model_error": -0.1}, "model_error must .*got -0.1"),
        ({"model_error": 1}, "model_error must .*got 1"),
        ({"model_error": float("nan")}, "model_error .*nan"),
        ({"model_error": 0.1, "actions": 1, "states": 1}, "model_error must .*got 0.1"),
        ({"assumed_noise": 0}, "assumed_noise must .*got 0"),
        ({"assumed_noise": float("inf")}, "assumed_noise must .*got inf"),
        ({"assumed_noise": "1"}, "assumed_noise must .*got '1'"),
        ({"noise_family": "cauchy"}, "noise_family must .*got 'cauchy'"),
        (
            {"noise_family": "student", "noise": 1e97},
            r"tails must .*got 1e\+97",
        ),
    ],
)
def test_synthetic_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SyntheticWorld(**settings)


MODEL = PreferenceModel([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"assumed": "poisson"}, "rewards must .*got 'poisson'"),
        ({"assumed": Rewards("poisson")}, "assumed must .*got poisson"),
        ({"tails": "fat"}, "tails must .*got 'fat'"),
        ({"tails": "student", "rewards": Rewards("poisson")}, "tails must .*poisson.*got"),
        ({"tails": "student", "replayed": True}, "tails must .*replayed"),
        ({"tails": "student", "comparison": "bradley-terry"}, "tails must .*bradley-terry"),
    ],
)
def test_what_a_population_is_told_is_checked(settings: dict[str, Any], message: str) -> None:
    usual = {"model": MODEL, "truth": [0], "means": [[2.0, 1.0]], "rewards": Rewards()}
    with pytest.raises(InvalidInput, match=message):
        Population(**{**usual, **settings})


@pytest.mark.parametrize(
    ("means", "settings", "message"),
    [
        (None, {}, "means must be given"),
        ([[1.0, 2.0]], {}, r"means must .*shape 2×2, got 1×2"),
        ([[1.0, np.nan], [0.0, 1.0]], {}, r"means\[0, 1\] .*nan"),
        ([[1.0, 2.0]], {"truth": [2]}, r"truth\[0\] must .*got 2"),
        ([[1.0, 2.0]], {"truth": [0.5]}, r"truth\[0\] .*0.5"),
        ([[1.0, 2.0]], {"truth": [0, 1]}, r"means must .*shape 2×2, got 1×2"),
        ([[1.0, 2.0], [0, 0]], {"rewards": Rewards("bernoulli")}, r"means\[0, 1\] must .*got 2"),
        ([[1.0, -2.0], [0, 0]], {"rewards": Rewards("poisson")}, r"means\[0, 1\] must .*got -2"),
        ([[1.0, 501.0], [0, 0]], {"rewards": Rewards("poisson")}, r"means\[0, 1\] .*501"),
        ([[1.0, 2.0], [0, 0]], {"assumed_noise": -1}, "assumed_noise must .*got -1"),
        ([[1.0, 1e101], [0, 0]], {}, r"means\[0, 1\] must .*got 1e\+101"),
    ],
)
def test_given_means_are_checked(means: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MeansWorld(MODEL, means, **settings)


def test_given_means_may_belong_to_people() -> None:
    population = MeansWorld(MODEL, [[5.0, 6.0], [8.0, 7.0], [1.0, 2.0]], truth=[1, 0, 1]).draw(people=2, seed=0)
    np.testing.assert_array_equal(population.truth, [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(population.means[::2], [[5.0, 6.0], [8.0, 7.0], [1.0, 2.0]])


def test_given_means_default_to_the_models() -> None:
    model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_array_equal(MeansWorld(model).draw(people=1, seed=0).means, model.means)
