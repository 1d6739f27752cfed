"""How sure an ordering is: the chance that one action is above another, and the places that an action may have.

Everything is said of utilities on the logit scale, each normal around its estimate with its error as standard
deviation, and independent of the others.
"""

import numpy as np
from scipy.special import ndtr

from lpbandits.typing import FloatArray, IntArray

LEVEL = 0.9
"""Of the intervals of places."""

DRAWS = 1000
"""Orderings drawn for an interval."""

FEW = 1000
"""Pairs among more actions than this are judged by as many of them, evenly spaced along the ordering."""


def chance_above(utilities: FloatArray, errors: FloatArray, one: int, other: int) -> float:
    """Return the probability that one action is really above another: Φ((β₁ − β₂) / √(s₁² + s₂²)).

    >>> round(chance_above(np.array([1.0, 0.0]), np.array([0.3, 0.4]), 0, 1), 3)
    0.977
    """
    away = utilities[one] - utilities[other]
    return float(_sure(away, np.hypot(errors[one], errors[other])))


def pairs_right(utilities: FloatArray, errors: FloatArray) -> float | None:
    """Return the share of pairs of actions that are expected to be in the right order; None without pairs.

    >>> round(pairs_right(np.array([1.0, 0.0, -1.0]), np.array([0.3, 0.4, 0.3])), 3)
    0.985
    """
    if len(utilities) < 2:
        return None
    if len(utilities) > FEW:
        order = np.argsort(-utilities, kind="stable")
        some = order[np.linspace(0, len(order) - 1, FEW).astype(np.int64)]
        utilities, errors = utilities[some], errors[some]
    first, second = np.triu_indices(len(utilities), 1)
    sure = _sure(np.abs(utilities[first] - utilities[second]), np.hypot(errors[first], errors[second]))
    return float(sure.mean())


def place_intervals(
    utilities: FloatArray, errors: FloatArray, actions: IntArray, *, level: float = LEVEL, seed: int = 0
) -> IntArray:
    """Return the interval of the place of each of some actions among all: it is there with probability `level`.

    From a thousand orderings, drawn by `seed`.

    >>> centres, errors = np.array([3.0, 2.0, 1.9, 0.0]), np.array([0.1, 0.3, 0.3, 0.1])
    >>> place_intervals(centres, errors, np.array([0, 1, 3])).tolist()
    [[1, 1], [2, 3], [4, 4]]
    """
    rng = np.random.default_rng(seed)
    places = np.empty((DRAWS, len(actions)), dtype=np.int64)
    for row in places:
        drawn = utilities + errors * rng.standard_normal(len(utilities))
        row[:] = 1 + len(drawn) - np.searchsorted(np.sort(drawn), drawn[actions], side="right")
    ends = np.quantile(places, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    return np.ascontiguousarray(ends.T).astype(np.int64)


def _sure(away: FloatArray, spread: FloatArray) -> FloatArray:
    """Return Φ(away / spread); without any spread a difference is certain, and none is a coin toss."""
    known = spread > 0
    return np.where(known, ndtr(away / np.where(known, spread, 1.0)), 0.5 + 0.5 * np.sign(away))
