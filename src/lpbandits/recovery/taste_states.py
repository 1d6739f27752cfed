"""Kinds of people, each with average likings of its own: a mixture, by EM, under the factors of a taste."""

from dataclasses import dataclass

import numpy as np

from lpbandits.recovery.cluster import cluster_people
from lpbandits.recovery.ratings import Ratings
from lpbandits.typing import FloatArray

STEPS = 100
SETTLED = 1e-4
"""When EM ends: after so many steps, or when nobody's chances change by more."""

PSEUDO_RATERS = 3
"""Raters who think as everybody does that are added to those of a state, in the mean of an action."""

RESTARTS = 3


@dataclass(frozen=True, eq=False)
class Mixture:
    """States of a taste, the largest first."""

    shifts: FloatArray
    """m×k: by how much the state likes each action more than everybody does."""
    chance: FloatArray
    """People × m: how probable each state is for each person."""

    @property
    def prior(self) -> FloatArray:
        """The share of each state."""
        share: FloatArray = self.chance.mean(axis=0)
        return share


def mixture(ratings: Ratings, away: FloatArray, states: int, seed: int) -> Mixture:
    """Fit states to what is left of each rating after the action's mean, in the person's units, by EM.

    In state z it is α + shift_z(a) + noise, with an offset α for each person and state; a state's shift is the mean
    over those of its people who rated the action, and a few who think as everybody does. It starts from clusters;
    states that nobody is left in are left out.

    >>> n, a = np.divmod(np.arange(40), 4)
    >>> found = mixture(Ratings.from_arrays(n, a, a), np.where(n < 6, 1.0, -1.0) * (a - 1.5), 2, seed=0)
    >>> found.prior.round(2).tolist(), found.shifts.round(1).tolist()
    ([0.6, 0.4], [[-1.0, -0.3, 0.3, 1.0], [0.9, 0.3, -0.3, -0.9]])
    """
    values, seen = ratings.matrix(away), ratings.matrix(np.ones(len(away)))
    shown = Ratings(ratings.offsets, ratings.action, away, ratings.people, ratings.actions)
    labels = cluster_people(shown, states, scale="cosine", restarts=RESTARTS, seed=seed, threads=1).labels
    chance = np.eye(labels.max() + 1)[labels]
    counts = ratings.counts[:, None]
    totals = np.bincount(ratings.owner, weights=away, minlength=len(counts))[:, None]
    squares = np.bincount(ratings.owner, weights=away**2, minlength=len(counts))[:, None]
    shifts = np.zeros((len(ratings.actions), chance.shape[1]))
    for _ in range(STEPS):
        offsets = (totals - seen @ shifts) / counts
        shifts = (values.T @ chance - seen.T @ (chance * offsets)) / (seen.T @ chance + PSEUDO_RATERS)
        offsets = (totals - seen @ shifts) / counts
        left = squares - 2 * (values @ shifts) + seen @ shifts**2 - counts * offsets**2  # Σ_a (y − shift_z − α)²
        noise = max(float((chance * left).sum() / len(away)), 1e-9)
        with np.errstate(divide="ignore"):
            logs = np.log(chance.mean(axis=0)) - 0.5 * left / noise
        before, chance = chance, np.exp(logs - logs.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        if np.abs(chance - before).max() < SETTLED:
            break
    sizes = chance.sum(axis=0)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    order = order[sizes[order] >= min(1.0, sizes.max())]
    chance = chance[:, order] / chance[:, order].sum(axis=1, keepdims=True)
    return Mixture(np.ascontiguousarray(shifts.T[order]), chance)
