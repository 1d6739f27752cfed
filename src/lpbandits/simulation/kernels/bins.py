"""Counting values in bins whose edges grow by a factor."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray, IntArray, UInt16Array


@jit_in_place
def put_in_bins(values: FloatArray, smallest: float, log_growth: float, last: int, bins: UInt16Array) -> None:
    """Write the bin of each of people × rounds `values`: bin 0 takes what is below `smallest`, the last the rest.

    Bin i > 0 holds smallest · growth^(i − 1) ≤ value < smallest · growth^i.
    """
    for p in range(values.shape[0]):
        for t in range(values.shape[1]):
            value = values[p, t]
            i = 0
            if value >= smallest:
                i = min(1 + int(np.log(value / smallest) / log_growth), last)
            bins[p, t] = i


@jit_in_place
def count_bins(bins: UInt16Array, counts: IntArray) -> None:
    """Add people × rounds `bins` to rounds × bins `counts`."""
    for p in range(bins.shape[0]):
        for t in range(bins.shape[1]):
            counts[t, bins[p, t]] += 1
