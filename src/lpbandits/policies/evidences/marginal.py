"""Marginal: the exact probability of each state's order given the rewards. The evidence of lpbts-marginal."""

from dataclasses import dataclass, field

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import block_squares, fitted_means, fitted_one, pool
from lpbandits.kernels.layout import COUNT, LOG_PRIOR, SCORE, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import record, totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence
from lpbandits.policies.evidences.order_probability import WORK_COLUMNS, WORK_ROWS, legendre_rule, log_ratio
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

NEGLIGIBLE = 36.0
"""States whose bound is this many nats below the best score are not integrated."""
ROUNDING = 1e-13
"""The noise is at least this fraction of the largest distance of a mean from the centre, against rounding errors."""


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + log P(independent N(ȳ_a, σ²/n_a) of the tried actions fall in the order of z) + constant.

    The likelihood at the isotonic fit is an upper bound. The state with the highest bound is integrated first, then
    those that could have a non-negligible weight; the others keep their bound.
    """
    count, total = totals(b, n)
    centre = total / count
    noise = noise_of(b, n)
    farthest = 0.0
    most = 0.0
    for slot in range(n):
        farthest = max(farthest, abs(b.slots[SUM, slot] / b.slots[COUNT, slot] - centre))
        most = max(most, b.slots[COUNT, slot])
    floored = max(noise, ROUNDING * farthest * np.sqrt(most))
    first = 0
    for z in range(b.states.shape[1]):
        bound = 0.5 * block_squares(b, pool(b, 1 + z, n), centre) / (noise * noise)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + bound
        if b.states[SCORE, z] > b.states[SCORE, first]:
            first = z
    pool(b, 1 + first, n)
    b.states[SCORE, first] += log_ratio(b, 1 + first, n, centre, floored)
    highest = b.states[SCORE, first]
    for z in range(b.states.shape[1]):
        if z != first and b.states[SCORE, z] > highest - NEGLIGIBLE:
            pool(b, 1 + z, n)
            b.states[SCORE, z] += log_ratio(b, 1 + z, n, centre, floored)
            highest = max(highest, b.states[SCORE, z])
    normalise(b)


@dataclass(frozen=True)
class Marginal(Evidence):
    """The exact marginal likelihood of a state: the probability of its order given the rewards.

    The prior on the means of tried actions is flat within the order, so given all rewards they are independent normal
    variables, and the marginal likelihood is the probability that these fall in the order. `Refit` takes the likelihood
    at the best such means, which is an upper bound. It depends only on counts, sums and spreads: outcomes may be late
    and in any order. Rewards of any family are treated as Gaussian; unknown noise is estimated from the spread of
    rewards within actions.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "marginal"
    certainty = "exact"
    gaussian_noise = True
    fitted = True
    batchable = True
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(update_posterior)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the Gauss-Legendre rule; raise `InvalidInput` for tiers, whose integral is not a chain."""
        if model.tiers is not None:
            raise InvalidInput(
                "likelihood must be 'refit' or 'incremental' for a model with tiers, got 'marginal'; use the policy "
                "lpbts"
            )
        return legendre_rule()

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return scratch for the panels of an integral."""
        return WORK_ROWS, WORK_COLUMNS

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward and update the posterior."""
        n, _ = record(b, n, action, reward)
        update_posterior(b, n)
        return n
