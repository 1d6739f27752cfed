"""Order bounds: the states whose ordering no confidence bounds contradict. The evidence of lpb-order-ucb."""

from dataclasses import dataclass, field

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import fitted_means, fitted_one
from lpbandits.kernels.layout import LOG_PRIOR, POSTERIOR, RULE_WORK, SCORE, Arrays
from lpbandits.kernels.tally import confidence_width, mean_reward, record, totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray

# rows of scratch, per slot
LOWER = RULE_WORK
UPPER = RULE_WORK + 1


@kernel
def least_difference(b: Arrays, n: int, state: int) -> float:
    """Return min(0, U_a − L_c) over the tried actions a that a state prefers to c, in the row LOWER and UPPER."""
    least = 0.0
    above = np.inf  # the smallest upper bound of better tiers
    within = np.inf  # and of the tier of the previous slot
    previous = -1
    for i in range(n):
        slot = b.order[1 + state, i]
        rank = b.ranks[state, b.order[0, slot]]
        if rank != previous:
            above = min(above, within)
            previous = rank
        least = min(least, above - b.work[LOWER, slot])
        within = min(within, b.work[UPPER, slot])
    return least


@kernel
def mark_possible(b: Arrays, n: int) -> None:
    """Mark the states without a contradiction: a preferred to c although U_a < L_c.

    The posterior is uniform over them. If there are none, the orderings are wrong or a bound failed, and it is uniform
    over all states. The score is 0, or the largest contradiction, which is negative.
    """
    count, _ = totals(b, n)
    log_rounds = np.log(1.0 + count)
    for slot in range(n):
        width = confidence_width(b, slot, log_rounds)
        b.work[LOWER, slot] = mean_reward(b, slot) - width
        b.work[UPPER, slot] = mean_reward(b, slot) + width
    m = b.states.shape[1]
    left = 0.0
    possible = 0.0
    for z in range(m):
        b.states[SCORE, z] = least_difference(b, n, z)
        if b.states[LOG_PRIOR, z] > -np.inf:
            possible += 1.0
            left += 1.0 if b.states[SCORE, z] == 0.0 else 0.0
    for z in range(m):
        marked = b.states[LOG_PRIOR, z] > -np.inf and (left == 0.0 or b.states[SCORE, z] == 0.0)
        b.states[POSTERIOR, z] = 1.0 / (left if left > 0.0 else possible) if marked else 0.0


@dataclass(frozen=True)
class OrderBounds(Evidence):
    """The states whose ordering the confidence bounds of the mean rewards do not contradict.

    A state is dropped if it prefers an action to another although the upper bound of the first is below the lower bound
    of the second. Rewards of any family are treated as Gaussian.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "order-bounds"
    certainty = "equal for possible states"
    probabilistic = False
    fitted = True
    batchable = True
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(mark_possible)

    def __post_init__(self) -> None:
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("lpb-order-ucb needs a known noise; give noise, or use lpbts with noise_known=False")

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the orderings, in which a rule finds the actions of the best tiers."""
        return model.orderings.astype(np.float64)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return two rows, one column per tried action."""
        return (2, 0)

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward and mark the states."""
        n, _ = record(b, n, action, reward)
        mark_possible(b, n)
        return n
