"""What every call of an `Agent` needs of its policy, computed once per policy, such as the usual scale of rewards."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lpbandits.errors import ScaleWarning
from lpbandits.kernels.calls import choose_with, flat, tell_with
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize
from lpbandits.typing import IntArray
from lpbandits.validate import MAX_ABS_VALUE, short_repr

if TYPE_CHECKING:
    from lpbandits.policies.policy import Policy


BEYOND = 0.5
"""Rewards farther outside `reward_range` than this share of its width are on another scale."""


class Calls(NamedTuple):
    """The compiled functions and the properties of a policy that decisions for one person use."""

    choose: Callable[..., Any]
    tell: Callable[..., int]
    everything: IntArray
    """`offer(None)`."""
    duels: bool
    explores: bool
    locks_in: bool
    """Whether it may repeat one action for ever."""
    any_float: bool
    """Whether every float within ±MAX_ABS_VALUE is a valid reward as it is."""
    usual: tuple[float, float]
    """`usual_range` of the model."""


def calls_of(policy: "Policy") -> Calls:
    """Return the `Calls` of a policy."""
    lower = policy.model.lower_is_better
    return Calls(
        flat(choose_with, policy.choose),
        flat(tell_with, policy.tell),
        policy.offer(None),
        duels=policy.feedback == "duels",
        explores=policy.explore > 0.0,
        locks_in=not policy.rule.handles_repeats and not policy.explore,
        any_float=policy.rewards.family == "gaussian" and policy.feedback == "rewards" and not lower,
        usual=usual_range(policy.model),
    )


def usual_range(model: PreferenceModel) -> tuple[float, float]:
    """Return the limits beyond which rewards are on another scale than those of the model's log.

    >>> usual_range(PreferenceModel([[0, 1]], reward_range=(1, 5)))
    (-1.0, 7.0)
    """
    low, high = model.reward_range or (-MAX_ABS_VALUE, MAX_ABS_VALUE)
    margin = BEYOND * (high - low) or MAX_ABS_VALUE
    return max(low - margin, -MAX_ABS_VALUE), min(high + margin, MAX_ABS_VALUE)


def warn_of_scale(model: PreferenceModel, reward: float, action: int, count: int = 1, *, stacklevel: int) -> None:
    """Warn of `count` rewards outside `usual_range`, of which one is named."""
    ends = sorted(float(model.oriented(end)) for end in model.reward_range or ())
    warnings.warn(
        f"{pluralize(count, 'outcome')} on another scale than the log that the model was fitted to: "
        f"{model.oriented(reward):g} for {short_repr(model.actions[action])}, where rewards were from {ends[0]:g} to "
        f"{ends[1]:g}; convert the outcomes to this scale, or fit a model to a log with theirs",
        ScaleWarning,
        stacklevel=stacklevel + 1,
    )
