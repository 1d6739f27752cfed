"""Counting values in bins whose edges grow by a factor."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray, IntArray


@jit_in_place
def count_in_bins(values: FloatArray, smallest: float, log_growth: float, counts: IntArray) -> None:
    """Add people × rounds `values` to rounds × bins `counts`: bin 0 takes what is below `smallest`, the last the rest.

    Bin i > 0 holds smallest · growth^(i − 1) ≤ value < smallest · growth^i.
    """
    last = counts.shape[1] - 1
    for p in range(values.shape[0]):
        for t in range(values.shape[1]):
            value = values[p, t]
            i = 0
            if value >= smallest:
                i = min(1 + int(np.log(value / smallest) / log_growth), last)
            counts[t, i] += 1
