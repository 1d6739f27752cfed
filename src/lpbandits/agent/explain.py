"""Explanations of a belief: posterior, expected rewards and forecasts in readable form."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.kernels import layout
from lpbandits.notebook import Shown
from lpbandits.policies import Belief, Policy
from lpbandits.policies.best import limits_of
from lpbandits.text import display, pluralize
from lpbandits.typing import FloatArray, Json, Label

QUANTILE = 1.2815515655446004
"""Half-width of an 80 % interval of the normal distribution, in standard deviations."""

MAX_PRINTED = 10
"""Maximum number of forecasts in the printed text."""


@dataclass(frozen=True)
class StateFit:
    """One state's explanation.

    Attributes
    ----------
    state, probability
        The state and its posterior probability, by the policy's evidence; `Explanation.certainty` says of what kind.
    means
        Expected reward of every action under this state, best first: the isotonic fit, with untried actions
        interpolated (in a tier with tried actions: their mean), or the known means; for duels, the share of other
        actions that it is preferred to.
    blocks
        Groups of tried actions with equal expected reward, best first.
    active
        Number of order constraints that hold with equality: tried actions minus blocks. A block within one tier has
        none.
    intervals
        For evidences that fit an order: per untried action, the (lowest, highest) mean that its tried neighbours in the
        order allow, those of worse and better tiers; None is unbounded.
    """

    state: int
    probability: float
    means: dict[Label, float]
    blocks: tuple[tuple[Label, ...], ...]
    active: int
    intervals: dict[Label, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Forecast:
    """Expected next reward of an action, and its 80 % prediction interval, within the model's `reward_range`.

    A range that does not hold the person's mean rewards is extended to them.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """An explained belief: tried actions with count and mean reward, and the states, most probable first.

    For a policy without states that predicts rewards, such as `Taste`, `forecasts` of all actions, best first, replace
    the states. For duels, the count is the number of appearances (two if an action duels itself), and the mean the
    share of wins.

    >>> from lpbandits import Agent, LpbTS, PreferenceModel
    >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]]), noise=1.0), seed=1)
    >>> agent.tell(0, 1.0); agent.tell(1, 3.0)
    >>> print(agent.explain())
    tried: 0 1 (×1), 1 3 (×1)
    probability of each state (optimistic):
    state 1: 73.1%  1 3 > 0 1
    state 0: 26.9%  0 = 1 2
    """

    tried: dict[Label, tuple[int, float]]
    states: tuple[StateFit, ...]
    forecasts: dict[Label, Forecast] = field(default_factory=dict)
    lower_is_better: bool = False
    """Whether low rewards are good."""
    certainty: str = ""
    """What the probabilities of the states are: "exact", "optimistic" or "approximate", as `Evidence.certainty`."""

    def rank_key(self, mean: float) -> float:
        """Return the key that sorts the best mean reward first."""
        return mean if self.lower_is_better else -mean

    def to_dict(self) -> Json:
        """Return the explanation as a JSON object."""
        return {
            "certainty": self.certainty,
            "tried": [{"action": a, "count": n, "mean": mean} for a, (n, mean) in self.tried.items()],
            "states": [
                {
                    **asdict(fit),
                    "means": [{"action": a, "mean": mean} for a, mean in fit.means.items()],
                    "blocks": [list(block) for block in fit.blocks],
                    "intervals": [{"action": a, "low": low, "high": high} for a, (low, high) in fit.intervals.items()],
                }
                for fit in self.states
            ],
            "forecasts": [{"action": a, **asdict(forecast)} for a, forecast in self.forecasts.items()],
        }

    def __repr__(self) -> str:
        what = pluralize(len(self.states), "state") if self.states else pluralize(len(self.forecasts), "forecast")
        return f"<Explanation: {pluralize(len(self.tried), 'tried action')}, {what}>"

    def __str__(self) -> str:
        lines = [
            "tried: "
            + (", ".join(f"{display(a)} {mean:.3g} (×{n})" for a, (n, mean) in self.tried.items()) or "nothing")
        ]
        if self.states:
            lines.append(f"probability of each state ({self.certainty}):")
        for state in self.states:
            blocks = " > ".join(
                " = ".join(map(display, block)) + f" {state.means[block[0]]:.3g}" for block in state.blocks
            )
            lines.append(f"state {state.state}: {state.probability:.1%}" + (f"  {blocks}" if blocks else ""))
        for action, forecast in list(self.forecasts.items())[:MAX_PRINTED]:
            lines.append(
                f"{display(action)}: {forecast.mean:.3g}, 80% within {forecast.low:.3g} to {forecast.high:.3g}"
            )
        if len(self.forecasts) > MAX_PRINTED:
            lines.append(f"… and {len(self.forecasts) - MAX_PRINTED:,} more")
        return "\n".join(lines)


def expected(policy: Policy, belief: Belief) -> FloatArray:
    """Return m×k: the expected reward of each action under each state, as the user's number; 1×k without latent states.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> expected(policy, policy.new_belief()).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    if not isinstance(policy, Policy):
        raise validate.invalid("policy", "a Policy", policy, "give one such as LpbTS(model)")
    rewards: FloatArray = _numbers(policy)(policy.expected(Belief.checked(policy, belief).copy()))
    return rewards


def explain(policy: Policy, belief: Belief) -> Explanation:
    """Return the explanation of a belief; without latent states, the tried actions and forecasts only."""
    labels = policy.model.actions
    counts, totals = belief.slots[layout.COUNT], belief.slots[layout.SUM]
    number = _numbers(policy)
    tried = {
        labels[a]: (int(counts[slot]), number(float(totals[slot] / counts[slot])))
        for slot, a in enumerate(belief.actions.tolist())
    }
    lower = policy.model.lower_is_better and policy.feedback == "rewards"
    if not policy.evidence.latent:
        forecasts = _forecasts(policy, belief) if policy.evidence.predictive else {}
        return Explanation(tried, (), forecasts, lower_is_better=lower)
    means = policy.expected(belief)
    states = [_state(policy, belief, z, means[z]) for z in range(len(means))]
    by_probability = tuple(sorted(states, key=lambda state: -state.probability))
    return Explanation(tried, by_probability, lower_is_better=lower, certainty=policy.evidence.certainty)


def _numbers(policy: Policy) -> Callable[[Any], Any]:
    """Return the function that turns rewards into the user's numbers; what duels teach has no direction."""
    return policy.model.oriented if policy.feedback == "rewards" else lambda reward: reward


def _forecasts(policy: Policy, belief: Belief) -> dict[Label, Forecast]:
    """Return forecasts of all actions, best first."""
    means = policy.expected(belief)[0]
    half = QUANTILE * policy.predictive_sd(belief)
    lowest, highest = limits_of(policy, belief)
    ends = (half, -half) if policy.model.lower_is_better else (-half, half)
    bounds = _numbers(policy)(np.clip([means, *(means + end for end in ends)], lowest, highest))
    return {
        policy.model.actions[a]: Forecast(*bounds[:, a].tolist()) for a in np.argsort(-means, kind="stable").tolist()
    }


def _state(policy: Policy, belief: Belief, z: int, means: FloatArray) -> StateFit:
    labels, ranks, number = policy.model.actions, policy.model.ranks[z].tolist(), _numbers(policy)
    order = sorted(policy.model.orderings[z].tolist(), key=lambda a: (ranks[a], -means[a]))  # within a tier by mean
    known = set(belief.actions.tolist())
    tried = sorted((a for a in order if a in known), key=lambda a: -means[a])  # equal means keep the state's order
    blocks = [list(block) for _, block in groupby(tried, key=lambda a: means[a])]
    active = sum(len(block) - 1 for block in blocks if ranks[block[0]] < ranks[block[-1]])
    intervals: dict[Label, tuple[float | None, float | None]] = {}
    if policy.evidence.fitted:
        tiers = [list(tier) for _, tier in groupby(order, key=lambda a: ranks[a])]
        above = _bounds(tiers, known, means)
        below = _bounds([tier[::-1] for tier in tiers[::-1]], known, means)
        if policy.model.lower_is_better:
            below, above = (
                {a: None if bound is None else number(bound) for a, bound in ends.items()} for ends in (above, below)
            )
        intervals = {labels[a]: (below[a], above[a]) for a in order if a not in known}
    by_label = {labels[a]: float(number(means[a])) for a in order}
    named = tuple(tuple(labels[a] for a in block) for block in blocks)
    return StateFit(z, float(belief.states[layout.POSTERIOR, z]), by_label, named, active, intervals)


def _bounds(tiers: list[list[int]], known: set[int], means: FloatArray) -> dict[int, float | None]:
    """Return, for each action, the mean of the last tried action in earlier tiers; None without one."""
    bounds: dict[int, float | None] = {}
    latest: float | None = None
    for tier in tiers:
        bounds |= dict.fromkeys(tier, latest)
        latest = next((float(means[a]) for a in reversed(tier) if a in known), latest)
    return bounds
