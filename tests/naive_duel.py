"""Slow and obvious twins of the duel kernels, to be checked by eye. A history is a list of (winner, loser)."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tests import naive
from tests.naive import Draw, Duels, Order, normal, unit

Floats = NDArray[np.float64]
CHALLENGE = 8
SAME = 1e-12


def two_states(
    orders: Sequence[Order],
    belief: Floats,
    duels: int,
    allowed: Sequence[int],
    draw: Draw,
    play: Callable[[Sequence[int], int], int] = lambda tier, _: tier[0],
) -> tuple[int, int]:
    """The best allowed actions of two drawn states; if equal, the most uncertain challenger while it is worthwhile.

    `play` chooses from a best tier.
    """
    tiers = [naive.best_tier(order, allowed) for order in orders]

    def drawn(index: int) -> int:
        state = int(np.searchsorted(np.cumsum(belief), unit(draw(naive.STATE, index)[0]), side="right"))
        return play(tiers[min(state, len(tiers) - 1)], index)

    first, second = drawn(0), drawn(1)
    if first != second:
        return first, second
    other_best = sum(p for p, tier in zip(belief, tiers, strict=True) if first not in tier)
    if other_best <= 1 / (duels + 3) + SAME:
        return first, first
    chosen, largest, farthest = first, -1.0, -1.0
    ranks = np.array([naive.mid_ranks(order) for order in orders])
    for other in allowed:
        if other == first:
            continue
        places = ranks[:, other] - ranks[:, first]
        above, distance = float(belief @ (1 - np.sign(places)) / 2), float(belief @ np.abs(places))
        variance = above * (1 - above)
        if variance > largest + SAME or (variance > largest - SAME and distance > farthest + SAME):
            chosen, largest, farthest = other, variance, distance
    return first, chosen


def gamma(shape: float, purpose: int, index: int, draw: Draw) -> float:
    """Marsaglia and Tsang's squeeze-free rejection."""
    d = shape - 1 / 3
    for i in range(32):
        word, second_word = draw(purpose, 32 * index + i)
        x = normal(word)
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(unit(second_word)) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v
    return d


def double_thompson(k: int, duels: Duels, allowed: Sequence[int], alpha: float, draw: Draw) -> tuple[int, int]:
    """Wu and Liu (2016), Algorithm 1, line by line."""
    wins = np.zeros((k, k))
    for winner, loser in duels:
        if winner != loser:
            wins[winner, loser] += 1
    t = len(duels) + 1

    def limits(i: int, j: int) -> tuple[float, float]:
        n = wins[i, j] + wins[j, i]
        if n == 0:
            return 0.0, 2.0
        radius = math.sqrt(alpha * math.log(t) / n)
        return wins[i, j] / n - radius, wins[i, j] / n + radius

    may_beat = {i: sum(limits(i, j)[1] > 0.5 for j in allowed if j != i) for i in allowed}
    candidates = [i for i in allowed if may_beat[i] == max(may_beat.values())]
    beats = dict.fromkeys(allowed, 0)
    for i in allowed:
        for j in allowed:
            if i < j:
                won = gamma(wins[i, j] + 1, naive.VALUE, 2 * (i * k + j), draw)
                lost = gamma(wins[j, i] + 1, naive.VALUE, 2 * (i * k + j) + 1, draw)
                beats[i if won > lost else j] += 1
    most = max(beats[i] for i in candidates)
    tied = [i for i in candidates if beats[i] == most]
    first = tied[min(int(unit(draw(naive.FIRST, 0)[0]) * len(tied)), len(tied) - 1)]
    probabilities = {first: 0.5}
    for i in allowed:
        if i != first and limits(i, first)[0] <= 0.5:
            won = gamma(wins[i, first] + 1, CHALLENGE, 2 * i, draw)
            lost = gamma(wins[first, i] + 1, CHALLENGE, 2 * i + 1, draw)
            probabilities[i] = won / (won + lost)
    return first, max(probabilities, key=lambda i: probabilities[i])


def first_wins(comparison: str, one: float, other: float, noise: float, draw: Draw) -> bool:
    """Compare two noisy Gaussian rewards, or toss a Bradley-Terry coin."""
    word, second_word = draw(naive.REWARD, 0)
    if comparison == "bradley-terry":
        return unit(word) < 1 / (1 + math.exp((other - one) / noise))
    return one + noise * normal(word) > other + noise * normal(second_word)
