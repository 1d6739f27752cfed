"""Generate logs of people with known states, and fit them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lpbandits.data import Ratings
from lpbandits.data.blocks import Blocks
from lpbandits.fit import Fit, TwoStage, fit_states
from lpbandits.fit.methods.estimator import Estimate, Estimator
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray, IntArray


def log_from(rows: Iterable[tuple[Any, Any, Any]], **options: Any) -> Ratings:
    """Return the log with these (person, action, rating) rows."""
    return Ratings.from_arrays(*zip(*rows, strict=True), **options)


def quick_fit(log: Ratings, estimator: Estimator | None = None, states: int = 1, **options: Any) -> Fit:
    """Fit states, by default without a held-out score and a taste."""
    return fit_states(log, estimator or TwoStage(), states=states, **{"heldout": 0, "taste": False, **options})


def estimate_of(estimator: Estimator, log: Ratings, states: int) -> Estimate:
    """Return the states of an estimator, in its order."""
    return estimator(Blocks(log, Threads(1)), states, pairs_per_person=None, holdout=None, watch=Stopwatch())


def arrays_of(fit: Fit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the utilities, errors and means of a fitted model."""
    utilities, errors, means = fit.model.utilities, fit.model.errors, fit.model.means
    assert utilities is not None
    assert errors is not None
    assert means is not None
    return utilities, errors, means


def paper_world(
    seed: int, *, people: int, same_scale: bool, rounds: int, states: int = 5, actions: int = 10
) -> tuple[PreferenceModel, Ratings, IntArray]:
    """Draw `rounds` uniform actions per person with noise 1; the rating of an action is its mean reward.

    The best action has the mean 9 + Δk + U(0, 1), or 6 + Δk + U(0, γk) on individual scales; each next one is lower by
    Δ + U(0, ε), with Δ = 0.2, ε = 0.05, γ = 0.4, as in the paper.
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
    return PreferenceModel(orderings), log_from(rows, actions=range(actions)), state


def readers(seed: int, *, people: int, actions: int, states: int) -> tuple[Ratings, IntArray]:
    """Draw ratings on ten levels; the number and choice of rated actions do not depend on the state."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 1, (states, actions))
    state = rng.integers(0, states, people)
    rows = []
    for n, z in enumerate(state.tolist()):
        count = int(np.clip(np.exp(rng.normal(np.log(actions / 4), 0.6)), 10, actions))
        rated = rng.choice(actions, count, replace=False)
        level = 7.0 + rng.normal() + taste[z, rated] + rng.normal(0, 0.7, count)
        rows += list(zip([n] * count, rated.tolist(), np.clip(np.rint(level), 1, 10).tolist(), strict=True))
    return log_from(rows), state


def raters(
    seed: int, *, people: int, actions: int, rated: int, states: int = 1, likeness: float = 0.0
) -> tuple[FloatArray, Ratings, IntArray]:
    """Draw ratings with Gumbel noise around planted utilities.

    Over people P(a above b) is exactly Bradley-Terry, but the pairs of one person are dependent. `likeness` is the
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
