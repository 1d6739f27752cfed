"""Regret bounds of models with tiers: those of all total orders that the tiers allow."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.simulation.bounds import bound_model, bound_world
from lpbandits.theory import latent_bound, lower_bound, plain_bound
from lpbandits.typing import FloatArray
from tests.theory.test_bounds import naive_bound

Tiers = tuple[tuple[int, ...], ...]


@st.composite
def tiers_of(draw: st.DrawFn, actions: int) -> Tiers:
    """Draw an ordering in tiers of at most three actions, each in ascending order."""
    order = draw(st.permutations(range(actions)))
    sizes = draw(st.lists(st.integers(1, 3), min_size=actions, max_size=actions))
    ends = np.minimum(np.cumsum(sizes), actions)
    return tuple(tuple(sorted(order[a:b])) for a, b in itertools.pairwise([0, *ends.tolist()]) if a < b)


@st.composite
def people(draw: st.DrawFn, max_states: int = 3, max_actions: int = 5) -> tuple[PreferenceModel, FloatArray]:
    """Draw a model with tiers and the means of a person in state 0, in any order within tiers."""
    k = draw(st.integers(2, max_actions))
    rows = draw(st.lists(tiers_of(k), min_size=1, max_size=max_states, unique=True))
    steps = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5]) | st.floats(0.0, 1.0), min_size=k - 2, max_size=k - 2))
    levels = draw(st.floats(-5, 5)) - np.cumsum([0.0, draw(st.floats(0.05, 1.0)), *steps])
    order = [a for tier in rows[0] for a in draw(st.permutations(tier))]
    means = np.empty(k)
    means[order] = levels
    return model_of(rows), means


def model_of(rows: list[Tiers]) -> PreferenceModel:
    return PreferenceModel([[list(tier) for tier in row] for row in rows])


def rows_of(model: PreferenceModel) -> list[Tiers]:
    """Return the tiers of each state."""
    sizes = model.tiers or ((1,) * model.n_actions,) * model.n_states
    parts = [np.split(row, np.cumsum(s)[:-1]) for row, s in zip(model.orderings, sizes, strict=True)]
    return [tuple(tuple(part.tolist()) for part in row) for row in parts]


def total_orders(model: PreferenceModel) -> PreferenceModel:
    """Return the model with a state for every total order that a state's tiers allow."""
    orders: dict[tuple[int, ...], None] = {}
    for row in rows_of(model):
        for parts in itertools.product(*map(itertools.permutations, row)):
            orders[tuple(itertools.chain(*parts))] = None
    return PreferenceModel([list(order) for order in orders])


def state_of(model: PreferenceModel, means: FloatArray) -> int:
    """Return a state whose total order the means follow."""
    return next(z for z, row in enumerate(model.orderings) if np.all(np.diff(means[row]) <= 0))


@settings(max_examples=60)
@given(people(), st.booleans())
def test_the_bound_equals_that_of_all_total_orders(person: tuple[PreferenceModel, FloatArray], pinned: bool) -> None:
    model, means = person
    total = total_orders(model)
    b = lower_bound(model, 0, means, pinned=pinned)
    twin = lower_bound(total, state_of(total, means), means, pinned=pinned)
    np.testing.assert_allclose(b.value, twin.value, rtol=3e-6)
    assert b.gap <= 1e-6
    np.testing.assert_allclose(b.rates @ (means.max() - means) if math.isfinite(b.value) else b.value, b.value)
    if b.confusing_state is not None and b.confusing_means is not None and pinned:
        np.testing.assert_allclose(b.weights.sum(), 1.0)
        assert b.weights[b.confusing_state] == b.weights.max()
        tiers = rows_of(model)[b.confusing_state]
        lam = b.confusing_means
        assert all(lam[list(one)].min() >= lam[list(two)].max() - 1e-9 for one, two in itertools.pairwise(tiers))
        others = [a for a in tiers[0] if a != int(np.argmax(means))]
        assert max(lam[a] for a in others) >= lam.max() - 1e-9


@settings(max_examples=15)
@given(people(max_states=2, max_actions=4))
def test_the_bound_equals_a_general_convex_solver(person: tuple[PreferenceModel, FloatArray]) -> None:
    model, means = person
    total = total_orders(model)
    if (total.orderings[:, 0] == np.argmax(means)).all():
        assert lower_bound(model, 0, means).value == 0.0
        return
    naive = naive_bound(total, state_of(total, means), means)
    np.testing.assert_allclose(lower_bound(model, 0, means).value, naive, rtol=2e-3)


def test_one_tier_of_all_actions_is_a_plain_bandit() -> None:
    model, means = PreferenceModel([[[0, 1, 2, 3]]]), [1.0, 3.0, 0.5, 2.0]
    b, plain = lower_bound(model, 0, means), plain_bound(model, 0, means)
    np.testing.assert_allclose(b.value, plain.value, rtol=2e-6)
    np.testing.assert_allclose(plain.value, sum(2 / gap for gap in (2.0, 2.5, 1.0)))
    assert b.confusing_state == 0


def test_the_printed_form_is_infinite_if_the_second_best_action_shares_the_first_tier() -> None:
    model = PreferenceModel([[[0, 1], 2, 3], [3, 2, 1, 0]])
    assert lower_bound(model, 0, [3.0, 2.0, 1.0, 0.5], pinned=False).value == math.inf
    assert math.isfinite(lower_bound(model, 0, [3.0, 2.0, 1.0, 0.5]).value)


@given(people(), st.data())
def test_the_latent_bound_equals_that_of_the_orders_by_known_means(
    person: tuple[PreferenceModel, FloatArray], data: st.DataObject
) -> None:
    tiered, means = person
    known = [means]
    for row in rows_of(tiered)[1:]:
        level = np.cumsum(data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(means), max_size=len(means))))
        one = np.empty(len(means))
        one[[a for tier in row for a in data.draw(st.permutations(tier))]] = means.max() - level + level[0]
        known.append(one)
    try:
        total = PreferenceModel(np.argsort(-np.array(known), axis=1, kind="stable"), means=known)
    except InvalidInput as error:
        assert "are equal" in str(error)  # noqa: PT017 - tiers in which the known means have one order
        return
    model = tiered.replace(means=known)
    for pinned in (True, False):
        bounds = [latent_bound(each, 0, pinned=pinned).to_dict() for each in (model, total)]
        assert bounds[0] == bounds[1]


def test_means_must_fall_from_tier_to_tier_only() -> None:
    model = PreferenceModel([[[0, 1], [2, 3]], [[2, 3], [0, 1]]], actions=["a", "b", "c", "d"])
    assert lower_bound(model, 0, [3.0, 4.0, 1.0, 2.0]).value > 0
    with pytest.raises(InvalidInput, match=r"means must .*got 2 for action 'b' and then 2.5 for action 'c'"):
        lower_bound(model, 0, [4.0, 2.0, 2.5, 1.0])
    with pytest.raises(InvalidInput, match=r"means of the best actions 'a' and 'b' must .*got Δ = 0"):
        lower_bound(model, 0, [4.0, 4.0, 2.5, 1.0])


def test_bounds_of_a_world_with_tiers_lie_between_those_of_total_orders_and_of_a_plain_bandit() -> None:
    world = lpb.SyntheticWorld(states=4, actions=6, tiers=2)
    bounds = bound_world(world, people=4, policies=["lpbts"], rounds=50, repeats=2)
    for draw, person in enumerate(bounds.people):
        drawn = world.draw(people=1, seed=0, draw=draw)
        order = np.argsort(-drawn.means[0])
        total = PreferenceModel([order, *drawn.model.orderings[1:]])
        assert person.best == order[0]
        assert lower_bound(total, 0, drawn.means[0]).value <= person.values["preference"] * (1 + 2e-6)
        assert person.values["preference"] <= person.values["plain"] * (1 + 2e-6)
    with pytest.raises(InvalidInput, match=r"break_ties must be False.*got True"):
        bound_world(lpb.SyntheticWorld(states=4, actions=6, tiers=2, break_ties=True), people=1)
    model = PreferenceModel([[[0, 1], 2], [2, [0, 1]]])
    assert bound_model(model, state=0, means=[1.0, 2.0, 0.0]).people[0].best == 1
