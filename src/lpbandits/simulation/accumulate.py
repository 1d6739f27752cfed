"""Accumulation of a simulation's results: partial sums per task, added up per policy.

Partial sums are added in a fixed order, whichever worker computed them, so that results are equal to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

import numpy as np

from lpbandits.simulation.results import Curve, PolicyResult
from lpbandits.simulation.sums import Distribution, Moments, to_bins
from lpbandits.simulation.trace import Trace
from lpbandits.typing import FloatArray, IntArray, UInt16Array

K = TypeVar("K", int, str)


@dataclass(frozen=True, eq=False)
class PartialSums:
    """Results of one task: sums per round, and a few numbers per person.

    Cumulative regret takes 8 bytes per person and round, or 2 as bins; a trace takes 36.
    """

    draw: int
    regret: Moments
    regrets: FloatArray | UInt16Array
    weak: Moments | None
    weak_regrets: FloatArray | UInt16Array | None
    means: Mapping[str, Moments]
    people: Mapping[str, FloatArray]
    trace: Trace | None

    @classmethod
    def of(
        cls, trace: Trace, truth: IntArray, draw: int, *, binned: bool = False, keep_trace: bool = False
    ) -> "PartialSums":
        """Summarise a trace; with `binned`, regrets are kept as bins."""
        regrets = np.cumsum(trace.regret, axis=1)
        best = trace.regret <= 0.0
        columns = {
            "draw": np.full(len(truth), float(draw)),
            "state": truth.astype(np.float64),
            "regret": regrets[:, -1].copy(),
            "reward": trace.rewards.mean(axis=1),
            "best_share": best.mean(axis=1),
            "true_state": trace.mass[:, -1].copy(),
            "active_all": trace.active[:, 0],
            "active_true": trace.active[:, 1],
            "active_other": trace.active[:, 2],
        }
        weak = np.cumsum(trace.weak, axis=1) if trace.weak.size else None
        if weak is not None:
            columns["weak_regret"] = weak[:, -1].copy()
        means = {"reward": trace.rewards, "best_share": best.astype(np.float64), "true_state": trace.mass}
        return cls(
            draw,
            Moments.of(regrets),
            to_bins(regrets) if binned else regrets,
            None if weak is None else Moments.of(weak),
            to_bins(weak) if binned and weak is not None else weak,
            {name: Moments.of(values) for name, values in means.items()},
            columns,
            trace if keep_trace else None,
        )


@dataclass
class Accumulator:
    """Sums of one policy over tasks; moments of regret are kept per draw."""

    regret: dict[int, Moments] = field(default_factory=dict)
    weak: dict[int, Moments] = field(default_factory=dict)
    regrets: Distribution = field(default_factory=Distribution)
    weak_regrets: Distribution = field(default_factory=Distribution)
    means: dict[str, Moments] = field(default_factory=dict)
    people: dict[str, list[FloatArray]] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)

    def add(self, part: PartialSums) -> None:
        """Add a task; tasks come in the order of draws and people."""
        _merge(self.regret, part.draw, part.regret)
        self.regrets.add(part.regrets)
        if part.weak is not None and part.weak_regrets is not None:
            _merge(self.weak, part.draw, part.weak)
            self.weak_regrets.add(part.weak_regrets)
        for name, moments in part.means.items():
            _merge(self.means, name, moments)
        for name, column in part.people.items():
            self.people.setdefault(name, []).append(column)
        if part.trace is not None:
            self.traces.append(part.trace)

    def result(self) -> PolicyResult:
        """Return the policy's result."""
        trace = None
        if self.traces:
            names = [item.name for item in fields(Trace)]
            trace = Trace(*(np.concatenate([getattr(part, name) for part in self.traces]) for name in names))
        return PolicyResult(
            regret=Curve.of(list(self.regret.values()), self.regrets),
            weak=Curve.of(list(self.weak.values()), self.weak_regrets) if self.weak else None,
            reward=self.means["reward"].mean,
            best_share=self.means["best_share"].mean,
            true_state=self.means["true_state"].mean,
            people={name: np.concatenate(parts) for name, parts in self.people.items()},
            trace=trace,
        )


def _merge(sums: dict[K, Moments], key: K, moments: Moments) -> None:
    sums[key] = sums[key].merge(moments) if key in sums else moments
