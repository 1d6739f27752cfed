"""Explanations of a belief: posterior, expected rewards and forecasts in readable form."""

from dataclasses import asdict, dataclass, field
from itertools import accumulate, groupby

import numpy as np

from lpbandits import validate
from lpbandits.kernels import layout
from lpbandits.notebook import Shown
from lpbandits.policies import Belief, Policy
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
        The state and its posterior probability, by the policy's evidence (see `Agent.posterior`).
    means
        Expected reward of every action under this state, best first: the isotonic fit, with untried actions
        interpolated, or the known means; for duels, the share of other actions that it is preferred to.
    blocks
        Groups of tried actions with equal expected reward, best first.
    active
        Number of order constraints that hold with equality: tried actions minus blocks.
    intervals
        For evidences that fit an order: per untried action, the (lowest, highest) mean that its tried neighbours in the
        order allow; None is unbounded.
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
    state 1: 73.1%  1 3 > 0 1
    state 0: 26.9%  0 = 1 2
    """

    tried: dict[Label, tuple[int, float]]
    states: tuple[StateFit, ...]
    forecasts: dict[Label, Forecast] = field(default_factory=dict)

    def to_dict(self) -> Json:
        """Return the explanation as a JSON object."""
        return {
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
    """Return m×k: the expected reward of each action under each state; 1×k without latent states.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> policy = LpbTS(PreferenceModel([[0, 1], [1, 0]]))
    >>> expected(policy, policy.new_belief()).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    if not isinstance(policy, Policy):
        raise validate.invalid("policy", "a Policy", policy, "give one such as LpbTS(model)")
    return policy.expected(Belief.checked(policy, belief).copy())


def explain(policy: Policy, belief: Belief) -> Explanation:
    """Return the explanation of a belief; without latent states, the tried actions and forecasts only."""
    labels = policy.model.actions
    counts, totals = belief.slots[layout.COUNT], belief.slots[layout.SUM]
    tried = {
        labels[a]: (int(counts[slot]), float(totals[slot] / counts[slot]))
        for slot, a in enumerate(belief.actions.tolist())
    }
    if not policy.evidence.latent:
        return Explanation(tried, (), _forecasts(policy, belief) if policy.evidence.predictive else {})
    means = policy.expected(belief)
    states = [_state(policy, belief, z, means[z]) for z in range(len(means))]
    return Explanation(tried, tuple(sorted(states, key=lambda state: -state.probability)))


def _forecasts(policy: Policy, belief: Belief) -> dict[Label, Forecast]:
    """Return forecasts of all actions, best first."""
    means = policy.expected(belief)[0]
    half = QUANTILE * policy.predictive_sd(belief)
    lowest, highest = policy.model.reward_range or (-np.inf, np.inf)
    tried = belief.slots[layout.SUM, : belief.tried] / belief.slots[layout.COUNT, : belief.tried]
    lowest, highest = min([lowest, *tried.tolist()]), max([highest, *tried.tolist()])
    bounds = np.clip([means, means - half, means + half], lowest, highest)
    return {
        policy.model.actions[a]: Forecast(*bounds[:, a].tolist()) for a in np.argsort(-means, kind="stable").tolist()
    }


def _state(policy: Policy, belief: Belief, z: int, means: FloatArray) -> StateFit:
    labels = policy.model.actions
    order = policy.model.orderings[z].tolist()
    known = set(belief.actions.tolist())
    tried = sorted((a for a in order if a in known), key=lambda a: -means[a])  # equal means keep the state's order
    blocks = tuple(tuple(labels[a] for a in block) for _, block in groupby(tried, key=lambda a: means[a]))
    observed = [float(means[a]) if a in known else None for a in order]
    above = list(accumulate(observed, _latest))
    below = list(accumulate(observed[::-1], _latest))[::-1]
    bounds = zip(order, below, above, strict=True) if policy.evidence.fitted else ()
    intervals = {labels[a]: (low, high) for a, low, high in bounds if a not in known}
    by_label = {labels[a]: float(means[a]) for a in order}
    probability = float(belief.states[layout.POSTERIOR, z])
    return StateFit(z, probability, by_label, blocks, len(tried) - len(blocks), intervals)


def _latest(before: float | None, value: float | None) -> float | None:
    return before if value is None else value
