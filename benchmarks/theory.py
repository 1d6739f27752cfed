"""The regret bound against the loop that anyone would write: a cut per round, SciPy's isotonic fits."""

import time

import numpy as np
from scipy.optimize import isotonic_regression, linprog

import lpbandits as lpb
from benchmarks.core import Row, interleaved
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


def bound_seconds(size: int, people: int) -> float:
    """Return the median seconds of one bound to a certified relative error of 1e-4."""
    times = []
    for draw in range(people):
        own = person(size, draw)
        started = time.perf_counter()
        found = lpb.lower_bound(own.model, 0, own.means[0], tolerance=1e-4)
        times.append(time.perf_counter() - started)
        assert found.gap <= 1e-4  # noqa: S101 - a benchmark of something else would be worthless
    return float(np.median(times))


def rows() -> list[Row]:
    """Measure everything in this file."""
    own = person(10, 0)
    lpb.lower_bound(own.model, 0, own.means[0])  # compile
    at_20, at_50 = bound_seconds(20, 5), bound_seconds(50, 3)
    some = person(50, 0)
    loop, ours = interleaved(
        lambda: cutting_plane_loop(some, 1e-4),
        lambda: lpb.lower_bound(some.model, 0, some.means[0], tolerance=1e-4),
        repeats=3,
    )
    print(f"the bound: {at_20:.2f} s at k = m = 20, {at_50:.2f} s at k = m = 50; cutting-plane loop {loop:.2f} s at 50")
    return [
        Row("bound vs cutting-plane loop, k=m=50", loop / ours, 1.0),
        Row("bound at k=m=20, share of the 2 s allowed", at_20 / 2.0, 1.0, at_most=True),
        Row("bound at k=m=50, share of the 20 s allowed", at_50 / 20.0, 1.0, at_most=True),
    ]
