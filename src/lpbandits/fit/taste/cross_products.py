"""Cross-products of residuals: Σ_i e_ia e_ib over people who rated both a and b, and the number of these people.

Sparse blocks loop over the pairs of each person. Dense blocks multiply matrices, which is faster although many entries
are 0. Both add people in the same order for any number of threads.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import split_people
from lpbandits.fit.kernels.ratings import product_rows
from lpbandits.parallel import Threads, one_thread
from lpbandits.typing import FloatArray, IntArray

MAX_COVARIANCE_ACTIONS = 2_000
"""Maximum number of actions with covariances. Beyond it the most rated actions have them."""

SPARSE = 0.055
"""Visit pairs one by one if a person's pairs are on average at most this share of c².

A pair takes about 0.9 ns; the dense products take 0.037 ns per cell (docs/taste.md).
"""

CHUNK = 2**16
"""Ratings processed together, row by row: they fit into a core's cache."""

PEOPLE = 512
"""People per dense product."""

PANEL = 256
"""Rows of the result per dense product."""

Floats32 = NDArray[np.float32]
CrossProducts = tuple[FloatArray, NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of the ratings of c actions, person after person, with the actions' places in ascending order."""

    offsets: IntArray
    place: NDArray[np.uint16]
    residual: FloatArray
    actions: int

    @property
    def is_sparse(self) -> bool:
        """Whether visiting pairs is faster than dense products."""
        counts = np.diff(self.offsets).astype(np.float64)
        return float(counts @ (counts + 1)) / 2 <= SPARSE * len(counts) * self.actions**2

    def cross_products(self, threads: Threads) -> CrossProducts:
        """Return both sums for all pairs b ≥ a, row after row."""
        return self.by_pairs(threads) if self.is_sparse else self.by_matrices(threads)

    def by_pairs(self, threads: Threads) -> CrossProducts:
        """Compute the sums pair by pair."""
        c, size = self.actions, len(self.place)
        parts = 1 + size // CHUNK
        starts, position = np.zeros((parts, c + 1), dtype=np.int64), np.empty(size, dtype=np.uint32)
        edges = self.offsets[split_people(self.offsets, parts)]
        for part, (low, high) in enumerate(pairwise(edges.tolist())):
            place = self.place[low:high]
            position[low:high] = low + np.argsort(place, kind="stable")
            starts[part, 1:] = np.cumsum(np.bincount(place, minlength=c))
        starts += edges[:-1, None]
        end = np.repeat(self.offsets[1:].astype(np.uint32), np.diff(self.offsets))[position]
        sums = np.empty(c * (c + 1) // 2), np.empty(c * (c + 1) // 2, dtype=np.uint32)
        arrays = starts, (position, end), (self.place, self.residual), sums
        threads.run(product_rows, c, *arrays, blocks=16, smallest=8)
        return sums

    def by_matrices(self, threads: Threads) -> CrossProducts:
        """Compute the sums by matrix products: a few people at a time, one thread per panel of the result."""
        c, people = self.actions, len(self.offsets) - 1
        products, raters = np.zeros((c, c)), np.zeros((c, c), dtype=np.float32)
        with one_thread("blas"):
            for low in range(0, people, PEOPLE):
                offsets = self.offsets[low : low + PEOPLE + 1]
                rows = slice(offsets[0], offsets[-1])
                cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), self.place[rows]
                dense, rated = np.zeros((len(offsets) - 1, c)), np.zeros((len(offsets) - 1, c), dtype=np.float32)
                dense[cells], rated[cells] = self.residual[rows], 1.0
                threads.run(_panels, -(-c // PANEL), dense, rated, products, raters, blocks=PANEL)
        upper = np.triu_indices(c)
        return products[upper], raters[upper].astype(np.uint32)


def _panels(low: int, high: int, dense: FloatArray, rated: Floats32, products: FloatArray, raters: Floats32) -> None:
    for panel in range(low, high):
        first, last = panel * PANEL, (panel + 1) * PANEL
        products[first:last, first:] += dense[:, first:last].T @ dense[:, first:]
        raters[first:last, first:] += rated[:, first:last].T @ rated[:, first:]


def mirrored(packed: NDArray[Any], c: int) -> FloatArray:
    """Return the symmetric c×c matrix with this upper triangle."""
    full = np.empty((c, c))
    full[np.triu_indices(c)] = packed
    lower = np.tril_indices(c, -1)
    full[lower] = full.T[lower]
    return full
