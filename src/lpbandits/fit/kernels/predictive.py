"""Foreseeing the ratings of people set aside, each from those before it: by this a taste is chosen and calibrated."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.taste import (
    ALONG,
    CALIBRATION,
    COMMON,
    LEVEL,
    SCALE,
    SCALES,
    STATE_ROWS,
    TASTE_REWARD,
    TINY,
    VARIANCE,
    WEIGHT,
    expected_reward,
    foreseen_sd,
    lean,
    project,
    replace_along,
    slope,
    states,
    update_posterior,
)
from lpbandits.typing import FloatArray, Int32Array, IntArray


@kernel
def bring_best(table: FloatArray, own: FloatArray, at: int, end: int, actions: Int32Array, rewards: FloatArray) -> None:
    """Swap to place `at` the reward, up to `end`, of whose action most is expected: what a greedy policy plays."""
    best = at
    most = -np.inf
    lean(table, own)
    for i in range(at, end):
        value = expected_reward(table, own, actions[i])
        if value > most:
            best = i
            most = value
    actions[at], actions[best] = actions[best], actions[at]
    rewards[at], rewards[best] = rewards[best], rewards[at]


@jit_in_place
def foresee(
    low: int,
    high: int,
    greedy: int,
    table: FloatArray,
    start: FloatArray,
    tastes: FloatArray,
    offsets: IntArray,
    actions: Int32Array,
    rewards: FloatArray,
    means: FloatArray,
    sds: FloatArray,
    logs: FloatArray,
) -> None:
    """Foresee each reward of people low to high from those before it: its mean, its sd, and the log of its density.

    Person p's rewards, of different actions, stand at offsets[p] to offsets[p + 1]; `tastes` has scratch for each. The
    first `greedy` of them, at most half, are brought into the order in which a greedy policy would play them, and if
    there are such, the others are foreseen from these alone.
    """
    for p in range(low, high):
        own = tastes[p]
        for i in range(own.shape[0]):
            for j in range(own.shape[1]):
                own[i, j] = start[i, j]
        end = offsets[p + 1]
        for at in range(offsets[p], end):
            greedily = at - offsets[p] < min(greedy, (end - offsets[p]) // 2)
            if greedily:
                bring_best(table, own, at, end, actions, rewards)
            action = actions[at]
            reward = rewards[at] - table[COMMON, LEVEL]
            by_reward = project(table, own, action, TASTE_REWARD)
            lean(table, own)
            means[at] = expected_reward(table, own, action)
            sds[at] = table[COMMON, CALIBRATION] * foreseen_sd(table, own, action, 0.0)
            by_taste = project(table, own, action, ALONG)  # Λ⁻¹F is there from the sd
            variance = table[VARIANCE, action] + by_taste
            density = 0.0
            for z in range(states(table)):
                by_mean = slope(table, own, action, z)
                for j in range(SCALES):
                    s = own[SCALE, j]
                    away = (reward - by_reward) / s - by_mean
                    density += own[WEIGHT - STATE_ROWS * z, j] * np.exp(-0.5 * away * away / variance) / s
            logs[at] = np.log(max(density, TINY)) - 0.5 * np.log(2.0 * np.pi * variance)
            if greedily or greedy == 0:
                replace_along(table, own, action, by_taste, 0.0, 0.0, 1.0, reward)
                update_posterior(table, own)
