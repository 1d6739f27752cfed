"""Doors from Python to the functions of an evidence or a rule: one call costs about 0.2 µs.

numba's dispatcher looks at the type of every argument at every call, and takes hold of every array. The arrays of a
belief always have the same types, so a door is compiled for those once, its entry point is called directly, and the
arrays come as one *frame*: their addresses and shapes. Nothing is checked on the way, and nothing keeps the arrays of a
frame alive: who holds the frame must hold them too.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic
from numba.np import arrayobj

from lpbandits.kernels.compiler import config, explained, name_of, specialise
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import FloatArray, IntArray

cgutils: Any = untyped_cgutils  # numba has no types
_FLOATS: Any = types.Array(types.float64, 2, "C")
_TYPES = (types.Array(types.int32, 2, "C"), *[_FLOATS] * 5, types.Array(types.uint32, 2, "C"), _FLOATS)
_BELIEF: Any = types.NamedTuple(_TYPES, Arrays)  # type: ignore[no-untyped-call] # as above
_REST = {
    "tell": (types.int64, types.int64, types.float64),
    "tell_duel": (types.int64, types.int64, types.int64),
    "choose": (types.int64, types.int64[::1], types.int64, types.int64, types.int64),
    "expected_rewards": (types.int64, types.int64, types.float64[::1]),
    "predictive_sd": (types.int64, types.float64[::1]),
    "sway": (types.int64, types.int64, types.float64[::1]),
    "update_posterior": (types.int64,),
}

Frame = Any
"""What a door takes for the arrays: their addresses and shapes, or in plain Python the arrays themselves."""
Door = tuple[Callable[..., Any], Callable[[Sequence[Any]], Frame]]
"""A function to call with a frame first, and how to make such a frame of the eight arrays."""


def frame_of(arrays: Sequence[Any]) -> IntArray:
    """Return the address, rows and columns of each array."""
    shapes = [(one.__array_interface__["data"][0], *one.shape) for one in arrays]
    return np.array(shapes, dtype=np.int64).ravel()


def _arrays_of(context: Any, frame: Any) -> Any:
    """Return, in compiled code, the `Arrays` that a frame describes."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        frame = context.make_array(signature.args[0])(context, builder, arguments[0])

        def number(i: int) -> Any:
            return builder.load(builder.gep(frame.data, [context.get_constant(types.intp, i)]))

        made = []
        for i, kind in enumerate(_TYPES):
            one = context.make_array(kind)(context, builder)
            size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
            rows, columns = number(3 * i + 1), number(3 * i + 2)
            arrayobj.populate_array(  # type: ignore[no-untyped-call] # numba has no types
                one,
                data=builder.inttoptr(number(3 * i), one.data.type),
                shape=cgutils.pack_array(builder, [rows, columns]),
                strides=cgutils.pack_array(builder, [builder.mul(columns, size), size]),
                itemsize=size,
                meminfo=None,
            )
            made.append(one._getvalue())
        return context.make_tuple(builder, _BELIEF, made)

    return _BELIEF(frame), build


arrays_of: Any = intrinsic(_arrays_of)


def tell(*_: Any) -> Any:
    """Stand for the function that is put in."""


choose = expected_rewards = predictive_sd = sway = update_posterior = tell


def tell_door(frame: Frame, n: int, action: int, outcome: float) -> int:
    """Take an outcome in; return the number of tried actions."""
    tried: int = tell(arrays_of(frame), n, action, outcome)
    return tried


def choose_door(frame: Frame, n: int, offered: IntArray, seed: int, person: int, round_: int) -> Any:
    """Choose an action, or a pair."""
    return choose(arrays_of(frame), n, offered, seed, person, round_)


def expect_door(frame: Frame, n: int, state: int, out: FloatArray) -> None:
    """Write what is expected of every action under a state."""
    expected_rewards(arrays_of(frame), n, state, out)


def doubt_door(frame: Frame, n: int, out: FloatArray) -> None:
    """Write how uncertain what is expected of every action is."""
    predictive_sd(arrays_of(frame), n, out)


def sway_door(frame: Frame, n: int, action: int, out: FloatArray) -> None:
    """Write how far an outcome of an action moves what is expected of every one."""
    sway(arrays_of(frame), n, action, out)


def weigh_door(frame: Frame, n: int) -> None:
    """Write scores and posterior anew."""
    update_posterior(arrays_of(frame), n)


@functools.cache
def door_to_tell(function: Callable[..., int], *, duel: bool) -> Door:
    """Return the door to an evidence's `tell`."""
    return _opened(tell_door, "tell_duel" if duel else "tell", {"tell": function})


@functools.cache
def door_to_choose(function: Callable[..., Any]) -> Door:
    """Return the door to a rule's `choose`."""
    return _opened(choose_door, "choose", {"choose": function})


@functools.cache
def door_to_expect(function: Callable[..., None]) -> Door:
    """Return the door to an evidence's `expected_rewards`."""
    return _opened(expect_door, "expected_rewards", {"expected_rewards": function})


@functools.cache
def door_to_doubt(function: Callable[..., None]) -> Door:
    """Return the door to an evidence's `predictive_sd`."""
    return _opened(doubt_door, "predictive_sd", {"predictive_sd": function})


@functools.cache
def door_to_sway(function: Callable[..., None]) -> Door:
    """Return the door to an evidence's `sway`."""
    return _opened(sway_door, "sway", {"sway": function})


@functools.cache
def door_to_weigh(function: Callable[..., None]) -> Door:
    """Return the door to an evidence's `update_posterior`."""
    return _opened(weigh_door, "update_posterior", {"update_posterior": function})


def _opened(template: Callable[..., Any], kind: str, functions: dict[str, Callable[..., Any]]) -> Door:
    made: Any = specialise(template, name_of(kind, functions), functions)
    if config.DISABLE_JIT or not hasattr(made, "compile"):
        made.__globals__["arrays_of"] = Arrays._make
        return made, Arrays._make
    signature = (types.int64[::1], *_REST[kind])
    try:
        made.compile(signature)
    except NumbaError as error:
        raise explained(error, ", ".join(f"'{function.__name__}'" for function in functions.values())) from None
    return made.overloads[signature].entry_point, frame_of
