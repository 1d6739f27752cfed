"""Arrays from outside: of finite numbers, of whole numbers, of states."""

import math
import sys
import warnings
from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.typing import FloatArray, IntArray
from lpbandits.validate.values import CONVERSION_ERRORS, NON_NUMERIC_TYPES

MAX_ABS_VALUE = 1e100
"""Rewards and means beyond this would overflow when squared."""

MAX_ARRAY_LENGTH = 2**31
"""Entries of a list that becomes an array."""


def as_floats(
    values: Any,
    name: str,
    *,
    shape: tuple[int | None, ...],
    max_abs: float = math.inf,
    allow_nan: bool = False,
    copy: bool | None = True,
) -> FloatArray:
    """Return `values` as a new contiguous float64 array of finite numbers; None in `shape` allows any length.

    With `allow_nan`, entries may be NaN. With `copy=None`, an array that is all this already is returned as it is.

    >>> as_floats([1, 2e200], "means", shape=(2,), max_abs=MAX_ABS_VALUE)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: means[1] is 2e+200; it must lie within ±1e+100: use other units
    """
    given = as_array(values, name)
    wanted = "×".join("any" if side is None else str(side) for side in shape)
    if shape == (None,):
        wanted = "a plain list"
    if given.ndim != len(shape) or any(
        side is not None and side != have for side, have in zip(shape, given.shape, strict=True)
    ):
        have = "×".join(map(str, given.shape)) or "a single number"
        raise InvalidInput(f"{name} has shape {have}; it must be {wanted}")
    array = _numbers(given, name, copy)
    odd = np.isinf(array) if allow_nan else ~np.isfinite(array)
    if odd.any():
        place = tuple(int(i) for i in np.argwhere(odd)[0])
        raise InvalidInput(f"{name}{list(place)} is {array[place]}; every entry must be a finite number")
    if max_abs < math.inf and np.any(np.abs(array) > max_abs):
        place = tuple(int(i) for i in np.argwhere(np.abs(array) > max_abs)[0])
        raise InvalidInput(f"{name}{list(place)} is {array[place]}; it must lie within ±{max_abs:g}: use other units")
    return array


def as_array(values: Any, name: str, *, ragged: str = "") -> np.ndarray[Any, Any]:
    """Return `values` as an array of whatever type, without a mask; `ragged` says what is wrong with uneven rows."""
    try:
        if not isinstance(values, np.ndarray) and hasattr(type(values), "__len__") and len(values) > MAX_ARRAY_LENGTH:
            raise InvalidInput(f"{name} has {len(values):,} entries; at most {MAX_ARRAY_LENGTH:,} fit")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a masked number in a list becomes NaN
            array = np.asarray(values)
    except InvalidInput:
        raise
    except CONVERSION_ERRORS:
        raise InvalidInput(ragged or f"{name} is not an array of numbers with equally long rows") from None
    _check_size(array, name)
    if "numpy.ma" in sys.modules and np.ma.is_masked(values):  # nothing is masked before it is imported
        raise InvalidInput(f"{name} has masked entries; leave them out, or fill them with numbers")
    return array


def _numbers(array: np.ndarray[Any, Any], name: str, copy: bool | None) -> FloatArray:
    """Return an array as new contiguous float64; what only looks like numbers (text, dates, complex) is refused."""
    odd = array.dtype.kind not in "biufO" or (
        array.dtype.kind == "O" and any(isinstance(value, NON_NUMERIC_TYPES) for value in array.flat)
    )
    if odd and array.size:
        held = "text" if array.dtype.kind in "USO" else f"{array.dtype} values"
        raise InvalidInput(f"{name} is not an array of numbers: it holds {held}")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # as above; a long double beyond all floats is infinite
            return np.array(array, dtype=np.float64, order="C", subok=False, copy=copy)
    except CONVERSION_ERRORS:
        raise InvalidInput(f"{name} is not an array of numbers with equally long rows") from None


def _check_size(array: np.ndarray[Any, Any], name: str) -> None:
    """Refuse an array whose copy would not fit: one may stand for far more numbers than it holds."""
    check_resources(f"{name} of shape {'×'.join(map(str, array.shape))}", "give fewer numbers", size=24 * array.size)


def as_indices(values: Any, name: str) -> IntArray:
    """Return `values` as a contiguous array of whole numbers, of any shape; one that is read-only is copied.

    Kernels would be compiled once more for it.

    >>> as_indices([[0, 1], [2]], "offered")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: offered is not an array of numbers with equally long rows
    """
    array = as_array(values, name)
    if array.dtype.kind in "iu" and (array.dtype.kind == "i" or array.itemsize < 8):
        return np.require(array, np.int64, ["C", "W"])
    numbers = as_floats(array, name, shape=array.shape)
    odd = np.argwhere((numbers != np.rint(numbers)) | (np.abs(numbers) > 2**53))
    if len(odd):
        place = tuple(int(i) for i in odd[0])
        raise InvalidInput(f"{name}{list(place)} is {numbers[place]:g}; every entry must be a whole number")
    return numbers.astype(np.int64)


def as_states(values: Any, name: str, *, low: int, states: int) -> IntArray:
    """Return one state per person: whole numbers from `low` to `states` − 1.

    >>> as_states([0, 0.7], "truth", low=0, states=2)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: truth[1] is 0.7; states are the whole numbers 0 to 1
    """
    array = as_floats(values, name, shape=(None,))
    bad = np.flatnonzero((array < low) | (array >= states) | (array != np.floor(array)))
    if len(bad):
        which = f"states are the whole numbers 0 to {states - 1}"
        if low < 0:
            which = f"every person needs a state from 0 to {states - 1}, or -1 for unknown"
        raise InvalidInput(f"{name}[{bad[0]}] is {array[bad[0]]:g}; {which}")
    return array.astype(np.int64)
