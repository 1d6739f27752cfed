"""What rewards look like: their family, their noise, and which values are possible."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.typing import FloatArray

Family = Literal["gaussian", "bernoulli", "poisson"]

MIN_NOISE = 1e-50
"""Noise below this would overflow when rewards are divided by it and squared."""

GUESS = 5.0
"""How many rewards a told noise is worth to policies that learn each person's own."""


@dataclass(frozen=True)
class Rewards:
    """The family of a person's rewards.

    Parameters
    ----------
    family
        "gaussian", "bernoulli" (0 or 1) or "poisson" (0, 1, 2, …).
    noise
        Standard deviation of Gaussian rewards, 1 by default. For the other families it is what policies that treat
        every reward as Gaussian (ts, ucb, mucb) assume; by default 0.5 for Bernoulli, the largest it can be, and 1 for
        Poisson.
    noise_known
        False: `noise` is only a guess, worth `weight` observations, and a person's own rewards correct it. Without
        `noise` the guess is the spread of all their rewards, on whatever scale they are.
    weight
        How many observations the guess is worth.

    >>> Rewards("bernoulli").noise
    0.5
    """

    family: Family = "gaussian"
    noise: float | None = None
    noise_known: bool = True
    weight: float = 2.0

    def __post_init__(self) -> None:
        family = validate.as_choice(self.family, "rewards", ("gaussian", "bernoulli", "poisson"))
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "noise_known", validate.as_flag(self.noise_known, "noise_known"))
        noise = self.sd
        validate.as_number(noise, "noise", low=0, above=True)
        noise = validate.as_number(noise, "noise", low=MIN_NOISE, high=validate.MAX_ABS_VALUE)
        object.__setattr__(self, "noise", None if self.noise is None and not self.noise_known else noise)
        object.__setattr__(self, "weight", validate.as_number(self.weight, "weight", low=0, above=True))
        if not self.noise_known and self.family != "gaussian":
            raise InvalidInput(f"noise_known=False has no meaning for {self.family} rewards; leave it out")

    @property
    def sd(self) -> float:
        """The noise as a plain number, the default where there is not even a guess."""
        return (0.5 if self.family == "bernoulli" else 1.0) if self.noise is None else self.noise

    @property
    def code(self) -> int:
        """The family's number in compiled code."""
        codes = {"gaussian": layout.GAUSSIAN, "bernoulli": layout.BERNOULLI, "poisson": layout.POISSON}
        return codes[self.family]

    @property
    def as_known(self) -> "Rewards":
        """The same with a guessed noise taken for the true one, for policies that must know it."""
        return replace(self, noise_known=True)

    @property
    def as_guess(self) -> "Rewards":
        """The same with a Gaussian noise taken for a guess worth five rewards, for policies that learn it.

        >>> Rewards(noise=2.0).as_guess.noise_known, Rewards("bernoulli").as_guess.noise_known
        (False, True)
        """
        return self if self.family != "gaussian" else replace(self, noise_known=False, weight=GUESS)

    def check(self, reward: Any) -> float:
        """Return `reward` as a float if such a reward is possible.

        >>> Rewards("bernoulli").check(2)
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: reward is 2; a Bernoulli reward must be 0 or 1
        """
        if type(reward) is not float:
            if isinstance(reward, bool | np.bool_):
                reward = int(reward)
            reward = validate.as_number(reward, "reward")
        if not -validate.MAX_ABS_VALUE <= reward <= validate.MAX_ABS_VALUE:
            if math.isfinite(reward):
                raise InvalidInput(f"reward is {reward:g}; it must lie within ±1e100: use smaller units")
            raise InvalidInput(f"reward is {reward}; it must be a finite number")
        if self.family == "bernoulli" and reward not in (0.0, 1.0):
            raise InvalidInput(f"reward is {reward:g}; a Bernoulli reward must be 0 or 1")
        if self.family == "poisson" and (reward < 0 or reward != math.floor(reward)):
            raise InvalidInput(f"reward is {reward:g}; a Poisson reward must be a whole number, 0 or more")
        return float(reward)

    def check_means(self, means: FloatArray) -> None:
        """Refuse mean rewards that such rewards cannot have; NaN stands for none.

        >>> Rewards("poisson").check_means(np.array([[2.0, -1.0]]))
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: means[0, 1] is -1; a poisson mean lies in [0, 500]
        """
        low, high = _MEANS[self.family]
        bad = np.argwhere((means < low) | (means > high))
        if len(bad):
            row, action = (int(i) for i in bad[0])
            raise InvalidInput(
                f"means[{row}, {action}] is {means[row, action]:g}; a {self.family} mean lies in [{low:g}, {high:g}]"
            )


_MEANS = {
    "bernoulli": (0.0, 1.0),
    "poisson": (0.0, 500.0),
    "gaussian": (-validate.MAX_ABS_VALUE, validate.MAX_ABS_VALUE),
}
"""Between which numbers a family's means lie; Poisson rewards are drawn one by one."""


def as_rewards(value: Any) -> Rewards:
    """Return `value` if it is `Rewards`.

    >>> as_rewards("poisson")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rewards is 'poisson'; give Rewards(…), such as Rewards("bernoulli")
    """
    if not isinstance(value, Rewards):
        raise InvalidInput(f'rewards is {validate.short_repr(value)}; give Rewards(…), such as Rewards("bernoulli")')
    return value


def rewards_of(
    rewards: "str | Rewards", noise: float | None = None, noise_known: bool = True, *, noise_of_all: bool = False
) -> Rewards:
    """Return the rewards that a policy's arguments describe: `Rewards` as they are, or a family with its noise.

    `noise_of_all` says that the policy treats every reward as Gaussian, so that noise has a meaning for all families.

    >>> rewards_of("poisson").family, rewards_of(Rewards(noise=2.0)).noise
    ('poisson', 2.0)
    >>> rewards_of(Rewards(noise=2.0), 1.0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise is 1.0 but rewards=Rewards(…) has its own; give the noise in one place
    """
    if isinstance(rewards, Rewards):
        if noise is not None or not validate.as_flag(noise_known, "noise_known"):
            what = f"noise is {validate.short_repr(noise)}" if noise is not None else "noise_known is False"
            raise InvalidInput(f"{what} but rewards=Rewards(…) has its own; give the noise in one place")
        return rewards
    made = Rewards(rewards, noise, noise_known)  # type: ignore[arg-type] # Rewards checks the family
    if not noise_of_all and made.family != "gaussian" and noise is not None:
        raise InvalidInput(
            f"noise is {validate.short_repr(noise)} but {made.family} rewards have no noise of their own; leave it out"
        )
    return made


def rewards_with_guess(rewards: "str | Rewards", noise: float | None = None, noise_known: bool = False) -> Rewards:
    """Return the rewards of a policy that learns the noise: one that is told is a guess unless it is known.

    >>> rewards_with_guess("gaussian", 2.0).noise_known, rewards_with_guess("gaussian").noise
    (False, None)
    """
    made = rewards_of(rewards, noise, noise_of_all=True)
    known = isinstance(rewards, Rewards) or validate.as_flag(noise_known, "noise_known")
    if known or made.family != "gaussian":
        return made
    return Rewards(noise=noise, noise_known=False, weight=GUESS)
