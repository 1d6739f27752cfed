"""Predict held-out ratings one after another, to choose and calibrate a taste model."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.taste import (
    ALONG,
    CALIBRATION,
    COMMON,
    LEVEL,
    SCALE,
    SCALES,
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
    update_posterior,
)
from lpbandits.typing import FloatArray, Int32Array, IntArray


@kernel
def bring_best(table: FloatArray, own: FloatArray, at: int, end: int, actions: Int32Array, rewards: FloatArray) -> None:
    """Swap the action with the highest expected reward among at..end−1, a greedy policy's choice, to place `at`."""
    best = at
    highest = -np.inf
    lean(table, own)
    for i in range(at, end):
        value = expected_reward(table, own, actions[i])
        if value > highest:
            best = i
            highest = value
    actions[at], actions[best] = actions[best], actions[at]
    rewards[at], rewards[best] = rewards[best], rewards[at]


@jit_in_place
def predict_sequence(
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
    """Fill the predictive mean, sd and log density of each reward of people low..high−1, given the rewards before it.

    Person p's rewards, of different actions, are at offsets[p]..offsets[p + 1]−1; `tastes` is scratch space per person.
    With greedy > 0, the first `greedy` rewards of a person (at most half) are put into the order in which a greedy
    policy would play them, and the others are predicted from these only.
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
            by_taste = project(table, own, action, ALONG)  # foreseen_sd left Λ⁻¹F in ALONG
            variance = table[VARIANCE, action] + by_taste
            by_mean = slope(table, own, action)
            density = 0.0
            for j in range(SCALES):
                s = own[SCALE, j]
                away = (reward - by_reward) / s - by_mean
                density += own[WEIGHT, j] * np.exp(-0.5 * away * away / variance) / s
            logs[at] = np.log(max(density, TINY)) - 0.5 * np.log(2.0 * np.pi * variance)
            if greedily or greedy == 0:
                replace_along(table, own, action, by_taste, 0.0, 0.0, 1.0, reward)
                update_posterior(table, own)
