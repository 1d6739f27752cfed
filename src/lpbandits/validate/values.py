"""Validators of single values: numbers, flags, texts, counts, choices, labels, lists and JSON objects."""

import contextlib
import difflib
import itertools
import json
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.json import parse_json
from lpbandits.typing import Json, Label

CONVERSION_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError)
"""Exceptions that a user's object may raise when it is converted, compared or printed."""

NON_NUMERIC_TYPES = (str, bytes, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64, np.void)
"""Types that `float` accepts although they are not numbers."""

MAX_LIST_LENGTH = 2**20
"""Maximum length of a list that is validated entry by entry; iterators may be endless."""

MAX_ABS_LABEL = 10**100

MAX_CANDIDATES = 10_000
"""Maximum number of names that a misspelled one is compared with."""
MAX_NAME_LENGTH = 60
"""Longer names get no suggestion."""


def invalid(name: str, expected: str, value: object, remedy: str = "") -> InvalidInput:
    """Return the error "name must be X, got Y; remedy".

    >>> print(invalid("noise", "a positive number", -1, "leave it out"))
    noise must be a positive number, got -1; leave it out
    """
    return InvalidInput(f"{name} must be {expected}, got {short_repr(value)}" + (f"; {remedy}" if remedy else ""))


def as_number(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf, above: bool = False) -> float:
    """Return `value` as a finite float in [low, high], or in (low, high] if `above`.

    >>> as_number("0.5", "noise", low=0, above=True)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise must be a number, got '0.5'
    >>> as_number(-1, "noise", low=0, above=True)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: noise must be greater than 0, got -1
    """
    if not hasattr(type(value), "__float__") or isinstance(value, NON_NUMERIC_TYPES):
        raise invalid(name, "a number", value)
    if isinstance(value, np.ndarray) and (value.ndim or np.ma.isMaskedArray(value)):
        raise invalid(name, "a single number", value)
    try:
        number = float(value)
    except CONVERSION_ERRORS:
        raise invalid(name, "a finite number", value) from None
    plain = value if type(value) is int else number
    if not math.isfinite(number):
        raise invalid(name, "a finite number", plain)
    if number < low or (above and number == low):
        raise invalid(name, f"{'greater than' if above else 'at least'} {low:g}", plain)
    if number > high:
        raise invalid(name, f"at most {high:g}", plain)
    return number


def as_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False.

    >>> as_flag("no", "top")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: top must be True or False, got 'no'
    """
    if not isinstance(value, bool | np.bool_):
        raise invalid(name, "True or False", value)
    return bool(value)


def as_text(value: Any, name: str) -> str:
    """Return `value` as a plain str that UTF-8 can encode.

    >>> as_text(3, "person")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: person must be text, got 3
    """
    if not isinstance(value, str):
        raise invalid(name, "text", value)
    text = str.__str__(value)  # a subclass may override comparisons
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid(name, "text that UTF-8 can encode", text) from None
    return text


def as_count(value: Any, name: str, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """Return `value` as a whole number in [low, high].

    >>> as_count(2.5, "rounds")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rounds must be a whole number from 1 to 2147483647, got 2.5
    """
    if type(value) is int and low <= value <= high:
        return value
    if hasattr(type(value), "__index__") and not isinstance(value, bool):
        try:
            number = operator.index(value)
        except CONVERSION_ERRORS:
            number = low - 1
        if low <= number <= high:
            return number
    raise invalid(name, f"a whole number from {low} to {high}", value)


def as_bytes(value: Any, name: str) -> int:
    """Return a number of bytes, from a text with a unit or a whole number.

    >>> as_bytes("1.5 GB", "limit"), as_bytes("64MiB", "limit"), as_bytes(1000, "limit")
    (1500000000, 67108864, 1000)
    >>> as_bytes("8", "limit")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: limit must be a size with a unit such as 8GB or 500MB, or a positive number of
    bytes, got '8'
    """
    size = 0
    if isinstance(value, str):
        pattern = r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*(?:([kmgt])(i?)b?|b)\s*"
        if match := re.fullmatch(pattern, as_text(value, name).lower()):
            number, unit, binary = match.groups()
            size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit or " "))
    else:
        with contextlib.suppress(InvalidInput):
            size = as_count(value, name, high=2**63 - 1)
    if not 0 < size < 2**63:
        raise invalid(name, "a size with a unit such as 8GB or 500MB, or a positive number of bytes", value)
    return size


def is_exactly(value: Any, wanted: str | int) -> bool:
    """Return whether `value` has the type of `wanted` and equals it.

    >>> is_exactly(True, 1), is_exactly(1, 1)
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
    lpbandits.errors.InvalidInput: likelihood must be one of refit, incremental, got 'refitt' (did you mean 'refit'?)
    """
    known = list(choices)
    if not isinstance(value, str) or str.__str__(value) not in known:
        near = did_you_mean(value, known)
        raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {short_repr(value)}{near}")
    return str.__str__(value)


def did_you_mean(value: Any, known: Iterable[Label]) -> str:
    """Return " (did you mean …?)" with the known name nearest to `value`, or "" if none is near.

    >>> did_you_mean("usrid", ["movieId", "userId"]), did_you_mean("7", [7, 8]), did_you_mean("x", ["tea"])
    (" (did you mean 'userId'?)", ' (did you mean 7?)', '')
    """
    word = _folded(value)
    if word is None:
        return ""
    names: dict[str, Label] = {}
    for name in itertools.islice(known, MAX_CANDIDATES):
        folded = _folded(name)
        if folded is not None:
            names.setdefault(folded, name)
    near = difflib.get_close_matches(word, names, n=1)
    return f" (did you mean {short_repr(names[near[0]])}?)" if near else ""


def _folded(name: Any) -> str | None:
    """Return a case-folded name; None for values that are not names, and for long names."""
    if isinstance(name, bool) or not isinstance(name, str | int):
        return None
    text = str.__str__(name) if isinstance(name, str) else short_repr(int.__index__(name))
    return text.casefold() if 0 < len(text) <= MAX_NAME_LENGTH else None


def as_list(values: Any, name: str, entries: str, *, max_length: int = MAX_LIST_LENGTH) -> Iterator[Any]:
    """Yield the entries of a list; `entries` describes them in errors."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise invalid(name, f"a list of {entries}", values)
    try:
        for i, value in enumerate(values):
            if i >= max_length:
                raise InvalidInput(f"{name} must be a list of at most {max_length:,} {entries}, got more")
            yield value
    except InvalidInput:
        raise
    except CONVERSION_ERRORS:
        raise invalid(name, f"a list of {entries}", values) from None


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


def as_label(label: Any, name: str) -> Label:
    """Return a label as a plain str or int."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str):
        return as_text(plain, name)
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise invalid(name, "a str or an int", label)
    number = int.__index__(plain)
    if abs(number) > MAX_ABS_LABEL:
        raise invalid(name, "a number within ±1e100", number, "give text")
    return number


def short_repr(value: Any) -> str:
    """Return the repr of a value in at most 80 characters, on one line.

    >>> short_repr("x" * 1000)[-3:], short_repr(10**5000)
    ('xx…', 'an int too long to print')
    """
    try:
        if isinstance(value, str | bytes | bytearray | list | tuple) and len(value) > 80:
            value = value[:80]
        text = " ".join(repr(value).split())
    except CONVERSION_ERRORS as error:
        kind = type(value).__name__
        what = "too long to print" if isinstance(error, ValueError | RecursionError) else "that cannot be printed"
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} {what}"
    return text if len(text) <= 80 else text[:79] + "…"
