"""What policies are measured against: recommenders that are no bandits, and what cannot be beaten.

`Neighbours` stands for item kNN and EASE. Both have what a policy has: ratings of the people fitted, and the rewards of
what they chose so far. `ceiling` and `best_possible` know more, and say so.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lpbandits.evaluation.replay import Replay
from lpbandits.fit.taste.moments import Moments
from lpbandits.parallel import one_thread
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray

TOGETHER = 32
"""People gone through at once: what is known of them stays near the processor."""

PSEUDO_ROUNDS = 3.0
"""Rounds of average rewards that are added to a person's own, in how far they rate above others."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A score of every action: its mean, and what the told actions' rewards, above or below theirs, say of it."""

    seen: Moments
    weights: FloatArray
    """c×c of the actions `seen.covariance_actions`: how much an action (row) says of each."""
    gain: float = 1.0
    damping: float = np.inf
    """What is added to the sum of |weights| that the score is divided by; ∞: it is not divided."""

    def played(self, replay: Replay) -> FloatArray:
        """Return the rewards, people × rounds, of taking the highest score in every round."""
        out = np.full((len(replay), replay.most), np.nan)
        for start in range(0, len(replay), TOGETHER):
            part = slice(start, start + TOGETHER)
            for t, rewards in enumerate(self._rounds(replay.given[part], replay.most, replay.once)):
                out[part, t] = rewards
        return out

    def _rounds(self, given: FloatArray, rounds: int, once: bool) -> Iterator[FloatArray]:
        """Give each round's rewards; of a person who has nothing left, those of any action."""
        seen, rows, means = self.seen, np.arange(len(given)), self.seen.means
        place = np.full(len(means), -1)
        place[seen.covariance_actions] = np.arange(len(seen.covariance_actions))
        left = ~np.isnan(given)
        amount, weight, size = np.zeros((3, len(given), len(seen.covariance_actions)))  # Σ away·w, Σ w, Σ |w|
        own = np.full(given.shape, np.nan)
        total = np.zeros(len(given))
        for t in range(rounds):
            shift = total / (t + PSEUDO_ROUNDS)
            said = amount - shift[:, None] * weight
            if np.isfinite(self.damping):
                said /= size + self.damping
            score = np.repeat(means[None, :], len(given), axis=0)
            score[:, seen.covariance_actions] += self.gain * said
            score = np.where(np.isnan(own), score, own - shift[:, None])
            chosen = np.argmax(np.where(left, score, -np.inf), axis=1)
            rewards = given[rows, chosen]
            yield rewards
            standard = (rewards - seen.level) / np.exp(seen.log_scale)
            away = standard - means[chosen]
            told = np.where((place[chosen] >= 0)[:, None], self.weights[place[chosen]], 0.0)
            amount += away[:, None] * told
            weight += told
            size += np.abs(told)
            total += away
            if once:
                left[rows, chosen] = False
            else:
                own[rows, chosen] = standard


def item_knn(seen: Moments, shrinkage: float) -> Neighbours:
    """Return nearest neighbours among actions: the cosine of what is left after means, less where few rated both."""
    norms = np.sqrt(np.diag(seen.products))
    near = seen.products / np.maximum(np.outer(norms, norms), 1e-9) * (seen.raters / (seen.raters + shrinkage))
    np.fill_diagonal(near, 0.0)
    return Neighbours(seen, near)


def ease(seen: Moments, ridge: float) -> Neighbours:
    """Return EASE (Steck 2019): the ridge regression of each action on all others, which follows from one inverse."""
    from scipy.linalg.lapack import dpotrf, dpotri  # noqa: PLC0415 - heavy, and only this needs it

    with one_thread("blas"):  # so that sums have one order
        factor, _ = dpotrf(seen.products + ridge * np.eye(len(seen.products)), lower=True)
        half, _ = dpotri(factor, lower=True)  # half the work of a plain inverse; the part below the diagonal
    inverse = np.tril(half) + np.tril(half, -1).T
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return Neighbours(seen, weights)


@dataclass(frozen=True)
class Reference:
    """A recommender and its two constants: one that its weights follow from, and one of `Neighbours`."""

    build: Callable[[Moments, float], Neighbours]
    firsts: tuple[float, ...]
    vary: Callable[[Neighbours, float], Neighbours]
    seconds: tuple[float, ...]

    def made(self, seen: Moments, first: float, second: float) -> Neighbours:
        """Return it with given constants."""
        return self.vary(self.build(seen, first), second)

    def values(
        self, seen: Moments, first: float, value: Callable[[Neighbours], float]
    ) -> dict[tuple[float, float], float]:
        """Return the value of one first constant with every second one."""
        made = self.build(seen, first)
        return {(first, second): value(self.vary(made, second)) for second in self.seconds}


REFERENCES = {
    "item-knn": Reference(
        item_knn,
        (10.0, 30.0, 100.0, 300.0, 1000.0),
        lambda made, damping: replace(made, damping=damping),
        (0.1, 0.3, 1.0),
    ),
    "ease": Reference(
        ease, (30.0, 100.0, 300.0, 1000.0, 3000.0), lambda made, gain: replace(made, gain=gain), (1.0, 2.0, 4.0, 8.0)
    ),
}
"""Of kNN: people of no likeness added to those who rated both actions, and likeness added to that of the actions told.
Of EASE: what is added to the diagonal, and how much the sum counts."""


def in_order(scores: FloatArray, replay: Replay) -> FloatArray:
    """Return the rewards, people × rounds, of playing from the highest score down: one for all, or people × k."""
    able = np.where(np.isnan(replay.given), -np.inf, scores)
    if not replay.once:
        chosen = np.repeat(np.argmax(able, axis=1)[:, None], replay.most, axis=1)
    else:
        chosen = np.argsort(-able, axis=1, kind="stable")[:, : replay.most]
    found: FloatArray = np.take_along_axis(replay.given, chosen, axis=1)
    return found


def ceiling(taste: TasteModel, replay: Replay) -> FloatArray:
    """Return the rewards of whoever foresees each action by the taste from ALL the person's other ratings."""
    scores = np.full(replay.given.shape, -np.inf)
    for row, given in enumerate(replay.given):
        rated = np.flatnonzero(~np.isnan(given))
        scores[row, rated] = foreseen_from_others(taste, rated, given[rated])
    return in_order(scores, replay)


def foreseen_from_others(taste: TasteModel, rated: IntArray, rewards: FloatArray) -> FloatArray:
    """Return what the taste thinks of each rated action for this person, told the rewards of all the others.

    With g_a = (√offset, factors of a), M = I + Σ g gᵀ/ψ and θ = M⁻¹ Σ g y/ψ, without action a θ is less by
    M⁻¹g_a (y_a − g_a·θ) / (ψ_a − g_aᵀM⁻¹g_a). How high the person rates in general is left out: without a high rating
    it seems lower, which says nothing of the action. Their scale is the likeliest of nine, by all ratings.
    """
    own = taste.variances[rated]
    factors = np.column_stack([np.full(len(rated), np.sqrt(taste.offset)), taste.factors[rated]])
    inner = np.linalg.inv(np.eye(factors.shape[1]) + factors.T @ (factors / own[:, None]))
    pull = factors @ inner
    free = own - np.einsum("ij,ij->i", pull, factors)
    best, found = -np.inf, np.zeros(len(rated))
    means = taste.means[rated]
    for x in np.linspace(-2.0, 2.0, 9):
        scale = float(np.exp(taste.log_scale + taste.log_scale_sd * x))
        away = (rewards - taste.level) / scale - means
        person = inner @ (factors.T @ (away / own))
        left = away - factors @ person
        log_density = -0.5 * float(away @ (left / own)) - len(rated) * np.log(scale) - 0.5 * x * x
        if log_density > best:
            others = person - pull * (left / free)[:, None]
            best, found = log_density, means + np.einsum("ij,ij->i", factors[:, 1:], others[:, 1:])
    return found


def best_possible(replay: Replay) -> FloatArray:
    """Return the rewards of whoever knows all of them beforehand."""
    return in_order(replay.given, replay)
