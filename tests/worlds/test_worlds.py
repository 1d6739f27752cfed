"""Contract of every registered world, and distributions of the paper's synthetic world."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.worlds import WORLDS, MeansWorld, Population, SyntheticWorld, World
from lpbandits.worlds.kernels import order_keys
from lpbandits.worlds.synthetic import GAPS, expected_descent
from tests import naive
from tests.conftest import EXAMPLE_WORLDS, WORLDS_BY_NAME

MODEL = PreferenceModel([[0, 1], [1, 0]])
NAN, INF = float("nan"), float("inf")


def test_every_registered_world_has_an_example() -> None:
    assert set(WORLDS_BY_NAME) == set(WORLDS)
    for name, makes in WORLDS_BY_NAME.items():
        assert all(isinstance(make(), WORLDS[name]) for make in makes)


@pytest.mark.parametrize("make", EXAMPLE_WORLDS)
def test_contract(make: Callable[[], World]) -> None:
    """People are sorted by state with descending means; draws depend on seed and draw only; settings are JSON."""
    population = make().draw(people=3, seed=5)
    m, k = population.model.n_states, population.model.n_actions
    np.testing.assert_array_equal(population.truth, np.repeat(np.arange(m), 3))
    assert population.truth.dtype == np.int64
    assert population.means.dtype == np.float64
    assert population.means.shape == (3 * m, k)
    assert population.means.flags.c_contiguous
    by_rank = np.take_along_axis(population.means, population.model.orderings[population.truth], axis=1)
    assert np.all(np.diff(by_rank, axis=1) <= 0)
    assert population.offered.shape == (1, 1, 0)
    one, same, other = (make().draw(people=2, seed=8, draw=draw) for draw in (4, 4, 5))
    assert one.model == same.model
    np.testing.assert_array_equal(one.means, same.means)
    if isinstance(make(), SyntheticWorld):
        assert one.model != other.model
        assert one.model != make().draw(people=2, seed=9, draw=4).model
    settings = json.loads(json.dumps(make().to_dict()))
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
    st.sampled_from(list(GAPS)),
)
def test_synthetic_means_equal_the_naive_twin(
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
def test_synthetic_orderings_sort_the_naive_keys() -> None:
    seed, draw, k = 12, 3, 5
    keys = np.empty(k)
    order_keys(seed, draw, 0, keys)
    np.testing.assert_array_equal(keys, [naive.uniform(seed, draw, 0, naive.ORDER, a) for a in range(k)])
    model = SyntheticWorld(states=1, actions=k).draw(people=1, seed=seed, draw=draw).model
    np.testing.assert_array_equal(model.orderings[0], np.argsort(keys))


def test_with_the_same_scale_the_model_has_the_means_of_the_people() -> None:
    population = SyntheticWorld(states=3, actions=4).draw(people=5, seed=2)
    assert population.model.means is not None
    np.testing.assert_array_equal(population.means, population.model.means[population.truth])


@pytest.mark.parametrize("gaps", GAPS)
def test_with_different_scales_the_model_has_the_expected_means(gaps: str) -> None:
    population = SyntheticWorld(states=2, actions=5, scale="different", gaps=gaps).draw(people=20_000, seed=2)
    assert population.model.means is not None
    for z in range(2):
        means = population.means[population.truth == z]
        assert len(np.unique(means[:, 0])) == len(means)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert np.all(np.abs(means.mean(axis=0) - population.model.means[z]) < 4 * error)  # four standard errors
    assert expected_descent(gaps, 1, gap=0.2, jitter=0.1).tolist() == [0.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 0}, "states must .*got 0"),
        ({"actions": -1}, "actions .*-1"),
        ({"states": 7, "actions": 3}, "states must .*6.*got 7"),
        ({"scale": "equal"}, "scale must .*got 'equal'"),
        ({"gap": -0.1}, "gap must .*got -0.1"),
        ({"jitter": NAN}, "jitter must .*got nan"),
        ({"noise": 0}, "noise must .*got 0"),
        ({"base": INF}, "base .*inf"),
        ({"spread": -1}, "spread .*-1"),
        ({"gaps": "wide"}, "gaps must .*got 'wide'"),
        ({"swap": 1.5}, "swap must .*got 1.5"),
        ({"model_error": -0.1}, "model_error must .*got -0.1"),
        ({"model_error": 1}, "model_error must .*got 1"),
        ({"model_error": 0.1, "actions": 1, "states": 1}, "model_error must .*got 0.1"),
        ({"assumed_noise": 0}, "assumed_noise must .*got 0"),
        ({"noise_family": "cauchy"}, "noise_family must .*got 'cauchy'"),
    ],
)
def test_invalid_synthetic_settings_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SyntheticWorld(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"assumed": "poisson"}, "rewards must .*got 'poisson'"),
        ({"assumed": Rewards("poisson")}, "assumed must .*got poisson"),
        ({"tails": "fat"}, "tails must .*got 'fat'"),
        ({"tails": "student", "rewards": Rewards("poisson")}, "tails must .*Poisson.*got"),
        ({"tails": "student", "replayed": True}, "tails must .*replayed"),
        ({"tails": "student", "comparison": "bradley-terry"}, "tails must .*bradley-terry"),
        ({"truth": [2]}, r"truth\[0\] must .*got 2"),
        ({"truth": [0, 1]}, "truth must .*1 people.*got 2"),
        ({"truth": [-2]}, "truth.*-2"),
        ({"means": [[1.0, 2.0, 3.0]]}, "means must .*got 1×3"),
        ({"means": [[1.0, NAN]]}, r"means\[0, 1\].*nan"),
        ({"offered": [[[0, 2]]]}, "offered.*0 to 1"),
        ({"offered": [[[-1, 1]]]}, "offered"),
        ({"means": np.empty((0, 2))}, "means must have at least one row"),
        ({"means": [[1.0, INF]], "replayed": True}, "finite"),
        ({"means": [[NAN, NAN]], "replayed": True}, "means.*person 0"),
        ({"means": [[1.0, NAN]], "replayed": True, "offered": [[[0, 1]]]}, "offered must.*got 1 for person 0"),
        ({"offered": [[0, 1]]}, "offered must have shape"),
        ({"offered": [[[1, 0]]]}, "offered .*ascending"),
    ],
)
def test_invalid_populations_raise(settings: dict[str, Any], message: str) -> None:
    valid = {"model": MODEL, "truth": [0], "means": [[2.0, 1.0]], "rewards": Rewards()}
    with pytest.raises(InvalidInput, match=message):
        Population(**{**valid, **settings})


@pytest.mark.parametrize(
    ("means", "settings", "message"),
    [
        (None, {}, "means must be given"),
        ([[1.0, 2.0]], {}, r"means must .*shape 2×2, got 1×2"),
        ([[1.0, NAN], [0.0, 1.0]], {}, r"means\[0, 1\] .*nan"),
        ([[1.0, 2.0]], {"truth": [2]}, r"truth\[0\] must .*got 2"),
        ([[1.0, 2.0]], {"truth": [0, 1]}, r"means must .*shape 2×2, got 1×2"),
        ([[1.0, 2.0], [0, 0]], {"rewards": Rewards("bernoulli")}, r"means\[0, 1\] must .*got 2"),
        ([[1.0, 501.0], [0, 0]], {"rewards": Rewards("poisson")}, r"means\[0, 1\] .*501"),
        ([[1.0, 2.0], [0, 0]], {"assumed_noise": -1}, "assumed_noise must .*got -1"),
        ([[1.0, 1e101], [0, 0]], {}, r"means\[0, 1\] must .*got 1e\+101"),
    ],
)
def test_invalid_given_means_raise(means: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MeansWorld(MODEL, means, **settings)


def test_given_means_are_those_of_people_or_by_default_of_the_states() -> None:
    population = MeansWorld(MODEL, [[5.0, 6.0], [8.0, 7.0], [1.0, 2.0]], truth=[1, 0, 1]).draw(people=2, seed=0)
    np.testing.assert_array_equal(population.truth, [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(population.means[::2], [[5.0, 6.0], [8.0, 7.0], [1.0, 2.0]])
    model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_array_equal(MeansWorld(model).draw(people=1, seed=0).means, model.means)
