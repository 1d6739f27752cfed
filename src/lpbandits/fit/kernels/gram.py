"""Σ_i e_ia e_ib over the people who rated both a and b, and how many these are: of all pairs of actions, by their rows.

A person's actions stand in rising order, so that those from a on are the rest of their run. Sums are kept for b ≥ a
only, row after row: row a begins at a (2c − a + 1) / 2.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit, jit_in_place
from lpbandits.typing import FloatArray, IntArray


@jit
def group_rows(
    low: int, high: int, edges: IntArray, offsets: IntArray, place: Any, starts: IntArray, position: Any, end: Any
) -> None:
    """List, part by part and in each action by action, where it stands and where its person's run ends."""
    c = starts.shape[1] - 1
    slot = np.empty(c, dtype=np.int64)
    for part in range(low, high):
        first, last = offsets[edges[part]], offsets[edges[part + 1]]
        mine = starts[part]
        mine[:] = 0
        for at in range(first, last):
            mine[place[at] + 1] += 1
        mine[0] = first
        for a in range(c):
            mine[a + 1] += mine[a]
            slot[a] = mine[a]
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
    left: FloatArray,
    products: FloatArray,
    raters: Any,
) -> None:
    """Fill rows low..high−1: Σ e_a e_b and the number of people, part after part.

    A part's runs, and the rows at work, stay in the fast cache while every row goes through the part. A cell's terms
    are added in the order of the people, however rows are shared out.
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
                mine = left[position[o]]
                others, theirs = place[position[o] : end[o]], left[position[o] : end[o]]
                for t in range(len(others)):
                    b = others[t]
                    row[b] += mine * theirs[t]
                    count[b] += np.uint32(1)
