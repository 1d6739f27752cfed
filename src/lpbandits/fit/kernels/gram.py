"""Σ_i e_ia e_ib over the people who rated both a and b, and their number, for all pairs of c actions.

A person's actions are in ascending order, so those from a on are the rest of the person's run. Sums are stored for
b ≥ a only, row after row: row a begins at a (2c − a + 1) / 2.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit, jit_in_place
from lpbandits.typing import FloatArray, IntArray


@jit
def group_rows(
    low: int, high: int, edges: IntArray, offsets: IntArray, place: Any, starts: IntArray, position: Any, end: Any
) -> None:
    """List, per part and action, the action's positions and the ends of the runs that they are in."""
    c = starts.shape[1] - 1
    slot = np.empty(c, dtype=np.int64)
    for part in range(low, high):
        first, last = offsets[edges[part]], offsets[edges[part + 1]]
        bounds = starts[part]
        bounds[:] = 0
        for at in range(first, last):
            bounds[place[at] + 1] += 1
        bounds[0] = first
        for a in range(c):
            bounds[a + 1] += bounds[a]
            slot[a] = bounds[a]
        for i in range(edges[part], edges[part + 1]):
            for at in range(offsets[i], offsets[i + 1]):
                a = place[at]
                position[slot[a]] = at
                end[slot[a]] = offsets[i + 1]
                slot[a] += 1


@jit_in_place
def product_rows(
    low: int,
    high: int,
    starts: IntArray,
    position: Any,
    end: Any,
    place: Any,
    residual: FloatArray,
    products: FloatArray,
    raters: Any,
) -> None:
    """Fill rows low..high−1: Σ e_a e_b and the number of people, part after part.

    A part's runs stay in the fast cache while all rows pass through it. A cell's terms are added in the order of the
    people, for any number of threads.
    """
    c = starts.shape[1] - 1
    for a in range(low, high):
        first = a * (2 * c - a + 1) // 2
        products[first : first + c - a] = 0.0
        raters[first : first + c - a] = 0
    for part in range(len(starts)):
        for a in range(low, high):
            zero = a * (2 * c - a + 1) // 2 - a
            row, count = products[zero : zero + c], raters[zero : zero + c]
            for o in range(starts[part, a], starts[part, a + 1]):
                e_a = residual[position[o]]
                actions, e_b = place[position[o] : end[o]], residual[position[o] : end[o]]
                for t in range(len(actions)):
                    b = actions[t]
                    row[b] += e_a * e_b[t]
                    count[b] += np.uint32(1)
