"""The taste model of one person: posterior of taste and scale given rewards, and expected rewards.

A reward of action a is r0 + s (u_a + F_a·θ + e_a + noise): θ ~ N(0, I) is the person's taste, s their scale from a
grid, e_a ~ N(0, L ψ_a) their lasting preference for this action, and the noise has variance (1 − L) ψ_a. Let ρ̄ be the
mean reward of an action minus r0 and D = ψ (L + (1 − L)/n) its variance about F·θ after n plays. Sums over the tried
actions are sufficient: Λ = I + Σ F Fᵀ/D and η = Σ F (ρ̄/s − u)/D give θ ~ N(Λ⁻¹ η, Λ⁻¹) given s. A tell costs O(d²),
the expected rewards of k actions O(k d).
"""

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.typing import FloatArray

SCALES = 9
TINY = 1e-300
REACH = 2.0  # scales are s = exp(ℓ + τ x), x from −REACH to REACH

# rows of the table, a column per action; row COMMON holds the numbers common to all actions
VARIANCE = 0  # ψ
COMMON = 1
FACTOR = 2  # F, a row per dimension of taste
MEAN = -1  # u
LEVEL, LASTING, CALIBRATION = range(3)

# rows of a person's state: first Λ⁻¹, one row per dimension; then, counted from the last:
SCALE = -1  # s
SUMS = -2
ALONG = -3  # scratch: Λ⁻¹ F of one action
PULL_REWARD = -4  # Σ F ρ̄/D
TASTE_REWARD = -5  # Λ⁻¹ PULL_REWARD
PULL_MEAN = -6  # Σ F u/D
TASTE_MEAN = -7  # Λ⁻¹ PULL_MEAN: given s, the taste is TASTE_REWARD / s − TASTE_MEAN
WEIGHT = -8  # p(s | rewards)
MEAN_SUMS = -9
ROWS = 9
# columns of the row SUMS: Σ ρ̄²/D; number of rewards; Σ (reward − mean)² within actions, / ψ (1 − L)
REWARDS_TWICE, COUNT, WITHIN = range(3)
# columns of the row MEAN_SUMS: Σ ρ̄u/D and Σ u²/D; E s and E s²
REWARDS_MEANS, MEANS_TWICE, OF_SCALE, OF_SCALE_2 = range(4)


@kernel
def dimensions(table: FloatArray) -> int:
    """Return the number of dimensions of a taste, including the level."""
    return table.shape[0] - FACTOR - 1


@kernel
def forget(table: FloatArray, own: FloatArray) -> None:
    """Reset a taste to the prior: Λ = I, and empty sums."""
    for row in range(own.shape[0] - 1):
        for i in range(own.shape[1]):
            own[row, i] = 0.0
    for i in range(dimensions(table)):
        own[i, i] = 1.0


@kernel
def project(table: FloatArray, own: FloatArray, action: int, row: int) -> float:
    """Return F·w of an action, w a row of the taste."""
    total = 0.0
    for i in range(dimensions(table)):
        total += table[FACTOR + i, action] * own[row, i]
    return total


@kernel
def along(table: FloatArray, own: FloatArray, action: int) -> float:
    """Write Λ⁻¹F of an action; return F·Λ⁻¹F, the variance of its F·θ. Row by row, for vector instructions."""
    size = dimensions(table)
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
def replace_part(
    table: FloatArray,
    own: FloatArray,
    action: int,
    variance: float,
    count: float,
    mean: float,
    new_count: float,
    new_mean: float,
) -> None:
    """Replace an action's count and mean (minus r0) in all sums; count 0 means that it was untried.

    ALONG holds g = Λ⁻¹F and `variance` is F·g, as `along` leaves them: the most expensive part. With the changes δ of
    1/D and of ρ̄/D, Λ += δFFᵀ, so Λ⁻¹ −= κ g gᵀ with κ = δ/(1 + δ F·g).
    """
    lasting = table[COMMON, LASTING]
    weight = 1.0 / (table[VARIANCE, action] * (lasting + (1.0 - lasting) / new_count))
    old = 0.0
    if count > 0.0:
        old = 1.0 / (table[VARIANCE, action] * (lasting + (1.0 - lasting) / count))
    else:
        own[SUMS, COUNT] += 1.0
    pull = weight * new_mean - old * mean
    own[SUMS, REWARDS_TWICE] += weight * new_mean * new_mean - old * mean * mean
    weight -= old
    size = dimensions(table)
    kappa = weight / (1.0 + weight * variance)
    by_reward = pull - kappa * (project(table, own, action, TASTE_REWARD) + variance * pull)
    for i in range(size):
        own[TASTE_REWARD, i] += own[ALONG, i] * by_reward
        own[PULL_REWARD, i] += table[FACTOR + i, action] * pull
        step = kappa * own[ALONG, i]
        row = own[i]
        for j in range(size):
            row[j] -= step * own[ALONG, j]
    action_mean = table[MEAN, action]
    by_mean = action_mean * weight
    by_mean -= kappa * (project(table, own, action, TASTE_MEAN) + variance * by_mean)
    for i in range(size):
        own[TASTE_MEAN, i] += own[ALONG, i] * by_mean
        own[PULL_MEAN, i] += table[FACTOR + i, action] * action_mean * weight
    own[MEAN_SUMS, REWARDS_MEANS] += action_mean * pull
    own[MEAN_SUMS, MEANS_TWICE] += action_mean * action_mean * weight


@kernel
def dot(one: FloatArray, other: FloatArray, size: int) -> float:
    """Return the dot product of two rows of the taste."""
    total = 0.0
    for i in range(size):
        total += one[i] * other[i]
    return total


@kernel
def update_posterior(table: FloatArray, own: FloatArray) -> None:
    """Write p(s | rewards), with y = ρ̄/s − u.

    log p = log prior(s) − ½ [Σ y²/D − ηᵀΛ⁻¹η + within/s²] − count · log s
    """
    size = dimensions(table)
    sums, moments, weights = own[SUMS], own[MEAN_SUMS], own[WEIGHT]
    twice = sums[REWARDS_TWICE] - dot(own[PULL_REWARD], own[TASTE_REWARD], size) + sums[WITHIN]
    mixed = moments[REWARDS_MEANS] - dot(own[PULL_REWARD], own[TASTE_MEAN], size)
    alone = moments[MEANS_TWICE] - dot(own[PULL_MEAN], own[TASTE_MEAN], size)
    best = -np.inf
    for j in range(SCALES):
        x = REACH * (2.0 * j / (SCALES - 1) - 1.0)
        inverse = 1.0 / own[SCALE, j]
        weights[j] = -0.5 * (x * x + alone)
        weights[j] += sums[COUNT] * np.log(inverse) - inverse * (0.5 * inverse * twice - mixed)
        best = max(best, weights[j])
    total = 0.0
    for j in range(SCALES):
        weights[j] = np.exp(weights[j] - best)
        total += weights[j]
    moments[OF_SCALE] = 0.0
    moments[OF_SCALE_2] = 0.0
    for j in range(SCALES):
        weights[j] /= total
        moments[OF_SCALE] += weights[j] * own[SCALE, j]
        moments[OF_SCALE_2] += weights[j] * own[SCALE, j] ** 2


@kernel
def lean(table: FloatArray, own: FloatArray) -> None:
    """Write the expected product of scale and taste to ALONG: w = TASTE_REWARD − E[s] TASTE_MEAN."""
    for i in range(dimensions(table)):
        own[ALONG, i] = own[TASTE_REWARD, i] - own[MEAN_SUMS, OF_SCALE] * own[TASTE_MEAN, i]


@kernel
def expect_untried(table: FloatArray, own: FloatArray, k: int, out: FloatArray) -> None:
    """Write r0 + E[s] u + F·w of all actions, with w of `lean`; four rows of F at a time."""
    lean(table, own)
    level, scale, means, w = table[COMMON, LEVEL], own[MEAN_SUMS, OF_SCALE], table[MEAN], own[ALONG]
    for a in range(k):
        out[a] = level + scale * means[a]
    size = dimensions(table)
    i = 0
    while i + 4 <= size:
        w0, w1, w2, w3 = w[i], w[i + 1], w[i + 2], w[i + 3]
        f0, f1, f2, f3 = table[FACTOR + i], table[FACTOR + i + 1], table[FACTOR + i + 2], table[FACTOR + i + 3]
        for a in range(k):
            out[a] += (w0 * f0[a] + w1 * f1[a]) + (w2 * f2[a] + w3 * f3[a])
        i += 4
    while i < size:
        for a in range(k):
            out[a] += w[i] * table[FACTOR + i, a]
        i += 1


@kernel
def expected_reward(table: FloatArray, own: FloatArray, action: int) -> float:
    """Return r0 + E[s] u + F·w of one action, with w in ALONG."""
    out = table[COMMON, LEVEL] + project(table, own, action, ALONG)
    return out + own[MEAN_SUMS, OF_SCALE] * table[MEAN, action]


@kernel
def slope(table: FloatArray, own: FloatArray, action: int) -> float:
    """Return u − F·TASTE_MEAN: derivative of an action's expected reward with respect to the scale."""
    return table[MEAN, action] - project(table, own, action, TASTE_MEAN)


@kernel
def lasting_share(table: FloatArray, count: float) -> float:
    """Return L ψ/D: weight of the mean of an action's n rewards against the taste's expectation."""
    lasting = table[COMMON, LASTING]
    return lasting / (lasting + (1.0 - lasting) / count) if count > 0.0 else 0.0


@kernel
def foreseen_sd(table: FloatArray, own: FloatArray, action: int, count: float) -> float:
    """Return the standard deviation of the next reward of an action tried `count` times; Λ⁻¹F stays in ALONG.

    E[s²] (h² F·Λ⁻¹F + ψ (1 − L (1 − h))) + h² Var[s slope], where h = 1 − L ψ/D is the taste's share.
    """
    share = 1.0 - lasting_share(table, count)
    residual = table[VARIANCE, action] * (1.0 - table[COMMON, LASTING] * (1.0 - share))
    rise = slope(table, own, action)
    mean = own[MEAN_SUMS, OF_SCALE] * rise
    square = own[MEAN_SUMS, OF_SCALE_2] * rise * rise
    square = share * share * max(square - mean * mean, 0.0)
    square += own[MEAN_SUMS, OF_SCALE_2] * (share * share * along(table, own, action) + residual)
    return np.sqrt(max(square, 0.0))
