"""What a policy assumes of rewards: its arguments, else what the model knows of them."""

from lpbandits import validate
from lpbandits.errors import NoiseWarning, warn_caller
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.base import Evidence
from lpbandits.rewards import GUESS_WEIGHT, MIN_NOISE, Rewards

CONTRADICTION = 3.0
"""Warn if a given noise is this many times larger or smaller than the model's."""


def assumed_rewards(
    model: PreferenceModel,
    rewards: str | Rewards | None = None,
    noise: float | None = None,
    noise_known: bool | None = None,
    *,
    known: bool | None = None,
    evidence: type[Evidence] | None = None,
) -> Rewards:
    """Return the family and the noise of rewards that a policy over `model` assumes.

    The family is by default the model's, else Gaussian. A given noise is exact unless `noise_known` is False. Without
    one, the model's noise is a first guess, worth five rewards, which each person's rewards correct; if the model has
    none either, the noise is estimated from the person's rewards alone. `noise_known=True` makes the model's noise, or
    1, exact.

    `known` replaces a `noise_known` of None: True for policies that cannot learn the noise, False for those that take
    every noise as a guess. With an `evidence`, `check_noise` is called.

    >>> fitted = PreferenceModel([[0, 1], [1, 0]], noise=15.0)
    >>> assumed_rewards(fitted)
    Rewards(family='gaussian', noise=15.0, noise_known=False, weight=5.0)
    >>> assumed_rewards(fitted, noise=12.0).noise_known, assumed_rewards(fitted, noise_known=True).noise
    (True, 15.0)
    """
    of_model = as_model(model).noise
    if isinstance(rewards, Rewards):
        for name, value in (("noise", noise), ("noise_known", noise_known)):
            if value is not None:
                raise validate.invalid(name, "left out if rewards is Rewards(…)", value)
        return rewards
    family = model.rewards or "gaussian" if rewards is None else rewards
    exact = known if noise_known is None else validate.as_flag(noise_known, "noise_known")
    if family != "gaussian":
        if evidence is not None:
            check_noise(evidence, family, noise)
        return Rewards(family, noise, noise_known is not False)  # type: ignore[arg-type] # Rewards validates the family
    if noise is not None:
        weight = GUESS_WEIGHT if known is False else Rewards.weight
        return Rewards(noise=noise, noise_known=exact is not False, weight=weight)
    if of_model is None:
        return Rewards(noise_known=bool(exact), weight=GUESS_WEIGHT if known is False else Rewards.weight)
    return Rewards(noise=max(of_model, MIN_NOISE), noise_known=bool(exact), weight=GUESS_WEIGHT)


def check_noise(evidence: type[Evidence], family: str, noise: float | None) -> None:
    """Raise if a noise is given for rewards of a family whose likelihood the evidence uses, which has no noise."""
    if noise is not None and family != "gaussian" and evidence.gaussian_noise:
        raise validate.invalid("noise", f"left out for {family} rewards", noise)


def warn_of_noise(rewards: Rewards, model: PreferenceModel) -> None:
    """Warn if the noise that a policy assumes contradicts that of the log that its model was fitted to."""
    noise, of_model = rewards.noise, model.noise
    if rewards.family != "gaussian" or not noise or not of_model:
        return
    if not 1 / CONTRADICTION <= noise / of_model <= CONTRADICTION:
        warn_caller(
            f"noise is {noise:g}, but that of the log that the model was fitted to is {of_model:g}; leave noise out to "
            "use the model's, or give rewards on the scale of the log",
            NoiseWarning,
        )
