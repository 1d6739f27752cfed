"""People of known states who leave logs: the paper's synthetic worlds, and readers of very different activity."""

import numpy as np

from lpbandits.data import Ratings
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray, IntArray


def paper_world(
    seed: int, *, people: int, same_scale: bool, rounds: int, states: int = 5, actions: int = 10
) -> tuple[PreferenceModel, Ratings, IntArray]:
    """`rounds` uniformly chosen actions per person with noise 1; an action's rating is the mean of its rewards.

    Means are those of PAPER-NOTES: the best action's near 9 + Δk + U(0, 1), or on a person's own scale
    6 + Δk + U(0, γk), each next one lower by Δ + U(0, ε), with Δ = 0.2, ε = 0.05, γ = 0.4.
    """
    rng = np.random.default_rng([seed, people])
    orderings = np.array([rng.permutation(actions) for _ in range(states)])
    state = np.arange(people) % states
    draws = states if same_scale else people
    low, width = (9.0, 1.0) if same_scale else (6.0, 0.4 * actions)
    top = low + 0.2 * actions + rng.uniform(0, width, draws)
    steps = 0.2 + rng.uniform(0, 0.05, (draws, actions - 1))
    falling = top[:, None] - np.concatenate([np.zeros((draws, 1)), np.cumsum(steps, axis=1)], axis=1)
    rows = []
    for n, z in enumerate(state.tolist()):
        means = np.empty(actions)
        means[orderings[z]] = falling[z if same_scale else n]
        chosen = rng.integers(0, actions, rounds)
        counts = np.bincount(chosen, minlength=actions)
        rewards = means[chosen] + rng.standard_normal(rounds)
        sums = np.bincount(chosen, weights=rewards, minlength=actions)
        rows += [(n, a, sums[a] / counts[a]) for a in np.flatnonzero(counts).tolist()]
    person, action, rating = zip(*rows, strict=True)
    return PreferenceModel(orderings), Ratings.from_arrays(person, action, rating, actions=range(actions)), state


def readers(seed: int, *, people: int, actions: int, states: int) -> tuple[Ratings, IntArray]:
    """Ratings on ten levels; how many and which actions a person rates has nothing to do with their state."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 1, (states, actions))
    state = rng.integers(0, states, people)
    rows = []
    for n, z in enumerate(state.tolist()):
        count = int(np.clip(np.exp(rng.normal(np.log(actions / 4), 0.6)), 10, actions))
        rated = rng.choice(actions, count, replace=False)
        level = 7.0 + rng.normal() + taste[z, rated] + rng.normal(0, 0.7, count)
        rows += list(zip([n] * count, rated.tolist(), np.clip(np.rint(level), 1, 10).tolist(), strict=True))
    person, action, rating = zip(*rows, strict=True)
    return Ratings.from_arrays(person, action, rating), state


def raters(
    seed: int, *, people: int, actions: int, rated: int, states: int = 1, likeness: float = 0.0
) -> tuple[FloatArray, Ratings, IntArray]:
    """Planted utilities; a person's taste for an action is the state's plus their own, Gumbel, and shows in all pairs.

    P(a above b) over people is then exactly Bradley-Terry, but the pairs of one person go together. `likeness` is the
    correlation of utilities between states.
    """
    rng = np.random.default_rng([seed, people, actions])
    common = rng.normal(0, 1, actions)
    utilities = np.sqrt(likeness) * common + np.sqrt(1 - likeness) * rng.normal(0, 1, (states, actions))
    state = np.arange(people) % states
    action = np.concatenate([rng.choice(actions, rated, replace=False) for _ in range(people)])
    person = np.repeat(np.arange(people), rated)
    rating = utilities[state[person], action] + rng.gumbel(size=len(action))
    log = Ratings.from_codes(person, action, rating, people=tuple(range(people)), actions=tuple(range(actions)))
    return utilities, log, state
