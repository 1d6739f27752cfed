"""Whole horizons for many people: the loop of ask, reward and tell, compiled around one evidence and one rule."""

import functools
from collections.abc import Callable

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, jit_inline, specialise
from lpbandits.kernels.evidence import refit_tell as tell
from lpbandits.kernels.isotonic import pool
from lpbandits.kernels.layout import BERNOULLI, POISSON, POSTERIOR, SCORE, SETTINGS
from lpbandits.kernels.random import REWARD, normal_quantile, poisson_quantile, uniform
from lpbandits.kernels.rules import sample_choose as choose
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray


@jit_in_place
def draw_reward(family: int, mean: float, noise: float, seed: int, person: int, round_: int) -> float:
    """Return the reward of this person and round: the same luck for every policy, whatever action it meets."""
    u = uniform(seed, person, round_, REWARD, 0)
    if family == BERNOULLI:
        return 1.0 if u < mean else 0.0
    if family == POISSON:
        return poisson_quantile(u, mean)
    return mean + noise * normal_quantile(u)


@jit_inline
def filled(row: IntArray) -> int:
    """Return how many actions a set has before the -1 that fill it up."""
    size = len(row)
    while size > 0 and row[size - 1] < 0:
        size -= 1
    return size


@jit_in_place
def best_mean(means: FloatArray, person: int, offered: IntArray) -> float:
    """Return the largest mean among the allowed actions."""
    value = -np.inf
    if len(offered) == 0:
        for action in range(means.shape[1]):
            value = max(value, means[person, action])
    else:
        for i in range(filled(offered)):
            value = max(value, means[person, offered[i]])
    return value


@jit_in_place
def active_constraints(numbers: FloatArray, order: SlotArray, n: int, state: int, out: FloatArray, person: int) -> None:
    """Write the order constraints that hold with equality: mean over all states, the true one, mean of the others."""
    m = order.shape[0] - 1
    total = 0.0
    for z in range(m):
        blocks, _ = pool(numbers, order, 1 + z, n, -1)
        total += n - blocks
        if z == state:
            out[person, 1] = n - blocks
    out[person, 0] = total / m
    out[person, 2] = (total - out[person, 1]) / (m - 1) if m > 1 else np.nan


def rollout(
    ranks: Int32Array,
    table: FloatArray,
    start: FloatArray,
    means: FloatArray,
    truth: IntArray,
    family: int,
    noise: float,
    offered: IntArray,
    choices: IntArray,
    seed: int,
    first: int,
    actions: Int32Array,
    rewards: FloatArray,
    regret: FloatArray,
    mass: FloatArray,
    active: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
) -> None:
    """Play all rounds for people first, first+1, …; `actions` to `active` take the results, the rest is one belief.

    `start` holds the rows per state of an untouched belief (no columns without latent states). `offered` is people ×
    rounds × allowed actions in rising order, filled up with -1 (1 in place of people or rounds: the same for all;
    1×1×0: everything is allowed); regret is counted from the best of them. `choices` is what the policy limits itself
    to, in the same form. Each person's results depend on nothing but their own address, so any split over threads gives
    the same bits.
    """
    people, rounds = actions.shape
    m = start.shape[1]
    for p in range(people):
        n = 0
        for row in range(SCORE, SETTINGS):
            for z in range(m):
                numbers[row, z] = start[row, z]
        target = best_mean(means, p, offered[0, 0])
        for t in range(rounds):
            if offered.shape[2] > 0:
                target = best_mean(means, p, offered[min(p, offered.shape[0] - 1), min(t, offered.shape[1] - 1)])
            allowed = choices[min(p, choices.shape[0] - 1), min(t, choices.shape[1] - 1)]
            allowed = allowed[: filled(allowed)]
            action = choose(ranks, table, numbers, order, n, allowed, seed, first + p, t)
            reward = draw_reward(family, means[p, action], noise, seed, first + p, t)
            n = tell(ranks, table, numbers, order, n, action, reward)
            actions[p, t] = action
            rewards[p, t] = reward
            regret[p, t] = target - means[p, action]
            mass[p, t] = numbers[POSTERIOR, truth[p]] if m > 0 else np.nan
        for i in range(3):
            active[p, i] = np.nan
        if m > 0 and order.shape[0] == 1 + m:
            active_constraints(numbers, order, n, truth[p], active, p)


@functools.cache
def rollout_of(evidence: Callable[..., int], rule: Callable[..., int]) -> Callable[..., None]:
    """Return `rollout` compiled around one evidence's tell and one rule's choose."""
    return specialise(rollout, f"rollout_{evidence.__name__}_{rule.__name__}", tell=evidence, choose=rule)
