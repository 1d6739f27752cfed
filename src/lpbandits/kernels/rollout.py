"""Whole horizons for many people: the loop of ask, reward and tell, compiled around one evidence and one rule."""

import functools
from collections.abc import Callable

import numpy as np

from lpbandits.kernels.compiler import jit, specialise
from lpbandits.kernels.evidence import refit_tell as tell
from lpbandits.kernels.isotonic import pool
from lpbandits.kernels.layout import BERNOULLI, POISSON, POSTERIOR
from lpbandits.kernels.random import REWARD, normal_quantile, poisson_quantile, uniform
from lpbandits.kernels.rules import sample_choose as choose
from lpbandits.typing import FloatArray, Int32Array, IntArray


@jit
def draw_reward(family: int, mean: float, noise: float, seed: int, person: int, round_: int) -> float:
    """Return the reward of this person and round: the same luck for every policy, whatever action it meets."""
    u = uniform(seed, person, round_, REWARD, 0)
    if family == BERNOULLI:
        return 1.0 if u < mean else 0.0
    if family == POISSON:
        return poisson_quantile(u, mean)
    return mean + noise * normal_quantile(u)


@jit
def best_mean(means: FloatArray, person: int, offered: IntArray) -> float:
    """Return the largest mean among the allowed actions."""
    if len(offered) == 0:
        return means[person].max()
    value = means[person, offered[0]]
    for i in range(1, len(offered)):
        value = max(value, means[person, offered[i]])
    return value


@jit
def active_constraints(stats: FloatArray, order: Int32Array, n: int, state: int, out: FloatArray) -> None:
    """Write the order constraints that hold with equality: mean over all states, the true one, mean of the others."""
    m = order.shape[0] - 1
    total = 0.0
    for z in range(m):
        blocks, _ = pool(stats, order, 1 + z, n, -1)
        total += n - blocks
        if z == state:
            out[1] = n - blocks
    out[0] = total / m
    out[2] = (total - out[1]) / (m - 1) if m > 1 else np.nan


def rollout(
    ranks: Int32Array,
    table: FloatArray,
    best: IntArray,
    settings: FloatArray,
    start: FloatArray,
    ordered: int,
    means: FloatArray,
    truth: IntArray,
    family: int,
    noise: float,
    offered: IntArray,
    seed: int,
    first: int,
    actions: Int32Array,
    rewards: FloatArray,
    regret: FloatArray,
    mass: FloatArray,
    active: FloatArray,
) -> None:
    """Play all rounds for people first, first+1, …; the last five arrays take the results.

    `start` is the states' part of an untouched belief, `ordered` how many states' orders the evidence keeps, `offered`
    people × rounds × allowed actions (1×1×0 where all are allowed). Each person's results depend on nothing but
    their own address, so any split over threads gives the same bits.
    """
    people, rounds = actions.shape
    k = means.shape[1]
    capacity = min(rounds, k)
    stats = np.empty((5, capacity))
    order = np.empty((1 + ordered, capacity), dtype=np.int32)
    states = np.empty_like(start)
    latent = states.shape[1] > 0
    for p in range(people):
        n = 0
        states[:] = start
        allowed = offered[0, 0]
        target = best_mean(means, p, allowed)
        for t in range(rounds):
            if offered.shape[2] > 0:
                allowed = offered[min(p, offered.shape[0] - 1), min(t, offered.shape[1] - 1)]
                target = best_mean(means, p, allowed)
            action = choose(ranks, table, best, settings, stats, order, states, n, allowed, seed, first + p, t)
            reward = draw_reward(family, means[p, action], noise, seed, first + p, t)
            n = tell(ranks, table, settings, stats, order, states, n, action, reward)
            actions[p, t] = action
            rewards[p, t] = reward
            regret[p, t] = target - means[p, action]
            mass[p, t] = states[POSTERIOR, truth[p]] if latent else np.nan
        active[p, :] = np.nan
        if latent and ordered == states.shape[1]:
            active_constraints(stats, order, n, truth[p], active[p])


@functools.cache
def rollout_of(evidence: Callable[..., int], rule: Callable[..., int]) -> Callable[..., None]:
    """Return `rollout` compiled around one evidence's tell and one rule's choose."""
    return specialise(rollout, f"rollout_{evidence.__name__}_{rule.__name__}", tell=evidence, choose=rule)
