"""Doors from Python to the kernels of an evidence or a rule: plain arrays come in, one call costs about 0.3 µs.

numba's dispatcher looks at every argument's type at every call. The arrays of a belief always have the same types, so a
door is compiled for those once and its entry point called directly. Nothing is checked or converted on the way.
"""

import functools
from collections.abc import Callable
from typing import Any

import numba

from lpbandits.kernels.compiler import is_compiled, specialise
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray

_FLOATS = numba.float64[:, ::1]
_ARRAYS = (numba.int32[:, ::1], *[_FLOATS] * 5, numba.uint32[:, ::1], _FLOATS)
_LAST = {
    "tell": (numba.int64, numba.int64, numba.float64),
    "tell_duel": (numba.int64, numba.int64, numba.int64),
    "choose": (numba.int64, numba.int64[::1], numba.int64, numba.int64, numba.int64),
    "expect": (numba.int64, numba.int64, numba.float64[::1]),
}


def tell(*_: Any) -> Any:
    """Stand for the evidence's `tell`."""


choose = expect = tell


def tell_door(
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
) -> int:
    """Take an outcome in; return the number of tried actions."""
    told: int = tell(Arrays(ranks, table, settings, slots, states, own, order, work), n, action, outcome)
    return told


def choose_door(
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
    return choose(Arrays(ranks, table, settings, slots, states, own, order, work), n, offered, seed, person, round_)


def expect_door(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    slots: FloatArray,
    states: FloatArray,
    own: FloatArray,
    order: SlotArray,
    work: FloatArray,
    n: int,
    state: int,
    out: FloatArray,
) -> None:
    """Write what is expected of every action under a state."""
    expect(Arrays(ranks, table, settings, slots, states, own, order, work), n, state, out)


@functools.cache
def door_to_tell(function: Callable[..., int], *, duel: bool) -> Callable[..., int]:
    """Return the door to an evidence's `tell`."""
    return _opened(tell_door, "tell_duel" if duel else "tell", tell=function)


@functools.cache
def door_to_choose(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the door to a rule's `choose`."""
    return _opened(choose_door, "choose", choose=function)


@functools.cache
def door_to_expect(function: Callable[..., None]) -> Callable[..., None]:
    """Return the door to an evidence's `expect`."""
    return _opened(expect_door, "expect", expect=function)


def _opened(template: Callable[..., Any], kind: str, **functions: Callable[..., Any]) -> Callable[..., Any]:
    name = "_".join([kind, *(f"{f.__module__.rpartition('.')[2]}_{f.__name__}" for f in functions.values())])
    made: Any = specialise(template, name, functions)
    if not (is_compiled(made) and hasattr(made, "compile")):
        return made  # plain Python
    signature = (*_ARRAYS, *_LAST[kind])
    made.compile(signature)
    entry: Callable[..., Any] = made.overloads[signature].entry_point
    return entry
