"""Standing: the popularity of each action; the person's rewards are ignored. The evidence of popular."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.policies.evidences.tally import expected_reward, expected_rewards, tell
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray


@dataclass(frozen=True)
class Standing(Evidence):
    """The popularity rank of each action. Rewards are recorded and change nothing.

    >>> Standing().table(PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.75, 0.25])).tolist()
    [[0.5, 1.0, 1.5]]
    >>> Standing().table(PreferenceModel([[0, 1, 2], [2, 1, 0]], popular=[1, 2, 0])).tolist()
    [[2.0, 0.0, 1.0]]
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "standing"
    latent: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)
    expected_reward = staticmethod(expected_reward)

    def __post_init__(self) -> None:
        set_frozen(self, rewards=as_rewards(self.rewards).as_known)  # rules other than popular may need the noise

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return 1×k: the rank of each action in `model.popular`, or its mean rank over the states."""
        if model.popular is not None:
            return np.argsort(model.popular)[None, :].astype(np.float64)
        mean_ranks = np.zeros((1, model.n_actions))
        with np.errstate(divide="ignore"):  # a state may have prior 0
            prior = np.exp(np.log(model.prior))  # rounded as in a belief, which breaks ties of mean ranks
        for weight, ranks in zip(prior, model.ranks, strict=True):
            mean_ranks += weight * ranks
        return mean_ranks
