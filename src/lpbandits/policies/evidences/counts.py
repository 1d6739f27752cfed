"""Tally and standing: counts and sums, and popularity. The evidences of ts, ucb, uniform and popular."""

from dataclasses import dataclass, field

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import COUNT, SUM, Arrays
from lpbandits.kernels.tally import find, record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray


@dataclass(frozen=True)
class Tally(Evidence):
    """Counts and sums, for policies without latent states."""

    rewards: Rewards = field(default_factory=Rewards)
    kind = "tally"
    latent = False
    ordered = False
    probabilistic = False

    def __post_init__(self) -> None:
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("ts and ucb need a known noise; give noise, or use lpbts with noise_known=False")

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward."""
        n, _ = record(b, n, action, reward)
        return n

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write the mean reward of each tried action, and NaN for the others."""
        for action in range(len(out)):
            out[action] = np.nan
        for slot in range(n):
            out[b.order[0, slot]] = b.slots[SUM, slot] / b.slots[COUNT, slot]

    @staticmethod
    @kernel
    def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
        """Return the mean reward of one action, NaN if it is untried."""
        slot = find(b.order, n, action)
        return b.slots[SUM, slot] / b.slots[COUNT, slot] if slot >= 0 else np.nan


@dataclass(frozen=True)
class Standing(Tally):
    """The popularity of each action. Rewards are recorded and change nothing.

    >>> Standing().table(PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.75, 0.25])).tolist()
    [[-0.5, -1.0, -1.5]]
    >>> Standing().table(PreferenceModel([[0, 1, 2], [2, 1, 0]], popular=[1, 2, 0])).tolist()
    [[-2.0, -0.0, -1.0]]
    """

    kind = "standing"

    def __post_init__(self) -> None:
        set_frozen(self, rewards=as_rewards(self.rewards).as_known)  # rules other than popular may need the noise

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return 1×k: minus the rank of each action in `model.popular`, or minus its mean rank over the states.

        In a state where its tier has several actions, its rank is the mid-rank of the tier.
        """
        if model.popular is not None:
            return -np.argsort(model.popular)[None, :].astype(np.float64)
        popularity = np.zeros((1, model.n_actions))
        with np.errstate(divide="ignore"):  # a state may have prior 0
            prior = np.exp(np.log(model.prior))  # rounded as in a belief, so that mean ranks tie in the same cases
        for weight, ranks in zip(prior, model.mid_ranks, strict=True):
            popularity -= weight * ranks
        return popularity
