"""The probability that an action is the best for a person, whatever the policy that plays (docs/adr/0029)."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from lpbandits.errors import NotSupported
from lpbandits.kernels import layout
from lpbandits.kernels.tally import place
from lpbandits.model import PreferenceModel
from lpbandits.notebook import Shown
from lpbandits.policies.belief import Belief
from lpbandits.policies.evidences import gaps
from lpbandits.policies.policy import Policy
from lpbandits.policies.rules import Sample
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Label

MOST_DRAWS, FEWEST_DRAWS = 32, 8
CHAINS = 8000
"""Orderings × actions (at most 20) above which fewer orderings are drawn per state."""
OVERSHOOT = 0.43
"""Odds of the P(best) at which a person stops, relative to the odds of the level (docs/adr/0029)."""
INFLATION = 2.0
"""Factor of the errors of a model: the best of several actions that are nearly equal is often the best by chance."""
LOW, HIGH = 0.1, 0.9
"""Quantiles of the interval of the mean."""


@dataclass(frozen=True)
class Best(Shown):
    """The action that is most probably the best for a person, and how sure that is.

    Attributes
    ----------
    action
        The allowed action with the largest probability to be the best.
    probability
        P(best): the probability that it has the largest mean reward of the allowed actions for this person. It is not
        the chance that it is *played* next, which `Agent.probabilities` returns.
    confidence
        To stop when it reaches 0.95 is right for 95 % of the people who stop (docs/ladder.md#stopping).
    expected, low, high
        Expected value and 80 % interval of the action's *mean* reward for this person, not of its next reward; NaN
        without outcomes. They stay within the model's `reward_range`, extended to the person's mean rewards.
    runner_up, runner_up_probability
        The next most probable action and its P(best); None and 0 if only one action is allowed.
    """

    action: Label
    probability: float
    confidence: float
    expected: float
    low: float
    high: float
    runner_up: Label | None
    runner_up_probability: float


def confidence_of(chance: float) -> float:
    """Return the share of people who have their best action, of all who stop when P(best) reaches this value.

    It is larger than P(best), which jumps beyond the value that it reaches and is low where gaps are alike.

    >>> round(confidence_of(0.891), 3)
    0.95
    """
    return chance / (chance + OVERSHOOT * (1.0 - chance))


def threshold_of(level: float) -> float:
    """Return the P(best) of which `confidence_of` is `level`.

    >>> round(threshold_of(0.95), 3), threshold_of(1.0)
    (0.891, 1.0)
    """
    return OVERSHOOT * level / (OVERSHOOT * level + (1.0 - level))


def best_of(policy: Policy, belief: Belief, allowed: IntArray) -> Best:
    """Return the best of the `allowed` actions (empty: all), given the rewards in a belief of a policy.

    >>> from lpbandits import LpbTS
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> best_of(policy, policy.new_belief(), np.empty(0, dtype=np.int64)).probability
    0.5
    """
    judge = judge_of(policy)
    known = judged(judge, belief, policy.model)
    chances = judge.rule.probabilities(judge, known, allowed)
    actions = judge.allowed(allowed)
    ranked = actions[np.argsort(-chances[actions], kind="stable")].tolist()
    labels, action = policy.model.actions, ranked[0]
    lowest, highest = limits_of(policy, belief)
    mean, low, high = np.clip(forecast(judge, known, action), lowest, highest).tolist()
    expected, *ends = (policy.model.oriented(value) for value in (mean, low, high))
    runner_up, second = (labels[ranked[1]], float(chances[ranked[1]])) if len(ranked) > 1 else (None, 0.0)
    chance = float(chances[action])
    confidence = confidence_of(chance)
    return Best(labels[action], chance, confidence, expected, min(ends), max(ends), runner_up, second)


def limits_of(policy: Policy, belief: Belief | None = None) -> tuple[float, float]:
    """Return the lowest and the highest mean reward: the model's `reward_range`, within the limits of the family.

    With a belief, the range is extended to the mean rewards of the person's actions, which are possible for the person.

    >>> from lpbandits import LpbTS
    >>> policy = LpbTS(PreferenceModel([[0, 1]], reward_range=(1, 5)))
    >>> belief = policy.new_belief()
    >>> limits_of(policy, belief)
    (1.0, 5.0)
    """
    limits = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(policy.rewards.family, (-math.inf, math.inf))
    lowest, highest = policy.model.reward_range or limits
    lowest, highest = max(lowest, limits[0]), min(highest, limits[1])
    if belief is not None and belief.tried:
        means = belief.slots[layout.SUM, : belief.tried] / belief.slots[layout.COUNT, : belief.tried]
        lowest, highest = min(lowest, float(means.min())), max(highest, float(means.max()))
    return lowest, highest


def chances_of_best(policy: Policy, belief: Belief) -> FloatArray:
    """Return P(best) of every action.

    >>> from lpbandits import LpbTS
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> chances_of_best(policy, policy.new_belief(prior=[0.25, 0.75])).tolist()
    [0.25, 0.75]
    """
    judge = judge_of(policy)
    return judge.rule.probabilities(judge, judged(judge, belief, policy.model), judge.indices(None))


def forecast(judge: Policy, belief: Belief, action: int) -> tuple[float, float, float]:
    """Return the expected value and the 10 % and 90 % quantiles of an action's mean; NaN without outcomes."""
    if not belief.tried:
        return math.nan, math.nan, math.nan
    centre = judge._call(gaps.distribution_of_mean, belief, action)
    low, step = belief.own[0, gaps.LOW], belief.own[0, gaps.STEP]
    density = belief.work[gaps.MESSAGE : gaps.MESSAGE + gaps.GRID, gaps.DENSITY]
    density = density / density.sum()
    points = low + step * np.arange(gaps.GRID)
    ends = np.interp((LOW, HIGH), np.cumsum(density) - 0.5 * density, points)  # a point is the middle of its cell
    return float(centre + density @ points), float(centre + ends[0]), float(centre + ends[1])


def judge_of(policy: Policy) -> Policy:
    """Return the policy whose posterior gives P(best): the evidence `Gaps` over the plausible orderings of the states.

    >>> from lpbandits import TS
    >>> judge_of(TS(PreferenceModel([[0, 1], [1, 0]])))
    Traceback (most recent call last):
    ...
    lpbandits.errors.NotSupported: TS has no latent states, so it has no P(best); ...
    """
    if policy.feedback == "duels":
        raise NotSupported(f"{type(policy).__name__} learns from duels; P(best) needs rewards, as LpbTS learns from")
    if not policy.evidence.latent:
        raise NotSupported(
            f"{type(policy).__name__} has no latent states, so it has no P(best); tell the outcomes to an agent with "
            "LpbTS(model)"
        )
    if policy.model.tiers is not None:
        raise NotSupported(
            "the model has tiers, and P(best) needs the order of all actions; use the probabilities of an agent with "
            "LpbTS(model), or give total orders"
        )
    return _judge(policy.model, policy.rewards)


@lru_cache(maxsize=32)
def _judge(model: PreferenceModel, rewards: Rewards) -> Policy:
    orderings, shares = plausible_orderings(model)
    prior = shares @ model.prior
    return Policy(PreferenceModel(orderings, actions=model.actions, prior=prior), gaps.Gaps(rewards), Sample())


def judged(judge: Policy, belief: Belief, model: PreferenceModel) -> Belief:
    """Return the judge's belief after the outcomes of a belief of another policy over `model`."""
    n = belief.tried
    prior = None if belief.prior is None else plausible_orderings(model)[1] @ belief.prior
    out = judge.new_belief(max(n, 8), prior)
    out.slots[:, :n], out.tried = belief.slots[:, :n], n
    for slot, action in enumerate(belief.actions.tolist()):
        place(judge.ranks, out.order, slot, action)
    if n:
        judge._call(gaps.update_posterior, out)
    return out


def starts_of(policy: Policy, priors: FloatArray | None) -> FloatArray:
    """Return the judge's states before the first outcome, people × 4 × orderings; one for all without priors.

    `priors` has a row per person: the probability of each state of the policy's model.
    """
    shares = plausible_orderings(policy.model)[1]
    return judge_of(policy).starts(None if priors is None else priors @ shares.T)


@lru_cache(maxsize=32)
def plausible_orderings(model: PreferenceModel) -> tuple[IntArray, FloatArray]:
    """Return distinct orderings that people may follow, and the probability of each ordering (row) in each state.

    These are the model's, if they are exact. With standard errors of the utilities each state has several, those of
    utilities drawn with twice these errors. The draws are fixed, so that equal models give equal orderings.

    >>> model = PreferenceModel([[0, 1, 2]], utilities=[[0.6, 0.5, 0.2]], errors=[[0.3, 0.3, 0.1]])
    >>> orderings, shares = plausible_orderings(model)
    >>> orderings.tolist(), shares.round(2).tolist()
    ([[0, 1, 2], [1, 0, 2]], [[0.75], [0.25]])
    """
    m, k = model.n_states, model.n_actions
    if model.errors is None or model.logits is None:
        return model.orderings, np.eye(m)
    size = max(min(CHAINS // (m * min(k, 20)), MOST_DRAWS), FEWEST_DRAWS)
    rows = np.empty((m, size, k), dtype=np.int64)
    for z in range(m):
        noise = latin_square(z, size, k)
        values = model.logits[z] + INFLATION * model.errors[z] * ndtri(noise)
        rows[z] = np.lexsort((np.broadcast_to(model.ranks[z], values.shape), -values))
    orderings, index = np.unique(rows.reshape(-1, k), axis=0, return_inverse=True)
    shares = np.zeros((len(orderings), m))
    np.add.at(shares, (index.reshape(-1), np.repeat(np.arange(m), size)), 1.0 / size)
    return orderings, shares


def latin_square(stream: int, size: int, columns: int) -> FloatArray:
    """Return size×columns numbers in (0, 1): in each column the middles of `size` equal parts, in a random order.

    >>> latin_square(0, 2, 3).tolist()
    [[0.75, 0.25, 0.75], [0.25, 0.75, 0.25]]
    """
    keys = np.random.default_rng([stream, 14]).random((size, columns))
    return np.asarray((np.argsort(keys, axis=0) + 0.5) / size)
