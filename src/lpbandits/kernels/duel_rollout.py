"""Whole horizons of duels for many people: the loop of ask, duel and tell, around one evidence and one rule."""

import functools
from collections.abc import Callable

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, specialise
from lpbandits.kernels.duel import inversions_tell as tell
from lpbandits.kernels.duel import two_states_choose as choose
from lpbandits.kernels.layout import BERNOULLI, POISSON, POSTERIOR, SCORE, SETTINGS
from lpbandits.kernels.random import REWARD, normal_quantile, poisson_quantile, uniform
from lpbandits.kernels.rollout import best_mean
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray

COMPARED = 0  # two noisy rewards are compared
BRADLEY_TERRY = 1  # the chance to win is the logistic function of the difference of the means


@jit_in_place
def noisy(family: int, mean: float, noise: float, u: float) -> float:
    """Return the reward that a uniform number points at."""
    if family == BERNOULLI:
        return 1.0 if u < mean else 0.0
    if family == POISSON:
        return poisson_quantile(u, mean)
    return mean + noise * normal_quantile(u)


@jit_in_place
def first_wins(
    comparison: int, family: int, one: float, other: float, noise: float, seed: int, person: int, round_: int
) -> bool:
    """Say whether the first of two actions with these means wins: the same luck for every policy in this round.

    Equal rewards are settled by a coin.
    """
    if comparison == BRADLEY_TERRY:
        return uniform(seed, person, round_, REWARD, 0) * (1.0 + np.exp((other - one) / noise)) < 1.0
    mine = noisy(family, one, noise, uniform(seed, person, round_, REWARD, 0))
    theirs = noisy(family, other, noise, uniform(seed, person, round_, REWARD, 1))
    if mine == theirs:
        return uniform(seed, person, round_, REWARD, 2) < 0.5
    return mine > theirs


def duel_rollout(
    ranks: Int32Array,
    start: FloatArray,
    means: FloatArray,
    truth: IntArray,
    comparison: int,
    family: int,
    noise: float,
    offered: IntArray,
    seed: int,
    first: int,
    pairs: Int32Array,
    won: Int32Array,
    strong: FloatArray,
    weak: FloatArray,
    mass: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    wins: FloatArray,
) -> None:
    """Play all rounds for people first, first+1, …; `pairs` to `mass` take the results, the rest is one belief.

    `strong` is what both actions of a pair lose against the best allowed one, together; `weak` what the better of them
    loses. `won` is 1 where the first won. As in `rollout`, nobody's results depend on anybody else's.
    """
    people, rounds = won.shape
    m = start.shape[1]
    for p in range(people):
        n = 0
        for row in range(SCORE, SETTINGS):
            for z in range(m):
                numbers[row, z] = start[row, z]
        for i in range(wins.shape[0]):
            for j in range(wins.shape[1]):
                wins[i, j] = 0.0
        allowed = offered[0, 0]
        target = best_mean(means, p, allowed)
        for t in range(rounds):
            if offered.shape[2] > 0:
                allowed = offered[min(p, offered.shape[0] - 1), min(t, offered.shape[1] - 1)]
                size = len(allowed)
                while allowed[size - 1] < 0:
                    size -= 1
                allowed = allowed[:size]
                target = best_mean(means, p, allowed)
            one, other = choose(ranks, wins, numbers, order, n, allowed, seed, first + p, t)
            ahead = first_wins(comparison, family, means[p, one], means[p, other], noise, seed, first + p, t)
            if ahead:
                n = tell(ranks, wins, numbers, order, n, one, other)
            else:
                n = tell(ranks, wins, numbers, order, n, other, one)
            pairs[p, t, 0] = one
            pairs[p, t, 1] = other
            won[p, t] = 1 if ahead else 0
            loss, loss_too = target - means[p, one], target - means[p, other]
            strong[p, t] = loss + loss_too
            weak[p, t] = min(loss, loss_too)
            mass[p, t] = numbers[POSTERIOR, truth[p]] if m > 0 else np.nan


@functools.cache
def duel_rollout_of(evidence: Callable[..., int], rule: Callable[..., tuple[int, int]]) -> Callable[..., None]:
    """Return `duel_rollout` compiled around one evidence's tell and one rule's choose."""
    return specialise(duel_rollout, f"duels_{evidence.__name__}_{rule.__name__}", tell=evidence, choose=rule)
