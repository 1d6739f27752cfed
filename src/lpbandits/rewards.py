"""Reward families, their noise, and the values they allow."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.typing import FloatArray

Family = Literal["gaussian", "bernoulli", "poisson"]

_CODES = {"gaussian": layout.GAUSSIAN, "bernoulli": layout.BERNOULLI, "poisson": layout.POISSON}
_MEAN_RANGES = {
    "gaussian": (-validate.MAX_ABS_VALUE, validate.MAX_ABS_VALUE),
    "bernoulli": (0.0, 1.0),
    "poisson": (0.0, 500.0),
}
"""Range of means per family; the cost of a Poisson draw grows with its mean."""

MIN_NOISE = 1e-50
"""Smaller noise would overflow when rewards are divided by it and squared."""

GUESS_WEIGHT = 5.0
"""Weight of a guessed noise, in observations, for policies that estimate each person's noise."""


@dataclass(frozen=True)
class Rewards:
    """Family and noise of rewards.

    Parameters
    ----------
    family
        "gaussian", "bernoulli" (0 or 1) or "poisson" (0, 1, 2, …).
    noise
        Standard deviation of Gaussian rewards, 1 by default. For the other families it is the noise that Gaussian
        policies (ts, ucb, mucb) assume: by default 0.5 for Bernoulli, its maximum, and 1 for Poisson.
    noise_known
        False: `noise` is a prior guess that counts as `weight` observations. Without `noise` the guess is the standard
        deviation of a person's rewards.
    weight
        Number of observations that the guess is worth.

    Examples
    --------
    >>> Rewards("bernoulli").noise
    0.5
    """

    family: Family = "gaussian"
    noise: float | None = None
    noise_known: bool = True
    weight: float = 2.0

    def __post_init__(self) -> None:
        validate.as_choice(self.family, "rewards", _CODES)
        known = validate.as_flag(self.noise_known, "noise_known")
        noise = as_noise(self.sd)
        object.__setattr__(self, "noise_known", known)
        object.__setattr__(self, "noise", noise if known or self.noise is not None else None)
        object.__setattr__(self, "weight", validate.as_number(self.weight, "weight", low=0, above=True))
        if not self.noise_known and self.family != "gaussian":
            raise InvalidInput(f"noise_known must be True for {self.family} rewards, got False; leave it out")

    @property
    def sd(self) -> float:
        """The noise, or the family's default."""
        return (0.5 if self.family == "bernoulli" else 1.0) if self.noise is None else self.noise

    @property
    def code(self) -> int:
        """The family's number in compiled code."""
        return _CODES[self.family]

    @property
    def as_known(self) -> "Rewards":
        """A copy with known noise, for policies that do not learn it."""
        return replace(self, noise_known=True)

    @property
    def as_guess(self) -> "Rewards":
        """A copy in which the noise of Gaussian rewards is a prior guess; other families are unchanged."""
        return self if self.family != "gaussian" else replace(self, noise_known=False, weight=GUESS_WEIGHT)

    def check(self, reward: Any) -> float:
        """Return `reward` as a float; raise `InvalidInput` if the family does not allow it.

        >>> Rewards("bernoulli").check(2)
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: reward must be 0 or 1 (bernoulli), got 2
        """
        if type(reward) is not float or not math.isfinite(reward):
            reward = validate.as_number(int(reward) if isinstance(reward, bool | np.bool_) else reward, "reward")
        if not -validate.MAX_ABS_VALUE <= reward <= validate.MAX_ABS_VALUE:
            raise InvalidInput(f"reward must lie within ±1e100, got {reward:g}; use other units")
        if self.family == "bernoulli" and reward not in (0.0, 1.0):
            raise InvalidInput(f"reward must be 0 or 1 (bernoulli), got {reward:g}")
        if self.family == "poisson" and (reward < 0 or reward != math.floor(reward)):
            raise InvalidInput(f"reward must be 0 or a positive whole number (poisson), got {reward:g}")
        return float(reward)

    def check_means(self, means: FloatArray) -> None:
        """Raise `InvalidInput` if a mean reward is outside the range of the family; NaN is a missing mean."""
        low, high = _MEAN_RANGES[self.family]
        must = f"lie in [{low:g}, {high:g}] ({self.family})"
        validate.check_entries(means, "means", (means < low) | (means > high), must)


def as_noise(noise: Any, name: str = "noise") -> float:
    """Return a positive standard deviation of rewards."""
    return validate.as_number(noise, name, low=MIN_NOISE, high=validate.MAX_ABS_VALUE)


def as_rewards(value: Any) -> Rewards:
    """Return `value` if it is `Rewards`."""
    if not isinstance(value, Rewards):
        raise validate.invalid("rewards", 'Rewards(…), such as Rewards("bernoulli")', value)
    return value
