"""The slow twin of P(best): chains of random gaps by dense matrices over a grid, one ordering and gap at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.naive import Floats, History, rewards_by_action

POINTS, REACH, BEYOND, LEAST_WIDTH, FLOOR, TIE = 96, 4.0, 6.0, 0.6, 150.0, 0.5
MULTIPLES, WEIGHTS = (0.06, 0.2, 0.6, 2.0), (0.15, 0.45, 0.3, 0.1)


def steps_up(ranks: int, mean: float, width: float) -> Floats:
    """Return the transition matrix of a gap of `ranks` ranks, each with this mean: row is the end, column the start."""
    if ranks == 0:
        return np.eye(POINTS)
    parts = min(ranks, 2)
    scale = mean * ranks / parts / (1 - TIE)
    decay = scale / (scale + width)
    distance = np.subtract.outer(np.arange(POINTS), np.arange(POINTS))
    geometric = np.where(distance >= 0, (1 - decay) * decay ** np.maximum(distance, 0), 0.0)
    return np.asarray(np.linalg.matrix_power(TIE * np.eye(POINTS) + (1 - TIE) * geometric, parts))


@dataclass(frozen=True)
class GapsTwin:
    """The chains after a history; `noise` is the standard deviation of rewards, `actions` their number."""

    history: History
    noise: float
    actions: int
    beyond: float = 0.0

    @property
    def means(self) -> dict[int, float]:
        return {a: float(np.mean(rewards)) for a, rewards in rewards_by_action(self.history).items()}

    @property
    def errors(self) -> dict[int, float]:
        return {a: self.noise / math.sqrt(len(rewards)) for a, rewards in rewards_by_action(self.history).items()}

    @property
    def unit(self) -> float:
        values = list(self.means.values())
        return max(self.noise, (max(values) - min(values)) / 2 / max(self.actions - 1, 1))

    @property
    def grid(self) -> Floats:
        low = min(mean - REACH * self.errors[a] for a, mean in self.means.items()) - self.beyond * self.unit
        high = max(mean + REACH * self.errors[a] for a, mean in self.means.items()) + self.beyond * self.unit
        return np.linspace(low, high, POINTS)

    def likelihood(self, action: int) -> Floats:
        """Return the likelihood of an action's mean at every point; 1 if it was not tried."""
        if action not in self.means:
            return np.ones(POINTS)
        grid = self.grid
        error = max(self.errors[action], LEAST_WIDTH * (grid[1] - grid[0]))
        return np.asarray(np.exp(-np.minimum(((grid - self.means[action]) / error) ** 2 / 2, FLOOR)))

    def joint(self, ordering: Sequence[int], target: int) -> list[Floats]:
        """Return, per mean gap, the density of the target's mean times the likelihood, up to a constant."""
        width = self.grid[1] - self.grid[0]
        tried = [a for a in ordering if a in self.means]
        above = [a for a in tried if ordering.index(a) < ordering.index(target)]
        below = [a for a in tried if ordering.index(a) > ordering.index(target)]

        def message(path: list[int], mean: float, *, rising: bool) -> Floats:
            out: Floats = np.ones(POINTS)
            for at, action in enumerate(path):
                if at:
                    ranks = abs(ordering.index(path[at - 1]) - ordering.index(action))
                    matrix = steps_up(ranks, mean, width)
                    out = (matrix if rising else matrix.T) @ out
                if action != target:
                    out = out * self.likelihood(action)
            return out

        densities = []
        for multiple, weight in zip(MULTIPLES, WEIGHTS, strict=True):
            mean = multiple * self.unit
            up, down = message([*below[::-1], target], mean, rising=True), message([*above, target], mean, rising=False)
            densities.append(weight * up * down * self.likelihood(target))
        return densities

    def posterior(self, orderings: NDArray[np.int64], prior: Floats) -> Floats:
        """Return the probability of each ordering; the chain may be evaluated at any tried action."""
        if not self.history:
            return prior
        weights = np.array(
            [
                p * sum(density.sum() for density in self.joint(row, next(a for a in row if a in self.means)))
                for row, p in zip(orderings.tolist(), prior, strict=True)
            ]
        )
        return np.asarray(weights / weights.sum())

    def mean_of(self, orderings: NDArray[np.int64], weights: Floats, action: int) -> tuple[float, Any]:
        """Return the expected mean of an action, and its distribution function at the middles of the cells."""
        density = np.zeros(POINTS)
        for row, weight in zip(orderings.tolist(), weights, strict=True):
            part = np.sum(self.joint(row, action), axis=0)
            density += weight * part / part.sum()
        return float(density @ self.grid), np.cumsum(density) - density / 2
