"""Sorting by small whole numbers, in two passes over the rows."""

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import Int32Array, IntArray


@jit
def order_by(key: Int32Array, before: IntArray, keys: int) -> IntArray:
    """Return the rows in the order of their keys, 0 to keys − 1; those of one key in the order of `before`."""
    slot = np.zeros(keys + 1, dtype=np.int64)
    for value in key:
        slot[value + 1] += 1
    for value in range(keys):
        slot[value + 1] += slot[value]
    out = np.empty_like(before)
    for row in before:
        value = key[row]
        out[slot[value]] = row
        slot[value] += 1
    return out
