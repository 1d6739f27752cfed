"""The next action for many people, with its probability, the runner-up and a forecast of the reward.

The loop is compiled around the functions of a policy, as a rollout is. For a rule that follows the ordering of a state,
the cost per person does not grow with the number of actions.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lpbandits.decisions.kernels.allowance import Allowed, DecisionBatch, gather, leader, limit
from lpbandits.kernels.choices import apply_exploration_floor
from lpbandits.kernels.compiler import kernel, specialise, with_plugin_errors
from lpbandits.kernels.layout import COUNT, POSTERIOR, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import find, record
from lpbandits.policies import Policy
from lpbandits.policies.base import zero_sd, zero_sd_one
from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray


class Forecasting(NamedTuple):
    """Constants of the forecast of a reward.

    means    m×k mean rewards of the model; 0×0 without
    prior    prior over states
    noise    standard deviation of a reward; negative: it is part of the predictive sd; 0: the estimate of the policy
             for each person; NaN: unknown
    width    half width of the interval, in standard deviations
    low      lowest and
    high     highest possible reward, infinite if unknown
    scratch  2×max(k, m)
    """

    means: FloatArray
    prior: FloatArray
    noise: float
    width: float
    low: float
    high: float
    scratch: FloatArray


class Output(NamedTuple):
    """Decisions, one entry per person: -1 is no action, NaN no number."""

    action: Int32Array
    runner_up: Int32Array
    probability: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    n_allowed: Int32Array
    """Number of allowed actions, where it was counted."""
    repeated: BoolArray
    """Whether the action is in the person's history."""

    @classmethod
    def empty(cls, people: int) -> "Output":
        """Allocate arrays for a number of people."""
        action, runner_up, n_allowed = np.zeros((3, people), dtype=np.int32)
        probability, expected, low, high = np.zeros((4, people))
        repeated = np.zeros(people, dtype=np.bool_)
        return cls(action, runner_up, probability, expected, low, high, n_allowed, repeated)


@kernel
def record_only(b: Arrays, n: int, action: int, reward: float) -> int:
    """Record an outcome without updating the posterior."""
    n, _ = record(b, n, action, reward)
    return n


@kernel
def no_update(b: Arrays, n: int) -> None:
    """Leave the posterior, which every outcome has updated."""


@kernel
def no_state(b: Arrays, n: int, seed: int, person: int, round_: int) -> int:
    """Return -1: the rule does not follow the ordering of a state."""
    return -1


@kernel
def unknown_probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return NaN, for a rule without compiled probabilities."""
    return np.nan


@kernel
def reward_limits(b: Arrays, n: int, low: float, high: float) -> tuple[float, float]:
    """Return the lowest and the highest possible reward, extended to the person's mean rewards Σr / count."""
    for slot in range(n):
        mean = b.slots[SUM, slot] / b.slots[COUNT, slot]
        low = min(low, mean)
        high = max(high, mean)
    return low, high


@kernel
def within(value: float, low: float, high: float) -> float:
    """Return max(low, min(value, high)); NaN stays NaN."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def tell(*_: Any) -> Any:
    """Stand in for a function of the policy; `kernel_of` replaces it."""


update_posterior = choose = probability_of = sampled_state = forecast = value_of = sd_of = expectation = deviation = (
    tell
)


def value_by_one(b: Arrays, n: int, state: int, action: int, scratch: FloatArray) -> float:
    """Return the expected reward of an action, from `Evidence.expected_reward`."""
    return expectation(b, n, state, action)


def value_by_all(b: Arrays, n: int, state: int, action: int, scratch: FloatArray) -> float:
    """Return the expected reward of an action, from `Evidence.expected_rewards`."""
    expectation(b, n, state, scratch)
    return scratch[action]


def sd_by_one(b: Arrays, n: int, action: int, scratch: FloatArray) -> float:
    """Return the predictive standard deviation of an action's reward, from `Evidence.predictive_sd_one`."""
    return deviation(b, n, action)


def sd_by_all(b: Arrays, n: int, action: int, scratch: FloatArray) -> float:
    """Return the predictive standard deviation of an action's reward, from `Evidence.predictive_sd`."""
    deviation(b, n, scratch)
    return scratch[action]


def reward_forecast(b: Arrays, n: int, action: int, constants: Forecasting) -> tuple[float, float]:
    """Return M = Σ p_z M_z and √(Σ p_z (M_z − M)² + sd² + noise²) of the next reward of an action.

    M_z is the expectation of the evidence, or the mean of the model where the evidence has none.
    """
    m = b.states.shape[1]
    by_state = constants.scratch[0]
    mean = 0.0
    for z in range(max(m, 1)):
        p = b.states[POSTERIOR, z] if m > 0 else 1.0
        by_state[z] = value_of(b, n, z, action, constants.scratch[1]) if p > 0.0 else 0.0
        mean += p * by_state[z]
    count = m
    known = not np.isnan(mean)
    if not known and constants.means.shape[0] > 0:
        count = constants.means.shape[0]
        mean = 0.0
        for z in range(count):
            by_state[z] = constants.means[z, action]
            mean += (b.states[POSTERIOR, z] if m > 0 else constants.prior[z]) * by_state[z]
    square = 0.0
    for z in range(count):
        square += (b.states[POSTERIOR, z] if m > 0 else constants.prior[z]) * (by_state[z] - mean) ** 2
    if known:
        square += sd_of(b, n, action, constants.scratch[1]) ** 2
    noise = constants.noise
    if noise == 0.0:
        noise = noise_of(b, n)
    if not noise < 0.0:  # also NaN
        square += noise * noise
    return mean, np.sqrt(square)


def deciding(
    low: int,
    high: int,
    b: Arrays,
    start_states: FloatArray,
    start_own: FloatArray,
    batch: DecisionBatch,
    allowed: Allowed,
    forecasting: Forecasting,
    output: Output,
    explore: float,
    seed: int,
) -> None:
    """Decide for people low to high.

    `b` is the policy and scratch for one belief; `start_states` and `start_own` are the belief about a person without
    outcomes. The number of a person's outcomes is the round of the random draw.
    A decision depends only on the person's outcomes and random stream.
    """
    k = len(allowed.taken)
    states, own = b.states, b.own
    none: Any = np.int64(-1)  # a literal has a type of its own: each kernel below would be compiled twice
    zero: Any = np.int64(0)
    for p in range(low, high):
        mark = p - low + 1
        n = zero
        for row in range(states.shape[0]):
            for z in range(states.shape[1]):
                states[row, z] = start_states[row, z]
        for row in range(own.shape[0]):
            for i in range(own.shape[1]):
                own[row, i] = start_own[row, i]
        for i in range(batch.offsets[p], batch.offsets[p + 1]):
            n = tell(b, n, np.int64(batch.action[i]), batch.reward[i])
        round_ = batch.offsets[p + 1] - batch.offsets[p]
        stream = batch.stream[p]
        if round_ > 0:
            update_posterior(b, n)
        if allowed.once:
            for slot in range(n):
                allowed.taken[b.order[0, slot]] = mark
        first = none
        second = none
        probability = np.nan
        state = sampled_state(b, n, seed, stream, round_) if explore == 0.0 else none
        if state >= 0:
            first = leader(b, batch, allowed, p, mark, state, none)
            if first >= 0:
                second = leader(b, batch, allowed, p, mark, state, first)
                probability = 0.0
                for z in range(states.shape[1]):
                    if states[POSTERIOR, z] > 0.0 and leader(b, batch, allowed, p, mark, z, none) == first:
                        probability += states[POSTERIOR, z]
        else:
            free = len(batch.starts) == 0 and len(allowed.common) == 0 and (n == 0 or not allowed.once)
            for turn in range(2):  # the action, then the runner-up
                size = zero
                if turn > 0 or not free:
                    size = gather(batch, allowed, p, mark, first)
                    if size == 0:
                        break
                n_allowed = size if size > 0 else k
                at, count = limit(allowed, size, size == 0)
                offered = allowed.choices[at, :count]
                play = choose(b, n, offered, seed, stream, round_)
                action = play
                if explore > 0.0:
                    action = apply_exploration_floor(play, explore, k, allowed.choices[0, :size], seed, stream, round_)
                if turn > 0:
                    second = action
                    break
                first = action
                probability = probability_of(b, n, offered, play, action)
                if explore > 0.0:
                    probability = explore + max(1.0 - explore * n_allowed, 0.0) * probability
                output.n_allowed[p] = n_allowed
        output.action[p] = first
        output.runner_up[p] = second
        output.probability[p] = probability
        mean = np.nan
        sd = np.nan
        if first >= 0:
            mean, sd = forecast(b, n, first, forecasting)
            output.repeated[p] = find(b.order, n, first) >= 0
        half = forecasting.width * sd
        lowest, highest = reward_limits(b, n, forecasting.low, forecasting.high)
        output.expected[p] = within(mean, lowest, highest)
        output.low[p] = within(mean - half, lowest, highest)
        output.high[p] = within(mean + half, lowest, highest)


def kernel_of(policy: Policy) -> Callable[..., None]:
    """Return `deciding`, compiled around the functions of a policy."""
    evidence, rule = policy.evidence, policy.rule
    one, sd_of_one = evidence.expected_reward, evidence.predictive_sd_one
    if evidence.predictive_sd is zero_sd:
        sd_of_one = zero_sd_one
    forecast = _compile(
        reward_forecast,
        value_of=_compile(value_by_one if one else value_by_all, expectation=one or evidence.expected_rewards),
        sd_of=_compile(sd_by_one if sd_of_one else sd_by_all, deviation=sd_of_one or evidence.predictive_sd),
    )
    update_posterior = evidence.update_posterior if evidence.batchable else None
    compiled = _compile(
        deciding,
        inline=False,
        tell=record_only if update_posterior else policy.tell,
        update_posterior=update_posterior or no_update,
        choose=policy.choose,
        probability_of=policy.probability or unknown_probability,
        sampled_state=rule.sampled_state or no_state,
        forecast=forecast,
    )
    return with_plugin_errors(compiled)


@functools.cache
def _compile(template: Callable[..., Any], *, inline: bool = True, **functions: Callable[..., Any]) -> Any:
    """Compile a template around functions, which replace the stand-ins of the same names."""
    return specialise(template, functions, inline=inline)
