"""Why a policy believes what it believes: the fit under each state, for people to read."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lpbandits.kernels import layout
from lpbandits.kernels.isotonic import fit
from lpbandits.policies import Belief, Policy
from lpbandits.typing import Json, Label


@dataclass(frozen=True)
class StateFit:
    """One state's explanation.

    Attributes
    ----------
    state, probability
        The state and its posterior probability.
    means
        The mean of each tried action under this state, best first: the isotonic fit, or the known means.
    blocks
        The tried actions that the fit holds equal, block by block, best first.
    active
        The number of order constraints that hold with equality: tried actions minus blocks.
    intervals
        For each untried action the (lowest, highest) mean that its tried neighbours allow, None where unbounded.
    """

    state: int
    probability: float
    means: dict[Label, float]
    blocks: tuple[tuple[Label, ...], ...]
    active: int
    intervals: dict[Label, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Explanation:
    """What a belief says: the tried actions with count and mean, and the states, most probable first.

    >>> from lpbandits import Agent, LpbTS, PreferenceModel
    >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=1)
    >>> agent.tell(0, 1.0); agent.tell(1, 3.0)
    >>> print(agent.explain())
    tried: 0 1 (×1), 1 3 (×1)
    state 1: 73.1%  1 3 > 0 1
    state 0: 26.9%  0 = 1 2
    """

    tried: dict[Label, tuple[int, float]]
    states: tuple[StateFit, ...]

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return {
            "tried": [{"action": a, "count": n, "mean": mean} for a, (n, mean) in self.tried.items()],
            "states": [
                {
                    "state": fit.state,
                    "probability": fit.probability,
                    "means": [{"action": a, "mean": mean} for a, mean in fit.means.items()],
                    "blocks": [list(block) for block in fit.blocks],
                    "active": fit.active,
                    "intervals": [{"action": a, "low": low, "high": high} for a, (low, high) in fit.intervals.items()],
                }
                for fit in self.states
            ],
        }

    def __str__(self) -> str:
        lines = ["tried: " + (", ".join(f"{a} {mean:.3g} (×{n})" for a, (n, mean) in self.tried.items()) or "nothing")]
        for state in self.states:
            blocks = " > ".join(" = ".join(map(str, block)) + f" {state.means[block[0]]:.3g}" for block in state.blocks)
            lines.append(f"state {state.state}: {state.probability:.1%}" + (f"  {blocks}" if blocks else ""))
        return "\n".join(lines)


def explain(policy: Policy, belief: Belief) -> Explanation:
    """Return the explanation of a belief; policies without latent states have tried actions only."""
    labels = policy.model.actions
    n = belief.tried
    tried = {
        labels[belief.order[0, slot]]: (
            int(belief.numbers[layout.COUNT, slot]),
            float(belief.numbers[layout.SUM, slot] / belief.numbers[layout.COUNT, slot]),
        )
        for slot in range(n)
    }
    if not policy.evidence.latent:
        return Explanation(tried, ())
    explain_state = _fitted if policy.evidence.ordered else _known
    states = [explain_state(policy, belief, z) for z in range(policy.model.n_states)]
    return Explanation(tried, tuple(sorted(states, key=lambda state: -state.probability)))


def _fitted(policy: Policy, belief: Belief, z: int) -> StateFit:
    """Explain a state by its isotonic fit."""
    labels = policy.model.actions
    n = belief.tried
    values = np.empty(n)
    blocks = fit(belief.numbers.copy(), belief.order, 1 + z, n, values)
    actions = [int(belief.order[0, belief.order[1 + z, i]]) for i in range(n)]
    starts = [i for i in range(n) if i == 0 or values[i] != values[i - 1]] + [n]
    groups = tuple(tuple(labels[a] for a in actions[start:end]) for start, end in pairwise(starts))
    means = {labels[a]: float(value) for a, value in zip(actions, values, strict=True)}
    intervals: dict[Label, tuple[float | None, float | None]] = {}
    above: float | None = None
    pending: list[Label] = []
    for a in policy.model.orderings[z]:
        label = labels[a]
        if label in means:
            intervals.update(dict.fromkeys(pending, (means[label], above)))
            above, pending = means[label], []
        else:
            pending.append(label)
    intervals.update(dict.fromkeys(pending, (None, above)))
    return StateFit(z, float(belief.numbers[layout.POSTERIOR, z]), means, groups, n - blocks, intervals)


def _known(policy: Policy, belief: Belief, z: int) -> StateFit:
    """Explain a state by its known means: nothing is fitted, so nothing is held equal."""
    labels = policy.model.actions
    means = {labels[a]: float(policy.table[z, a]) for a in policy.model.orderings[z]}
    tried = {int(a) for a in belief.order[0, : belief.tried]}
    blocks = tuple((labels[a],) for a in policy.model.orderings[z] if int(a) in tried)
    return StateFit(z, float(belief.numbers[layout.POSTERIOR, z]), means, blocks, 0, {})
