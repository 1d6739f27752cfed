"""Least-squares lines on logarithmic axes, with one bend if a single exponent does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits.typing import FloatArray

STRAIGHT = 0.15
"""A line is straight if its relative error at every point is at most this."""
GAIN = 2.0
"""A bend must reduce the sum of squares by at least this factor, more than noise would."""


@dataclass(frozen=True)
class Line:
    """Ends and bend of a line, and the exponent of each segment."""

    sizes: tuple[float, ...]
    values: tuple[float, ...]
    exponents: tuple[float, ...]

    @property
    def bent(self) -> bool:
        return len(self.exponents) > 1

    def in_words(self) -> str:
        """Return each exponent with its range.

        >>> through([1, 2, 4, 8], [3, 6, 12, 24]).in_words()
        '1.00 (1 – 8)'
        """
        ends = zip(self.sizes, self.sizes[1:], self.exponents, strict=False)
        return ", ".join(f"{_plain(slope)} ({low:,.0f} – {high:,.0f})" for low, high, slope in ends)

    def at_its_end(self) -> str:
        """Return the last exponent and, if the line has a bend, the size at which it begins.

        >>> through([1, 2, 4, 8, 16, 32], [5, 5, 5, 10, 20, 40]).at_its_end()
        '1.00 from 4'
        """
        end = _plain(self.exponents[-1])
        return f"{end} from {self.sizes[-2]:,.0f}" if self.bent else end


def through(sizes: Sequence[float], values: Sequence[float]) -> Line:
    """Return the least-squares line through the logarithms, with the best single bend if it needs one.

    A bend is at one of the sizes, with at least two sizes on either side.

    >>> through([1, 2, 4, 8, 16, 32], [5, 5, 5, 10, 20, 40]).in_words()
    '0.00 (1 – 4), 1.00 (4 – 32)'
    """
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(values, dtype=np.float64))
    plain = _fitted(x, y, ())
    best = min((_fitted(x, y, (x[i],)) for i in range(2, len(x) - 2)), key=_squares, default=plain)
    needed = float(np.abs(plain[2]).max()) > np.log1p(STRAIGHT) and GAIN * _squares(best) < _squares(plain)
    knots, at_knots, _ = best if needed else plain
    slopes = np.diff(at_knots) / np.diff(knots)
    return Line(*(tuple(numbers.tolist()) for numbers in (np.exp(knots), np.exp(at_knots), slopes)))


def _fitted(x: FloatArray, y: FloatArray, bends: tuple[float, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the knots, the values there, and the residual of every point."""
    knots = np.array([x[0], *bends, x[-1]])
    weights, *_ = np.linalg.lstsq(_terms(x, bends), y, rcond=None)
    return knots, _terms(knots, bends) @ weights, y - _terms(x, bends) @ weights


def _terms(x: FloatArray, bends: tuple[float, ...]) -> FloatArray:
    return np.stack([np.ones_like(x), x, *(np.maximum(x - bend, 0.0) for bend in bends)], axis=1)


def _squares(fitted: tuple[FloatArray, FloatArray, FloatArray]) -> float:
    return float(np.sum(fitted[2] ** 2))


def _plain(slope: float) -> str:
    return f"{slope + 0.0:.2f}".replace("-0.00", "0.00")
