"""Regret bounds, compared with general solvers, closed forms and each other."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.theory import latent_bound, lower_bound, plain_bound
from lpbandits.theory.kernels import confusing_means
from lpbandits.typing import FloatArray, IntArray


def naive_confusion(order: IntArray, means: FloatArray, best: int, rates: FloatArray, pinned: bool) -> float:
    """Return half the weighted squared error of the nearest means with an ordering, by non-negative least squares."""
    k = len(order)
    place = order.tolist().index(best)
    columns = []
    for j in range(k - 1):  # step j separates places j and j + 1; λ is its level minus all steps before it
        down = np.zeros(k)
        if not pinned or j >= place:
            down[order[j + 1 :]] = -1.0
        else:
            down[order[: j + 1]] = 1.0
        columns.append(down)
    weight = np.sqrt(rates)
    weight[best] = 0.0
    if not pinned:
        columns += [np.ones(k), -np.ones(k)]  # a level of any sign
    level = means[best] if pinned else 0.0
    design = np.stack(columns, axis=1) * weight[:, None]
    _, residual = nnls(design, (means - level) * weight)
    return float(residual) ** 2 / 2


def naive_bound(model: PreferenceModel, state: int, means: FloatArray, *, pinned: bool = True) -> float:
    """Minimise the costs by a general solver."""
    best = int(model.orderings[state, 0])
    worse = [a for a in range(model.n_actions) if a != best]
    gaps = means[best] - means
    others = [order for order in model.orderings if order[0] != best]

    def slack(costs: FloatArray) -> FloatArray:
        rates = np.zeros(model.n_actions)
        rates[worse] = np.maximum(costs, 1e-9) / gaps[worse]
        return np.array([naive_confusion(order, means, best, rates, pinned) - 1.0 for order in others])

    start = 2.0 / gaps[worse]
    start = start / (slack(start) + 1.0).min()
    done = minimize(  # type: ignore[call-overload] # its stub knows no constraint that returns an array
        lambda x: float(x.sum()),
        start,
        jac=np.ones_like,
        bounds=[(0.0, None)] * len(worse),
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 300},
    )
    return float(done.x.sum())


@st.composite
def people(draw: st.DrawFn, max_states: int = 6, max_actions: int = 6) -> tuple[PreferenceModel, FloatArray]:
    """Draw a model and the means of a person in state 0, with a gap of at least 0.05 below the best action."""
    k = draw(st.integers(2, max_actions))
    m = draw(st.integers(1, min(max_states, math.factorial(k))))
    rows = draw(st.lists(st.permutations(range(k)), min_size=m, max_size=m, unique_by=tuple))
    steps = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5]) | st.floats(0.0, 1.0), min_size=k - 2, max_size=k - 2))
    first = draw(st.floats(0.05, 1.0))
    means = np.empty(k)
    means[rows[0]] = draw(st.floats(-5, 5)) - np.concatenate([[0.0], first + np.cumsum([0.0, *steps])])
    return PreferenceModel(rows), means


@pytest.mark.jitless
@given(people(), st.booleans(), st.data())
def test_fits_of_alternatives_equal_least_squares(
    person: tuple[PreferenceModel, FloatArray], pinned: bool, data: st.DataObject
) -> None:
    model, means = person
    best = int(model.orderings[0, 0])
    others = np.flatnonzero(model.orderings[:, 0] != best)
    k = model.n_actions
    rates = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0.01, 5), min_size=k, max_size=k)))
    fitted, values = np.empty((len(others), k)), np.empty(len(others))
    confusing_means(model.orderings[others], means, best, pinned, rates, np.empty((3, k)), fitted, values)
    for i, z in enumerate(others):
        naive = naive_confusion(model.orderings[z], means, best, rates, pinned)
        np.testing.assert_allclose(values[i], naive, rtol=1e-6, atol=1e-9)
        free = model.orderings[z][model.orderings[z] != best] if not pinned else model.orderings[z]
        assert np.all(np.diff(fitted[i, free]) <= 1e-12)
        np.testing.assert_allclose(0.5 * np.delete(rates * (fitted[i] - means) ** 2, best).sum(), values[i])


@given(people(max_states=4, max_actions=4))
def test_bounds_equal_a_general_convex_solver(person: tuple[PreferenceModel, FloatArray]) -> None:
    model, means = person
    b = lower_bound(model, 0, means)
    if (model.orderings[:, 0] == model.orderings[0, 0]).all():  # no alternative
        assert (b.value, b.confusing_state, b.confusing_means) == (0.0, None, None)
        return
    np.testing.assert_allclose(b.value, naive_bound(model, 0, means), rtol=2e-3)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_with_all_orderings_the_bound_is_that_of_a_plain_bandit(k: int) -> None:
    model = PreferenceModel(list(itertools.permutations(range(k))))
    means = 4.0 - np.array([0.0, 0.3, 0.5, 1.1, 1.2])[:k]
    b = lower_bound(model, 0, means, noise=1.5)
    plain = plain_bound(model, 0, means, noise=1.5)
    np.testing.assert_allclose(b.value, plain.value, rtol=2e-6)
    np.testing.assert_allclose(b.rates, plain.rates, rtol=1e-3)
    np.testing.assert_allclose(plain.value, sum(2 * 1.5**2 / gap for gap in means[0] - means[1:]))


@given(people())
def test_more_states_and_the_printed_form_never_lower_the_bound(person: tuple[PreferenceModel, FloatArray]) -> None:
    model, means = person
    values = [lower_bound(PreferenceModel(model.orderings[:m]), 0, means).value for m in range(1, model.n_states + 1)]
    for fewer, more in itertools.pairwise(values):
        assert more >= fewer * (1 - 2e-6)
    assert values[-1] <= plain_bound(model, 0, means).value * (1 + 1e-9)
    assert values[-1] * (1 - 2e-6) <= lower_bound(model, 0, means, pinned=False).value


@given(people(), st.floats(0.1, 10.0), st.floats(0.01, 100.0), st.floats(-100, 100))
def test_bounds_scale_with_the_noise_and_the_means(
    person: tuple[PreferenceModel, FloatArray], noise: float, scale: float, shift: float
) -> None:
    model, means = person
    b = lower_bound(model, 0, means)
    np.testing.assert_allclose(lower_bound(model, 0, means, noise).value, b.value * noise**2, rtol=3e-6)
    moved = lower_bound(model, 0, means * scale + shift, noise=scale)
    np.testing.assert_allclose(moved.value, b.value * scale, rtol=1e-5)


@given(people())
def test_rates_cost_the_value_and_distinguish_every_alternative(person: tuple[PreferenceModel, FloatArray]) -> None:
    model, means = person
    b = lower_bound(model, 0, means)
    best = int(model.orderings[0, 0])
    assert b.rates[best] == 0.0
    assert b.gap <= 1e-6
    np.testing.assert_allclose(b.rates @ (means[best] - means), b.value, rtol=1e-9)
    for order in model.orderings:
        if order[0] != best:
            assert naive_confusion(order, means, best, b.rates, pinned=True) >= 1 - 1e-6
    if b.confusing_state is not None and b.confusing_means is not None:
        order = model.orderings[b.confusing_state]
        assert order[0] != best
        assert np.all(np.diff(b.confusing_means[order]) <= 1e-9)
        np.testing.assert_allclose(b.confusing_means[best], means[best])
        np.testing.assert_allclose(b.weights.sum(), 1.0)
        assert b.weights[b.confusing_state] == b.weights.max()


def test_the_printed_form_is_infinite_if_a_state_differs_only_by_the_rank_of_the_best_action() -> None:
    model = PreferenceModel([[0, 1, 2], [1, 0, 2]])
    b = lower_bound(model, 0, [3.0, 2.0, 1.0], pinned=False)
    assert (b.value, b.confusing_state, b.to_dict()["value"]) == (math.inf, 1, None)
    assert lower_bound(model, 0, [3.0, 2.0, 1.0]).value == pytest.approx(2.0, rel=1e-6)
    model = PreferenceModel([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    assert lower_bound(model, 0, [3.0, 1.0 + 1e-13, 1.0], pinned=False).value == math.inf
    model = PreferenceModel([[0, 1, 2], [2, 0, 1]])
    assert math.isfinite(lower_bound(model, 0, [3.0, 1.0 + 1e-7, 1.0], pinned=False).value)
    assert lower_bound(model, 0, [3.0, 1.0, 1.0], pinned=False).value == math.inf


def test_the_latent_bound_is_at_most_the_preference_bound() -> None:
    people = lpb.SyntheticWorld(states=8, actions=8).draw(people=1, seed=3)
    for z in range(8):
        latent = latent_bound(people.model, z, pinned=False)
        preference = lower_bound(people.model, z, people.means[z], pinned=False)
        assert 0 < latent.value <= preference.value * (1 + 1e-6)
        assert latent_bound(people.model, z).value == 0.0  # the best action distinguishes random states


@pytest.mark.parametrize("shift", [0.0, -3.0, 1e6])
def test_a_latent_bound_computed_by_hand(shift: float) -> None:
    means = np.array([[3.0, 2.0, 1.0], [3.0, 5.0, 1.0], [3.0, 0.0, 4.0]]) + shift
    model = PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]], means=means)
    # minimise c₁ + 2 c₂ with 9 c₁ / 2 ≥ 1 for state 1 and 4 c₁ / 2 + 9 c₂ / 2 ≥ 1 for state 2
    c1, c2 = 2 / 9, (1 - 4 / 9) * 2 / 9
    for rounding in (0.0, 1e-12):
        b = latent_bound(model, 0, means[0] + np.array([rounding, 0.0, 0.0]))
        np.testing.assert_allclose(b.rates, [0.0, c1, c2], rtol=1e-6)
        np.testing.assert_allclose(b.value, c1 + 2 * c2, rtol=1e-6)
    assert latent_bound(model, 0, means[0] + np.array([1e-3, 0.0, 0.0])).value == 0.0


@pytest.mark.parametrize(
    "means", [[0.1 + 0.2, 0.3, 0.0], [1.0, 1.0 - 1e-12, -1000.0], [1.0, 1.0 - 1e-6, -1000.0], [1e-150, 0.0, -1e-150]]
)
def test_near_ties_are_finite_and_certified(means: list[float]) -> None:
    model = PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    b, plain = lower_bound(model, 0, means), plain_bound(model, 0, means)
    assert b.gap < 1e-6
    np.testing.assert_allclose(b.value, plain.value, rtol=1e-6)  # each action is best in one state
    np.testing.assert_allclose(b.rates, plain.rates, rtol=1e-6)


@pytest.mark.parametrize("means", [[0.0, -1e-160, -1.0], [0.0, -1e-100, -1e100]])
def test_gaps_too_small_to_square_raise(means: list[float]) -> None:
    model = PreferenceModel([[0, 1, 2], [1, 0, 2]], means=[means, [means[0], means[0] + 1.0, means[2]]])
    for bound in (lower_bound, plain_bound, latent_bound):
        with pytest.raises(InvalidInput, match=r"means of the best actions 0 and 1 must .*got"):
            bound(model, 0, means)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [2.0, 1.0, 0.0]), "state must .*got 2"),
        ((0, [2.0, 1.0]), "means must .*shape 3, got 2"),
        ((0, [1.0, 2.0, 0.0]), "means must .*got 1 for action 0 and then 2 for action 1"),
        ((0, [2.0, 2.0, 0.0]), "means of the best actions 0 and 1 must .*got Δ = 0;"),
        ((0, [2.0, np.nan, 0.0]), r"means\[1\] .*nan"),
        ((0, [2.0, 1.0, 0.0], 0.0), "noise must .*got 0.0"),
    ],
)
def test_invalid_people_raise(arguments: Any, message: str) -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    for bound in (lower_bound, plain_bound, latent_bound):
        with pytest.raises(InvalidInput, match=message):
            bound(model, *arguments)


def test_invalid_models_raise() -> None:
    for bound in (lower_bound, plain_bound, latent_bound):
        with pytest.raises(InvalidInput, match=r"model must .*got None"):
            bound(None, 0, [2.0, 1.0])  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(InvalidInput, match="model must have means"):
        latent_bound(PreferenceModel([[0, 1]]), 0)
