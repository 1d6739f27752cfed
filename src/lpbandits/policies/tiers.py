"""Thompson sampling within a tier: which of the actions to play whose order the model does not know.

Every action's mean has an independent posterior given its own rewards, under a weak prior: normal, Beta or Gamma by the
family of rewards. All untried actions share the prior, so the largest of their draws is one draw of the maximum.
"""

import numpy as np

from lpbandits.kernels.choices import first_allowed, position
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import BERNOULLI, BEST, COUNT, FAMILY, POISSON, REWARDS, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.random import FIRST, VALUE, below, gamma, largest_normal, normal, scrambled, uniform, unit, words
from lpbandits.kernels.tally import find, totals
from lpbandits.typing import IntArray

WEAK = 100.0
"""Standard deviation of the normal prior, in units of √(noise² + variance of the tried actions' means)."""


@kernel
def normal_prior(b: Arrays, n: int) -> tuple[float, float, float]:
    """Return the mean of all rewards, on which the prior is centred, and the precisions of the prior and a reward."""
    count, total = totals(b, n)
    centre = total / count
    noise = noise_of(b, n)
    square = 0.0
    for slot in range(n):
        square += (b.slots[SUM, slot] / b.slots[COUNT, slot] - centre) ** 2
    return centre, 1.0 / (WEAK * WEAK * (noise * noise + square / n)), 1.0 / (noise * noise)


@kernel
def gamma_rate(b: Arrays, n: int) -> float:
    """Return the rate of the exponential prior of Poisson means: 1 / the mean of all rewards and one more of 1."""
    count, total = totals(b, n)
    return (1.0 + count) / (1.0 + total)


@jit_in_place
def draw_in_tier(
    b: Arrays, n: int, state: int, offered: IntArray, family: int, seed: int, person: int, round_: int, index: int
) -> int:
    """Return the action of a state's best tier with an allowed action whose mean has the largest draw.

    Normal: N(ȳ − (ȳ − c) w/p, 1/p) with p = w + n/σ², for a prior N(c, 1/w). Bernoulli: Beta(1 + Σ, 1 + n − Σ), as
    X / (X + Y) of two Gamma numbers. Poisson: Gamma(1 + Σ) / (rate + n).
    """
    first = int(b.states[BEST, state]) if len(offered) == 0 else first_allowed(b.ranks, state, offered)
    rank = b.ranks[state, first]
    size = b.ranks.shape[1] if len(offered) == 0 else len(offered)
    untried = 0
    for i in range(size):
        if b.ranks[state, i if len(offered) == 0 else offered[i]] == rank:
            untried += 1
    if untried == 1:
        return first
    centre, weak, precise, rate = 0.0, 1.0, 1.0, 1.0
    if n > 0 and family == POISSON:
        rate = gamma_rate(b, n)
    elif n > 0 and family != BERNOULLI:
        centre, weak, precise = normal_prior(b, n)
    word, second_word = words(seed, person, round_, VALUE, index)
    action = first
    best = -np.inf
    for slot in range(n):
        tried = b.order[0, slot]
        if b.ranks[state, tried] != rank or position(offered, tried) < 0:
            continue
        untried -= 1
        count, total = b.slots[COUNT, slot], b.slots[SUM, slot]
        at = 1 + 4 * tried + 2 * index
        if family == BERNOULLI:
            won = gamma(1.0 + total, seed, person, round_, VALUE, at)
            draw = won / (won + gamma(1.0 + count - total, seed, person, round_, VALUE, at + 1))
        elif family == POISSON:
            draw = gamma(1.0 + total, seed, person, round_, VALUE, at) / (rate + count)
        else:
            precision = weak + count * precise
            draw = (total / count - centre) * (count * precise / precision)
            draw += normal(scrambled(word, tried + 1)) / np.sqrt(precision)
        if draw > best:
            action = tried
            best = draw
    if untried == 0:
        return action
    log_share = np.log(unit(second_word)) / untried  # of the largest of that many uniform numbers
    if family == BERNOULLI:
        largest = np.exp(log_share)
    elif family == POISSON:
        largest = -np.log(-np.expm1(log_share)) / rate
    else:
        largest = largest_normal(unit(second_word), untried) / np.sqrt(weak)
    if largest < best:
        return action
    skipped = below(uniform(seed, person, round_, FIRST, index), untried)
    for i in range(size):
        action = i if len(offered) == 0 else offered[i]
        if b.ranks[state, action] == rank and find(b.order, n, action) < 0:
            if skipped == 0:
                break
            skipped -= 1
    return action


@kernel
def draw_by_rewards(
    b: Arrays, n: int, state: int, offered: IntArray, seed: int, person: int, round_: int, index: int
) -> int:
    """Stand in for `play_best` in a model with tiers."""
    return draw_in_tier(b, n, state, offered, int(b.settings[REWARDS, FAMILY]), seed, person, round_, index)


@kernel
def draw_by_wins(
    b: Arrays, n: int, state: int, offered: IntArray, seed: int, person: int, round_: int, index: int
) -> int:
    """Stand in for `play_best` in a model with tiers; the slots hold the wins of duels."""
    return draw_in_tier(b, n, state, offered, BERNOULLI, seed, person, round_, index)
