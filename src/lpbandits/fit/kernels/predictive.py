"""Predict held-out ratings one after another, to choose and calibrate a taste model."""

from typing import Any

import numpy as np

from lpbandits.kernels import taste as posterior
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.typing import FloatArray, Int32Array


@kernel
def bring_best(table: FloatArray, own: FloatArray, at: int, end: int, actions: Int32Array, rewards: FloatArray) -> None:
    """Swap to position `at` the action of at..end−1 that a greedy policy would choose."""
    best = at
    highest = -np.inf
    posterior.lean(table, own)
    for i in range(at, end):
        value = posterior.expected_reward(table, own, actions[i])
        if value > highest:
            best = i
            highest = value
    actions[at], actions[best] = actions[best], actions[at]
    rewards[at], rewards[best] = rewards[best], rewards[at]


@jit_in_place
def predict_sequence(
    low: int, high: int, greedy: int, table: FloatArray, start: FloatArray, tastes: FloatArray, ratings: Any, out: Any
) -> None:
    """Fill `out`: predictive mean, sd and log density of each reward of people low..high−1, given those before it.

    `ratings` is (offsets, actions, rewards): person p's rewards, of different actions, are at
    offsets[p]..offsets[p + 1]−1; `tastes` is scratch space per person. With greedy > 0, the first `greedy` rewards of a
    person (at most half) are put into the order in which a greedy policy would play them, and the others are predicted
    from these only.
    """
    offsets, actions, rewards = ratings
    means, sds, logs = out
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
            reward = rewards[at] - table[posterior.COMMON, posterior.LEVEL]
            by_reward = posterior.project(table, own, action, posterior.TASTE_REWARD)
            posterior.lean(table, own)
            means[at] = posterior.expected_reward(table, own, action)
            sds[at] = table[posterior.COMMON, posterior.CALIBRATION] * posterior.foreseen_sd(table, own, action, 0.0)
            by_taste = posterior.project(table, own, action, posterior.ALONG)  # foreseen_sd left Λ⁻¹F in ALONG
            variance = table[posterior.VARIANCE, action] + by_taste
            by_mean = posterior.slope(table, own, action)
            density = 0.0
            for j in range(posterior.SCALES):
                s = own[posterior.SCALE, j]
                away = (reward - by_reward) / s - by_mean
                density += own[posterior.WEIGHT, j] * np.exp(-0.5 * away * away / variance) / s
            logs[at] = np.log(max(density, posterior.TINY)) - 0.5 * np.log(2.0 * np.pi * variance)
            if greedily or greedy == 0:
                posterior.replace_part(table, own, action, by_taste, 0.0, 0.0, 1.0, reward)
                posterior.update_posterior(table, own)
