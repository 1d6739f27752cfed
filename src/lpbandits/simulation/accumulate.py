"""What is kept of a simulation while it runs: parts, made where people are played, and accounts that add them up.

Parts are added in one order, whoever made them, so that sums are the same to the last bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from lpbandits.simulation.results import Curve, PolicyResult
from lpbandits.simulation.sums import Moments, Spread, binned
from lpbandits.simulation.trace import Trace
from lpbandits.typing import FloatArray, IntArray, UInt16Array

T = TypeVar("T", int, str)


@dataclass(frozen=True, eq=False)
class Part:
    """What is kept of some people of one draw with one policy: sums per round, and a few numbers per person.

    Of what regret is at each round it holds 8 bytes per person, or 2 where quantiles come from bins; a trace has 36.
    """

    draw: int
    regret: Moments
    spread: FloatArray | UInt16Array
    weak: Moments | None
    weak_spread: FloatArray | UInt16Array | None
    means: Mapping[str, Moments]
    people: Mapping[str, FloatArray]
    trace: Trace | None

    @classmethod
    def of(cls, trace: Trace, truth: IntArray, draw: int, *, rough: bool = False, keep: bool = False) -> "Part":
        """Sum up what happened; `rough` quantiles come from bins, and `keep` keeps the trace, too."""
        total = np.cumsum(trace.regret, axis=1)
        best = trace.regret <= 0.0
        columns = {
            "draw": np.full(len(truth), float(draw)),
            "state": truth.astype(np.float64),
            "regret": total[:, -1].copy(),
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
            Moments.of(total),
            binned(total) if rough else total,
            None if weak is None else Moments.of(weak),
            weak if weak is None or not rough else binned(weak),
            {name: Moments.of(values) for name, values in means.items()},
            columns,
            trace if keep else None,
        )


@dataclass
class Account:
    """All parts of one policy so far."""

    regret: dict[int, Moments] = field(default_factory=dict)
    weak: dict[int, Moments] = field(default_factory=dict)
    spread: Spread = field(default_factory=Spread)
    weak_spread: Spread = field(default_factory=Spread)
    means: dict[str, Moments] = field(default_factory=dict)
    people: dict[str, list[FloatArray]] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Take in a part; draws and their people come in order."""
        _join(self.regret, part.draw, part.regret)
        self.spread.add(part.spread)
        if part.weak is not None and part.weak_spread is not None:
            _join(self.weak, part.draw, part.weak)
            self.weak_spread.add(part.weak_spread)
        for name, moments in part.means.items():
            _join(self.means, name, moments)
        for name, column in part.people.items():
            self.people.setdefault(name, []).append(column)
        if part.trace is not None:
            self.traces.append(part.trace)

    def result(self) -> PolicyResult:
        """Return the policy's result."""
        return PolicyResult(
            regret=Curve.of(list(self.regret.values()), self.spread),
            weak=Curve.of(list(self.weak.values()), self.weak_spread) if self.weak else None,
            reward=self.means["reward"].mean,
            best_share=self.means["best_share"].mean,
            true_state=self.means["true_state"].mean,
            people={name: np.concatenate(parts) for name, parts in self.people.items()},
            trace=_concatenated(self.traces) if self.traces else None,
        )


def _join(sums: dict[T, Moments], key: T, fresh: Moments) -> None:
    sums[key] = sums[key].joined(fresh) if key in sums else fresh


def _concatenated(traces: Sequence[Trace]) -> Trace:
    return Trace(*(np.concatenate([getattr(t, name) for t in traces]) for name in Trace.__dataclass_fields__))
