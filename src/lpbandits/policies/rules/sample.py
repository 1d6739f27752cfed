"""Draw states from the posterior and play what is best in them. The rules of lpbTS, mTS, lpb-utility and lpb-duel."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.kernels.choices import largest, pick
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import POSTERIOR, RULE, RULE_WORK, Arrays
from lpbandits.kernels.random import FIRST, STATE, uniform
from lpbandits.kernels.tally import totals
from lpbandits.policies.base import Rule, equal_probability, expected_rewards, set_frozen
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import best_columns, draw_state, favourite, play_best
from lpbandits.policies.rules.largest import probability_in_tier
from lpbandits.typing import FloatArray, Int32Array, IntArray

UNIFORM_FIRST = 0  # the setting of `Sample`: 1 if the first action is uniform
SAME = 1e-12  # posterior masses closer than this count as equal, so that rounding decides nothing


@kernel
def sampled_state(b: Arrays, n: int, seed: int, person: int, round_: int) -> int:
    """Return the drawn state, -1 if the first action is uniform."""
    if n == 0 and b.settings[RULE, UNIFORM_FIRST] > 0.0:
        return -1
    return draw_state(b, uniform(seed, person, round_, STATE, 0))


def _total_by_action(best: IntArray, policy: Policy, belief: Belief) -> FloatArray:
    """Return the probability of each action, given the action that each state plays."""
    return np.asarray(np.bincount(best, belief.states[POSTERIOR], policy.model.n_actions), dtype=np.float64)


@dataclass(frozen=True)
class Sample(Rule):
    """Draw a state from the posterior, play its best allowed action (Algorithm 1).

    In a model with tiers the action is drawn from the best tier that has an allowed action, by Thompson sampling on
    each action's own rewards (see `policies.tiers`).

    `first="uniform"` plays a uniformly random first action, as the expanded algorithm does.
    """

    first: str = "prior"
    kind = "sample"
    plays_best = True
    sampled_state = staticmethod(sampled_state)

    def __post_init__(self) -> None:
        set_frozen(self, first=validate.as_choice(self.first, "first", ("prior", "uniform")))

    def settings(self) -> tuple[float, ...]:
        """Return 1 if the first action is uniform."""
        return (float(self.first == "uniform"),)

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Draw z ~ posterior, play the best allowed action of z (Algorithm 1, lines 3 and 4)."""
        state = sampled_state(b, n, seed, person, round_)
        if state < 0:
            return pick(b, offered, uniform(seed, person, round_, FIRST, 0))
        return play_best(b, n, state, offered, seed, person, round_, 0)

    @staticmethod
    @kernel
    def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
        """Return the posterior mass of the states whose best allowed action is `action`."""
        if n == 0 and b.settings[RULE, UNIFORM_FIRST] > 0.0:
            return equal_probability(b, n, offered, play, action)
        out = 0.0
        for z in range(b.states.shape[1]):
            if favourite(b, z, offered) == action:
                out += b.states[POSTERIOR, z]
        return out

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return, for each action, the probability of the states whose best allowed action it is.

        Within a tier it is multiplied by the probability that the action's draw is the largest (error about 1e-10).
        """
        if belief.tried == 0 and self.first == "uniform":
            return policy.equally(policy.allowed(offered))
        if not policy.tiered:
            return _total_by_action(policy.favourites(offered), policy, belief)
        allowed, posterior = policy.allowed(offered), belief.states[POSTERIOR]
        masses: dict[bytes, float] = {}
        for p, tops in zip(posterior.tolist(), best_columns(policy.ranks[:, allowed]), strict=True):
            masses[tops.tobytes()] = masses.get(tops.tobytes(), 0.0) + p
        out = np.zeros(policy.model.n_actions)
        for key, mass in masses.items():
            out += mass * probability_in_tier(policy, belief, allowed[np.frombuffer(key, dtype=np.bool_)])
        return out


@dataclass(frozen=True)
class BestExpected(Rule):
    """Draw a state from the posterior, play the action with the largest expected reward in that state.

    `Sample` plays the state's first action; this rule abandons it if its rewards are lower than expected.
    """

    kind = "best-expected"
    work_rows = 1
    needs_expectations = True

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Draw z ~ posterior, play argmax_a M_z(a)."""
        means = b.work[RULE_WORK, : b.ranks.shape[1]]
        expected_rewards(b, n, draw_state(b, uniform(seed, person, round_, STATE, 0)), means)
        return largest(means, offered)

    @staticmethod
    @kernel
    def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
        """Return the probability of the states in which this action has the largest expected reward."""
        means = b.work[RULE_WORK, : b.ranks.shape[1]]
        out = 0.0
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] > 0.0:
                expected_rewards(b, n, z, means)
                if largest(means, offered) == action:
                    out += b.states[POSTERIOR, z]
        return out

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return, for each action, the probability of the states in which it has the largest expected reward."""
        allowed = policy.allowed(offered)
        best = allowed[np.argmax(policy.expected(belief)[:, allowed], axis=1)]
        return _total_by_action(best, policy, belief)


@jit_in_place
def challenger(ranks: Int32Array, states: FloatArray, offered: IntArray, action: int) -> int:
    """Return the action with the most uncertain duel against `action`: the posterior is most divided about the winner.

    Ties go to the largest mean rank distance from `action`, for which a duel is most informative.
    """
    m, k = ranks.shape
    chosen = action
    largest_variance = -1.0
    farthest = -1.0
    for i in range(k if len(offered) == 0 else len(offered)):
        other = i if len(offered) == 0 else offered[i]
        if other == action:
            continue
        above = 0.0
        distance = 0.0
        for z in range(m):
            difference = ranks[z, other] - ranks[z, action]
            distance += states[POSTERIOR, z] * abs(difference)
            if difference < 0:
                above += states[POSTERIOR, z]
            elif difference == 0:  # a tier
                above += 0.5 * states[POSTERIOR, z]
        variance = above * (1.0 - above)
        if variance > largest_variance + SAME or (variance > largest_variance - SAME and distance > farthest + SAME):
            chosen = other
            largest_variance = variance
            farthest = distance
    return chosen


@dataclass(frozen=True)
class TwoStates(Rule):
    """Play the best actions of two drawn states; if these agree, the most informative challenger replaces one.

    In a model with tiers each action is drawn from the best tier, by Thompson sampling on the shares of won duels.
    """

    kind = "two-states"
    plays_best = True
    feedback = "duels"

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> tuple[int, int]:
        """Draw two states; their best actions form the duel.

        If both have the same best action, its opponent is the most informative challenger as long as the posterior mass
        of states with another best action exceeds 1/(t + 2) in round t. Below that it duels itself, which costs nothing
        if it is the best; as t grows the threshold falls, so that no pair is played for ever.
        """
        state = draw_state(b, uniform(seed, person, round_, STATE, 0))
        first = play_best(b, n, state, offered, seed, person, round_, 0)
        state = draw_state(b, uniform(seed, person, round_, STATE, 1))
        second = play_best(b, n, state, offered, seed, person, round_, 1)
        if first != second:
            return first, second
        other_best = 0.0
        for z in range(b.states.shape[1]):
            if b.ranks[z, favourite(b, z, offered)] != b.ranks[z, first]:
                other_best += b.states[POSTERIOR, z]
        count, _ = totals(b, n)
        rounds = 3.0 + 0.5 * count  # a duel counts for both
        if other_best * rounds > 1.0 + SAME * rounds:
            second = challenger(b.ranks, b.states, offered, first)
        return first, second
