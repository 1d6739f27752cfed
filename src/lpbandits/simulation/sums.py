"""Sums over people and tasks: moments, and quantiles in bounded memory.

A simulation of a million people returns a few numbers per round. Quantiles are exact while all values fit in EXACT
entries. Beyond that they come from a histogram with geometric bins of ratio 1.02: a quantile from 1e-6 to 6e11 has a
relative error of at most ERROR, for any number of people.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lpbandits.simulation.kernels import Stops, Trace
from lpbandits.typing import FloatArray, IntArray, UInt16Array

EXACT = 2**23
"""People × rounds of one policy up to which quantiles are exact (64 MiB)."""

ERROR = 0.01
"""Maximum relative error of a quantile beyond that."""

SMALLEST = 1e-6
BINS = 2048
"""Bins range from SMALLEST (less counts as 0) to SMALLEST · growth^BINS ≈ 6e11 (more counts as that)."""

_GROWTH = (1 + ERROR) / (1 - ERROR)
QUANTILES = (0.05, 0.5, 0.95)


@dataclass
class Moments:
    """Mean and sum of squared deviations over people, at each round.

    >>> both = Moments.of(np.array([[1.0], [2.0]])).merge(Moments.of(np.array([[6.0]])))
    >>> float(both.mean[0]), float(both.squares[0])
    (3.0, 14.0)
    """

    count: int
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> "Moments":
        """Summarise people × rounds."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, ((values - mean) ** 2).sum(axis=0))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both groups (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.count / count)
        return Moments(count, mean, self.squares + other.squares + gap**2 * (self.count * other.count / count))

    @property
    def sd(self) -> FloatArray:
        """Standard deviation over people; NaN for one person."""
        return np.sqrt(self.squares / (self.count - 1)) if self.count > 1 else np.full(len(self.mean), np.nan)


def to_bins(values: FloatArray) -> UInt16Array:
    """Return the bin of each value of people × rounds; bin i > 0 starts at SMALLEST · growth^(i − 1).

    >>> to_bins(np.array([[0.0, 1e-6, 1e30]])).tolist()
    [[0, 1, 2048]]
    """
    steps = np.log(np.maximum(values, SMALLEST) / SMALLEST) / math.log(_GROWTH)
    return np.where(values < SMALLEST, 0, np.minimum(1 + steps, BINS)).astype(np.uint16)


@dataclass
class Distribution:
    """Distribution over people at each round: the values, or a histogram.

    >>> exact, binned, values = Distribution(), Distribution(), np.arange(1.0, 102.0)[:, None]
    >>> exact.add(values), binned.add(to_bins(values))
    (None, None)
    >>> exact.quantiles()[1].tolist(), abs(float(binned.quantiles()[1][0]) / 51 - 1) < 0.01
    ([51.0], True)
    """

    values: list[FloatArray] = field(default_factory=list)
    counts: IntArray | None = None

    def add(self, part: FloatArray | UInt16Array) -> None:
        """Add people × rounds: always values, or always bins."""
        if part.dtype == np.float64:
            self.values.append(part)  # type: ignore[arg-type] # values, by their type
            return
        if self.counts is None:
            self.counts = np.zeros((part.shape[1], BINS + 1), dtype=np.int64)
        first = np.arange(part.shape[1]) * (BINS + 1)  # place of each round's bin 0
        np.add.at(self.counts.reshape(-1), (first + part.astype(np.int64)).reshape(-1), 1)

    def quantiles(self) -> FloatArray:
        """Return QUANTILES × rounds."""
        if self.counts is None:
            return np.asarray(np.quantile(np.concatenate(self.values), QUANTILES, axis=0))
        cumulative = np.cumsum(self.counts, axis=1)
        people = int(cumulative[0, -1])
        # the point of a bin with equal relative distance to both ends; bin 0 holds zeros
        centres = np.append(0.0, SMALLEST * _GROWTH ** np.arange(BINS) * 2 / (1 + 1 / _GROWTH))

        def at_rank(rank: int) -> FloatArray:
            return np.asarray(centres[np.argmax(cumulative > rank, axis=1)])

        rows = []
        for q in QUANTILES:
            below, part = divmod(q * (people - 1), 1.0)
            above = min(int(below) + 1, people - 1)
            rows.append((1.0 - part) * at_rank(int(below)) + part * at_rank(above))
        return np.stack(rows)


@dataclass(frozen=True, eq=False)
class PartialSums:
    """Results of one task: sums per round, and a few numbers per person.

    Cumulative regret takes 8 bytes per person and round, or 2 as bins; a trace takes 28 (44 for duels).
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
        cls,
        trace: Trace,
        truth: IntArray,
        draw: int,
        *,
        stops: Stops | None = None,
        binned: bool = False,
        keep_trace: bool = False,
    ) -> "PartialSums":
        """Summarise a trace, and when people stopped; with `binned`, regrets are kept as bins."""
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
            **({} if stops is None else {"stop_round": stops.rounds, "stop_right": stops.right}),
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
    """Sums of one policy over tasks, added in the order of draws and people; moments of regrets are kept per draw.

    The fixed order makes results bit-identical for any number of workers.
    """

    regrets: dict[str, Distribution] = field(default_factory=dict)
    moments: dict[str, dict[int, Moments]] = field(default_factory=dict)
    people: dict[str, list[FloatArray]] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)

    def add(self, part: PartialSums) -> None:
        """Add the next task."""
        for name, regrets in part.regrets.items():
            self.regrets.setdefault(name, Distribution()).add(regrets)
        for name, moments in part.moments.items():
            sums, draw = self.moments.setdefault(name, {}), part.draw if name in part.regrets else 0
            sums[draw] = sums[draw].merge(moments) if draw in sums else moments
        for name, column in part.people.items():
            self.people.setdefault(name, []).append(column)
        if part.trace is not None:
            self.traces.append(part.trace)
