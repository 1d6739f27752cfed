"""Loops over people's ratings: sums for item means, residuals and state means, and predictions of held-out ratings.

Person i's rating of action a in standard units is y = (rating − mean_i) / sd_i. Its residual is e = y − u_a − α_i, with
the item mean u_a and the offset α_i that makes the mean residual of the person 0.

Sums are made per part: `people` is (edges, offsets, action, rating), and part p holds the people edges[p] up to
edges[p + 1]. Parts do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.kernels import taste as posterior
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray

RATERS, TOTAL = 0, 1  # rows of a part's sums: number of raters of an action, and Σ y or Σ rating
NOWHERE = 2**16 - 1  # the place of an action without a row in the matrix of covariances


@jit_in_place
def add_ratings(
    low: int, high: int, people: Any, used: BoolArray, means: FloatArray, spreads: FloatArray, sums: FloatArray
) -> None:
    """Fill sums[part, ·, a] over the used people who rated a: their number, and Σ y."""
    edges, offsets, action, rating = people
    for part in range(low, high):
        raters, totals = sums[part, RATERS], sums[part, TOTAL]
        raters[:] = 0.0
        totals[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            if used[i]:
                rated = action[offsets[i] : offsets[i + 1]]
                values = rating[offsets[i] : offsets[i + 1]]
                for t in range(len(rated)):
                    raters[rated[t]] += 1.0
                    totals[rated[t]] += (values[t] - means[i]) / spreads[i]


@jit_in_place
def add_levels(low: int, high: int, people: Any, used: BoolArray, items: FloatArray, sums: FloatArray) -> None:
    """Fill sums[part, a] = Σ −α_i over the used people who rated a; −α_i is the mean of u over the actions of i."""
    edges, offsets, action, _ = people
    for part in range(low, high):
        levels = sums[part]
        levels[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            if used[i] and len(rated):
                total = 0.0
                for t in range(len(rated)):
                    total += items[rated[t]]
                level = total / len(rated)
                for t in range(len(rated)):
                    levels[rated[t]] += level


@jit_in_place
def residuals(
    low: int, high: int, people: Any, scales: Any, items: FloatArray, place: Any, out: Any, sums: FloatArray
) -> None:
    """Fill each person's α, the residuals e of actions with a place, and sums[part, a] = Σ e² of all actions.

    `scales` is (used, means, spreads) of the people, `out` (α, first residual of each person, places, residuals).
    """
    edges, offsets, action, rating = people
    used, means, spreads = scales
    alpha, out_offsets, out_place, out_residual = out
    for part in range(low, high):
        squares = sums[part]
        squares[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            alpha[i] = 0.0
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            if not used[i] or not len(rated):
                continue
            total = 0.0
            for t in range(len(rated)):
                total += (values[t] - means[i]) / spreads[i] - items[rated[t]]
            alpha[i] = total / len(rated)
            at = out_offsets[i]
            for t in range(len(rated)):
                a = rated[t]
                e = (values[t] - means[i]) / spreads[i] - items[a] - alpha[i]
                squares[a] += e * e
                if place[a] != NOWHERE:
                    out_place[at] = place[a]
                    out_residual[at] = e
                    at += 1


@jit_in_place
def product_rows(low: int, high: int, starts: IntArray, entries: Any, people: Any, out: Any) -> None:
    """Fill rows low..high−1 of Σ_i e_ia e_ib, for b ≥ a, and of the number of people who rated both.

    `entries` is (position, end), `people` (place, residual) and `out` (products, raters). Rows are stored one after the
    other: row a begins at a (2c − a + 1) / 2. From starts[part, a] on, `position` lists the residuals of action a in a
    part, and `end` the ends of their people's runs. A person's actions ascend, so b ≥ a are the rest of the run. A
    part's runs stay in the fast cache while all rows pass through it. A cell's terms are added in the order of the
    people, for any number of threads.
    """
    position, end = entries
    place, residual = people
    products, raters = out
    c = starts.shape[1] - 1
    for a in range(low, high):
        first = a * (2 * c - a + 1) // 2
        products[first : first + c - a] = 0.0
        raters[first : first + c - a] = 0
    for part in range(len(starts)):
        for a in range(low, high):
            zero = a * (2 * c - a + 1) // 2 - a
            row, count = products[zero : zero + c], raters[zero : zero + c]
            for o in range(starts[part, a], starts[part, a + 1]):
                e_a = residual[position[o]]
                actions, e_b = place[position[o] : end[o]], residual[position[o] : end[o]]
                for t in range(len(actions)):
                    b = actions[t]
                    row[b] += e_a * e_b[t]
                    count[b] += np.uint32(1)


@jit_in_place
def add_cells(low: int, high: int, people: Any, labels: IntArray, membership: FloatArray, sums: FloatArray) -> None:
    """Fill sums[part, ·, z, a]: number and sum of the ratings of a by the part's people of state z.

    A person counts in the state of the label or, if `membership` (people × states) has columns, in each state by its
    probability.
    """
    edges, offsets, action, rating = people
    states = membership.shape[1]
    for part in range(low, high):
        raters, total = sums[part, RATERS], sums[part, TOTAL]
        raters[:] = 0.0
        total[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            first, last = (0, states) if states else (labels[i], labels[i] + 1)
            for z in range(first, last):
                weight = membership[i, z] if states else 1.0
                for t in range(len(rated)):
                    raters[z, rated[t]] += weight
                    total[z, rated[t]] += weight * values[t]


@jit_in_place
def add_squares(
    low: int, high: int, people: Any, labels: IntArray, membership: FloatArray, means: FloatArray, sums: FloatArray
) -> None:
    """Fill sums[part]: Σ (rating − mean in the person's state)² over the part's people."""
    edges, offsets, action, rating = people
    states = membership.shape[1]
    for part in range(low, high):
        total = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            first, last = (0, states) if states else (labels[i], labels[i] + 1)
            for z in range(first, last):
                weight = membership[i, z] if states else 1.0
                for t in range(len(rated)):
                    away = values[t] - means[z, rated[t]]
                    total += weight * (away * away)
        sums[part] = total


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

    `ratings` is (offsets, actions, rewards): person p's rewards, of different actions, are at positions
    offsets[p]..offsets[p + 1]−1; `tastes` is scratch space per person. With greedy > 0, a person's first `greedy`
    rewards (at most half) are reordered as a greedy policy would play them, and predict the others.
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
