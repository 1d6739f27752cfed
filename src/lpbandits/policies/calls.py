"""What every call of an `Agent` needs of its policy, computed once per policy."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lpbandits.kernels.calls import choose_with, flat, tell_with
from lpbandits.policies.scale import usual_range
from lpbandits.typing import IntArray

if TYPE_CHECKING:
    from lpbandits.policies.policy import Policy


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
