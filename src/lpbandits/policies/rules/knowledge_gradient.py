"""Knowledge gradient: try an action if what it tells pays in the rounds that are left. The rule of lpb-horizon."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE, RULE_WORK, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, deterministic, expected_rewards, predictive_sd, set_frozen
from lpbandits.policies.posterior import averaging_threshold
from lpbandits.typing import IntArray

ROUNDS = 0  # the setting
MOST_STATES = 20  # plans use the most probable states,
LEAST = 0.05  # those with at least this fraction of the largest probability
TIED = 1.0 - 1e-9  # probabilities with a larger ratio are equal
MOST_ACTIONS = 12  # plans are computed for the most promising actions
PATIENCE = 10.0  # if this number of rounds is left, gains count 1.25 times
ABOVE_ZERO = 0.5  # the mean of max(0, x) for x = ±1
# rows of scratch, a column per action
MEAN = RULE_WORK  # expected reward, averaged over states
SD = RULE_WORK + 1
PROMISE = RULE_WORK + 2
# rows with a column per goal, an action that is best in some state; after the goals, the tried action
GOAL = RULE_WORK + 3
AFTER = RULE_WORK + 4
AVERAGE = RULE_WORK + 5
WEIGHT = RULE_WORK + 6  # a column per state of the plans; their sum is 1
EXPECTED = RULE_WORK + 7  # a row per state of the plans and one more, a column per action
GOALS = EXPECTED + MOST_STATES + 1  # a row per state of the plans, a column per goal
ROWS = GOALS + MOST_STATES - RULE_WORK


@kernel
def states_above(b: Arrays, least: float) -> int:
    """Return the number of states with at least this probability."""
    states = 0
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] >= least:
            states += 1
    return states


@kernel
def least_probability(b: Arrays) -> float:
    """Return the smallest probability of a state that plans use.

    If there are too many, states with equal probabilities are used all or not at all, so that the plan does not depend
    on the order of the states. If even the most probable ones are too many, such as after one outcome with a uniform
    prior, the first of them are used.
    """
    most = 0.0
    for z in range(b.states.shape[1]):
        most = max(most, b.states[POSTERIOR, z])
    if states_above(b, LEAST * most) <= MOST_STATES:
        return LEAST * most
    least = following = most
    while states_above(b, TIED * following) <= MOST_STATES:
        least, following = following, 0.0
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] < TIED * least:
                following = max(following, b.states[POSTERIOR, z])
    return TIED * least


@kernel
def add_goal(b: Arrays, action: int, states: int, goals: int) -> int:
    """Return the column of an action among the goals; if it is none of them, write it after the last."""
    for goal in range(goals):
        if b.work[GOAL, goal] == action:
            return goal
    b.work[GOAL, goals] = action
    for z in range(states):
        b.work[GOALS + z, goals] = b.work[EXPECTED + z, action]
    return goals


@kernel
def set_goals(b: Arrays, offered: IntArray, states: int, best: int) -> tuple[int, float]:
    """Write the goals, the best actions on average and of each state; return their number and the gain of certainty.

    The gain of certainty is Σ w_z (max_a M_z(a) − M_z(best)).
    """
    k = b.ranks.shape[1]
    mass = 0.0
    for z in range(states):
        mass += b.work[WEIGHT, z]
    for z in range(states):
        b.work[WEIGHT, z] /= mass
    goals = add_goal(b, best, states, 0) + 1
    gain = 0.0
    for z in range(states):
        favourite = largest(b.work[EXPECTED + z, :k], offered)
        gain += b.work[WEIGHT, z] * (b.work[EXPECTED + z, favourite] - b.work[EXPECTED + z, best])
        goals = max(goals, add_goal(b, favourite, states, goals) + 1)
    return goals, gain


@kernel
def set_promise(b: Arrays, offered: IntArray, states: int, most: float, square: float) -> None:
    """Write PROMISE = M(a) + most √(S / (S + square)), with S the variance of M_z(a) over states and within them."""
    for a in range(b.ranks.shape[1]):
        b.work[PROMISE, a] = -np.inf
    for i in range(b.ranks.shape[1] if len(offered) == 0 else len(offered)):
        a = i if len(offered) == 0 else offered[i]
        mean = 0.0
        for z in range(states):
            mean += b.work[WEIGHT, z] * b.work[EXPECTED + z, a]
        spread = b.work[SD, a] ** 2
        for z in range(states):
            spread += b.work[WEIGHT, z] * (b.work[EXPECTED + z, a] - mean) ** 2
        b.work[PROMISE, a] = b.work[MEAN, a] + most * np.sqrt(spread / (spread + square))


@kernel
def gain_of(b: Arrays, action: int, column: int, states: int, goals: int, square: float) -> float:
    """Return E max_c M′(c) − max_c E M′(c) over the goals c; M′ are the expected rewards after tries of an action.

    In state z the mean of the tries is y ~ N(M_z(a), v), v = `square` + D(a)². It gives the states weights proportional
    to w_z exp(−(y − M_z(a))² / 2v), and moves M_z(a) by (y − M_z(a)) D(a)² / v. The expectation over y in state z is
    over two values, M_z(a) ± √v.
    """
    own = b.work[SD, action] ** 2
    variance = square + own
    step = np.sqrt(variance)
    columns = max(goals, column + 1)
    for goal in range(columns):
        b.work[AVERAGE, goal] = 0.0
    top_after = 0.0
    for side in range(2 * states):
        y = b.work[EXPECTED + side // 2, action] + (step if side % 2 == 0 else -step)
        for goal in range(columns):
            b.work[AFTER, goal] = 0.0
        mass, moved = 0.0, 0.0
        for z in range(states):
            away = y - b.work[EXPECTED + z, action]
            weight = b.work[WEIGHT, z] * np.exp(0.5 - 0.5 * away * away / variance)
            mass += weight
            moved += weight * away
            for goal in range(columns):
                b.work[AFTER, goal] += weight * b.work[GOALS + z, goal]
        b.work[AFTER, column] += moved * own / variance
        share = 0.5 * b.work[WEIGHT, side // 2] / mass
        top = -np.inf
        for goal in range(columns):
            b.work[AVERAGE, goal] += share * b.work[AFTER, goal]
            top = max(top, b.work[AFTER, goal])
        top_after += share * top
    top = -np.inf
    for goal in range(columns):
        top = max(top, b.work[AVERAGE, goal])
    return top_after - top


@kernel
def best_plan(b: Arrays, offered: IntArray, states: int, best: int, left: float, outcomes: float, noise: float) -> int:
    """Return the action a with the largest j M(a) + (L − j) (M(best) + f gain of j tries), j = 1, 2, 4, … < L.

    L rounds are left. A try is compared with the N earlier outcomes, so the mean of j tries has variance
    σ² (1/j + 1/N). f = 1 + ½ L / (L + 10) stands for what later rounds learn. A plan without tries is worth L M(best).
    The gain of j tries is limited to that of 2j tries and that of certainty.
    """
    k = b.ranks.shape[1]
    goals, certain = set_goals(b, offered, states, best)
    factor = 1.0 + 0.5 * left / (left + PATIENCE)
    gain = factor * (certain + ABOVE_ZERO * b.work[SD, largest(b.work[SD, :k], offered)])
    set_promise(b, offered, states, (left - 1.0) * gain, noise * noise * (1.0 + 1.0 / outcomes))
    longest = 1.0
    while 2.0 * longest < left:
        longest *= 2.0
    play, value = best, 0.0
    for _ in range(MOST_ACTIONS):
        a = largest(b.work[PROMISE, :k], offered)
        if b.work[PROMISE, a] == -np.inf:
            break
        b.work[PROMISE, a] = -np.inf
        loss = b.work[MEAN, best] - b.work[MEAN, a]
        column = add_goal(b, a, states, goals)
        most, tries = gain, longest
        while tries >= 1.0 and (left - 1.0) * most - loss > value:
            square = noise * noise * (1.0 / tries + 1.0 / outcomes)
            most = min(most, factor * gain_of(b, a, column, states, goals, square))
            worth = (left - tries) * most - tries * loss
            if worth > value:
                play, value = a, worth
            tries *= 0.5
    return play


@dataclass(frozen=True)
class KnowledgeGradient(Rule):
    """Play the first action of the best plan "one action for some rounds, then the best action for the rest".

    It is the knowledge gradient (Frazier, Powell and Dayanik 2008) of several tries. `rounds` is the planned number of
    rounds; the last one plays the largest expected reward. A person with N outcomes beyond that number is expected to
    have N/2 more rounds, at least two.
    """

    rounds: int = 20
    kind = "knowledge-gradient"
    needs_expectations = True
    probability = staticmethod(deterministic)

    def __post_init__(self) -> None:
        set_frozen(self, rounds=validate.as_count(self.rounds, "rounds"))

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return (rows, columns) of scratch."""
        return (ROWS, max(model.n_actions, MOST_STATES + 2))

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play argmax_a Σ p_z M_z(a), without outcomes and in the last round; before, the best plan's first action."""
        k = b.ranks.shape[1]
        for a in range(k):
            b.work[MEAN, a] = 0.0
        least, mass = averaging_threshold(b)
        enough = least_probability(b)
        states = 0
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] >= least:
                p = b.states[POSTERIOR, z] / mass
                expected_rewards(b, n, z, b.work[EXPECTED + states, :k])
                for a in range(k):
                    b.work[MEAN, a] += p * b.work[EXPECTED + states, a]
                if b.states[POSTERIOR, z] >= enough and states < MOST_STATES:
                    b.work[WEIGHT, states] = p
                    states += 1
        best = largest(b.work[MEAN, :k], offered)
        outcomes, _ = totals(b, n)
        left = b.settings[RULE, ROUNDS] - outcomes
        if n == 0 or left == 1.0:
            return best
        if left < 1.0:
            left = max(2.0, 0.5 * outcomes)
        predictive_sd(b, n, b.work[SD, :k])
        return best_plan(b, offered, states, best, left, outcomes, noise_of(b, n))
