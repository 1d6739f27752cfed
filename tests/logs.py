"""Logs of ratings made up for tests: people with one ordering, with planted states, or with tastes."""

import numpy as np

from lpbandits.data import Ratings


def log_of(
    people: int,
    actions: int,
    *,
    share: float = 1.0,
    states: int = 1,
    noise: float = 1.0,
    levels: int = 0,
    seed: int = 0,
) -> Ratings:
    """Return a log in which each state has an ordering of its own, and each person a level and a scale.

    `share` of all pairs of a person and an action are rated; with `levels`, ratings are rounded to 1 … levels.
    """
    rng = np.random.default_rng([seed, 99])
    values = np.sort(rng.normal(size=actions))[::-1]
    liking = np.empty((states, actions))
    for row in liking:
        row[rng.permutation(actions)] = values
    state = rng.integers(0, states, people)
    scale, level = np.exp(0.3 * rng.normal(size=people)), 3 + rng.normal(size=people)
    person, action = np.nonzero(rng.random((people, actions)) < share)
    rating = level[person] + scale[person] * (liking[state[person], action] + noise * rng.normal(size=len(person)))
    return Ratings.from_arrays(person, action, np.clip(np.round(rating), 1, levels) if levels else rating)
