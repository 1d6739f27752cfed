"""Call a rule's `choose` or an evidence's `tell` or `update_posterior` from Python, in about half a microsecond.

numba's dispatcher takes 1.4 µs to unpack a named tuple of arrays, and 0.5 µs for the same arrays as separate
arguments. These functions take the arrays of `layout.Arrays` one by one and bundle them in compiled code.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lpbandits.kernels.choices import function
from lpbandits.kernels.compiler import kernel, specialise, with_plugin_errors
from lpbandits.kernels.layout import COUNT, POSTERIOR, SCORE, SPREAD, SUM, Arrays
from lpbandits.kernels.tally import place
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray

IMPOSSIBLE, NO_POSTERIOR = 1, 2
"""Faults of a saved belief."""


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


def restore_with(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    slots: FloatArray,
    states: FloatArray,
    own: FloatArray,
    order: SlotArray,
    work: FloatArray,
    n: int,
    largest: float,
) -> int:
    """Sort the slots of a saved belief by every state's order and recompute its posterior; return a fault or 0.

    Its actions are distinct and known; rewards are at most `largest`.
    """
    b = Arrays(ranks, table, settings, slots, states, own, order, work)
    if not possible(b, n, largest):
        return IMPOSSIBLE
    for slot in range(n):
        place(ranks, order, slot, int(order[0, slot]))
    if n > 0:
        function(b, n)
    return 0 if is_defined(b) else NO_POSTERIOR


@kernel
def possible(b: Arrays, n: int, largest: float) -> bool:
    """Return whether rewards of at most `largest` can have these counts, sums and spreads; sums are rounded."""
    largest *= 1.0 + 1e-9
    for slot in range(n):
        count = b.slots[COUNT, slot]
        if not (1.0 <= count <= 2.0**53 and count == np.floor(count)):
            return False
        if not (
            abs(b.slots[SUM, slot]) <= largest * count and 0.0 <= b.slots[SPREAD, slot] <= 16.0 * largest**2 * count
        ):
            return False
    return True


@kernel
def is_defined(b: Arrays) -> bool:
    """Return whether scores and posterior are numbers and the evidence's own array is finite."""
    for z in range(b.states.shape[1]):
        if np.isnan(b.states[SCORE, z]) or np.isnan(b.states[POSTERIOR, z]):
            return False
    for i in range(b.own.shape[0]):
        for j in range(b.own.shape[1]):
            if not np.isfinite(b.own[i, j]):
                return False
    return True


@kernel
def keep_posterior(b: Arrays, n: int) -> None:
    """Stand in for an evidence without `update_posterior`."""


@functools.cache
def restoring(update_posterior: Callable[..., None] | None) -> Callable[..., int]:
    """Return `restore_with` around an evidence's `update_posterior`."""
    bound = {"function": update_posterior or keep_posterior}
    return with_plugin_errors(specialise(restore_with, bound, nogil=False))


@functools.cache
def flat(template: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `choose_with` or `tell_with` around a rule's `choose` or an evidence's `tell`.

    They keep the GIL: to release it takes 50 ns, and a decision is too short to gain from it.
    """
    return with_plugin_errors(specialise(template, {"function": function}, nogil=False))
