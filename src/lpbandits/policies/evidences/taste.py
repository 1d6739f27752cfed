"""Taste: a posterior over a person's taste and scale, without latent states. The evidence of taste."""

from dataclasses import dataclass, field

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import taste
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import COUNT, FAMILY, GAUSSIAN_UNKNOWN, REWARDS, SPREAD, SUM, Arrays
from lpbandits.kernels.tally import find, record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.taste_model import MAX_LASTING, TasteModel
from lpbandits.typing import FloatArray


@kernel
def add_repeats(b: Arrays, action: int, repeats: float, spread: float) -> None:
    """Add repeated rewards, with variance s² ψ (1 − L) about the action's mean, if their sum of squares is recorded."""
    if b.settings[REWARDS, FAMILY] == GAUSSIAN_UNKNOWN:
        noise = b.table[taste.VARIANCE, action] * (1.0 - b.table[taste.COMMON, taste.LASTING])
        b.own[taste.SUMS, taste.COUNT] += repeats
        b.own[taste.SUMS, taste.WITHIN] += spread / noise


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """Recompute all sums from the slots."""
    taste.forget(b.table, b.own)
    for slot in range(n):
        action = b.order[0, slot]
        count = b.slots[COUNT, slot]
        mean = b.slots[SUM, slot] / count - b.table[taste.COMMON, taste.LEVEL]
        variance = taste.along(b.table, b.own, action)
        taste.replace_part(b.table, b.own, action, variance, 0.0, 0.0, count, mean)
        add_repeats(b, action, count - 1.0, b.slots[SPREAD, slot])
    taste.update_posterior(b.table, b.own)


@kernel
def predictive_sd_one(b: Arrays, n: int, action: int) -> float:
    """Return the calibrated standard deviation of the next reward of an action."""
    slot = find(b.order, n, action)
    count = b.slots[COUNT, slot] if slot >= 0 else 0.0
    return float(taste.foreseen_sd(b.table, b.own, action, count) * b.table[taste.COMMON, taste.CALIBRATION])


def taste_of(model: PreferenceModel) -> TasteModel:
    """Return the model's taste; raise `InvalidInput` if it has none."""
    if model.taste is None:
        raise InvalidInput("taste needs a model with a taste; fit one from a log: lpb fit, or fit_states(…)")
    return model.taste


@dataclass(frozen=True)
class TasteEvidence(Evidence):
    """A posterior over a person's taste, with the prior of `model.taste`; the model's states are not used.

    Each person has a level, a scale and tastes, learned jointly, so that every reward is informative about every
    action. `predictive_sd` is the standard deviation of the next reward. Rewards of any family are treated as Gaussian;
    the noise is learned with the scale. `lasting` is as in `Taste`.
    """

    rewards: Rewards = field(default_factory=Rewards)
    lasting: float | None = None
    kind = "taste"
    latent = False
    ordered = False
    probabilistic = False
    derived = True
    predictive = True
    update_posterior = staticmethod(update_posterior)
    predictive_sd_one = staticmethod(predictive_sd_one)

    def __post_init__(self) -> None:
        lasting = self.lasting
        if lasting is not None:
            lasting = validate.as_number(lasting, "lasting", low=0, high=MAX_LASTING)
        set_frozen(self, rewards=as_rewards(self.rewards).as_guess, lasting=lasting)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return means, variances and factors of the actions."""
        return taste_of(model).table(self.lasting)

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the prior of a new person's taste."""
        return taste_of(model).start()

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Replace the action's part of the sums, and update the posterior of taste and scale."""
        level = b.table[taste.COMMON, taste.LEVEL]
        count = 0.0
        mean = 0.0
        spread = 0.0
        slot = find(b.order, n, action)
        if slot >= 0:
            count = b.slots[COUNT, slot]
            mean = b.slots[SUM, slot] / count - level
            spread = b.slots[SPREAD, slot]
        n, slot = record(b, n, action, reward)
        new_mean = b.slots[SUM, slot] / b.slots[COUNT, slot] - level
        variance = taste.along(b.table, b.own, action)
        taste.replace_part(b.table, b.own, action, variance, count, mean, count + 1.0, new_mean)
        add_repeats(b, action, min(count, 1.0), b.slots[SPREAD, slot] - spread)
        taste.update_posterior(b.table, b.own)
        return n

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write M = r0 + E[s (u + F·θ)]; for a tried action (1 − w) M + w · its mean reward, w = L ψ/D."""
        taste.expect_untried(b.table, b.own, b.ranks.shape[1], out)
        for slot in range(n):
            action = b.order[0, slot]
            count = b.slots[COUNT, slot]
            out[action] += taste.lasting_share(b.table, count) * (b.slots[SUM, slot] / count - out[action])

    @staticmethod
    @kernel
    def predictive_sd(b: Arrays, n: int, out: FloatArray) -> None:
        """Write the standard deviation of the next reward of each action."""
        for action in range(b.ranks.shape[1]):
            out[action] = predictive_sd_one(b, n, action)

    @staticmethod
    @kernel
    def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
        """Return `expected_rewards` of one action, up to rounding."""
        taste.lean(b.table, b.own)
        mean = taste.expected_reward(b.table, b.own, action)
        slot = find(b.order, n, action)
        if slot < 0:
            return mean
        count = b.slots[COUNT, slot]
        return float(mean + taste.lasting_share(b.table, count) * (b.slots[SUM, slot] / count - mean))
