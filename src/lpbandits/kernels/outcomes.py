"""Simulated outcomes: rewards of actions, winners of duels, and their regret.

Every outcome function has the same signature, so that `rollout` can be built around any of them:

    first, second, action, outcome, value, loss, weak = draw(people, p, target, play, seed, person, round_)

`play` is the rule's choice: an action (then `second` equals `first`) or a pair. `tell` gets (action, outcome): the
action and its reward, or winner and loser. `value` counts as reward; `loss` is the regret, for a pair the sum of both,
and `weak` the regret of the better one.
"""

from typing import NamedTuple

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import BERNOULLI, POISSON, STUDENT
from lpbandits.kernels.random import REWARD, STATE, normal, poisson_quantile, student_quantile, uniform, unit, words
from lpbandits.typing import FloatArray, IntArray

COMPARED = 0  # two noisy rewards are compared
BRADLEY_TERRY = 1  # P(win) is the logistic function of the difference of the means


class People(NamedTuple):
    """People: mean rewards (people×k), states (-1: unknown), and the distribution of outcomes."""

    means: FloatArray
    truth: IntArray
    family: int
    noise: float
    comparison: int


@kernel
def noisy(people: People, mean: float, word: np.uint64) -> float:
    """Return the reward drawn by a random word."""
    if people.family == BERNOULLI:
        return 1.0 if unit(word) < mean else 0.0
    if people.family == POISSON:
        return poisson_quantile(unit(word), mean)
    if people.family == STUDENT:
        return mean + people.noise * student_quantile(unit(word))
    return mean + people.noise * normal(word)


@kernel
def rewarded(
    people: People, p: int, target: float, play: int, seed: int, person: int, round_: int
) -> tuple[int, int, int, float, float, float, float]:
    """Draw the action's reward, with the same random word for every policy and action in this round."""
    mean = people.means[p, play]
    _, word = words(seed, person, round_, STATE, 0)
    reward = noisy(people, mean, word)
    return play, play, play, reward, reward, target - mean, target - mean


@jit_in_place
def first_wins(people: People, one: float, other: float, seed: int, person: int, round_: int) -> bool:
    """Return whether the first of two actions with these means wins; ties are broken at random."""
    word, second_word = words(seed, person, round_, REWARD, 0)
    if people.comparison == BRADLEY_TERRY:
        return unit(word) * (1.0 + np.exp((other - one) / people.noise)) < 1.0
    first = noisy(people, one, word)
    second = noisy(people, other, second_word)
    if first == second:
        return uniform(seed, person, round_, REWARD, 1) < 0.5
    return first > second


@kernel
def duelled(
    people: People, p: int, target: float, play: tuple[int, int], seed: int, person: int, round_: int
) -> tuple[int, int, int, int, float, float, float]:
    """Draw a duel, with the same random words for every policy in this round."""
    one, other = play
    mean, other_mean = people.means[p, one], people.means[p, other]
    winner, loser = one, other
    if not first_wins(people, mean, other_mean, seed, person, round_):
        winner, loser = other, one
    value = 0.5 * (mean + other_mean)
    weak = target - max(mean, other_mean)
    return one, other, winner, loser, value, (target - mean) + (target - other_mean), weak
