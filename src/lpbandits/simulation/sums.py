"""What is kept of many people's rounds: sums, and quantiles that are exact for a while and then cost no more memory.

A run of a million people gives back a few numbers per round, not a number per person and round. Quantiles of regret are
exact as long as all values fit in EXACT places; beyond that they come from counts in bins whose edges grow by two per
cent, so that a quantile from 1e-6 to 6e11 is at most ERROR off, relatively, whatever the number of people.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from lpbandits.simulation.kernels import count_bins, put_in_bins
from lpbandits.typing import FloatArray, IntArray, UInt16Array

EXACT = 2**23
"""People × rounds of one policy whose quantiles are exact (64 MiB)."""

ERROR = 0.01
"""How far a quantile may be off beyond that, relatively."""

SMALLEST = 1e-6
BINS = 2048
"""Bins reach from SMALLEST (less counts as 0) to SMALLEST · growth^BINS, about 6e11; larger values count as that."""

_GROWTH = (1 + ERROR) / (1 - ERROR)
QUANTILES = (0.05, 0.5, 0.95)


@dataclass
class Moments:
    """Mean and sum of squared deviations of people, at each round; joining parts changes only the rounding.

    >>> parts = [Moments.of(np.array([[1.0], [2.0]])), Moments.of(np.array([[6.0]]))]
    >>> whole = parts[0].joined(parts[1])
    >>> float(whole.mean[0]), float(whole.squares[0])
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

    def joined(self, other: "Moments") -> "Moments":
        """Return the moments of both (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        gap = other.mean - self.mean
        mean = self.mean + gap * (other.count / count)
        return Moments(count, mean, self.squares + other.squares + gap**2 * (self.count * other.count / count))

    @property
    def sd(self) -> FloatArray:
        """The standard deviation over people; one person has none."""
        return np.sqrt(self.squares / (self.count - 1)) if self.count > 1 else np.full(len(self.mean), np.nan)


def binned(values: FloatArray) -> UInt16Array:
    """Return the bin of each of people × rounds.

    >>> binned(np.array([[0.0, 1e-6, 1e30]])).tolist()
    [[0, 1, 2048]]
    """
    out = np.empty(values.shape, dtype=np.uint16)
    put_in_bins(np.ascontiguousarray(values), SMALLEST, math.log(_GROWTH), BINS, out)
    return out


@dataclass
class Spread:
    """The distribution of a value over people at each round, of which quantiles can be asked.

    >>> exact, rough, values = Spread(), Spread(), np.arange(1.0, 102.0)[:, None]
    >>> exact.add(values), rough.add(binned(values))
    (None, None)
    >>> exact.quantiles()[1].tolist(), abs(float(rough.quantiles()[1][0]) / 51 - 1) < 0.01
    ([51.0], True)
    """

    values: list[FloatArray] = field(default_factory=list)
    counts: IntArray | None = None

    def add(self, some: FloatArray | UInt16Array) -> None:
        """Take in people × rounds: always values, or always their bins."""
        if some.dtype == np.float64:
            self.values.append(some)  # type: ignore[arg-type] # as the line above saw
            return
        if self.counts is None:
            self.counts = np.zeros((some.shape[1], BINS + 1), dtype=np.int64)
        count_bins(some, self.counts)  # type: ignore[arg-type] # as above

    def quantiles(self) -> FloatArray:
        """Return QUANTILES × rounds."""
        if self.counts is None:
            return np.asarray(np.quantile(np.concatenate(self.values), QUANTILES, axis=0))
        upto = np.cumsum(self.counts, axis=1)
        people = int(upto[0, -1])
        # the middle of a bin, in the ratio that makes both ends equally wrong; bin 0 holds zeros
        middles = np.append(0.0, SMALLEST * _GROWTH ** np.arange(BINS) * 2 / (1 + 1 / _GROWTH))

        def ranked(rank: int) -> FloatArray:
            return np.asarray(middles[np.argmax(upto > rank, axis=1)])

        out = []
        for q in QUANTILES:
            below, part = divmod(q * (people - 1), 1.0)
            above = min(int(below) + 1, people - 1)
            out.append((1.0 - part) * ranked(int(below)) + part * ranked(above))
        return np.stack(out)
