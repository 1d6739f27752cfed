"""The compiled loops of the simulator: all rounds of many people, and the round in which each could stop."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lpbandits.kernels.choices import favourites, filled, largest
from lpbandits.kernels.compiler import jit_in_place, kernel, specialise, with_plugin_errors
from lpbandits.kernels.isotonic import active_constraints, pool
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.kernels.outcomes import People, rewarded
from lpbandits.kernels.tally import record
from lpbandits.policies.evidences.gaps import update_posterior
from lpbandits.policies.posterior import favourite
from lpbandits.typing import FloatArray, Int32Array, IntArray


class Offers(NamedTuple):
    """Allowed actions, as in `Population.offered`: `sets` of the world, and `choices` that the policy considers.

    If each action is offered once, `taken` (one entry per action, initially 0) and `choices` (1×2×k) are scratch, and
    `prefer` holds the ranks by which a policy considers only the states' favourites (0×0: it considers all actions).
    Otherwise `taken` is empty.
    """

    sets: IntArray
    choices: IntArray
    taken: IntArray
    prefer: Int32Array


@kernel
def best_mean(means: FloatArray, p: int, allowed: IntArray, size: int) -> float:
    """Return the largest mean of the first `size` allowed actions, of all actions if `allowed` is empty."""
    value = -np.inf
    if len(allowed) == 0:
        for action in range(means.shape[1]):
            value = max(value, means[p, action])
    else:
        for i in range(size):
            value = max(value, means[p, allowed[i]])
    return value


@kernel
def offer_sets(offers: Offers, people: People, b: Arrays, n: int, p: int, t: int) -> tuple[int, int, int, int, float]:
    """Offer the round's set.

    Return the position of its actions in `choices` (person, round, count), the number of actions that the world allows,
    and their best mean, to which regret is relative.
    """
    sets, choices = offers.sets, offers.choices
    allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1)]
    i, j = min(p, choices.shape[0] - 1), min(t, choices.shape[1] - 1)
    n_allowed = filled(allowed)
    return i, j, filled(choices[i, j]), n_allowed, best_mean(people.means, p, allowed, n_allowed)


@kernel
def offer_once(offers: Offers, people: People, b: Arrays, n: int, p: int, t: int) -> tuple[int, int, int, int, float]:
    """Offer the actions of the round's set that were not played before; the return value is that of `offer_sets`."""
    sets, taken = offers.sets, offers.taken
    choices = offers.choices[0, 0]
    for slot in range(n):
        taken[b.order[0, slot]] = p + 1
    allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1)]
    n_allowed = len(taken) if len(allowed) == 0 else filled(allowed)
    size = 0
    for i in range(n_allowed):
        action = i if len(allowed) == 0 else allowed[i]
        if taken[action] != p + 1:
            choices[size] = action
            size += 1
    target = best_mean(people.means, p, choices, size)
    if len(offers.prefer) > 0:
        return 0, 1, favourites(offers.prefer, choices, size, offers.choices[0, 1]), size, target
    return 0, 0, size, size, target


@jit_in_place
def count_constraints(b: Arrays, n: int, state: int, out: FloatArray, p: int) -> None:
    """Write the numbers of active order constraints: mean over all states, the true state, mean over the others."""
    m = b.states.shape[1]
    total = 0.0
    for z in range(m):
        active = active_constraints(b, n, z, pool(b, 1 + z, n))
        total += active
        if z == state:
            out[p, 1] = active
    out[p, 0] = total / m
    out[p, 2] = (total - out[p, 1]) / (m - 1) if m > 1 and state >= 0 else np.nan


def offer(*_: Any) -> Any:
    """Stand in for a function that `rollout_of` inserts."""


choose = outcome = tell = apply_exploration_floor = offer


class Trace(NamedTuple):
    """All rounds of some people, as `rollout` writes them.

    Attributes
    ----------
    plays
        people × rounds × 1: the action; for duels × 3: both actions and the winner.
    rewards
        people × rounds: the reward; for duels the mean of both actions' means.
    regret
        people × rounds: difference to the best allowed action; for duels the sum over both actions (strong regret).
    weak
        people × rounds: regret of the better action of a pair; people × 0 for rewards.
    mass
        people × rounds: posterior probability of the true state; NaN if there is none.
    active
        people × 3: active order constraints at the end: mean over all states, the true state, mean over the others.
    """

    plays: Int32Array
    rewards: FloatArray
    regret: FloatArray
    weak: FloatArray
    mass: FloatArray
    active: FloatArray

    @property
    def actions(self) -> Int32Array:
        """People × rounds: the action; for duels the first of the pair."""
        return self.plays[:, :, 0]


def rollout(
    b: Arrays,
    start_states: FloatArray,
    start_own: FloatArray,
    people: People,
    offers: Offers,
    changing: bool,
    explore: float,
    seed: int,
    person: int,
    trace: Trace,
) -> None:
    """Play all rounds with some people; the first of them has random stream `person`.

    `b` is the policy and one belief, which starts as `start_states` (one for all people, or one each) and `start_own`
    for each person. `changing` is whether offers depend on the round; `explore` is the minimum probability of every
    allowed action. A person's results depend only on their random stream, so they are bit-identical for any split over
    threads.
    """
    states, own, truth = b.states, b.own, people.truth
    plays, mass, active = trace.plays, trace.mass, trace.active
    sets, choices, taken = offers.sets, offers.choices, offers.taken
    count, rounds, width = plays.shape
    m = states.shape[1]
    zero: Any = np.int64(0)  # a literal 0 has another numba type, for which kernels would be compiled again
    for p in range(count):
        n = zero
        start = min(p, start_states.shape[0] - 1)
        for row in range(states.shape[0]):
            for z in range(m):
                states[row, z] = start_states[start, row, z]
        for row in range(own.shape[0]):
            for i in range(own.shape[1]):
                own[row, i] = start_own[row, i]
        i, j, size, n_allowed, target = offer(offers, people, b, n, p, zero)
        for t in range(rounds):
            if changing and t > 0:
                i, j, size, n_allowed, target = offer(offers, people, b, n, p, t)
            play = choose(b, n, choices[i, j, :size], seed, person + p, t)
            if explore > 0.0:
                allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1), :n_allowed]
                if len(taken) > 0:
                    allowed = choices[0, 0, :n_allowed]
                play = apply_exploration_floor(play, explore, people.means.shape[1], allowed, seed, person + p, t)
            action, other, winner, observed, reward, regret, weak = outcome(
                people, p, target, play, seed, person + p, t
            )
            n = tell(b, n, winner, observed)
            plays[p, t, 0] = action
            if width > 1:
                plays[p, t, 1] = other
                plays[p, t, 2] = winner
            trace.rewards[p, t] = reward
            trace.regret[p, t] = regret
            if trace.weak.shape[1] > 0:
                trace.weak[p, t] = weak
            mass[p, t] = states[POSTERIOR, truth[p]] if m > 0 and truth[p] >= 0 else np.nan
        for part in range(3):
            active[p, part] = np.nan
        if m > 0 and b.order.shape[0] == 1 + m:
            count_constraints(b, n, truth[p], active, p)


@functools.cache
def rollout_of(**parts: Callable[..., Any]) -> Callable[..., None]:
    """Return `rollout` compiled around `offer`, `choose`, `apply_exploration_floor`, `outcome` and `tell`."""
    return with_plugin_errors(specialise(rollout, parts))


class Stops(NamedTuple):
    """Per person: the round after which they stopped, and whether the action was the best (1, else 0).

    The round is 0 for those who did not stop, and `right` then NaN. Both are NaN for policies without P(best).
    """

    rounds: FloatArray
    right: FloatArray


@jit_in_place
def surest(b: Arrays, offered: IntArray, chances: FloatArray) -> int:
    """Write the probability that each action is the best allowed one; return the action with the largest."""
    for action in range(len(chances)):
        chances[action] = 0.0
    for z in range(b.states.shape[1]):
        chances[favourite(b, z, offered)] += b.states[POSTERIOR, z]
    return largest(chances, offered)


@jit_in_place
def stop_when_sure(
    b: Arrays,
    start_states: FloatArray,
    people: People,
    offered: IntArray,
    threshold: float,
    seed: int,
    person: int,
    trace: Trace,
    stops: Stops,
    chances: FloatArray,
) -> None:
    """Find the first round after which P(best) of an action reaches `threshold`, and play it in all later rounds.

    `b` is the judge (`policies.best`) and one belief that starts as `start_states` (one for all people, or one each);
    `chances` is scratch with an entry per action. The later rewards have the random words of their rounds; the policy's
    posterior is no longer updated.
    """
    zero: Any = np.int64(0)  # as in `rollout`
    for p in range(trace.plays.shape[0]):
        stops.rounds[p], stops.right[p] = 0.0, np.nan
        start = min(p, start_states.shape[0] - 1)
        for row in range(b.states.shape[0]):
            for z in range(b.states.shape[1]):
                b.states[row, z] = start_states[start, row, z]
        allowed = offered[min(p, offered.shape[0] - 1), 0]
        size = filled(allowed)
        target = best_mean(people.means, p, allowed, size)
        n = zero
        final = -1
        for t in range(trace.plays.shape[1]):
            if final >= 0:
                _, _, _, _, reward, regret, _ = rewarded(people, p, target, final, seed, person + p, t)
                trace.plays[p, t, 0] = final
                trace.rewards[p, t] = reward
                trace.regret[p, t] = regret
                trace.mass[p, t] = trace.mass[p, t - 1]
                continue
            n, _ = record(b, n, trace.plays[p, t, 0], trace.rewards[p, t])
            update_posterior(b, n)
            action = surest(b, allowed[:size], chances)
            if chances[action] >= threshold:
                final = action
                stops.rounds[p] = t + 1.0
                stops.right[p] = 1.0 if people.means[p, action] >= target else 0.0
                for part in range(3):
                    trace.active[p, part] = np.nan
