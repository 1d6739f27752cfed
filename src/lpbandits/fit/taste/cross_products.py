"""Sums over pairs of actions of one person: Σ_i e_ia e_ib over the people who rated both, and how many these are.

Of people who rated few of the actions each pair is gone through; where they rated most, a product of dense matrices
is faster though most of it is 0. Both add people in the same order on any number of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import split_people
from lpbandits.fit.kernels.gram import group_rows, product_rows
from lpbandits.parallel import Threads, one_thread
from lpbandits.typing import FloatArray, IntArray

MOST_CROSSED = 2_000
"""Actions whose covariances are known; of more, those of the most rated are, and the others have means alone."""

SPARSE = 0.055
"""Of all pairs, with c² to a person: the share of a block up to which its pairs are gone through one by one.

A pair takes about 0.9 ns; the dense products take 0.037 ns a cell (docs/taste.md).
"""

CHUNK = 2**16
"""Ratings that are gone through row by row together: they fit a core's own cache."""

PEOPLE = 512
PANEL = 256
"""Of dense products: people in one, and rows of the result."""

Floats32 = NDArray[np.float32]
Crossed = tuple[FloatArray, NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left of the ratings of c actions, person after person, with the actions' places in rising order."""

    offsets: IntArray
    place: NDArray[np.uint16]
    left: FloatArray
    actions: int

    @property
    def is_sparse(self) -> bool:
        """Whether going through pairs is faster than dense products."""
        counts = np.diff(self.offsets).astype(np.float64)
        return float(counts @ (counts + 1)) / 2 <= SPARSE * len(counts) * self.actions**2

    def crossed(self, threads: Threads) -> Crossed:
        """Return both sums for all pairs b ≥ a, row after row."""
        return self.by_pairs(threads) if self.is_sparse else self.by_matrices(threads)

    def by_pairs(self, threads: Threads) -> Crossed:
        """Go through the pairs."""
        c, size = self.actions, len(self.place)
        parts = 1 + size // CHUNK
        starts = np.empty((parts, c + 1), dtype=np.int64)
        position, end = np.empty((2, size), dtype=np.uint32)
        edges = split_people(self.offsets, parts)
        threads.run(group_rows, parts, edges, self.offsets, self.place, starts, position, end, blocks=4)
        products, raters = np.empty(c * (c + 1) // 2), np.empty(c * (c + 1) // 2, dtype=np.uint32)
        threads.run(
            product_rows, c, starts, position, end, self.place, self.left, products, raters, blocks=16, smallest=8
        )
        return products, raters

    def by_matrices(self, threads: Threads) -> Crossed:
        """Multiply matrices of a few people at a time, panel by panel of the result, each on one thread."""
        c, people = self.actions, len(self.offsets) - 1
        products, raters = np.zeros((c, c)), np.zeros((c, c), dtype=np.float32)
        with one_thread("blas"):
            for low in range(0, people, PEOPLE):
                offsets = self.offsets[low : low + PEOPLE + 1]
                rows = slice(offsets[0], offsets[-1])
                cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), self.place[rows]
                left, seen = np.zeros((len(offsets) - 1, c)), np.zeros((len(offsets) - 1, c), dtype=np.float32)
                left[cells], seen[cells] = self.left[rows], 1.0
                threads.run(_panels, -(-c // PANEL), left, seen, products, raters, blocks=PANEL)
        upper = np.triu_indices(c)
        return products[upper], raters[upper].astype(np.uint32)


def _panels(low: int, high: int, left: FloatArray, seen: Floats32, products: FloatArray, raters: Floats32) -> None:
    for panel in range(low, high):
        first, last = panel * PANEL, (panel + 1) * PANEL
        products[first:last, first:] += left[:, first:last].T @ left[:, first:]
        raters[first:last, first:] += seen[:, first:last].T @ seen[:, first:]


def mirrored(packed: NDArray[Any], c: int) -> FloatArray:
    """Return the symmetric c×c matrix of which these are the rows from the diagonal on.

    >>> mirrored(np.array([1.0, 2.0, 3.0]), 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    full = np.empty((c, c))
    full[np.triu_indices(c)] = packed
    lower = np.tril_indices(c, -1)
    full[lower] = full.T[lower]
    return full
