"""Two straightforward loops: lpbTS with SciPy's or scikit-learn's isotonic regression per state and round."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from sklearn.isotonic import IsotonicRegression

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fit = Callable[[Floats, Floats], Floats]


def scipy_fit(values: Floats, weights: Floats) -> Floats:
    return np.asarray(isotonic_regression(values, weights=weights, increasing=False).x)


def sklearn_fit(values: Floats, weights: Floats) -> Floats:
    x = np.arange(len(values), dtype=np.float64)
    return np.asarray(IsotonicRegression(increasing=False).fit(x, values, sample_weight=weights).predict(x))


def lpbts_loop(fit: Fit, orderings: Ints, means: Floats, noise: float, rounds: int, seed: int) -> Ints:
    """Play lpbTS (refit) for one person and return the actions; only tried actions are fitted."""
    rng = np.random.default_rng(seed)
    m, k = orderings.shape
    counts, sums = np.zeros(k), np.zeros(k)
    posterior = np.full(m, 1.0 / m)
    actions = np.empty(rounds, dtype=np.int64)
    for t in range(rounds):
        action = orderings[rng.choice(m, p=posterior), 0]
        reward = means[action] + noise * rng.standard_normal()
        counts[action] += 1
        sums[action] += reward
        tried = np.flatnonzero(counts)
        is_tried = np.zeros(k, dtype=bool)
        is_tried[tried] = True
        scores = np.empty(m)
        for z in range(m):
            row = orderings[z][is_tried[orderings[z]]]
            averages = sums[row] / counts[row]
            fitted = fit(averages, counts[row])
            scores[z] = -np.sum(counts[row] * (averages - fitted) ** 2) / (2 * noise**2)
        weights = np.exp(scores - scores.max())
        posterior = weights / weights.sum()
        actions[t] = action
    return actions
