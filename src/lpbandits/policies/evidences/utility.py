"""Utility: the likelihood of rewards given approximate utilities on a person's level and scale. For lpb-utility.

In state z an action's mean is μ_a = α + β x_za + g e_a: x are the state's utilities, or its ranks, in units of their
spread; α is the person's level, with a flat prior, and β > 0 their scale; e_a ~ N(0, t_a) is the person's deviation
from the utilities. The typical scale g is estimated from the spread of the rewards. The prior density of β is
proportional to β N(β; c g, (w g)²), whose mode is g; the likelihood of a state uses the normal factor alone.
"""

from dataclasses import dataclass, field

import numpy as np

from lpbandits import validate
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import block_squares, pool
from lpbandits.kernels.layout import COUNT, EVIDENCE, LOG_PRIOR, POSTERIOR, SCORE, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import find, record
from lpbandits.model import PreferenceModel, even_utilities
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

RELATIVE_SCALE_SD = 0.5  # w: sd of the normal factor of the prior of β, relative to the typical scale g
RELATIVE_SCALE = 1.0 - RELATIVE_SCALE_SD**2  # c: the mode of the prior is then g
GUESS_WEIGHT = 2.0  # the guess g = σ counts as this many tried actions
NEGLIGIBLE = 10.0  # a state with a bound this far (in nats, plus log m) below the best is not refined
UNLIKELY = 1e-3  # a state with a posterior below this fraction of 1/m adds nothing to the standard deviations

ISOTONIC = 1  # the second setting, after the slack
# rows of the table, a column per action: x of each state, then t
# rows of `own`, a column per state; u_a = σ²/n_a + g² t_a is the variance of ȳ_a about α + β x_a
X = 0  # Σ x/u over the tried actions; overwritten by x̄, their mean weighted by 1/u
XX = 1  # Σ x²/u; overwritten by S_xx (w g)²
XY = 2  # Σ xȳ/u, with ȳ about the mean of all; overwritten by S_xy
LEVEL = 3  # expected α
SLOPE = 4  # expected β: the mode of its posterior
COMMON = 5  # in columns SIGMA (the noise) and SCALE (g)
ROWS = 6
SIGMA, SCALE = 0, 1
LEAST_ERROR, LARGEST_ERROR = 1e-6, 1e6  # variances


@kernel
def scale_of(b: Arrays, n: int, noise: float, middle: float) -> float:
    """Return g: g² = max(Σ [(ȳ − middle)² − (1 − 1/N) σ²/n], 0) / (N − 1) + 2σ² / (N + 1).

    The first term is the variance of the means of N tried actions beyond their noise, the second the guess σ².
    """
    square = noise * noise
    beyond = 0.0
    for slot in range(n):
        count = b.slots[COUNT, slot]
        beyond += (b.slots[SUM, slot] / count - middle) ** 2 - square / count * (1.0 - 1.0 / n)
    beyond = max(beyond, 0.0) / max(n - 1.0, 1.0)
    return float(np.sqrt(beyond + square * GUESS_WEIGHT / (GUESS_WEIGHT + n - 1.0)))


@kernel
def fit(b: Arrays, n: int, middle: float) -> None:
    """Write ½ S_xy² / S_xx for every state z.

    log p(rewards | z) is this value minus ½ log(S_xx (w g)²), plus a constant common to all states. S are sums of
    squares and products about the level, weighted by 1/u; the normal prior of β is one more observation of c g with
    variance (w g)². With the prior's factor β the posterior has its mode at the positive root of S_xx β² − S_xy β = 1.
    """
    m = b.states.shape[1]
    noise = noise_of(b, n)
    g = scale_of(b, n, noise, middle)
    b.own[COMMON, SIGMA], b.own[COMMON, SCALE] = noise, g
    sum_x, sum_xx, sum_xy = b.own[X], b.own[XX], b.own[XY]
    for z in range(m):
        sum_x[z], sum_xx[z], sum_xy[z] = 0.0, 0.0, 0.0
    sum_w, sum_y = 0.0, 0.0
    for slot in range(n):
        a = b.order[0, slot]
        weight = 1.0 / (noise * noise / b.slots[COUNT, slot] + g * g * b.table[m, a])
        about = weight * (b.slots[SUM, slot] / b.slots[COUNT, slot] - middle)
        sum_w += weight
        sum_y += about
        for z in range(m):
            x = b.table[z, a]
            sum_x[z] += x * weight
            sum_xx[z] += x * x * weight
            sum_xy[z] += x * about
    square = (RELATIVE_SCALE_SD * g) ** 2
    mean_w, mean_y = 1.0 / sum_w, middle + sum_y / sum_w
    for z in range(m):
        mean_x = sum_x[z] * mean_w
        s_xx = sum_xx[z] - sum_x[z] * mean_x + 1.0 / square
        s_xy = sum_xy[z] - sum_y * mean_x + RELATIVE_SCALE * g / square
        half, inverse = 0.5 * s_xy / s_xx, 1.0 / s_xx
        root = abs(half) + np.sqrt(half * half + inverse)
        slope = root if s_xy > 0.0 else inverse / root  # without cancellation
        b.own[X, z], b.own[XX, z], b.own[XY, z] = mean_x, s_xx * square, s_xy
        b.own[SLOPE, z] = slope
        b.own[LEVEL, z] = mean_y - slope * mean_x
        b.states[POSTERIOR, z] = s_xy * half


@kernel
def slope_variance(b: Arrays, z: int) -> float:
    """Return Var β: 1 / (S_xx + 1/β²), by the curvature of the log posterior; S_xx β² = S_xy β + 1."""
    slope = b.own[SLOPE, z]
    return float(slope * slope / (b.own[XY, z] * slope + 2.0))


@kernel
def misfit(b: Arrays, state: int, n: int, middle: float, squares: float) -> float:
    """Return Σ n (ȳ − fit)², the residual sum of squares of a state's isotonic fit; `squares` is Σ n (ȳ − middle)²."""
    return max(squares - block_squares(b, pool(b, 1 + state, n), middle), 0.0)


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + (1 − h) log p(rewards | z) − h · misfit_z / 2σ², with h the isotonic share.

    An upper bound is computed first, without the negative terms; only states whose bound matters are refined.
    """
    share = b.settings[EVIDENCE, ISOTONIC]
    middle = 0.0  # mean of the tried actions' mean rewards
    for slot in range(n):
        middle += b.slots[SUM, slot] / b.slots[COUNT, slot]
    middle /= n
    fit(b, n, middle)
    precision = 0.5 * share * b.own[COMMON, SIGMA] ** -2
    squares = 0.0
    for slot in range(n):
        squares += (b.slots[SUM, slot] - middle * b.slots[COUNT, slot]) ** 2 / b.slots[COUNT, slot]
    first = 0
    for z in range(b.states.shape[1]):
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + (1.0 - share) * b.states[POSTERIOR, z]
        if b.states[SCORE, z] > b.states[SCORE, first]:
            first = z
    least = (
        b.states[SCORE, first] - NEGLIGIBLE - np.log(b.states.shape[1]) - 0.5 * (1.0 - share) * np.log(b.own[XX, first])
    )
    if share > 0.0:
        least -= precision * misfit(b, first, n, middle, squares)
    for z in range(b.states.shape[1]):
        if b.states[SCORE, z] >= least:
            b.states[SCORE, z] -= 0.5 * (1.0 - share) * np.log(b.own[XX, z])
            if share > 0.0:
                b.states[SCORE, z] -= precision * misfit(b, z, n, middle, squares)
    normalise(b)


def units(model: PreferenceModel) -> tuple[FloatArray, FloatArray]:
    """Return m×k utilities with mean 0 and spread 1 in every state, and per action the variance of their errors.

    The variance is the mean over states, weighted by the prior.

    They are the logits of the model's utilities if it has their errors, otherwise equally spaced ranks without errors.
    The actions of a tier have the mean of its ranks, in the units of a total order, and the variance of its ranks as
    the variance of an error: together, the utilities and errors of a state have the variance 1.

    >>> x, error = units(PreferenceModel([[0, 1, 2], [2, 1, 0]]))
    >>> x.round(2).tolist(), error.tolist()
    ([[1.22, 0.0, -1.22], [-1.22, 0.0, 1.22]], [0.0, 0.0, 0.0])
    """
    x = even_utilities(model.n_actions)[model.ranks]
    errors = np.zeros_like(x)
    for z, sizes in enumerate(model.tiers or ()):
        tiers = np.split(even_utilities(model.n_actions), np.cumsum(sizes)[:-1])
        x[z, model.orderings[z]] = np.repeat([tier.mean() for tier in tiers], sizes)
        errors[z, model.orderings[z]] = np.repeat([tier.std() for tier in tiers], sizes)
    fitted = model.logits
    if fitted is not None and model.errors is not None:
        spread = fitted.std(axis=1)
        usable = spread > 1e-9
        x[usable] = (fitted[usable] - fitted[usable].mean(axis=1, keepdims=True)) / spread[usable, None]
        errors[usable] = model.errors[usable] / spread[usable, None]
    return x, np.minimum(model.prior @ errors**2, LARGEST_ERROR)


@dataclass(frozen=True)
class Utility(Evidence):
    """The likelihood of the rewards given each state's approximate utilities, on the person's level and scale.

    A person deviates from the utilities by the model's errors (averaged over states, by the prior) plus `slack`. The
    isotonic fits make the score robust to rewards that are not linear in the utilities. The settings are as in
    `LpbUtility`.
    """

    rewards: Rewards = field(default_factory=Rewards)
    slack: float = 0.02
    isotonic: float = 0.5
    kind = "utility"
    derived = True
    batchable = True
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        slack = validate.as_number(self.slack, "slack", low=0, high=LARGEST_ERROR)
        set_frozen(self, slack=slack, isotonic=validate.as_number(self.isotonic, "isotonic", low=0, high=1))

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return a row of utilities per state, and the variance t of their errors."""
        x, error = units(model)
        slack = self.slack * (10.0 / model.n_actions if model.errors is None else 1.0)
        return np.vstack([x, np.maximum(error + slack, LEAST_ERROR)])

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return `b.own` of a new person: level 0, the noise as σ and g, and the prior mean and variance of β."""
        own = np.zeros((ROWS, max(model.n_states, 2)))
        own[SLOPE] = self.rewards.sd
        own[XY] = RELATIVE_SCALE / (self.rewards.sd * RELATIVE_SCALE_SD**2)
        own[COMMON, [SIGMA, SCALE]] = self.rewards.sd
        return own

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward and update the posterior."""
        n, _ = record(b, n, action, reward)
        update_posterior(b, n)
        return n

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write M_a = α + β x_a; for a tried action go c n / (1 + c n) of the way to its mean reward, c = g² t / σ²."""
        m = b.states.shape[1]
        for a in range(b.ranks.shape[1]):
            out[a] = b.own[LEVEL, state] + b.own[SLOPE, state] * b.table[state, a]
        loose = (b.own[COMMON, SCALE] / b.own[COMMON, SIGMA]) ** 2
        for slot in range(n):
            a = b.order[0, slot]
            c = loose * b.table[m, a]
            out[a] = (out[a] + c * b.slots[SUM, slot]) / (1.0 + c * b.slots[COUNT, slot])

    @staticmethod
    @kernel
    def predictive_sd(b: Arrays, n: int, out: FloatArray) -> None:
        """Write D: D² = Σ_z p_z Var(β | z) (x_za − x̄_z)² + g² t / (1 + c n), with c = g² t / σ².

        These are the variances of the line α + β x about the level, averaged over states, and of g e_a given the line.
        """
        m, k = b.states.shape[1], b.ranks.shape[1]
        square = b.own[COMMON, SCALE] ** 2
        loose = square / b.own[COMMON, SIGMA] ** 2
        for a in range(k):
            out[a] = square * b.table[m, a]
        for slot in range(n):
            a = b.order[0, slot]
            out[a] /= 1.0 + loose * b.table[m, a] * b.slots[COUNT, slot]
        for z in range(m):
            if b.states[POSTERIOR, z] * m >= UNLIKELY:
                weight = b.states[POSTERIOR, z] * slope_variance(b, z)
                for a in range(k):
                    out[a] += weight * (b.table[z, a] - b.own[X, z]) ** 2
        for a in range(k):
            out[a] = np.sqrt(out[a])

    @staticmethod
    @kernel
    def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
        """Return `expected_rewards` of one action; NaN without outcomes, because the level is unknown."""
        if n == 0:
            return np.nan
        mean: float = b.own[LEVEL, state] + b.own[SLOPE, state] * b.table[state, action]
        slot = find(b.order, n, action)
        if slot < 0:
            return mean
        c: float = (b.own[COMMON, SCALE] / b.own[COMMON, SIGMA]) ** 2 * b.table[b.states.shape[1], action]
        return float((mean + c * b.slots[SUM, slot]) / (1.0 + c * b.slots[COUNT, slot]))

    @staticmethod
    @kernel
    def predictive_sd_one(b: Arrays, n: int, action: int) -> float:
        """Return `predictive_sd` of one action, with its operations in the same order."""
        m = b.states.shape[1]
        square = b.own[COMMON, SCALE] ** 2
        loose = square / b.own[COMMON, SIGMA] ** 2
        square *= b.table[m, action]
        slot = find(b.order, n, action)
        if slot >= 0:
            square /= 1.0 + loose * b.table[m, action] * b.slots[COUNT, slot]
        for z in range(m):
            if b.states[POSTERIOR, z] * m >= UNLIKELY:
                weight = b.states[POSTERIOR, z] * slope_variance(b, z)
                square += weight * (b.table[z, action] - b.own[X, z]) ** 2
        return float(np.sqrt(square))
