"""The bound's program: curvature, certificate of the interior-point method, and the linear programs after it."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import lpbandits as lpb
from lpbandits.theory import latent_bound, lower_bound
from lpbandits.theory.program import Constraints, scale_to_feasible, solve_interior
from lpbandits.worlds import Population


def person(states: int, actions: int, draw: int) -> Population:
    return lpb.SyntheticWorld(states=states, actions=actions).draw(people=1, seed=8, draw=draw)


def constraints_of(people: Population, *, pinned: bool) -> Constraints:
    orderings, means = np.array(people.model.orderings), people.means[0]
    best = int(orderings[0, 0])
    others = np.flatnonzero(orderings[:, 0] != best)
    return Constraints(orderings[others], means - means[best], best, pinned=pinned)


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("draw", range(3))
def test_curvature_equals_second_derivatives(draw: int, pinned: bool) -> None:
    inner = constraints_of(person(6, 8, draw), pinned=pinned)
    rng = np.random.default_rng(draw)
    x = rng.uniform(0.5, 2.0, 7)
    weights = rng.uniform(0.5, 2.0, len(inner.values))
    inner.cuts(x)
    curvature = inner.curvature(weights)
    assert len(curvature)  # actions are pooled
    step = 1e-6
    slopes = [
        weights @ (inner.cuts(x + step * unit) - inner.cuts(x - step * unit)) / (2 * step) for unit in np.eye(len(x))
    ]
    np.testing.assert_allclose(curvature.T @ curvature, -np.array(slopes) * np.outer(x, x), atol=1e-7)


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize(("states", "actions"), [(4, 4), (12, 9), (3, 60), (40, 9)])
def test_the_solution_is_feasible_and_certified(states: int, actions: int, pinned: bool) -> None:
    inner = constraints_of(person(states, actions, 1), pinned=pinned)
    start = 2.0 / inner.gaps
    inner.cuts(start)
    costs, _, multipliers = solve_interior(inner, start / inner.values.min(), 5e-7)
    assert costs.sum() - multipliers.sum() <= 5e-7 * costs.sum()
    inner.cuts(costs)
    assert inner.values.min() >= 1.0 - 1e-12


def test_scaled_multipliers_are_dual_feasible() -> None:
    rng = np.random.default_rng(3)
    cuts = rng.uniform(0.0, 1.0, (5, 4)) * (rng.random((5, 4)) < 0.6)
    mix = scale_to_feasible(cuts, rng.uniform(0.0, 3.0, 5))
    assert (mix @ cuts).max() <= 1.0 + 1e-12


def test_one_linear_program_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    # Kelley's method alone takes 16 at this size; a second is needed if a fit changes its blocks at the optimum
    counted: list[int] = []

    def count(*arguments: Any, **options: Any) -> Any:
        counted.append(1)
        return linprog(*arguments, **options)

    monkeypatch.setattr("lpbandits.theory.program.linprog", count)
    for draw in range(10):
        people = person(20, 20, draw)
        model, means = people.model, people.means[0]
        for bound in (
            partial(lower_bound, model, 0, means),
            partial(lower_bound, model, 0, means, pinned=False),
            partial(latent_bound, model, 0, pinned=False),
        ):
            counted.clear()
            assert bound().gap <= 1e-6
            assert 1 <= len(counted) <= 2
