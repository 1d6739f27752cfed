"""Utility: how well each state's utilities fit the rewards, on a person's own scale, and only nearly. Of lpb-utility.

In state z an action's mean is μ_a = α + b (x_za + e_a): x are the state's utilities, or its ranks, in units of their
spread; α is the person's level (nothing is known of it), b their scale, one of six multiples of the noise σ; and
e_a ~ N(0, t_a) is by how much the utilities may be wrong for this person.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import logit

from lpbandits import validate
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import pool
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, EVIDENCE, LOG_PRIOR, POSTERIOR, SCORE, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.posterior import normalise
from lpbandits.kernels.tally import find, record
from lpbandits.model import PreferenceModel
from lpbandits.policies.parts import NEGLIGIBLE, Evidence, settle
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

SCALES = 4
LEAST_SCALE = 0.12
RATIO = 3.0
HOPELESS = 10.0
UNLIKELY = 5.0  # a scale whose log-likelihood is so far below the best counts for nothing

ISOTONIC = 0  # the setting
# rows of the table, per action: x of each state, and then t
# rows of its own, a column per state, six rows of each, one per scale:
WEIGHT = 0  # p(b | state, rewards)
X = SCALES  # Σ x/u over the tried actions; v_a = σ² u_a is the variance of ȳ_a about α + b x_a
XX = 2 * SCALES  # Σ x²/u
XY = 3 * SCALES  # Σ xȳ/u, with ȳ about the CENTRE
SHARED = 4 * SCALES  # in columns W, Y, YY, LOG: Σ 1/u, Σ ȳ/u, Σ ȳ²/u, Σ log u
COMMON = 5 * SCALES  # one row, in columns CENTRE (the first reward: what all are counted from) and SIGMA (the noise)
ROWS = 5 * SCALES + 1
W, Y, YY, LOG, PRODUCT = 0, 1, 2, 3, 4
TINY = 1e-100
CENTRE, SIGMA = 0, 1


@kernel
def replace_part(b: Arrays, action: int, count: float, mean: float, new_count: float, new_mean: float) -> None:
    """Put an action's new part into all sums, u = 1/n + g² t, and take away what it was, if it was tried before."""
    m = b.states.shape[1]
    g = LEAST_SCALE
    for j in range(SCALES):
        loose = g * g * b.table[m, action]
        u = 1.0 / new_count + loose
        weight = 1.0 / u
        about = weight * new_mean
        squares = about * new_mean
        if count > 0.0:
            old = 1.0 / (1.0 / count + loose)
            u *= old
            weight -= old
            about -= old * mean
            squares -= old * mean * mean
        shared = b.own[SHARED + j]
        shared[W] += weight
        shared[Y] += about
        shared[YY] += squares
        product = shared[PRODUCT] * u
        if product < TINY or product > 1.0 / TINY:
            shared[LOG] += np.log(product)
            product = 1.0
        shared[PRODUCT] = product
        sum_x, sum_xx, sum_xy = b.own[X + j], b.own[XX + j], b.own[XY + j]
        for z in range(m):
            x = b.table[z, action]
            sum_x[z] += x * weight
            sum_xx[z] += x * x * weight
            sum_xy[z] += x * about
        g *= RATIO


@kernel
def fit_scales(b: Arrays) -> None:
    """Write log p(rewards | z, b) = −½ [Σ log u + Σ r²/v − (Σ r/v)² / Σ 1/v + log Σ 1/u], r = ȳ − b x."""
    precision = b.own[COMMON, SIGMA] ** -2
    scale = b.own[COMMON, SIGMA] * LEAST_SCALE
    for j in range(SCALES):
        shared = b.own[SHARED + j]
        constant = shared[LOG] + np.log(shared[PRODUCT] * shared[W])
        inverse = 1.0 / shared[W]
        sum_x, sum_xx, sum_xy = b.own[X + j], b.own[XX + j], b.own[XY + j]
        value = b.own[WEIGHT + j]
        for z in range(b.states.shape[1]):
            about = shared[Y] - scale * sum_x[z]
            squares = shared[YY] + scale * (scale * sum_xx[z] - 2.0 * sum_xy[z])
            value[z] = -0.5 * (constant + precision * (squares - about * about * inverse))
        scale *= RATIO


@kernel
def fitted_squares(b: Arrays, row: int, n: int, centre: float) -> float:
    """Return Σ_blocks N (mean − centre)² of the isotonic fit in the order of `b.order[row]`."""
    squares = 0.0
    for i in range(pool(b, row, n)):
        squares += (b.work[BLOCK_SUM, i] - centre * b.work[BLOCK_COUNT, i]) ** 2 / b.work[BLOCK_COUNT, i]
    return squares


@kernel
def score(b: Arrays, n: int) -> None:
    """score_z = log prior_z + (1 − h) log Σ_b p(rewards | z, b) + h · (the isotonic fit's), h the isotonic share.

    No fit is better than each action's own mean, so a state that would be hopeless even with that is not fitted.
    """
    m = b.states.shape[1]
    share = b.settings[EVIDENCE, ISOTONIC]
    centre = b.own[COMMON, CENTRE]
    noise = noise_of(b, n)
    b.own[COMMON, SIGMA] = noise
    fit_scales(b)
    precision = 0.5 * share / (noise * noise)
    ceiling = 0.0
    if share > 0.0:
        for slot in range(n):
            ceiling += (b.slots[SUM, slot] - centre * b.slots[COUNT, slot]) ** 2 / b.slots[COUNT, slot]
    highest = -np.inf
    for z in range(m):
        best = b.own[WEIGHT, z]
        for j in range(1, SCALES):
            best = max(best, b.own[WEIGHT + j, z])
        b.states[POSTERIOR, z] = best
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + (1.0 - share) * best + precision * ceiling
        highest = max(highest, b.states[SCORE, z])
    if share > 0.0:
        bound = highest
        highest = -np.inf
        for z in range(m):
            if b.states[SCORE, z] == bound:
                b.states[SCORE, z] -= precision * (ceiling - fitted_squares(b, 1 + z, n, centre))
                highest = max(highest, b.states[SCORE, z])
        for z in range(m):
            if bound > b.states[SCORE, z] > highest - HOPELESS:
                b.states[SCORE, z] -= precision * (ceiling - fitted_squares(b, 1 + z, n, centre))
                highest = max(highest, b.states[SCORE, z])
    for z in range(m):
        best = b.states[POSTERIOR, z]
        near = UNLIKELY if b.states[SCORE, z] > highest - HOPELESS else 0.0
        total = 0.0
        for j in range(SCALES):
            below = b.own[WEIGHT + j, z] - best
            b.own[WEIGHT + j, z] = (np.exp(below) if below < 0.0 else 1.0) if below >= -near else 0.0
            total += b.own[WEIGHT + j, z]
        if total > 1.0:
            for j in range(SCALES):
                b.own[WEIGHT + j, z] /= total
            b.states[SCORE, z] += (1.0 - share) * np.log(total)
    normalise(b)


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """Replace the action's part of the sums, and weigh every state and scale."""
    if n == 0:
        b.own[COMMON, CENTRE] = reward
    centre = b.own[COMMON, CENTRE]
    count = 0.0
    mean = 0.0
    slot = find(b.order, n, action)
    if slot >= 0:
        count = b.slots[COUNT, slot]
        mean = b.slots[SUM, slot] / count - centre
    n, slot = record(b, n, action, reward)
    replace_part(b, action, count, mean, count + 1.0, b.slots[SUM, slot] / (count + 1.0) - centre)
    score(b, n)
    return n


@kernel
def weigh(b: Arrays, n: int) -> None:
    """Work out all sums from the slots."""
    for row in range(X, COMMON):
        for i in range(b.own.shape[1]):
            b.own[row, i] = 0.0
    for j in range(SCALES):
        b.own[SHARED + j, PRODUCT] = 1.0
    for slot in range(n):
        count = b.slots[COUNT, slot]
        replace_part(b, b.order[0, slot], 0.0, 0.0, count, b.slots[SUM, slot] / count - b.own[COMMON, CENTRE])
    score(b, n)


@kernel
def level_of(b: Arrays, n: int, state: int, j: int, scale: float) -> float:
    """Return α̂ = Σ r/v / Σ 1/v, a person's level given state and scale."""
    if n == 0:
        return b.own[COMMON, CENTRE]
    return b.own[COMMON, CENTRE] + (b.own[SHARED + j, Y] - scale * b.own[X + j, state]) / b.own[SHARED + j, W]


@kernel
def expect(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write Σ_b p(b) E[μ_a | b]: α̂ + b x_a, and for a tried action the share t b²/v of the way from there to ȳ_a."""
    m = b.states.shape[1]
    noise = b.own[COMMON, SIGMA]
    middle = 0.0
    slope = 0.0
    scale = noise * LEAST_SCALE
    for j in range(SCALES):
        if b.own[WEIGHT + j, state] > 0.0:
            middle += b.own[WEIGHT + j, state] * level_of(b, n, state, j, scale)
            slope += b.own[WEIGHT + j, state] * scale
        scale *= RATIO
    for a in range(b.ranks.shape[1]):
        out[a] = middle + slope * b.table[state, a]
    g = LEAST_SCALE
    for j in range(SCALES):
        weight = b.own[WEIGHT + j, state]
        if weight > 0.0:
            level = level_of(b, n, state, j, noise * g)
            for slot in range(n):
                a = b.order[0, slot]
                loose = g * g * b.table[m, a]
                count = b.slots[COUNT, slot]
                beyond = b.slots[SUM, slot] - count * (level + noise * g * b.table[state, a])
                out[a] += weight * loose * beyond / (1.0 + loose * count)
        g *= RATIO


@kernel
def doubt(b: Arrays, n: int, out: FloatArray) -> None:
    """Write the standard deviation of b e_a given the rewards, √(σ² c / (1 + c n)), c = t Σ p(z, b) g²."""
    m = b.states.shape[1]
    noise = b.own[COMMON, SIGMA]
    square = 0.0
    for z in range(m):
        if b.states[POSTERIOR, z] >= NEGLIGIBLE:
            g = LEAST_SCALE
            for j in range(SCALES):
                square += b.states[POSTERIOR, z] * b.own[WEIGHT + j, z] * g * g
                g *= RATIO
    for a in range(b.ranks.shape[1]):
        out[a] = square * b.table[m, a]
    for slot in range(n):
        a = b.order[0, slot]
        out[a] /= 1.0 + out[a] * b.slots[COUNT, slot]
    for a in range(b.ranks.shape[1]):
        out[a] = noise * np.sqrt(out[a])


def units(model: PreferenceModel) -> tuple[FloatArray, FloatArray]:
    """Return m×k utilities with mean 0 and spread 1 in every state, and per action the variance of their errors.

    They are the logits of the model's utilities if it says how uncertain these are, otherwise equally spaced ranks,
    taken for exact.

    >>> x, error = units(PreferenceModel([[0, 1, 2], [2, 1, 0]]))
    >>> x.round(2).tolist(), error.tolist()
    ([[1.22, 0.0, -1.22], [-1.22, 0.0, 1.22]], [0.0, 0.0, 0.0])
    """
    m, k = model.n_states, model.n_actions
    x = ((k - 1) / 2 - model.ranks) / max(np.sqrt((k * k - 1) / 12), 1.0)
    errors = np.zeros((m, k))
    if model.utilities is not None and model.errors is not None:
        fitted = logit(np.clip(model.utilities, 1e-12, 1.0 - 1e-12))
        spread = fitted.std(axis=1, keepdims=True)
        told = (spread > 1e-9)[:, 0]
        x[told] = ((fitted - fitted.mean(axis=1, keepdims=True)) / np.maximum(spread, 1e-9))[told]
        errors[told] = (model.errors / np.maximum(spread, 1e-9))[told]
    return x, np.minimum((errors**2).mean(axis=0), LARGEST_ERROR)


LARGEST_ERROR = 1e6


@dataclass(frozen=True)
class Utility(Evidence):
    """How well each state's utilities fit the rewards on a person's own scale, and only nearly.

    It knows them up to that scale, with the errors that the model tells (averaged over states) and `slack` more: the
    variance of a person's own departure, in units of the utilities' spread. Without errors in the model, or without
    utilities, the utilities are ranks. Rewards of any family are treated as Gaussian. `isotonic` is the share of
    `Refit`'s log-likelihood in the score, which steadies it where rewards are far from any such scale.

    >>> Utility().slack
    0.02
    """

    rewards: Rewards = field(default_factory=Rewards)
    slack: float = 0.02
    isotonic: float = 0.0
    kind: ClassVar[str] = "utility"
    tell = staticmethod(tell)
    expect = staticmethod(expect)
    doubt = staticmethod(doubt)
    weigh = staticmethod(weigh)

    def __post_init__(self) -> None:
        slack = validate.as_number(self.slack, "slack", low=0, high=LARGEST_ERROR)
        settle(self, slack=slack, isotonic=validate.as_number(self.isotonic, "isotonic", low=0, high=1))

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return a row of utilities per state, and the variance t of their errors."""
        x, error = units(model)
        return np.vstack([x, error + self.slack])

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return empty sums, and equal weights of all scales."""
        own = np.zeros((ROWS, max(model.n_states, 5)))
        own[WEIGHT : WEIGHT + SCALES, : model.n_states] = 1.0 / SCALES
        own[SHARED:COMMON, PRODUCT] = 1.0
        own[COMMON, SIGMA] = self.rewards.sd
        return own

    def settings(self) -> tuple[float, ...]:
        """Return the isotonic share."""
        return (self.isotonic,)
