"""What policies are measured against: recommenders that are no bandits, and what cannot be beaten.

`Neighbours` stands for item kNN and EASE. Both have what a policy has: ratings of the people fitted, and the rewards of
what they chose so far. `ceiling` and `best_possible` know more, and say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lpbandits.evaluation.replay import Replay
from lpbandits.recovery.taste import Moments
from lpbandits.taste import TasteModel
from lpbandits.typing import FloatArray, IntArray

TOGETHER = 128
"""People gone through at once."""

PSEUDO_ROUNDS = 3.0
"""Rounds of average rewards that are added to a person's own, in how far they rate above others."""

KNN = [(shrinkage, damping) for shrinkage in (10.0, 30.0, 100.0, 300.0) for damping in (0.1, 0.3, 1.0)]
"""People of no likeness added to those who rated both actions; likeness added to that of the actions told."""

EASE = [(ridge, gain) for ridge in (10.0, 30.0, 100.0, 300.0, 1000.0) for gain in (1.0, 2.0)]
"""What is added to the diagonal; how much the sum counts."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A score of every action: its mean, and what the told actions' rewards, above or below theirs, say of it."""

    seen: Moments
    weights: FloatArray
    """c×c of the actions `seen.crossed`: how much an action (row) says of each."""
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
        seen, rows, means = self.seen, np.arange(len(given)), prior_means(self.seen.means, self.seen.prior)
        place = np.full(len(means), -1)
        place[seen.crossed] = np.arange(len(seen.crossed))
        left = ~np.isnan(given)
        amount, weight, size = np.zeros((3, len(given), len(seen.crossed)))  # Σ away·w, Σ w and Σ |w| of those told
        own = np.full(given.shape, np.nan)
        total = np.zeros(len(given))
        for t in range(rounds):
            shift = total / (t + PSEUDO_ROUNDS)
            said = amount - shift[:, None] * weight
            if np.isfinite(self.damping):
                said /= size + self.damping
            score = np.repeat(means[None, :], len(given), axis=0)
            score[:, seen.crossed] += self.gain * said
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


def item_knn(seen: Moments, shrinkage: float, damping: float) -> Neighbours:
    """Return nearest neighbours among actions: the cosine of what is left after means, shrunken where few rated both."""
    norms = np.sqrt(np.diag(seen.products))
    near = seen.products / np.maximum(np.outer(norms, norms), 1e-9) * (seen.raters / (seen.raters + shrinkage))
    np.fill_diagonal(near, 0.0)
    return Neighbours(seen, near, damping=damping)


def ease(seen: Moments, ridge: float, gain: float) -> Neighbours:
    """Return EASE (Steck 2019): the ridge regression of each action on all others, which follows from one inverse."""
    from scipy.linalg import inv  # noqa: PLC0415 - heavy, and only this needs it

    inverse = inv(seen.products + ridge * np.eye(len(seen.products)), overwrite_a=True)
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return Neighbours(seen, weights, gain=gain)


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
    """Return what the taste expects of each rated action, told the rewards of all the others, in units of the person.

    With K the covariance of the person's rewards, that is y_a − (K⁻¹ y)_a / (K⁻¹)_aa. Their scale is the likeliest of
    nine, by all of them.
    """
    means = prior_means(taste.means, taste.prior)[rated]
    factors = np.column_stack([np.full(len(rated), np.sqrt(taste.offset)), taste.factors[rated]])
    scaled = factors / taste.variances[rated, None]
    inner = np.linalg.inv(np.eye(factors.shape[1]) + factors.T @ scaled)
    diagonal = 1.0 / taste.variances[rated] - np.einsum("ij,jk,ik->i", scaled, inner, scaled)
    best, found = -np.inf, means
    for x in np.linspace(-2.0, 2.0, 9):
        scale = float(np.exp(taste.log_scale + taste.log_scale_sd * x))
        away = (rewards - taste.level) / scale - means
        pulled = away / taste.variances[rated] - scaled @ (inner @ (scaled.T @ away))
        log_density = -0.5 * float(away @ pulled) - len(rated) * np.log(scale) - 0.5 * x * x
        if log_density > best:
            best, found = log_density, means + away - pulled / diagonal
    return found


def best_possible(replay: Replay) -> FloatArray:
    """Return the rewards of whoever knows all of them beforehand."""
    return in_order(replay.given, replay)


def prior_means(means: FloatArray, prior: FloatArray) -> FloatArray:
    """Return one mean per action: over states, if there are several."""
    return np.asarray(means if means.ndim == 1 else prior @ means)
