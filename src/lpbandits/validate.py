"""The only door from user data to trusted arrays.

Each function takes what a user gave and the name it has for the user, and returns a clean contiguous array or
number, or raises `InvalidInput` that names the value, the place and the remedy. Nothing behind this door checks again.
"""

import math
import operator
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.limits import affordable
from lpbandits.typing import FloatArray, IntArray, Label

ODD = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
"""What an object from outside may raise when it is looked at, converted, compared or printed."""

LONGEST_LIST = 2**20
"""Entries of a list that is gone through one by one: an iterator may have no end."""

LONGEST_ARRAY = 2**31
"""Entries of a list that becomes an array."""

LARGEST_LABEL = 10**100
LARGEST = 1e100
"""Rewards and means beyond this would overflow when squared."""


def as_number(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf, above: bool = False) -> float:
    """Return `value` as a finite float in [low, high], or in (low, high] if `above`.

    >>> as_number("0.5", "noise", low=0, above=True)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise is '0.5', which is not a number
    >>> as_number(-1, "noise", low=0, above=True)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise is -1; it must be greater than 0
    """
    if not hasattr(type(value), "__float__") or isinstance(value, _NO_NUMBERS):
        raise InvalidInput(f"{name} is {quoted(value)}, which is not a number")
    if isinstance(value, np.ndarray) and (value.ndim or np.ma.isMaskedArray(value)):
        raise InvalidInput(f"{name} is {quoted(value)}, which is not one number")
    try:
        number = float(value)
    except ODD:
        raise InvalidInput(f"{name} is {quoted(value)}, which is not one finite number") from None
    plain = value if type(value) is int else number
    if not math.isfinite(number):
        raise InvalidInput(f"{name} is {plain}; it must be a finite number")
    if number < low or (above and number == low):
        raise InvalidInput(f"{name} is {plain}; it must be {'greater than' if above else 'at least'} {low:g}")
    if number > high:
        raise InvalidInput(f"{name} is {plain}; it must be at most {high:g}")
    return number


_NO_NUMBERS = (str, bytes, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64, np.void)


def as_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False.

    >>> as_flag("no", "top")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: top is 'no'; it must be True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is {quoted(value)}; it must be True or False")
    return bool(value)


def as_text(value: Any, name: str) -> str:
    """Return `value` as plain text that UTF-8 can write.

    >>> as_text(3, "person")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: person is 3; give text
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {quoted(value)}; give text")
    text = str.__str__(value)  # a subclass may have odd ideas of equality
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} is {quoted(text)}, which UTF-8 cannot write; give another text") from None
    return text


def as_count(value: Any, name: str, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """Return `value` as a whole number in [low, high].

    >>> as_count(2.5, "rounds")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rounds is 2.5; it must be a whole number from 1 to 2147483647
    """
    if type(value) is int and low <= value <= high:
        return value
    if hasattr(type(value), "__index__") and not isinstance(value, bool):
        try:
            number = operator.index(value)
        except ODD:
            number = low - 1
        if low <= number <= high:
            return number
    raise InvalidInput(f"{name} is {quoted(value)}; it must be a whole number from {low} to {high}")


def as_bytes(text: Any, name: str) -> int:
    """Return a size in bytes, from a number with a unit.

    >>> as_bytes("1.5 GB", "limit"), as_bytes("64MiB", "limit"), as_bytes("1000", "limit")
    (1500000000, 67108864, 1000)
    """
    found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kMGT]?)(i?)B?\s*", as_text(text, name))
    size = 0
    if found is not None:
        number, unit, binary = found.groups()
        size = int(float(number) * (1024 if binary else 1000) ** " kMGT".index(unit or " "))
    if not 0 < size < 2**63:
        raise InvalidInput(f"{name} is {quoted(text)}; give a size in bytes, such as 500MB, 20GB or 8GiB")
    return size


def same(value: Any, wanted: str | int) -> bool:
    """Say whether a value from outside is a plain text or number, and this one.

    >>> same(True, 1), same(1, 1)
    (False, True)
    """
    return type(value) is type(wanted) and bool(value == wanted)


def as_seed(value: Any, name: str = "seed") -> int:
    """Return `value` as a seed: a whole number from 0 to 2⁶³ − 1."""
    return as_count(value, name, low=0, high=2**63 - 1)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`.

    >>> as_choice("refitt", "likelihood", ["refit", "incremental"])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: likelihood is 'refitt'; choose one of: refit, incremental
    """
    known = list(choices)
    if not isinstance(value, str) or str.__str__(value) not in known:
        raise InvalidInput(f"{name} is {quoted(value)}; choose one of: {', '.join(known)}")
    return str.__str__(value)


def as_floats(
    values: Any,
    name: str,
    *,
    shape: tuple[int | None, ...],
    largest: float = math.inf,
    gaps: bool = False,
    copy: bool | None = True,
) -> FloatArray:
    """Return `values` as a new contiguous float64 array of finite numbers; None in `shape` allows any length.

    With `gaps`, entries may be NaN. With `copy=None`, an array that is all this already is returned as it is.

    >>> as_floats([1, 2e200], "means", shape=(2,), largest=LARGEST)
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
    odd = np.isinf(array) if gaps else ~np.isfinite(array)
    if odd.any():
        place = tuple(int(i) for i in np.argwhere(odd)[0])
        raise InvalidInput(f"{name}{list(place)} is {array[place]}; every entry must be a finite number")
    if largest < math.inf and np.any(np.abs(array) > largest):
        place = tuple(int(i) for i in np.argwhere(np.abs(array) > largest)[0])
        raise InvalidInput(f"{name}{list(place)} is {array[place]}; it must lie within ±{largest:g}: use other units")
    return array


def as_array(values: Any, name: str, *, ragged: str = "") -> np.ndarray[Any, Any]:
    """Return `values` as an array of whatever type, without a mask; `ragged` says what is wrong with uneven rows."""
    try:
        if not isinstance(values, np.ndarray) and hasattr(type(values), "__len__") and len(values) > LONGEST_ARRAY:
            raise InvalidInput(f"{name} has {len(values):,} entries; at most {LONGEST_ARRAY:,} fit")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a masked number in a list becomes NaN
            array = np.asarray(values)
    except InvalidInput:
        raise
    except ODD:
        raise InvalidInput(ragged or f"{name} is not an array of numbers with equally long rows") from None
    _check_size(array, name)
    if np.ma.is_masked(values):
        raise InvalidInput(f"{name} has masked entries; leave them out, or fill them with numbers")
    return array


def _numbers(array: np.ndarray[Any, Any], name: str, copy: bool | None) -> FloatArray:
    """Return an array as new contiguous float64; what only looks like numbers (text, dates, complex) is refused."""
    odd = array.dtype.kind not in "biufO" or (
        array.dtype.kind == "O" and any(isinstance(value, _NO_NUMBERS) for value in array.flat)
    )
    if odd and array.size:
        held = "text" if array.dtype.kind in "USO" else f"{array.dtype} values"
        raise InvalidInput(f"{name} is not an array of numbers: it holds {held}")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # as above; a long double beyond all floats is infinite
            return np.array(array, dtype=np.float64, order="C", subok=False, copy=copy)
    except ODD:
        raise InvalidInput(f"{name} is not an array of numbers with equally long rows") from None


def _check_size(array: np.ndarray[Any, Any], name: str) -> None:
    """Refuse an array whose copy would not fit: one may stand for far more numbers than it holds."""
    affordable(f"{name} of shape {'×'.join(map(str, array.shape))}", "give fewer numbers", size=24 * array.size)


def as_indices(values: Any, name: str) -> IntArray:
    """Return `values` as a contiguous array of whole numbers, of any shape.

    >>> as_indices([[0, 1], [2]], "offered")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: offered is not an array of numbers with equally long rows
    """
    array = as_array(values, name)
    if array.dtype.kind in "iu" and (array.dtype.kind == "i" or array.itemsize < 8):
        return np.array(array, dtype=np.int64, order="C", subok=False, copy=None)
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


def as_list(values: Any, name: str, what: str, *, most: int = LONGEST_LIST) -> Iterator[Any]:
    """Give the entries of what must be a list of `what`, at most so many of them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is {quoted(values)}; give a list of {what}")
    try:
        for i, value in enumerate(values):
            if i >= most:
                raise InvalidInput(f"{name} has more than {most:,} entries; give a shorter list of {what}")
            yield value
    except InvalidInput:
        raise
    except ODD:
        raise InvalidInput(f"{name} is {quoted(values)}, which cannot be gone through; give a list of {what}") from None


def as_orderings(orderings: Any) -> IntArray:
    """Return m orderings of k actions as a contiguous m×k array: each row names each action once, no row twice.

    >>> as_orderings([[0, 1, 2], [2, 1, 1]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: action 1 appears twice in ordering 1; each of the 3 actions must appear once
    """
    uneven = "the orderings are not all equally long; each must name every action once"
    array = as_array(orderings, "orderings", ragged=uneven)
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings have shape {array.shape}; give one row per state, each with every action, most preferred first"
        )
    if array.dtype.kind == "f":
        odd = np.argwhere(~np.isfinite(array) | (array != np.rint(array)) | (np.abs(array) > 2**53))
        if len(odd):
            z, i = (int(x) for x in odd[0])
            raise InvalidInput(
                f"ordering {z} has {array[z, i]} at orderings[{z}, {i}]; actions are whole numbers from 0"
            )
    elif array.dtype.kind not in "iu":
        held = "words" if array.dtype.kind == "U" else f"{array.dtype} values"
        raise InvalidInput(
            f"orderings hold {held}; give the actions' numbers 0 to k-1, and their labels as actions=[…]"
        )
    rows = np.array(array, dtype=np.int64, order="C", subok=False)
    _check_permutations(rows)
    _check_distinct(rows)
    return rows


def _check_permutations(rows: IntArray) -> None:
    actions = rows.shape[1]
    every = np.arange(actions)
    wrong = np.flatnonzero((np.sort(rows, axis=1) != every).any(axis=1))
    if not len(wrong):
        return
    state = int(wrong[0])
    row = rows[state]
    outside = row[(row < 0) | (row >= actions)]
    if len(outside):
        raise InvalidInput(f"ordering {state} names action {outside[0]}; the {actions} actions are 0 to {actions - 1}")
    counts = np.bincount(row, minlength=actions)
    twice = int(np.flatnonzero(counts > 1)[0])
    raise InvalidInput(
        f"action {twice} appears twice in ordering {state}; each of the {actions} actions must appear once"
    )


def _check_distinct(rows: IntArray) -> None:
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    twin = first[inverse.ravel()]
    repeated = np.flatnonzero(twin != np.arange(len(rows)))
    if len(repeated):
        state = int(repeated[0])
        raise InvalidInput(
            f"orderings {int(twin[state])} and {state} are equal; every state needs its own: remove one of them"
        )


def as_prior(prior: Any, states: int) -> FloatArray:
    """Return a probability vector over the states (uniform for None)."""
    if prior is None:
        return np.full(states, 1.0 / states)
    vector = as_floats(prior, "prior", shape=(states,))
    low = np.flatnonzero(vector < 0)
    if len(low):
        raise InvalidInput(f"prior[{low[0]}] is {vector[low[0]]:g}; a probability cannot be negative")
    with np.errstate(over="ignore"):
        total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidInput(f"prior sums to {total:.6g}; the probabilities of the {states} states must sum to 1")
    # a prior that sums to one but for rounding stays as it is, so that a saved model loads as itself
    return vector if abs(total - 1.0) <= 1e-12 else vector / total


def as_labels(labels: Sequence[Label] | None, count: int, name: str = "actions") -> tuple[Label, ...]:
    """Return one distinct label (str or int) per action; by default the index.

    >>> as_labels(["a", "b", "a"], 3)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: label 'a' is given to actions 0 and 2; labels must differ
    """
    if labels is None:
        return tuple(range(count))
    out: list[Label] = []
    seen: dict[Label, int] = {}
    for i, label in enumerate(as_list(labels, name, "labels, one per action", most=count + 1)):
        if i == count:
            raise InvalidInput(f"{name} has more labels than the {count} actions; give one label per action")
        plain = as_label(label, f"{name}[{i}]")
        if plain in seen:
            raise InvalidInput(f"label {quoted(plain)} is given to {name} {seen[plain]} and {i}; labels must differ")
        seen[plain] = i
        out.append(plain)
    if len(out) != count:
        raise InvalidInput(f"{name} has {len(out)} labels for {count} actions; give one label per action")
    return tuple(out)


def as_label(label: Any, name: str) -> Label:
    """Return a label as plain text or a plain number."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str):
        return as_text(plain, name)
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise InvalidInput(f"{name} is {quoted(label)}; a label must be a str or an int")
    number = int.__index__(plain)
    if abs(number) > LARGEST_LABEL:
        raise InvalidInput(f"{name} is {quoted(number)}; a number as label lies within ±1e100: give text")
    return number


def quoted(value: Any) -> str:
    """Return a value for a message, not more than a line of it.

    >>> quoted("x" * 1000)[-3:], quoted(10**5000)
    ('xx…', 'an int too long to print')
    """
    try:
        if isinstance(value, str | bytes | bytearray | list | tuple) and len(value) > 80:
            value = value[:80]  # what follows would be cut anyway
        text = " ".join(repr(value).split())
    except ODD as error:
        kind = type(value).__name__
        what = "too long to print" if isinstance(error, ValueError | RecursionError) else "that cannot be printed"
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} {what}"
    return text if len(text) <= 80 else text[:79] + "…"
