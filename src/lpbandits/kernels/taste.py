"""The taste model, one person at a time: what ratings say of a person's taste and scale, and what to expect of others.

A reward of action a is r0 + s (u_a + F_a·θ + e_a + noise): θ ~ N(0, I) is the person's taste, s their scale, one of a
few, e_a ~ N(0, L ψ_a) their lasting liking of this one action, and the noise has variance (1 − L) ψ_a. With ρ̄ the mean
reward of an action minus r0 and D = ψ (L + (1 − L)/n) the variance that n plays leave about F·θ, all follows from sums
over tried actions: Λ = I + Σ F Fᵀ/D and η = Σ F (ρ̄/s − u)/D give θ ~ N(Λ⁻¹ η, Λ⁻¹). A tell costs O(d²), whatever was
tried; what is expected costs O(k d).
"""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.typing import FloatArray, Int32Array, IntArray

SCALES = 9
TINY = 1e-300
REACH = 2.0  # scales are s = exp(ℓ + τ x), x from −REACH to REACH

# rows of the table, a column per action; LEVEL and LASTING stand in row COMMON
MEAN = 0  # u
VARIANCE = 1  # ψ
COMMON = 2
FACTOR = 3  # F, a row per dimension of taste
LEVEL, LASTING, CALIBRATION = 0, 1, 2
LEAST_COLUMNS = 3

# rows of what a person's taste is, from the first: COVARIANCE (Λ⁻¹), as many as dimensions; then, from the last:
SCALE = -1  # s
WEIGHT = -2  # p(s | rewards)
SUMS = -3
ALONG = -4  # scratch: Λ⁻¹ F of one action
PULL_REWARD, PULL_MEAN = -5, -6  # Σ F ρ̄/D and Σ F u/D
TASTE_REWARD, TASTE_MEAN = -7, -8  # Λ⁻¹ times these: given s, the taste is TASTE_REWARD / s − TASTE_MEAN
ROWS = 8
# places in the row SUMS: Σ ρ̄²/D, Σ ρ̄u/D, Σ u²/D; rewards; their squares within actions, / ψ (1 − L); E s, E s²
REWARDS_TWICE, REWARDS_MEANS, MEANS_TWICE, COUNT, WITHIN, SCALE_1, SCALE_2 = range(7)


@kernel
def dimensions(own: FloatArray) -> int:
    """Return how many dimensions a taste has, the level among them."""
    return own.shape[0] - ROWS


@kernel
def forget(own: FloatArray) -> None:
    """Make a taste that of somebody unknown: Λ = I, and empty sums."""
    for row in range(own.shape[0] - 2):
        for i in range(own.shape[1]):
            own[row, i] = 0.0
    for i in range(dimensions(own)):
        own[i, i] = 1.0


@kernel
def project(table: FloatArray, own: FloatArray, action: int, row: int) -> float:
    """Return F·w of an action, w a row of the taste."""
    total = 0.0
    for i in range(dimensions(own)):
        total += table[FACTOR + i, action] * own[row, i]
    return total


@kernel
def along(table: FloatArray, own: FloatArray, action: int) -> float:
    """Write Λ⁻¹F of an action; return F·Λ⁻¹F, the variance of its F·θ. Row by row, so that it runs in vectors."""
    size = dimensions(own)
    out = own[ALONG]
    for i in range(size):
        out[i] = 0.0
    for j in range(size):
        factor = table[FACTOR + j, action]
        row = own[j]
        for i in range(size):
            out[i] += factor * row[i]
    return project(table, own, action, ALONG)


@kernel
def take_in(table: FloatArray, own: FloatArray, action: int, weight: float, pull: float, squares: float) -> None:
    """Add to an action's 1/D, ρ̄/D and ρ̄²/D: Λ += δFFᵀ, so Λ⁻¹ −= κ g gᵀ with g = Λ⁻¹F, κ = δ/(1 + δ F·g)."""
    size = dimensions(own)
    variance = along(table, own, action)
    kappa = weight / (1.0 + weight * variance)
    mean = table[MEAN, action]
    by_reward = pull - kappa * (project(table, own, action, TASTE_REWARD) + variance * pull)
    by_mean = mean * weight
    by_mean -= kappa * (project(table, own, action, TASTE_MEAN) + variance * by_mean)
    for i in range(size):
        own[TASTE_REWARD, i] += own[ALONG, i] * by_reward
        own[TASTE_MEAN, i] += own[ALONG, i] * by_mean
        own[PULL_REWARD, i] += table[FACTOR + i, action] * pull
        own[PULL_MEAN, i] += table[FACTOR + i, action] * mean * weight
        step = kappa * own[ALONG, i]
        row = own[i]
        for j in range(size):
            row[j] -= step * own[ALONG, j]
    own[SUMS, REWARDS_TWICE] += squares
    own[SUMS, REWARDS_MEANS] += mean * pull
    own[SUMS, MEANS_TWICE] += mean * mean * weight


@kernel
def replace_part(
    table: FloatArray, own: FloatArray, action: int, count: float, mean: float, new_count: float, new_mean: float
) -> None:
    """Put an action's new count and mean (minus r0) into all sums, and take away what they were (count 0: nothing)."""
    lasting = table[COMMON, LASTING]
    weight = 1.0 / (table[VARIANCE, action] * (lasting + (1.0 - lasting) / new_count))
    old = 0.0
    if count > 0.0:
        old = 1.0 / (table[VARIANCE, action] * (lasting + (1.0 - lasting) / count))
    pull = weight * new_mean - old * mean
    take_in(table, own, action, weight - old, pull, weight * new_mean * new_mean - old * mean * mean)
    if count == 0.0:
        own[SUMS, COUNT] += 1.0


@kernel
def dot(own: FloatArray, one: int, other: int) -> float:
    """Return the product of two rows of the taste."""
    total = 0.0
    for i in range(dimensions(own)):
        total += own[one, i] * own[other, i]
    return total


@kernel
def weigh_scales(own: FloatArray) -> None:
    """Write p(s | rewards): log p = log prior − ½ [Σ y²/D − ηᵀΛ⁻¹η + within/s²] − count · log s, with y = ρ̄/s − u."""
    sums = own[SUMS]
    twice = sums[REWARDS_TWICE] - dot(own, PULL_REWARD, TASTE_REWARD) + sums[WITHIN]
    mixed = sums[REWARDS_MEANS] - dot(own, PULL_REWARD, TASTE_MEAN)
    best = -np.inf
    for j in range(SCALES):
        x = REACH * (2.0 * j / (SCALES - 1) - 1.0)
        inverse = 1.0 / own[SCALE, j]
        own[WEIGHT, j] = -0.5 * x * x - inverse * (0.5 * inverse * twice - mixed) + sums[COUNT] * np.log(inverse)
        best = max(best, own[WEIGHT, j])
    total = 0.0
    for j in range(SCALES):
        own[WEIGHT, j] = np.exp(own[WEIGHT, j] - best)
        total += own[WEIGHT, j]
    sums[SCALE_1] = 0.0
    sums[SCALE_2] = 0.0
    for j in range(SCALES):
        own[WEIGHT, j] /= total
        sums[SCALE_1] += own[WEIGHT, j] * own[SCALE, j]
        sums[SCALE_2] += own[WEIGHT, j] * own[SCALE, j] ** 2


@kernel
def over_actions(
    table: FloatArray, own: FloatArray, level: float, by_mean: float, row: int, k: int, out: FloatArray
) -> None:
    """Write level + by_mean u + F·w, w a row of the taste; four rows of F at a time stay in registers."""
    for a in range(k):
        out[a] = level + by_mean * table[MEAN, a]
    size = dimensions(own)
    i = 0
    while i + 4 <= size:
        w0, w1, w2, w3 = own[row, i], own[row, i + 1], own[row, i + 2], own[row, i + 3]
        f0, f1, f2, f3 = table[FACTOR + i], table[FACTOR + i + 1], table[FACTOR + i + 2], table[FACTOR + i + 3]
        for a in range(k):
            out[a] += (w0 * f0[a] + w1 * f1[a]) + (w2 * f2[a] + w3 * f3[a])
        i += 4
    while i < size:
        for a in range(k):
            out[a] += own[row, i] * table[FACTOR + i, a]
        i += 1


@kernel
def expect_untried(table: FloatArray, own: FloatArray, k: int, out: FloatArray) -> None:
    """Write r0 + E[s] u + F·w, w = TASTE_REWARD − E[s] TASTE_MEAN."""
    scale = own[SUMS, SCALE_1]
    for i in range(dimensions(own)):
        own[ALONG, i] = own[TASTE_REWARD, i] - scale * own[TASTE_MEAN, i]
    over_actions(table, own, table[COMMON, LEVEL], scale, ALONG, k, out)


@kernel
def lasting_share(table: FloatArray, count: float) -> float:
    """Return L ψ/D: how far what is expected of an action goes from the taste's to the mean of its own n rewards."""
    lasting = table[COMMON, LASTING]
    return lasting / (lasting + (1.0 - lasting) / count) if count > 0.0 else 0.0


@kernel
def foreseen_sd(table: FloatArray, own: FloatArray, action: int, count: float) -> float:
    """Return the standard deviation of the next reward of an action that was tried so often; Λ⁻¹F is left in ALONG.

    E[s²] (h² F·Λ⁻¹F + ψ (1 − L (1 − h))) + Var[s] h² (u − F·TASTE_MEAN)², where h = 1 − L ψ/D is the taste's share.
    """
    share = 1.0 - lasting_share(table, count)
    own_part = table[VARIANCE, action] * (1.0 - table[COMMON, LASTING] * (1.0 - share))
    slope = share * (table[MEAN, action] - project(table, own, action, TASTE_MEAN))
    square = own[SUMS, SCALE_2] * (share * share * along(table, own, action) + own_part)
    square += (own[SUMS, SCALE_2] - own[SUMS, SCALE_1] ** 2) * slope * slope
    return np.sqrt(max(square, 0.0))


@kernel
def sway_untried(table: FloatArray, own: FloatArray, action: int, count: float, k: int, out: FloatArray) -> None:
    """Write Cov(b, a)/sd of the next reward of an action a that was tried so often, for untried b.

    Cov(b, a) = E[s²] h F_b·Λ⁻¹F + Var[s] h (u − F·TASTE_MEAN)_a (u − F·TASTE_MEAN)_b, h the taste's share as above.
    """
    sd = max(foreseen_sd(table, own, action, count), TINY)
    share = (1.0 - lasting_share(table, count)) / sd
    slope = share * (table[MEAN, action] - project(table, own, action, TASTE_MEAN))
    slope *= own[SUMS, SCALE_2] - own[SUMS, SCALE_1] ** 2
    for i in range(dimensions(own)):
        own[ALONG, i] = own[SUMS, SCALE_2] * share * own[ALONG, i] - slope * own[TASTE_MEAN, i]
    over_actions(table, own, 0.0, slope, ALONG, k, out)


@kernel
def sway_of_liking(table: FloatArray, own: FloatArray, action: int, count: float) -> float:
    """Return E[s²] ψ L h/sd: what an action's next reward says of the person's lasting liking of it."""
    liking = table[VARIANCE, action] * table[COMMON, LASTING] * (1.0 - lasting_share(table, count))
    return own[SUMS, SCALE_2] * liking / max(foreseen_sd(table, own, action, count), TINY)


@kernel
def bring_best(table: FloatArray, own: FloatArray, at: int, end: int, actions: Int32Array, rewards: FloatArray) -> None:
    """Swap to place `at` the reward, up to `end`, of whose action most is expected: what a greedy policy plays."""
    best = at
    most = -np.inf
    for i in range(at, end):
        value = project(table, own, actions[i], TASTE_REWARD)
        value += own[SUMS, SCALE_1] * (table[MEAN, actions[i]] - project(table, own, actions[i], TASTE_MEAN))
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
            by_reward = project(table, own, action, TASTE_REWARD)
            by_mean = table[MEAN, action] - project(table, own, action, TASTE_MEAN)
            reward = rewards[at] - table[COMMON, LEVEL]
            means[at] = table[COMMON, LEVEL] + by_reward + own[SUMS, SCALE_1] * by_mean
            sds[at] = table[COMMON, CALIBRATION] * foreseen_sd(table, own, action, 0.0)
            variance = table[VARIANCE, action] + along(table, own, action)
            density = 0.0
            for j in range(SCALES):
                s = own[SCALE, j]
                density += own[WEIGHT, j] * np.exp(-0.5 * ((reward - by_reward) / s - by_mean) ** 2 / variance) / s
            logs[at] = np.log(max(density, 1e-300)) - 0.5 * np.log(2.0 * np.pi * variance)
            if greedily or greedy == 0:
                replace_part(table, own, action, 0.0, 0.0, 1.0, reward)
                weigh_scales(own)
