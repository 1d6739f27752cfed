"""The only door from user data to trusted arrays.

Each function takes what a user gave and the name it has for the user, and returns a clean contiguous array or
number, or raises `InvalidInput` that names the value, the place and the remedy. Nothing behind this door checks again.
"""

import math
import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, IntArray, Label

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
    if isinstance(value, str | bytes | bool) or not isinstance(value, SupportsFloat):
        raise InvalidInput(f"{name} is {value!r}, which is not a number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} is {_short(value)}, which is not one finite number") from None
    if not math.isfinite(number):
        raise InvalidInput(f"{name} is {value}; it must be a finite number")
    if number < low or (above and number == low):
        raise InvalidInput(f"{name} is {value}; it must be {'greater than' if above else 'at least'} {low:g}")
    if number > high:
        raise InvalidInput(f"{name} is {value}; it must be at most {high:g}")
    return number


def as_count(value: Any, name: str, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """Return `value` as a whole number in [low, high].

    >>> as_count(2.5, "rounds")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rounds is 2.5; it must be a whole number from 1 to 2147483647
    """
    if type(value) is int and low <= value <= high:
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            number = low - 1
        if low <= number <= high:
            return number
    raise InvalidInput(f"{name} is {_short(value)}; it must be a whole number from {low} to {high}")


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
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{name} is {_short(value)}; choose one of: {', '.join(known)}")
    return value


def as_floats(values: Any, name: str, *, shape: tuple[int | None, ...]) -> FloatArray:
    """Return `values` as a new contiguous float64 array of finite numbers; None in `shape` allows any length."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is not an array of numbers with equally long rows") from None
    wanted = "×".join("any" if side is None else str(side) for side in shape)
    if shape == (None,):
        wanted = "a plain list"
    if array.ndim != len(shape) or any(
        side is not None and side != have for side, have in zip(shape, array.shape, strict=True)
    ):
        have = "×".join(map(str, array.shape)) or "a single number"
        raise InvalidInput(f"{name} has shape {have}; it must be {wanted}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInput(f"{name}{list(place)} is {array[place]}; every entry must be a finite number")
    return array


def as_orderings(orderings: Any) -> IntArray:
    """Return m orderings of k actions as a contiguous m×k array: each row names each action once, no row twice.

    >>> as_orderings([[0, 1, 2], [2, 1, 1]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: action 1 appears twice in ordering 1; each of the 3 actions must appear once
    """
    try:
        array = np.array(orderings)
    except ValueError:
        raise InvalidInput("the orderings are not all equally long; each must name every action once") from None
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings have shape {array.shape}; give one row per state, each with every action, most preferred first"
        )
    if array.dtype.kind == "f":
        odd = np.argwhere(~np.isfinite(array) | (array != np.rint(array)))
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
    rows = np.ascontiguousarray(array, dtype=np.int64)
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
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidInput(f"{name} is {labels!r}; give a list of labels, one per action")
    out: list[Label] = []
    seen: dict[Label, int] = {}
    for i, label in enumerate(labels):
        plain = label.item() if isinstance(label, np.generic) else label
        if isinstance(plain, bool) or not isinstance(plain, str | int):
            raise InvalidInput(f"{name}[{i}] is {label!r}; a label must be a str or an int")
        if isinstance(plain, str) and not _is_text(plain):
            raise InvalidInput(f"{name}[{i}] is {plain!r}, which UTF-8 cannot write; give another label")
        if plain in seen:
            raise InvalidInput(f"label {plain!r} is given to {name} {seen[plain]} and {i}; labels must differ")
        seen[plain] = i
        out.append(plain)
    if len(out) != count:
        raise InvalidInput(f"{name} has {len(out)} labels for {count} actions; give one label per action")
    return tuple(out)


def as_folder(path: str | Path) -> Path:
    """Return a folder to write to, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidInput(f"cannot write to {folder}: it is a file, not a folder; choose another name") from None
    except OSError as error:
        raise InvalidInput(f"cannot write to {folder}: {error.strerror}; choose another folder") from None
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"cannot write to {folder}: permission denied; choose another folder")
    return folder


def _is_text(label: str) -> bool:
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: Any) -> str:
    """Return a value for a message, not more than a line of it."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an int of thousands of digits
        text = f"a {type(value).__name__} too long to print"
    return text if len(text) <= 80 else text[:79] + "…"
