"""Call a rule's `choose` or an evidence's `tell` from Python, in about half a microsecond.

numba's dispatcher takes 1.4 µs to unpack a named tuple of arrays, and 0.5 µs for the same arrays as separate
arguments. These functions take the arrays of `layout.Arrays` one by one and bundle them in compiled code.
"""

import functools
from collections.abc import Callable
from typing import Any

from lpbandits.kernels.choices import function
from lpbandits.kernels.compiler import specialise, with_plugin_errors
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray


def choose_with(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    slots: FloatArray,
    states: FloatArray,
    own: FloatArray,
    order: SlotArray,
    work: FloatArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> Any:
    """Choose an action, or a pair."""
    b = Arrays(ranks, table, settings, slots, states, own, order, work)
    return function(b, n, offered, seed, person, round_)


def tell_with(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    slots: FloatArray,
    states: FloatArray,
    own: FloatArray,
    order: SlotArray,
    work: FloatArray,
    n: int,
    action: int,
    outcome: float,
) -> Any:
    """Update a belief with one outcome; return the number of tried actions."""
    return function(Arrays(ranks, table, settings, slots, states, own, order, work), n, action, outcome)


@functools.cache
def flat(template: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `choose_with` or `tell_with` around a rule's `choose` or an evidence's `tell`.

    They keep the GIL: to release it takes 50 ns, and a decision is too short to gain from it.
    """
    return with_plugin_errors(specialise(template, {"function": function}, nogil=False))
