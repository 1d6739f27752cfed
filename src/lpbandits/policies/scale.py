"""The scale of rewards: limits of forecasts, and rewards on another scale than the model's log."""

import math
import warnings
from typing import TYPE_CHECKING

from lpbandits.errors import ScaleWarning
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize
from lpbandits.validate import MAX_ABS_VALUE, short_repr

if TYPE_CHECKING:
    from lpbandits.policies.belief import Belief
    from lpbandits.policies.policy import Policy

BEYOND = 0.5
"""Rewards farther outside `reward_range` than this share of its width are on another scale."""


def limits_of(policy: "Policy", belief: "Belief | None" = None) -> tuple[float, float]:
    """Return the lowest and the highest mean reward: the model's `reward_range`, within the limits of the family.

    With a belief, the range is extended to the mean rewards of the person's actions, which are possible for the person.

    >>> from lpbandits import LpbTS
    >>> policy = LpbTS(PreferenceModel([[0, 1]], reward_range=(1, 5)))
    >>> belief = policy.new_belief()
    >>> limits_of(policy, belief)
    (1.0, 5.0)
    """
    limits = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(policy.rewards.family, (-math.inf, math.inf))
    lowest, highest = policy.model.reward_range or limits
    lowest, highest = max(lowest, limits[0]), min(highest, limits[1])
    if belief is not None and belief.tried:
        means = belief.slots[layout.SUM, : belief.tried] / belief.slots[layout.COUNT, : belief.tried]
        lowest, highest = min(lowest, float(means.min())), max(highest, float(means.max()))
    return lowest, highest


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
