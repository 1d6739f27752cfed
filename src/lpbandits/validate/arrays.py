"""Validators of arrays: finite numbers, whole numbers, states."""

import math
import sys
import warnings
from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.typing import FloatArray, IntArray
from lpbandits.validate.values import CONVERSION_ERRORS, NON_NUMERIC_TYPES, invalid

MAX_ABS_VALUE = 1e100
"""Rewards and means beyond this would overflow when squared."""

MAX_ARRAY_LENGTH = 2**31
"""Maximum length of a list that is converted to an array."""

_NUMBERS = "an array of numbers with rows of equal length"


def as_floats(
    values: Any,
    name: str,
    *,
    shape: tuple[int | None, ...],
    max_abs: float = math.inf,
    allow_nan: bool = False,
    copy: bool | None = True,
) -> FloatArray:
    """Return `values` as a new contiguous float64 array of finite numbers.

    Parameters
    ----------
    values, name
        The user's value, and its name in errors.
    shape
        Required shape; None allows any length.
    max_abs
        Largest absolute value.
    allow_nan
        Allow NaN.
    copy
        None returns an array that is valid already without a copy.

    Examples
    --------
    >>> as_floats([1, 2e200], "means", shape=(2,), max_abs=MAX_ABS_VALUE)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: means[1] must lie within ±1e+100, got 2e+200; use other units
    """
    array = as_array(values, name)
    if array.ndim != len(shape) or any(
        wanted is not None and wanted != side for wanted, side in zip(shape, array.shape, strict=True)
    ):
        wanted = "a plain list" if shape == (None,) else "of shape " + _shape_text(shape)
        raise InvalidInput(f"{name} must be {wanted}, got {_shape_text(array.shape) or 'a single number'}")
    array = _numbers(array, name, copy)
    _check_entries(array, name, np.isinf(array) if allow_nan else ~np.isfinite(array), "be a finite number")
    if max_abs < math.inf:
        _check_entries(array, name, np.abs(array) > max_abs, f"lie within ±{max_abs:g}", "use other units")
    return array


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return "×".join("any" if side is None else str(side) for side in shape)


def _check_entries(
    array: np.ndarray[Any, Any], name: str, wrong: np.ndarray[Any, Any], must: str, remedy: str = ""
) -> None:
    """Raise an error that names the first entry where `wrong` is True."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        remedy = f"; {remedy}" if remedy else ""
        raise InvalidInput(f"{name}{list(place)} must {must}, got {array[place]:g}{remedy}")


def as_array(values: Any, name: str, *, ragged: str = "") -> np.ndarray[Any, Any]:
    """Return `values` as an array of any type, without a mask; `ragged` replaces the error for uneven rows."""
    try:
        if not isinstance(values, np.ndarray) and hasattr(type(values), "__len__") and len(values) > MAX_ARRAY_LENGTH:
            raise InvalidInput(f"{name} must have at most {MAX_ARRAY_LENGTH:,} entries, got {len(values):,}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a masked number in a list becomes NaN
            array = np.asarray(values)
    except InvalidInput:
        raise
    except CONVERSION_ERRORS:
        raise (InvalidInput(ragged) if ragged else invalid(name, _NUMBERS, values)) from None
    # a broadcast array stands for more numbers than it holds
    check_resources(f"{name} of shape {_shape_text(array.shape)}", "give fewer numbers", size=24 * array.size)
    if "numpy.ma" in sys.modules and np.ma.is_masked(values):
        raise InvalidInput(f"{name} must not have masked entries; leave them out, or fill them with numbers")
    return array


def _numbers(array: np.ndarray[Any, Any], name: str, copy: bool | None) -> FloatArray:
    """Return an array as contiguous float64; refuse text, dates and complex numbers."""
    odd = array.dtype.kind not in "biufO" or (
        array.dtype.kind == "O" and any(isinstance(value, NON_NUMERIC_TYPES) for value in array.flat)
    )
    if odd and array.size:
        raise InvalidInput(
            f"{name} must be an array of numbers, got {'text' if array.dtype.kind in 'USO' else array.dtype}"
        )
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # masked numbers; a long double beyond all floats is infinite
            return np.array(array, dtype=np.float64, order="C", subok=False, copy=copy)
    except CONVERSION_ERRORS:
        raise invalid(name, _NUMBERS, array.tolist()) from None


def as_indices(values: Any, name: str) -> IntArray:
    """Return `values` as a contiguous, writable array of whole numbers of any shape.

    A read-only array is copied, because kernels would be compiled again for it.

    >>> as_indices([[0, 1], [2]], "offered")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: offered must be an array of numbers with rows of equal length, got [[0, 1], [2]]
    """
    array = as_array(values, name)
    if array.dtype.kind in "iu" and (array.dtype.kind == "i" or array.itemsize < 8):
        return np.require(array, np.int64, ["C", "W"])
    numbers = as_floats(array, name, shape=array.shape)
    _check_entries(numbers, name, (numbers != np.rint(numbers)) | (np.abs(numbers) > 2**53), "be a whole number")
    return numbers.astype(np.int64)


def as_states(values: Any, name: str, *, low: int, states: int) -> IntArray:
    """Return one state per person: whole numbers from `low` to `states` − 1.

    >>> as_states([0, 0.7], "truth", low=0, states=2)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: truth[1] must be a state from 0 to 1, got 0.7
    """
    array = as_floats(values, name, shape=(None,))
    wrong = (array < low) | (array >= states) | (array != np.floor(array))
    unknown = ", or -1 for an unknown state" if low < 0 else ""
    _check_entries(array, name, wrong, f"be a state from 0 to {states - 1}{unknown}")
    return array.astype(np.int64)
