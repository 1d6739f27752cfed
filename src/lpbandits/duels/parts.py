"""The evidences and rules of relative feedback: Python's side of `lpbandits.kernels.duel`.

They have the form of all evidences and rules, and so make a `Policy`; but what they take in is a duel, and what they
choose is a pair. Asking one for a single action, or telling it a reward, is refused with the reason.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Never, Protocol, runtime_checkable

import numpy as np

from lpbandits import validate
from lpbandits.errors import NotSupported
from lpbandits.kernels import duel as kernels
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Belief, Policy
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray

_NONE = np.zeros((0, 0))


@runtime_checkable
class DuelEvidence(Protocol):
    """An evidence that learns from duels."""

    kind: ClassVar[str]

    @property
    def tell_duel(self) -> Callable[..., int]:
        """The kernel that takes a duel in."""

    def wins(self, model: PreferenceModel) -> FloatArray:
        """Return the empty table of wins, 0×0 where none is kept."""


@runtime_checkable
class PairRule(Protocol):
    """A rule that chooses two actions."""

    kind: ClassVar[str]

    @property
    def choose_pair(self) -> Callable[..., tuple[int, int]]:
        """The kernel that chooses."""


def _refuse(kind: str) -> Never:
    raise NotSupported(
        f"'{kind}' works with duels, not with single actions and rewards; use ask_pair() and tell_duel(winner, loser)"
    )


def _log_factor(margin: float | None) -> float:
    """Return the logarithm of what an inversion multiplies a state's likelihood by: ½ − ρ, or ½ for unknown ρ."""
    return math.log(0.5 - (margin or 0.0))


def _check_margin(margin: float | None) -> None:
    if margin is not None:
        validate.as_number(margin, "margin", low=0, high=0.499)


@dataclass(frozen=True)
class Inversions:
    """Counted inversions: how often a duel went against a state's ordering (the paper's note on relative feedback).

    Each multiplies the state's likelihood by ½ − margin, or by ½ where the margin is not known.
    """

    margin: float | None = None
    kind: ClassVar[str] = "inversions"
    latent: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    rewards: ClassVar[Rewards] = Rewards()
    why_no_retract: ClassVar[str] = "it works with duels"

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    @property
    def tell(self) -> Callable[..., int]:
        """Rewards are refused."""
        _refuse(self.kind)

    @property
    def tell_duel(self) -> Callable[..., int]:
        """The kernel that takes a duel in."""
        return kernels.inversions_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """Rewards cannot be taken back, as none are taken in."""
        return None

    def table(self, model: PreferenceModel) -> FloatArray:  # noqa: ARG002
        """No means are known."""
        return _NONE

    def wins(self, model: PreferenceModel) -> FloatArray:  # noqa: ARG002
        """Inversions per state are enough."""
        return _NONE

    def numbers(self, settings: FloatArray) -> None:
        """Write the logarithm of an inversion's factor."""
        settings[layout.MARGIN] = _log_factor(self.margin)


@dataclass(frozen=True)
class Wins:
    """Wins of every action over every other, and no latent states."""

    kind: ClassVar[str] = "wins"
    latent: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    rewards: ClassVar[Rewards] = Rewards()
    why_no_retract: ClassVar[str] = "it works with duels"

    @property
    def tell(self) -> Callable[..., int]:
        """Rewards are refused."""
        _refuse(self.kind)

    @property
    def tell_duel(self) -> Callable[..., int]:
        """The kernel that takes a duel in."""
        return kernels.wins_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """Rewards cannot be taken back, as none are taken in."""
        return None

    def table(self, model: PreferenceModel) -> FloatArray:  # noqa: ARG002
        """No means are known."""
        return _NONE

    def wins(self, model: PreferenceModel) -> FloatArray:
        """Return a table of zeros."""
        return np.zeros((model.n_actions, model.n_actions))

    def numbers(self, settings: FloatArray) -> None:
        """There is nothing to set."""


@dataclass(frozen=True)
class Paired:
    """Rewards turned into duels: every second reward is compared with the one before (absolute to relative feedback).

    It combines with every rule that samples states: `Policy(model, Paired(), Sample())`. Equal rewards show nothing.
    """

    margin: float | None = None
    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "paired"
    latent: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    why_no_retract: ClassVar[str] = "rewards are compared in the order they came in; use lpbts, which can"

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""
        return kernels.paired_tell

    @property
    def retract(self) -> Callable[..., int] | None:
        """Nothing can be taken back."""
        return None

    def table(self, model: PreferenceModel) -> FloatArray:  # noqa: ARG002
        """No means are known."""
        return _NONE

    def numbers(self, settings: FloatArray) -> None:
        """Write the logarithm of an inversion's factor."""
        settings[layout.MARGIN] = _log_factor(self.margin)


class _Pairs:
    """What all rules for pairs share: they refuse to choose one action."""

    kind: ClassVar[str]
    needs_means: ClassVar[bool] = False

    @property
    def choose(self) -> Callable[..., int]:
        """Choosing a single action is refused."""
        _refuse(self.kind)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:  # noqa: ARG002
        """Chances of a single action are refused."""
        _refuse(self.kind)


@dataclass(frozen=True)
class TwoStates(_Pairs):
    """Draw two states and let their best actions meet; where they agree, the most informative challenger steps in."""

    kind: ClassVar[str] = "two-states"
    latent: ClassVar[bool] = True
    top: ClassVar[bool] = False

    @property
    def choose_pair(self) -> Callable[..., tuple[int, int]]:
        """The kernel that chooses."""
        return kernels.two_states_choose

    def numbers(self, settings: FloatArray) -> None:
        """There is nothing to set."""


@dataclass(frozen=True)
class DoubleThompson(_Pairs):
    """Double Thompson sampling (Wu and Liu 2016); `top`: among the states' best actions."""

    alpha: float = 0.51
    top: bool = False
    kind: ClassVar[str] = "double-thompson"
    latent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.as_number(self.alpha, "alpha", low=0.5, high=validate.LARGEST, above=True)

    @property
    def choose_pair(self) -> Callable[..., tuple[int, int]]:
        """The kernel that chooses."""
        return kernels.double_thompson_choose

    def numbers(self, settings: FloatArray) -> None:
        """Write α, the width of the confidence limits."""
        settings[layout.WEIGHT] = self.alpha


EVIDENCES: dict[str, Any] = {part.kind: part for part in (Inversions, Wins, Paired)}
"""Every evidence of this package by its name in files."""

RULES: dict[str, Any] = {part.kind: part for part in (TwoStates, DoubleThompson)}
"""Every rule of this package by its name in files."""
