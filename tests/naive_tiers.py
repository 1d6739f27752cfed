"""Slow and obvious twins for orderings with tiers: the fit as a quadratic program, and the draw within a tier."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

from tests import naive
from tests.naive import Draw, Floats, History, Order
from tests.naive_duel import gamma


def fit_by_program(order: Order, history: History) -> dict[int, float]:
    """The means x with the least Σ n (ȳ − x)², each at least those of all worse tiers: the dual, by NNLS.

    With multipliers λ ≥ 0 of the constraints C x ≥ 0, x = ȳ + Cᵀλ / n, and λ minimises |Cᵀλ / √n + √n ȳ|².
    """
    rewards = naive.rewards_by_action(history)
    tried = sorted(rewards)
    y, n = np.array([np.mean(rewards[a]) for a in tried]), np.array([len(rewards[a]) for a in tried], dtype=np.float64)
    rows = []
    for i, a in enumerate(tried):
        for j, b in enumerate(tried):
            if naive.tier_of(order, a) < naive.tier_of(order, b):
                rows.append(np.eye(len(tried))[i] - np.eye(len(tried))[j])
    if rows:
        constraints = np.array(rows)
        multipliers, _ = nnls((constraints / np.sqrt(n)).T, -np.sqrt(n) * y, maxiter=10_000)
        y = y + multipliers @ constraints / n
    return dict(zip(tried, y.tolist(), strict=True))


def play_in_tier(members: Sequence[int], history: History, kind: str, noise: float, draw: Draw, index: int = 0) -> int:
    """The member whose mean has the largest draw from its own posterior; all untried ones share one draw."""
    if len(members) == 1:
        return members[0]
    rewards = {a: values for a, values in naive.rewards_by_action(history).items() if a in members}
    everything = [reward for _, reward in history]
    centre = float(np.mean(everything)) if everything else 0.0
    own = [float(np.mean(values)) for values in naive.rewards_by_action(history).values()]
    width = 100 * math.sqrt(noise**2 + np.mean((np.array(own) - centre) ** 2)) if own else 1.0
    rate = (1 + len(everything)) / (1 + sum(everything))
    word, second_word = draw(naive.VALUE, index)
    values = {}
    for a, r in rewards.items():
        n, total, at = len(r), sum(r), 1 + 4 * a + 2 * index
        if kind == "bernoulli":
            won, lost = gamma(1 + total, naive.VALUE, at, draw), gamma(1 + n - total, naive.VALUE, at + 1, draw)
            values[a] = won / (won + lost)
        elif kind == "poisson":
            values[a] = gamma(1 + total, naive.VALUE, at, draw) / (rate + n)
        else:
            precision = width**-2 + n / noise**2
            mean = (centre * width**-2 + total / noise**2) / precision
            values[a] = mean + naive.normal(naive.splitmix(word, a + 1)) / math.sqrt(precision)
    untried = sorted(set(members) - set(rewards))
    if untried:
        share = naive.unit(second_word) ** (1 / len(untried))
        prior: Floats = np.array(centre + width * ndtri(share))
        largest = {"bernoulli": share, "poisson": -math.log1p(-share) / rate}.get(kind, float(prior))
        if not values or largest > max(values.values()):
            return naive.pick(untried, naive.unit(draw(naive.FIRST, index)[0]))
    return max(values, key=lambda a: values[a])
