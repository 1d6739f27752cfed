"""Accumulation of a simulation's results: partial sums per task, added up per policy.

Partial sums are added in a fixed order, whichever worker computed them, so that results are equal to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lpbandits.simulation.kernels import Trace
from lpbandits.simulation.results import Curve, PolicyResult
from lpbandits.simulation.sums import Distribution, Moments, to_bins
from lpbandits.typing import FloatArray, IntArray, UInt16Array


@dataclass(frozen=True, eq=False)
class PartialSums:
    """Results of one task: sums per round, and a few numbers per person.

    Cumulative regret takes 8 bytes per person and round, or 2 as bins; a trace takes 36.
    """

    draw: int
    regrets: Mapping[str, FloatArray | UInt16Array]
    """Cumulative "regret", and for duels "weak_regret"."""
    moments: Mapping[str, Moments]
    """Moments per round of the regrets, "reward", "best_share" and "true_state"."""
    people: Mapping[str, FloatArray]
    trace: Trace | None

    @classmethod
    def of(
        cls, trace: Trace, truth: IntArray, draw: int, *, binned: bool = False, keep_trace: bool = False
    ) -> "PartialSums":
        """Summarise a trace; with `binned`, regrets are kept as bins."""
        best = trace.regret <= 0.0
        regrets = {"regret": np.cumsum(trace.regret, axis=1)}
        if trace.weak.size:
            regrets["weak_regret"] = np.cumsum(trace.weak, axis=1)
        rounds = {"reward": trace.rewards, "best_share": best.astype(np.float64), "true_state": trace.mass}
        people = {
            "draw": np.full(len(truth), float(draw)),
            "state": truth.astype(np.float64),
            "regret": regrets["regret"][:, -1].copy(),
            "reward": trace.rewards.mean(axis=1),
            "best_share": best.mean(axis=1),
            "true_state": trace.mass[:, -1].copy(),
            "active_all": trace.active[:, 0],
            "active_true": trace.active[:, 1],
            "active_other": trace.active[:, 2],
            **{name: values[:, -1].copy() for name, values in regrets.items() if name != "regret"},
        }
        return cls(
            draw,
            {name: to_bins(values) for name, values in regrets.items()} if binned else regrets,
            {name: Moments.of(values) for name, values in (regrets | rounds).items()},
            people,
            trace if keep_trace else None,
        )


@dataclass
class Accumulator:
    """Sums of one policy over tasks; moments of regrets are kept per draw."""

    regrets: dict[str, Distribution] = field(default_factory=dict)
    moments: dict[str, dict[int, Moments]] = field(default_factory=dict)
    people: dict[str, list[FloatArray]] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)

    def add(self, part: PartialSums) -> None:
        """Add a task; tasks come in the order of draws and people."""
        for name, regrets in part.regrets.items():
            self.regrets.setdefault(name, Distribution()).add(regrets)
        for name, moments in part.moments.items():
            sums, draw = self.moments.setdefault(name, {}), part.draw if name in part.regrets else 0
            sums[draw] = sums[draw].merge(moments) if draw in sums else moments
        for name, column in part.people.items():
            self.people.setdefault(name, []).append(column)
        if part.trace is not None:
            self.traces.append(part.trace)

    def result(self) -> PolicyResult:
        """Return the policy's result."""
        curves = {name: Curve.of(list(self.moments[name].values()), spread) for name, spread in self.regrets.items()}
        return PolicyResult(
            regret=curves["regret"],
            weak=curves.get("weak_regret"),
            reward=self.moments["reward"][0].mean,
            best_share=self.moments["best_share"][0].mean,
            true_state=self.moments["true_state"][0].mean,
            people={name: np.concatenate(parts) for name, parts in self.people.items()},
            trace=Trace(*map(np.concatenate, zip(*self.traces, strict=True))) if self.traces else None,
        )
