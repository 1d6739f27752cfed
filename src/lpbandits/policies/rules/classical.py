"""Classical bandit rules, without latent states: Thompson sampling, UCB1 and uniform choice."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.kernels.choices import pick, pick_untried, position
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import COUNT, NOISE, REWARDS, RULE, RULE_WORK, SUM, Arrays
from lpbandits.kernels.random import FIRST, VALUE, largest_normal, normal, scrambled, uniform, unit, words
from lpbandits.kernels.tally import confidence_width, find, mean_reward, totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, equal_probability, set_frozen
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.rules.largest import probability_of_largest_normal
from lpbandits.rewards import MIN_NOISE
from lpbandits.typing import FloatArray, IntArray

# settings of `Thompson`: its first two fields
PRIOR_MEAN, PRIOR_SD = range(2)
# its rows of scratch, per slot
MEAN = RULE_WORK
SD = RULE_WORK + 1


@jit_in_place
def largest_draw(b: Arrays, n: int, offered: IntArray, word: np.uint64) -> int:
    """Return the allowed tried action with the largest draw, if large means round small deviations away.

    Differences of means and of deviations are compared, so that nothing is lost.
    """
    action = -1
    best_mean = 0.0
    best_deviation = -np.inf
    for slot in range(n):
        tried = b.order[0, slot]
        deviation = b.work[SD, slot] * normal(scrambled(word, tried + 1))
        if position(offered, tried) >= 0 and b.work[MEAN, slot] - best_mean > best_deviation - deviation:
            action = tried
            best_mean = b.work[MEAN, slot]
            best_deviation = deviation
    return action


@dataclass(frozen=True)
class Thompson(Rule):
    """Draw every action's mean from its normal posterior, play the largest; `top`: among the states' best actions."""

    prior_mean: float = 0.0
    prior_sd: float = 100.0
    top: bool = False
    kind = "thompson"
    latent = False

    def __post_init__(self) -> None:
        mean = validate.as_number(
            self.prior_mean, "prior_mean", low=-validate.MAX_ABS_VALUE, high=validate.MAX_ABS_VALUE
        )
        sd = validate.as_number(self.prior_sd, "prior_sd", low=MIN_NOISE, high=validate.MAX_ABS_VALUE)
        set_frozen(self, prior_mean=mean, prior_sd=sd, top=validate.as_flag(self.top, "top"))

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return two rows, one column per tried action."""
        return (2, 0)

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play the action with the largest draw from N(ȳ − (ȳ − μ₀)/(s₀² p), 1/p), where p = 1/s₀² + n/σ².

        All untried actions share one prior, so the largest of their draws is one draw of the maximum of that many
        normals, equally likely from each: exact, at a cost that does not grow with the number of actions.
        """
        untried = b.ranks.shape[1] if len(offered) == 0 else len(offered)
        prior_mean = b.settings[RULE, PRIOR_MEAN]
        prior_precision = b.settings[RULE, PRIOR_SD] ** -2
        reward_precision = b.settings[REWARDS, NOISE] ** -2
        for slot in range(n):  # a separate loop, which the compiler vectorises
            variance = 1.0 / (prior_precision + b.slots[COUNT, slot] * reward_precision)
            mean = b.slots[SUM, slot] / b.slots[COUNT, slot]
            b.work[MEAN, slot] = mean - (mean - prior_mean) * (prior_precision * variance)
            b.work[SD, slot] = np.sqrt(variance)
        word, second_word = words(seed, person, round_, VALUE, 0)
        action = -1
        best = -np.inf
        ties = False
        for slot in range(n):  # without a branch for ties, which are rare
            tried = b.order[0, slot]
            if len(offered) > 0 and position(offered, tried) < 0:
                continue
            untried -= 1
            draw = b.work[MEAN, slot] + b.work[SD, slot] * normal(scrambled(word, tried + 1))
            ties |= draw == best
            if draw > best:
                action = tried
                best = draw
        if ties:
            action = largest_draw(b, n, offered, word)
        if untried > 0:
            z = largest_normal(unit(second_word), untried)
            if prior_mean + b.settings[RULE, PRIOR_SD] * z > best:
                action = pick_untried(b.order, n, offered, untried, uniform(seed, person, round_, FIRST, 0))
        return action

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return the probability that each action's draw is the largest, by quadrature (error about 1e-10)."""
        allowed, noise = policy.allowed(offered), policy.rewards.sd
        tried, _, slots = np.intersect1d(allowed, belief.actions, assume_unique=True, return_indices=True)
        untried = np.setdiff1d(allowed, tried)
        precision = self.prior_sd**-2 + belief.slots[COUNT, slots] / noise**2
        mean = belief.slots[SUM, slots] / belief.slots[COUNT, slots]
        mean -= (mean - self.prior_mean) * (self.prior_sd**-2 / precision)
        copies = np.ones(len(tried) + 1)
        copies[-1] = len(untried)
        probability = probability_of_largest_normal(
            np.append(mean, self.prior_mean), np.append(precision**-0.5, self.prior_sd), copies
        )
        out = np.zeros(policy.model.n_actions)
        out[tried] = probability[:-1]
        if len(untried):
            out[untried] = probability[-1] / len(untried)
        out /= out.sum()
        return out


@dataclass(frozen=True)
class UpperBound(Rule):
    """Play the largest upper confidence bound (UCB1); `top`: among the states' best actions."""

    top: bool = False
    kind = "upper-bound"
    latent = False

    def __post_init__(self) -> None:
        set_frozen(self, top=validate.as_flag(self.top, "top"))

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play the largest ȳ + σ √(2 log t / n) (UCB1); untried actions first, in random order."""
        untried = b.ranks.shape[1] if len(offered) == 0 else len(offered)
        count, _ = totals(b, n)
        log_rounds = np.log(1.0 + count)
        action = -1
        best = -np.inf
        for i in range(n):
            slot = b.order[1, i]
            tried = b.order[0, slot]
            if position(offered, tried) < 0:
                continue
            untried -= 1
            bound = mean_reward(b, slot) + confidence_width(b, slot, log_rounds)
            if action < 0 or bound > best:
                action = tried
                best = bound
        if untried > 0:
            return pick_untried(b.order, n, offered, untried, uniform(seed, person, round_, FIRST, 0))
        return action

    @staticmethod
    @kernel
    def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
        """Return equal probabilities for untried actions while there are any, then 1 for the play."""
        untried = b.ranks.shape[1] if len(offered) == 0 else len(offered)
        for slot in range(n):
            if position(offered, b.order[0, slot]) >= 0:
                untried -= 1
        if untried == 0:
            return 1.0 if action == play else 0.0
        return 1.0 / untried if position(offered, action) >= 0 and find(b.order, n, action) < 0 else 0.0


@dataclass(frozen=True)
class AnyAction(Rule):
    """Play any allowed action, each with equal probability."""

    kind = "any"
    latent = False
    probability = staticmethod(equal_probability)

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play any allowed action, each with equal probability."""
        return pick(b, offered, uniform(seed, person, round_, FIRST, 0))
