"""The regret bound compared with a straightforward cutting-plane loop with SciPy's isotonic regression."""

from unittest import mock

import numpy as np
from scipy.optimize import isotonic_regression, linprog

import lpbandits as lpb
from benchmarks.measure import Row, interleaved, ratio
from lpbandits.theory import program
from lpbandits.worlds import Population


def person(size: int, draw: int) -> Population:
    return lpb.SyntheticWorld(states=size, actions=size).draw(people=1, seed=8, draw=draw)


def cutting_plane_loop(people: Population, tolerance: float) -> float:
    """Solve the bound by one cut per round at the linear program's corner; return its value."""
    orderings, means = np.array(people.model.orderings), people.means[0]
    best = orderings[0, 0]
    worse = np.array([a for a in range(len(means)) if a != best])
    gaps = means[best] - means
    others = [row for row in orderings if row[0] != best]
    cuts: list[np.ndarray] = []
    costs = np.full(len(worse), 1.0)
    while True:
        rates = np.zeros(len(means))
        rates[worse] = np.maximum(costs, 1e-9) / gaps[worse]
        least, cut = np.inf, np.empty(0)
        for row in others:
            place = row.tolist().index(best)
            fitted = np.full(len(means), means[best])
            behind = row[place + 1 :]
            if len(behind):
                fitted[behind] = isotonic_regression(means[behind], weights=rates[behind], increasing=False).x
            half = 0.5 * (means - fitted) ** 2
            if (half * rates).sum() < least:
                least, cut = float((half * rates).sum()), half[worse] / gaps[worse]
        if cuts and 1.0 - least < tolerance:
            return float(costs.sum())
        cuts.append(cut)
        done = linprog(np.ones(len(worse)), A_ub=-np.array(cuts), b_ub=-np.ones(len(cuts)), method="highs")
        costs = np.asarray(done.x)


def against_loop(size: int, goal: float) -> Row:
    some = person(size, 0)
    loop, ours = interleaved(
        lambda: cutting_plane_loop(some, 1e-4),
        lambda: lpb.theory.lower_bound(some.model, 0, some.means[0], tolerance=1e-4),
        repeats=3,
    )
    return ratio(f"bound vs cutting-plane loop, k=m={size}", loop, ours, goal)


def linear_programs(size: int, people: int) -> Row:
    """Return the maximum number of linear programs per person for a certified relative error of 1e-6."""
    most = 0
    for draw in range(people):
        own = person(size, draw)
        with mock.patch.object(program, "linprog", wraps=linprog) as counted:
            found = lpb.theory.lower_bound(own.model, 0, own.means[0])
        assert found.gap <= 1e-6  # noqa: S101 - the count is meaningless without this precision
        most = max(most, counted.call_count)
    return Row(f"bound: maximum number of linear programs, {people} people, k=m={size}", most, 2, at_most=True, unit="")


def rows() -> list[Row]:
    """Measure everything in this file."""
    return [against_loop(20, 5.0), against_loop(50, 20.0), linear_programs(20, 10), linear_programs(50, 5)]
