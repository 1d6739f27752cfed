"""Synthetic worlds whose orderings have tiers."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.views.tables import described
from lpbandits.worlds import SyntheticWorld
from lpbandits.worlds.synthetic import possible_orderings
from tests import naive


@pytest.mark.jitless
@given(st.integers(0, 2**63 - 1), st.integers(0, 3), st.sampled_from(["same", "different"]), st.integers(1, 5))
def test_people_follow_the_tiers_in_an_order_of_their_own(seed: int, draw: int, scale: str, size: int) -> None:
    k, people = 5, 3
    world = SyntheticWorld(states=1 + (size < k), actions=k, scale=scale, tiers=size, break_ties=True)
    drawn = world.draw(people=people, seed=seed, draw=draw)
    total = world.states * people
    for p, state in enumerate(drawn.truth.tolist()):
        ordering = naive.shuffled(drawn.model.orderings[state].tolist(), size, seed, draw * total + p)
        person = draw * world.states + state if scale == "same" else draw * total + p
        low, width = (9.0, 1.0) if scale == "same" else (6.0, 0.4 * k)
        twin = naive.synthetic_means(ordering, seed, person, low + 0.2 * k, width, 0.2, 0.05, "paper")
        np.testing.assert_allclose(drawn.means[p], twin, rtol=1e-12)


@pytest.mark.parametrize("scale", ["same", "different"])
def test_tiers_of_one_action_are_total_orders(scale: str) -> None:
    settings: dict[str, Any] = {"states": 4, "actions": 6, "scale": scale, "swap": 0.2}
    usual = SyntheticWorld(**settings).draw(people=3, seed=4)
    for break_ties in (False, True):
        people = SyntheticWorld(**settings, tiers=1, break_ties=break_ties).draw(people=3, seed=4)
        assert people.model == usual.model
        np.testing.assert_array_equal(people.means, usual.means)


def test_broken_ties_give_the_same_people_a_model_that_guesses_the_order_in_tiers() -> None:
    settings: dict[str, Any] = {"states": 6, "actions": 8, "scale": "different", "tiers": 3}
    known = SyntheticWorld(**settings).draw(people=5, seed=1)
    guessed = SyntheticWorld(**settings, break_ties=True).draw(people=5, seed=1)
    np.testing.assert_array_equal(known.means, guessed.means)
    assert known.model.tiers == ((3, 3, 2),) * 6
    assert guessed.model.tiers is None
    for one, other in zip(known.model.orderings, guessed.model.orderings, strict=True):
        assert [set(one[i : i + 3]) for i in (0, 3, 6)] == [set(other[i : i + 3]) for i in (0, 3, 6)]
    assert not np.array_equal(known.model.orderings, guessed.model.orderings)


@pytest.mark.parametrize("scale", ["same", "different"])
def test_the_model_has_the_expected_means_of_each_tier(scale: str) -> None:
    people = SyntheticWorld(states=2, actions=5, scale=scale, tiers=2, gaps="steps").draw(people=20_000, seed=2)
    assert people.model.means is not None
    for z in range(2):
        means = people.means[people.truth == z]
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert np.all(np.abs(means.mean(axis=0) - people.model.means[z]) <= 4 * error + 1e-9)  # four standard errors
        tiers = means[:, people.model.orderings[z]]
        assert np.all(tiers[:, :2].min(axis=1) >= tiers[:, 2:4].max(axis=1))
        first = (tiers[:, 0] > tiers[:, 1]).mean()
        assert abs(first - 0.5) < 4 * 0.5 / np.sqrt(len(means))  # four standard errors


@pytest.mark.parametrize(("actions", "size"), [(1, 1), (4, 1), (4, 2), (5, 2), (5, 5), (6, 4)])
def test_the_number_of_orderings_in_tiers(actions: int, size: int) -> None:
    orders = itertools.permutations(range(actions))
    distinct = {tuple(frozenset(order[i : i + size]) for i in range(0, actions, size)) for order in orders}
    assert possible_orderings(actions, size, 10**6) == len(distinct)
    people = SyntheticWorld(states=len(distinct), actions=actions, tiers=size).draw(people=1, seed=0)
    assert people.model.n_states == len(distinct)
    with pytest.raises(InvalidInput, match=f"states must .*{len(distinct)}.*got {len(distinct) + 1}"):
        SyntheticWorld(states=len(distinct) + 1, actions=actions, tiers=size)


def test_a_huge_number_of_orderings_is_not_computed() -> None:
    assert possible_orderings(2**31 - 1, 2**30, 10**6) > 10**6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tiers": 0}, "tiers must .*got 0"),
        ({"tiers": 11}, "tiers must .*10, got 11"),
        ({"tiers": 2.5}, "tiers must .*got 2.5"),
        ({"break_ties": True}, "break_ties must be False without tiers, got True"),
        ({"tiers": 2, "break_ties": 1}, "break_ties must .*got 1"),
        ({"tiers": 2, "model_error": 0.1}, "model_error must be 0 with tiers, got 0.1"),
    ],
)
def test_invalid_tiers_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SyntheticWorld(**settings)


def test_a_simulation_names_its_tiers() -> None:
    results = lpb.simulate(SyntheticWorld(states=2, actions=4, tiers=2, break_ties=True), ["ts"], people=2, rounds=2)
    assert "tiers of 2, ties broken at random" in described(results)
    assert {"tiers": 2, "break_ties": True}.items() <= results.settings.items()


def test_knowing_the_tiers_is_better_than_a_random_order_within_them() -> None:
    draws = 8
    regret = []
    for break_ties in (True, False):
        world = SyntheticWorld(states=10, actions=20, scale="different", tiers=5, break_ties=break_ties)
        people = lpb.simulate(world, ["lpbts"], people=3, draws=draws, seed=0).policies["lpbts"].people
        regret.append(people["regret"].reshape(draws, -1).mean(axis=1))
    gain = regret[0] - regret[1]
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(draws)  # four standard errors over draws
    assert gain.mean() > 0.3 * regret[0].mean()
