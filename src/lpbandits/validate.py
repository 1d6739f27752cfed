"""Validation of user input.

Each function takes a user's value and its name, and returns a plain value or a contiguous array. It raises
`InvalidInput` with a message of the form "name must be X, got Y; remedy". Code that receives validated values
does not validate them again.
"""

import contextlib
import difflib
import itertools
import json
import math
import operator
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.json import parse_json
from lpbandits.typing import FloatArray, IntArray, Json, Label

CONVERSION_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
"""Exceptions that a user's object may raise when it is converted, compared or printed."""

NON_NUMERIC_TYPES = (str, bytes, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64, np.void)
"""Types that `float` accepts although they are not numbers."""

MAX_ABS_VALUE = 1e100
"""Rewards and means beyond this would overflow when squared."""

MAX_ABS_LABEL = 10**100
"""Python does not print integers of thousands of digits."""

MAX_LABEL_BYTES = 1_000
"""A longer label is probably from another column, and would take its size for every row."""

MAX_LIST_LENGTH = 2**20
"""Maximum length of a list that is validated entry by entry; an iterator may be endless."""

MAX_CANDIDATES = 10_000
"""Maximum number of names that a misspelled one is compared with."""
MAX_NAME_LENGTH = 60
"""Longer names get no suggestion."""

_NUMBERS = "an array of numbers with rows of equal length"


def invalid(name: str, expected: str, value: object, remedy: str = "") -> InvalidInput:
    """Return the error "name must be X, got Y; remedy".

    >>> print(invalid("noise", "a positive number", -1, "leave it out"))
    noise must be a positive number, got -1; leave it out
    """
    return InvalidInput(f"{name} must be {expected}, got {short_repr(value)}" + (f"; {remedy}" if remedy else ""))


def short_repr(value: Any) -> str:
    """Return the repr of a value in at most 80 characters, on one line.

    >>> short_repr("x" * 1000)[-3:], short_repr(10**5000)
    ('xx…', 'an int that cannot be printed')
    """
    try:
        text = " ".join(repr(value[:80] if isinstance(value, str | bytes | list | tuple) else value).split())
    except CONVERSION_ERRORS:
        kind = type(value).__name__
        return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} that cannot be printed"
    return text if len(text) <= 80 else text[:79] + "…"


def did_you_mean(value: Any, known: Iterable[Label]) -> str:
    """Return " (did you mean …?)" with the known name nearest to `value`, or "" if none is near.

    >>> did_you_mean("usrid", ["movieId", "userId"]), did_you_mean("7", [7, 8]), did_you_mean("x", ["tea"])
    (" (did you mean 'userId'?)", ' (did you mean 7?)', '')
    """
    word = short_repr(value).strip("'\"").casefold()
    if isinstance(value, bool) or not isinstance(value, str | int) or len(word) > MAX_NAME_LENGTH:
        return ""
    names = {str(name).casefold(): name for name in itertools.islice(known, MAX_CANDIDATES)}
    near = difflib.get_close_matches(word, names, n=1)
    return f" (did you mean {short_repr(names[near[0]])}?)" if near else ""


def is_exactly(value: Any, wanted: str | int) -> bool:
    """Return whether `value` has the type of `wanted` and equals it.

    >>> is_exactly(True, 1), is_exactly(1, 1)
    (False, True)
    """
    return type(value) is type(wanted) and bool(value == wanted)


def as_number(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf, above: bool = False) -> float:
    """Return `value` as a finite float in [low, high], or in (low, high] if `above`.

    >>> as_number(-1, "noise", low=0, above=True)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise must be greater than 0, got -1
    """
    if not hasattr(type(value), "__float__") or isinstance(value, NON_NUMERIC_TYPES) or np.ndim(value):
        raise invalid(name, "a number", value)
    try:
        number = float(value)
    except CONVERSION_ERRORS:
        number = math.nan
    plain = number if isinstance(value, np.generic | np.ndarray) else value
    if not math.isfinite(number):
        raise invalid(name, "a finite number", plain)
    if number < low or (above and number == low):
        raise invalid(name, f"{'greater than' if above else 'at least'} {low:g}", plain)
    if number > high:
        raise invalid(name, f"at most {high:g}", plain)
    return number


def as_count(value: Any, name: str, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """Return `value` as a whole number in [low, high]."""
    if not isinstance(value, bool):
        with contextlib.suppress(*CONVERSION_ERRORS):
            if low <= (number := operator.index(value)) <= high:
                return number
    raise invalid(name, f"a whole number from {low} to {high}", value)


def as_seed(value: Any) -> int:
    """Return `value` as a seed: a whole number from 0 to 2⁶³ − 1."""
    return as_count(value, "seed", low=0, high=2**63 - 1)


def as_bytes(value: Any, name: str) -> int:
    """Return a number of bytes, from a text with a unit or a whole number.

    >>> as_bytes("1.5 GB", "limit"), as_bytes("64MiB", "limit"), as_bytes(1000, "limit")
    (1500000000, 67108864, 1000)
    """
    size = value
    if isinstance(value, str):
        pattern = r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*(?:([kmgt])(i?)b?|b)\s*"
        number, unit, binary = match.groups() if (match := re.fullmatch(pattern, value.lower())) else ("0", "", "")
        size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit or " "))
    with contextlib.suppress(InvalidInput):
        return as_count(size, name, high=2**63 - 1)
    raise invalid(name, "a size with a unit such as 8GB or 500MB, or a positive number of bytes", value)


def as_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(name, "True or False", value)
    return bool(value)


def check_progress(progress: Any) -> None:
    """Raise unless `progress` can be called, or is None."""
    if progress is not None and not callable(progress):
        raise invalid("progress", "a function of (stage, done, total)", progress)


def as_text(value: Any, name: str) -> str:
    """Return `value` as a plain str that UTF-8 can encode."""
    if not isinstance(value, str):
        raise invalid(name, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(name, "text that UTF-8 can encode", value) from None
    return str(value)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`.

    >>> as_choice("refitt", "likelihood", ["refit", "incremental"])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: likelihood must be one of refit, incremental, got 'refitt' (did you mean 'refit'?)
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        near = did_you_mean(value, known)
        raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {short_repr(value)}{near}")
    return str(value)


def as_label(label: Any, name: str) -> Label:
    """Return a label as a plain str or int: text that is not blank, or a whole number (docs/files.md, Labels).

    >>> as_label(7.0, "person"), as_label(np.str_("ann"), "person")
    (7, 'ann')
    """
    if isinstance(label, str):
        if not label.strip() or "\0" in label:
            raise invalid(name, "a label that is not blank and has no null character", label)
        if len(label) > MAX_LABEL_BYTES or len(as_text(label, name).encode()) > MAX_LABEL_BYTES:
            raise invalid(name, f"a label of at most {MAX_LABEL_BYTES:,} bytes", label, "shorten it")
        return as_text(label, name)
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool | np.timedelta64)
    if not whole and not (isinstance(label, float | np.floating) and float(label).is_integer()):
        raise invalid(name, "text or a whole number", label, "convert it to text, or leave it out")
    number = int(label)
    if abs(number) > MAX_ABS_LABEL:
        raise invalid(name, "a number within ±1e100", number, "give text")
    return number


def encode_labels(labels: Any, name: str, count: int) -> tuple[list[Label], IntArray]:
    """Return the distinct labels of `count` entries, numbers first, and the index of each entry's label.

    A number and its text form raise: a table with both would hold one label.

    >>> encode_labels(["tea", 7, "tea"], "action", 3)
    ([7, 'tea'], array([1, 0, 1]))
    """
    array = as_array(labels, name) if isinstance(labels, np.ndarray) else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "iufU":
        entries = as_list(labels, name, "labels", max_length=count + 1)
        kinds = {*map(type, entries)}
        array = np.array(entries) if kinds == {int} and max(map(abs, entries)) < 2**63 else None
    if array is not None:
        unique, index = np.unique(array, return_inverse=True)
        distinct = unique.tolist() if array.dtype.kind in "iu" else [as_label(label, name) for label in unique.tolist()]
    else:
        if not kinds <= {int, str}:  # True would be found as 1
            entries = [as_label(label, f"{name}[{i}]") for i, label in enumerate(entries)]
        first = dict(zip(reversed(entries), reversed(range(len(entries))), strict=True))
        distinct = [as_label(label, f"{name}[{i}]") for label, i in first.items()]
        distinct.sort(key=lambda label: (isinstance(label, str), label))
        places = {label: i for i, label in enumerate(distinct)}
        index = np.array([places[label] for label in entries], dtype=np.int64)
        for label in places:
            if isinstance(label, int) and str(label) in places:
                raise InvalidInput(f"{name} must not hold both {label} and '{label}', which a table merges; rename one")
    if len(index) != count:
        raise InvalidInput(f"{name} must have {count} labels, one per entry, got {len(index)}")
    return distinct, index


def as_labels(labels: Sequence[Label] | None, count: int | None = None, name: str = "actions") -> tuple[Label, ...]:
    """Return `count` distinct labels; by default as many as are given, or the indices."""
    if labels is None:
        return tuple(range(count or 0))
    if count is None:
        labels = labels if isinstance(labels, tuple | list | range) else as_list(labels, name, "labels")
    distinct, index = encode_labels(labels, name, len(labels) if count is None else count)
    if len(distinct) < len(index):
        again = int(np.argmax(np.bincount(index) > 1))
        first, second = np.flatnonzero(index == again)[:2].tolist()
        label = short_repr(distinct[again])
        raise InvalidInput(f"label {label} is given to {name} {first} and {second}; labels must differ")
    return tuple(distinct[i] for i in index.tolist())


def look_alikes(labels: Iterable[Label], name: str) -> list[str]:
    """Return a warning if some labels differ only in surrounding space or Unicode form, otherwise an empty list.

    >>> look_alikes(["ann ", "bo", "ann"], "people")
    ["the labels of 2 people differ only in spaces around them or in their Unicode form, such as 'ann ' and 'ann'; ..."]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str) and label != (plain := unicodedata.normalize("NFC", label).strip()):
            groups.setdefault(plain, []).append(label)
    for label in labels if groups else ():
        if label in groups:
            groups[label].append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    if not alike:
        return []
    return [
        f"the labels of {sum(map(len, alike)):,} {name} differ only in spaces around them or in their Unicode form, "
        f"such as {alike[0][0]!a} and {alike[0][1]!a}; they are kept apart: use one spelling if they are the same"
    ]


def as_list(values: Any, name: str, entries: str, *, max_length: int = MAX_LIST_LENGTH) -> list[Any]:
    """Return the entries of an iterable; `entries` describes them in errors."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise invalid(name, f"a list of {entries}", values)
    try:
        listed = list(itertools.islice(values, max_length + 1))
    except TypeError:  # an array of zero dimensions
        raise invalid(name, f"a list of {entries}", values) from None
    if len(listed) > max_length:
        raise InvalidInput(f"{name} must be a list of at most {max_length:,} {entries}, got more")
    return listed


def as_json(value: Any, name: str) -> Json:
    """Return a JSON object as a new dict of plain values.

    >>> as_json({"seeds": (1, 2)}, "provenance")
    {'seeds': [1, 2]}
    """
    if not isinstance(value, Mapping):
        raise invalid(name, "a JSON object", value, "give a dict of plain values")
    try:
        content: Json = parse_json(json.dumps(dict(value)), name)
    except (*CONVERSION_ERRORS, FileFormatError) as error:
        raise InvalidInput(f"{name} must be a JSON object: {error}; give a dict of plain values") from None
    return content


def as_array(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return `values` as an array of any type, without a mask."""
    try:
        array = np.asarray(values)
    except CONVERSION_ERRORS:
        raise invalid(name, _NUMBERS, values) from None
    if isinstance(values, np.ndarray) and np.any(getattr(values, "mask", False)):
        raise InvalidInput(f"{name} must not have masked entries; leave them out, or fill them with numbers")
    return array


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

    None in `shape` allows any length. `max_abs` is the largest absolute value. `copy=None` copies only if needed.

    >>> as_floats([1, 2e200], "means", shape=(2,), max_abs=MAX_ABS_VALUE)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: means[1] must lie within ±1e+100, got 2e+200; use other units
    """
    array = as_array(values, name)
    if array.ndim != len(shape) or any(n not in (None, side) for n, side in zip(shape, array.shape, strict=True)):
        wanted = "one-dimensional" if shape == (None,) else "of shape " + _shape_text(shape)
        raise InvalidInput(f"{name} must be {wanted}, got {_shape_text(array.shape) or 'a single number'}")
    kind = array.dtype.kind
    text = kind in "US" or (kind == "O" and any(isinstance(entry, NON_NUMERIC_TYPES) for entry in array.flat))
    if array.size and (text or kind not in "biufO"):
        raise InvalidInput(f"{name} must be an array of numbers, got {'text' if text else array.dtype}")
    try:
        numbers: FloatArray = np.array(array, dtype=np.float64, order="C", subok=False, copy=copy)
    except CONVERSION_ERRORS:
        raise invalid(name, _NUMBERS, array.tolist()) from None
    check_entries(numbers, name, np.isinf(numbers) if allow_nan else ~np.isfinite(numbers), "be a finite number")
    if max_abs < math.inf:
        check_entries(numbers, name, np.abs(numbers) > max_abs, f"lie within ±{max_abs:g}", "use other units")
    return numbers


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return "×".join("any" if side is None else str(side) for side in shape)


def check_entries(
    array: np.ndarray[Any, Any], name: str, wrong: np.ndarray[Any, Any], must: str, remedy: str = ""
) -> None:
    """Raise an error that names the first entry where `wrong` is True."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInput(f"{name}{list(place)} must {must}, got {array[place]:g}" + (f"; {remedy}" if remedy else ""))


def as_indices(values: Any, name: str) -> IntArray:
    """Return `values` as a contiguous, writable array of whole numbers of any shape.

    A read-only array is copied, because kernels would be compiled again for it.
    """
    array = as_array(values, name)
    if array.dtype.kind in "iu" and (array.dtype.kind == "i" or array.itemsize < 8):
        return np.require(array, np.int64, ["C", "W"])
    numbers = as_floats(array, name, shape=array.shape)
    check_entries(numbers, name, (numbers != np.rint(numbers)) | (np.abs(numbers) > 2**53), "be a whole number")
    return numbers.astype(np.int64)


def as_states(values: Any, name: str, *, low: int, states: int) -> IntArray:
    """Return one state per person: whole numbers from `low` to `states` − 1."""
    array = as_floats(values, name, shape=(None,))
    wrong = (array < low) | (array >= states) | (array != np.floor(array))
    unknown = ", or -1 for an unknown state" if low < 0 else ""
    check_entries(array, name, wrong, f"be a state from 0 to {states - 1}{unknown}")
    return array.astype(np.int64)
