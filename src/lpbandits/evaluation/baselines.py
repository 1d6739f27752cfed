"""Baselines: recommenders (item kNN, EASE) and upper bounds.

The recommenders use the same data as policies: ratings of the training people, and rewards of the chosen actions.
`ceiling`, and `in_order` of the recorded ratings, also use ratings that are unknown in practice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lpbandits.evaluation.replay import Replay, mean_score
from lpbandits.fit.taste.moments import Moments
from lpbandits.parallel import one_thread
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray

MAX_PEOPLE_AT_ONCE = 32
"""Maximum number of people replayed together, so that their sums stay in the processor's cache."""

PSEUDO_ROUNDS = 3.0
"""Pseudo-count of average rewards in the estimate of a person's level."""


@dataclass(frozen=True, eq=False)
class Recommender:
    """Linear recommender: score_b = mean_b + gain · Σ_a w_ab r_a / (Σ_a |w_ab| + damping).

    The sum is over the actions a played so far, with residuals r_a of their standardized rewards.
    """

    moments: Moments
    weights: FloatArray
    """c×c over `moments.covariance_actions`; row: a played action, column: the action whose score it changes."""
    gain: float = 1.0
    damping: float = np.inf
    """Pseudo-count of the divisor; ∞ means no division."""

    def play(self, replay: Replay) -> FloatArray:
        """Return the rewards, people × rounds, of the action with the highest score in each round."""
        chunks = np.split(replay.recorded, range(MAX_PEOPLE_AT_ONCE, len(replay), MAX_PEOPLE_AT_ONCE))
        rounds = (self._rounds(recorded, replay.max_rounds, replay.once) for recorded in chunks)
        return np.concatenate([np.column_stack(list(rewards)) for rewards in rounds])

    def _rounds(self, recorded: FloatArray, rounds: int, once: bool) -> Iterator[FloatArray]:
        """Yield the rewards of each round; of an arbitrary action for people without remaining actions."""
        seen, rows, means = self.moments, np.arange(len(recorded)), self.moments.means
        place = np.full(len(means), -1)
        place[seen.covariance_actions] = np.arange(len(seen.covariance_actions))
        remaining = ~np.isnan(recorded)
        products, weight, size = np.zeros((3, len(recorded), len(seen.covariance_actions)))  # Σ r·w, Σ w and Σ |w|
        observed = np.full(recorded.shape, np.nan)
        total = np.zeros(len(recorded))
        for t in range(rounds):
            level = total / (t + PSEUDO_ROUNDS)
            adjustment = products - level[:, None] * weight
            if np.isfinite(self.damping):
                adjustment /= size + self.damping
            score = np.repeat(means[None, :], len(recorded), axis=0)
            score[:, seen.covariance_actions] += self.gain * adjustment
            score = np.where(np.isnan(observed), score, observed - level[:, None])
            chosen = np.argmax(np.where(remaining, score, -np.inf), axis=1)
            rewards = recorded[rows, chosen]
            yield rewards
            standardized = (rewards - seen.level) / np.exp(seen.log_scale)
            residual = standardized - means[chosen]
            weights = np.where((place[chosen] >= 0)[:, None], self.weights[place[chosen]], 0.0)
            products += residual[:, None] * weights
            weight += weights
            size += np.abs(weights)
            total += residual
            if once:
                remaining[rows, chosen] = False
            else:
                observed[rows, chosen] = standardized


def item_knn(seen: Moments, shrinkage: float) -> Recommender:
    """Return item kNN: cosine similarity of residuals, shrunk by the number of people who rated both actions."""
    norms = np.sqrt(np.diag(seen.products))
    weights = seen.products / np.maximum(np.outer(norms, norms), 1e-9) * (seen.raters / (seen.raters + shrinkage))
    np.fill_diagonal(weights, 0.0)
    return Recommender(seen, weights)


def ease(seen: Moments, ridge: float) -> Recommender:
    """Return EASE (Steck 2019): ridge regression of each action on all others, from one inverse."""
    from scipy.linalg.lapack import dpotrf, dpotri  # noqa: PLC0415 - heavy, and only EASE needs it

    with one_thread("blas"):  # a fixed order of summation
        factor, _ = dpotrf(seen.products + ridge * np.eye(len(seen.products)), lower=True)
        half, _ = dpotri(factor, lower=True)  # the lower triangle of the inverse, at half its cost
    inverse = np.tril(half) + np.tril(half, -1).T
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return Recommender(seen, weights)


@dataclass(frozen=True)
class RecommenderFamily:
    """Recommenders with two hyperparameters; the weights depend on the first only."""

    build: Callable[[Moments, float], Recommender]
    firsts: tuple[float, ...]
    """Values of the first hyperparameter to try: the shrinkage of item kNN, the ridge of EASE."""
    second: Literal["damping", "gain"]
    seconds: tuple[float, ...]
    """Values of the second hyperparameter to try."""

    def recommenders(self, seen: Moments, first: float, seconds: Sequence[float]) -> list[Recommender]:
        """Return a recommender for each value of the second hyperparameter."""
        built = self.build(seen, first)
        return [replace(built, **{self.second: second}) for second in seconds]  # type: ignore[arg-type] # both are floats

    def play(self, seen: Moments, constants: tuple[float, float], replay: Replay) -> FloatArray:
        """Return the rewards, people × rounds, of the recommender with both hyperparameters."""
        first, second = constants
        return self.recommenders(seen, first, [second])[0].play(replay)

    def tuning_scores(self, first: float, seen: Moments, replay: Replay) -> dict[tuple[float, float], float]:
        """Return the mean scores by the two hyperparameters; `first` is fixed, the second varies."""
        built = zip(self.seconds, self.recommenders(seen, first, self.seconds), strict=True)
        return {(first, second): mean_score(replay.scores(one.play(replay))) for second, one in built}


REFERENCES = {
    "item-knn": RecommenderFamily(item_knn, (10.0, 30.0, 100.0, 300.0, 1000.0), "damping", (0.1, 0.3, 1.0)),
    "ease": RecommenderFamily(ease, (30.0, 100.0, 300.0, 1000.0, 3000.0), "gain", (1.0, 2.0, 4.0, 8.0)),
}


def in_order(scores: FloatArray, replay: Replay) -> FloatArray:
    """Return the rewards (people × rounds) of playing rated actions by descending score (people × actions)."""
    chosen = np.argsort(-np.where(np.isnan(replay.recorded), -np.inf, scores), axis=1, kind="stable")
    chosen = chosen[:, : replay.max_rounds] if replay.once else np.repeat(chosen[:, :1], replay.max_rounds, axis=1)
    rewards: FloatArray = np.take_along_axis(replay.recorded, chosen, axis=1)
    return rewards


def ceiling(taste: TasteModel, replay: Replay) -> FloatArray:
    """Return the rewards of playing by the taste model's prediction of each action from all other ratings."""
    scores = np.full(replay.recorded.shape, -np.inf)
    for row, recorded in enumerate(replay.recorded):
        rated = np.flatnonzero(~np.isnan(recorded))
        scores[row, rated] = leave_one_out(taste, rated, recorded[rated])
    return in_order(scores, replay)


def leave_one_out(taste: TasteModel, rated: IntArray, rewards: FloatArray) -> FloatArray:
    """Predict the standardized reward of each rated action from the rewards of all others.

    Notes
    -----
    With g_a = (√offset, factors of a), M = I + Σ g gᵀ/ψ and θ = M⁻¹ Σ g y/ψ, leaving out action a reduces θ by
    M⁻¹g_a (y_a − g_a·θ) / (ψ_a − g_aᵀM⁻¹g_a). The person's level is not part of the prediction: it would be lower
    without a high rating, which is no information about the action. The person's scale is the most likely of nine grid
    values, given all ratings.
    """
    variances = taste.variances[rated]
    factors = np.column_stack([np.full(len(rated), np.sqrt(taste.offset)), taste.factors[rated]])
    inner = np.linalg.inv(np.eye(factors.shape[1]) + factors.T @ (factors / variances[:, None]))
    pull = factors @ inner
    free = variances - np.einsum("ij,ij->i", pull, factors)
    best, predicted = -np.inf, np.zeros(len(rated))
    means = taste.means[rated]
    for x in np.linspace(-2.0, 2.0, 9):
        scale = float(np.exp(taste.log_scale + taste.log_scale_sd * x))
        deviation = (rewards - taste.level) / scale - means
        person = inner @ (factors.T @ (deviation / variances))
        residual = deviation - factors @ person
        log_density = -0.5 * float(deviation @ (residual / variances)) - len(rated) * np.log(scale) - 0.5 * x * x
        if log_density > best:
            others = person - pull * (residual / free)[:, None]
            best, predicted = log_density, means + np.einsum("ij,ij->i", factors[:, 1:], others[:, 1:])
    return predicted
