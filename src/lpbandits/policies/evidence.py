"""The evidences: Python's side of `lpbandits.kernels.evidence`. A new one is a class here and a line in EVIDENCES."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import evidence as kernels
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, known_means
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray


@dataclass(frozen=True)
class _OfRewards:
    """What most evidences share: they expect rewards of a family, weigh states by probability, and know no means."""

    rewards: Rewards = field(default_factory=Rewards)
    latent: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    why_no_retract: ClassVar[str] = ""

    @property
    def retract(self) -> Callable[..., int] | None:
        """Nothing can be taken back, unless an evidence says how."""
        return None

    def table(self, model: PreferenceModel) -> FloatArray:  # noqa: ARG002
        """No means are known."""
        return np.zeros((0, 0))

    def numbers(self, settings: FloatArray) -> None:
        """Write the family and noise of the rewards."""
        settings[layout.FAMILY] = self.rewards.code if self.rewards.noise_known else layout.GAUSSIAN_UNKNOWN
        settings[layout.NOISE] = self.rewards.sd
        settings[layout.WEIGHT] = self.rewards.weight


@dataclass(frozen=True)
class Refit(_OfRewards):
    """The likelihood of all rewards at the state's own isotonic fit (Eq. `appr_posterior`).

    It depends on counts, sums and spreads alone: outcomes may be late, in any order, or taken back.

    >>> Refit(Rewards(noise=0.5)).rewards.sd
    0.5
    """

    kind: ClassVar[str] = "refit"
    ordered: ClassVar[bool] = True

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.refit_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """The kernel that takes an outcome back."""
        return kernels.refit_retract


@dataclass(frozen=True)
class Incremental(_OfRewards):
    """The expanded algorithm: each round adds the newest reward's log-likelihood at the refitted mean.

    It depends on the order in which rewards came, and cannot take one back.

    >>> Incremental().retract is None
    True
    """

    kind: ClassVar[str] = "incremental"
    ordered: ClassVar[bool] = True
    why_no_retract: ClassVar[str] = (
        "its score adds up one fit per round, in the order the rewards came; use likelihood='refit', which can"
    )

    def __post_init__(self) -> None:
        if not self.rewards.noise_known:
            raise InvalidInput("likelihood='incremental' needs a known noise; use likelihood='refit' for unknown noise")

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.incremental_tell


@dataclass(frozen=True)
class KnownMeans(_OfRewards):
    """The likelihood of all rewards at the state's known means: the full latent bandit of Hong et al. (2020).

    >>> KnownMeans().table(PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])).shape
    (2, 2)
    """

    kind: ClassVar[str] = "known-means"

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.known_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """The kernel that takes an outcome back."""
        return kernels.known_retract

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return known_means(model, self.rewards, "mts")


@dataclass(frozen=True)
class Consistency(_OfRewards):
    """Which states are still consistent with the rewards, as mUCB (Hong et al. 2020) counts it.

    >>> Consistency(horizon=1000).horizon
    1000
    """

    horizon: int = 200
    margin: float = 0.0
    kind: ClassVar[str] = "consistency"
    probabilistic: ClassVar[bool] = False
    why_no_retract: ClassVar[str] = "it charges each round to the state that was optimistic then; use mts, which can"

    def __post_init__(self) -> None:
        validate.as_count(self.horizon, "horizon")
        validate.as_number(self.margin, "margin", low=0)
        if not self.rewards.noise_known:
            raise InvalidInput("mucb needs a known noise; give noise, or use mts with noise_known=False")

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.consistency_tell

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return known_means(model, Rewards(), "mucb")

    def numbers(self, settings: FloatArray) -> None:
        """Write the rewards, log T and the margin ε."""
        super().numbers(settings)
        settings[layout.LOG_HORIZON] = math.log(max(self.horizon, 2))
        settings[layout.MARGIN] = self.margin


@dataclass(frozen=True)
class Tally(_OfRewards):
    """Counts and sums alone: for policies that know nothing of latent states.

    >>> Tally().table(PreferenceModel([[0, 1]])).size
    0
    """

    kind: ClassVar[str] = "tally"
    latent: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.rewards.noise_known:
            raise InvalidInput("ts and ucb need a known noise; give noise, or use lpbts with noise_known=False")

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.tally_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """The kernel that takes an outcome back."""
        return kernels.tally_retract


EVIDENCES: dict[str, type[Evidence]] = {
    part.kind: part for part in (Refit, Incremental, KnownMeans, Consistency, Tally)
}
"""Every evidence by its name in files."""
