"""Tally: counts and sums. The evidence of policies without latent states."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import COUNT, SUM, Arrays
from lpbandits.kernels.tally import find, record
from lpbandits.policies.base import Evidence
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """Record the reward."""
    n, _ = record(b, n, action, reward)
    return n


@kernel
def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write the mean reward of each tried action, and NaN for the others."""
    for action in range(len(out)):
        out[action] = np.nan
    for slot in range(n):
        out[b.order[0, slot]] = b.slots[SUM, slot] / b.slots[COUNT, slot]


@kernel
def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
    """Return the mean reward of one action, NaN if it is untried."""
    slot = find(b.order, n, action)
    return b.slots[SUM, slot] / b.slots[COUNT, slot] if slot >= 0 else np.nan


@dataclass(frozen=True)
class Tally(Evidence):
    """Counts and sums, for policies without latent states."""

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "tally"
    latent: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)
    expected_reward = staticmethod(expected_reward)

    def __post_init__(self) -> None:
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("ts and ucb need a known noise; give noise, or use lpbts with noise_known=False")
