"""Double Thompson: draw every pair's win probability, twice. The rule of double-ts."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import RULE, RULE_WORK, Arrays
from lpbandits.kernels.random import CHALLENGE, FIRST, VALUE, below, gamma, uniform
from lpbandits.kernels.tally import totals
from lpbandits.policies.base import Rule, require, set_frozen
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray

ALPHA = 0  # the setting: width of the confidence limits
# rows of scratch, a column per allowed action
HOPE = RULE_WORK  # number of others it may beat
BEATEN = RULE_WORK + 1  # number it beats in the draw


@kernel
def confidence_limits(wins: FloatArray, one: int, other: int, budget: float) -> tuple[float, float]:
    """Return the confidence limits of P(`one` beats `other`); 0 and 2 if they never met (x/0 = 1)."""
    met = wins[one, other] + wins[other, one]
    if met == 0.0:
        return 0.0, 2.0
    rate = wins[one, other] / met
    radius = np.sqrt(budget / met)
    return rate - radius, rate + radius


@dataclass(frozen=True)
class DoubleThompson(Rule):
    """Double Thompson sampling (Wu and Liu 2016); `top`: among the states' best actions."""

    alpha: float = 0.51
    top: bool = False
    kind = "double-thompson"
    work_rows = 2
    feedback = "duels"
    latent = False

    def __post_init__(self) -> None:
        alpha = validate.as_number(self.alpha, "alpha", low=0.5, high=validate.MAX_ABS_VALUE, above=True)
        set_frozen(self, alpha=alpha, top=validate.as_flag(self.top, "top"))

    def check(self, policy: Policy) -> None:
        """Reject an evidence that does not count wins of every pair."""
        k = policy.model.n_actions
        require(policy, policy.start_own.shape == (k, k), "wins of every pair", "'wins'")

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> tuple[int, int]:
        """Choose a pair by double Thompson sampling (Wu and Liu 2016, Algorithm 1) on the unstructured duelling bandit.

        First: among the actions that may beat the most others, the one that beats the most in a draw of all win
        probabilities. Second: among those that may beat the first, the one with the largest drawn probability to do
        so; the first itself has ½.
        """
        wins, work = b.own, b.work
        k = b.ranks.shape[1]
        size = k if len(offered) == 0 else len(offered)
        count, _ = totals(b, n)
        budget = b.settings[RULE, ALPHA] * np.log(1.0 + 0.5 * count)
        for i in range(size):
            work[HOPE, i] = 0.0
            work[BEATEN, i] = 0.0
        for i in range(size):
            one = i if len(offered) == 0 else offered[i]
            for j in range(i + 1, size):
                other = j if len(offered) == 0 else offered[j]
                low, high = confidence_limits(wins, one, other, budget)
                work[HOPE, i] += 1.0 if high > 0.5 else 0.0
                work[HOPE, j] += 1.0 if low < 0.5 else 0.0
                pair = 2 * (one * k + other)
                won = gamma(wins[one, other] + 1.0, seed, person, round_, VALUE, pair)
                lost = gamma(wins[other, one] + 1.0, seed, person, round_, VALUE, pair + 1)
                work[BEATEN, i if won > lost else j] += 1.0
        hope = 0.0
        for i in range(size):
            hope = max(hope, work[HOPE, i])
        most = -1.0
        ties = 0
        for i in range(size):
            if work[HOPE, i] == hope:
                if work[BEATEN, i] > most:
                    most = work[BEATEN, i]
                    ties = 0
                if work[BEATEN, i] == most:
                    ties += 1
        skipped = below(uniform(seed, person, round_, FIRST, 0), ties)
        first = 0
        for i in range(size):
            if work[HOPE, i] == hope and work[BEATEN, i] == most:
                if skipped == 0:
                    first = i if len(offered) == 0 else offered[i]
                    break
                skipped -= 1
        second = first
        largest = 0.5
        for i in range(size):
            one = i if len(offered) == 0 else offered[i]
            if one == first:
                continue
            low, _ = confidence_limits(wins, one, first, budget)
            if low <= 0.5:
                won = gamma(wins[one, first] + 1.0, seed, person, round_, CHALLENGE, 2 * one)
                lost = gamma(wins[first, one] + 1.0, seed, person, round_, CHALLENGE, 2 * one + 1)
                if won / (won + lost) > largest:
                    largest = won / (won + lost)
                    second = one
        return first, second
