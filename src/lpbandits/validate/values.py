"""Single values from outside: numbers, flags, texts, counts, labels, and lists gone through one by one."""

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
"""What an object from outside may raise when it is looked at, converted, compared or printed."""

NON_NUMERIC_TYPES = (str, bytes, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64, np.void)
"""What only looks like a number."""

MAX_LIST_LENGTH = 2**20
"""Entries of a list that is gone through one by one: an iterator may have no end."""

MAX_ABS_LABEL = 10**100

MAX_CANDIDATES = 10_000
"""Names that one which is not there is compared with."""
MAX_NAME_LENGTH = 60
"""Characters of a name that is worth comparing."""


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
    if not hasattr(type(value), "__float__") or isinstance(value, NON_NUMERIC_TYPES):
        raise InvalidInput(f"{name} is {short_repr(value)}, which is not a number")
    if isinstance(value, np.ndarray) and (value.ndim or np.ma.isMaskedArray(value)):
        raise InvalidInput(f"{name} is {short_repr(value)}, which is not one number")
    try:
        number = float(value)
    except CONVERSION_ERRORS:
        raise InvalidInput(f"{name} is {short_repr(value)}, which is not one finite number") from None
    plain = value if type(value) is int else number
    if not math.isfinite(number):
        raise InvalidInput(f"{name} is {plain}; it must be a finite number")
    if number < low or (above and number == low):
        raise InvalidInput(f"{name} is {plain}; it must be {'greater than' if above else 'at least'} {low:g}")
    if number > high:
        raise InvalidInput(f"{name} is {plain}; it must be at most {high:g}")
    return number


def as_flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False.

    >>> as_flag("no", "top")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: top is 'no'; it must be True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is {short_repr(value)}; it must be True or False")
    return bool(value)


def as_text(value: Any, name: str) -> str:
    """Return `value` as plain text that UTF-8 can write.

    >>> as_text(3, "person")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: person is 3; give text
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {short_repr(value)}; give text")
    text = str.__str__(value)  # a subclass may have odd ideas of equality
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} is {short_repr(text)}, which UTF-8 cannot write; give another text") from None
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
        except CONVERSION_ERRORS:
            number = low - 1
        if low <= number <= high:
            return number
    raise InvalidInput(f"{name} is {short_repr(value)}; it must be a whole number from {low} to {high}")


def as_bytes(value: Any, name: str) -> int:
    """Return a size in bytes, from a text with a unit, or a whole number of bytes.

    >>> as_bytes("1.5 GB", "limit"), as_bytes("64MiB", "limit"), as_bytes(1000, "limit")
    (1500000000, 67108864, 1000)
    >>> as_bytes("8", "limit")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: limit is '8'; give a number above 0 with a unit, such as 8GB or 500MB
    """
    if not isinstance(value, str):
        try:
            return as_count(value, name, high=2**63 - 1)
        except InvalidInput as error:
            raise InvalidInput(f"{error}, or a text with a unit, such as '8GB' or '500MB'") from None
    found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*(?:([kmgt])(i?)b?|b)\s*", as_text(value, name).lower())
    size = 0
    if found is not None:
        number, unit, binary = found.groups()
        size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit or " "))
    if not 0 < size < 2**63:
        raise InvalidInput(f"{name} is {short_repr(value)}; give a number above 0 with a unit, such as 8GB or 500MB")
    return size


def is_exactly(value: Any, wanted: str | int) -> bool:
    """Say whether a value from outside is a plain text or number, and this one.

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
    lpbandits.errors.InvalidInput: likelihood is 'refitt'; choose one of: refit, incremental (did you mean 'refit'?)
    """
    known = list(choices)
    if not isinstance(value, str) or str.__str__(value) not in known:
        raise InvalidInput(
            f"{name} is {short_repr(value)}; choose one of: {', '.join(known)}{did_you_mean(value, known)}"
        )
    return str.__str__(value)


def did_you_mean(value: Any, known: Iterable[Label]) -> str:
    """Return which of the names that there are is nearest to one that is not, for the end of a message; or nothing.

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
    """Return a name for comparing, without case; None for what is no name, or a long one."""
    if isinstance(name, bool) or not isinstance(name, str | int):
        return None
    text = str.__str__(name) if isinstance(name, str) else short_repr(int.__index__(name))
    return text.casefold() if 0 < len(text) <= MAX_NAME_LENGTH else None


def as_list(values: Any, name: str, what: str, *, max_length: int = MAX_LIST_LENGTH) -> Iterator[Any]:
    """Give the entries of what must be a list of `what`, at most so many of them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is {short_repr(values)}; give a list of {what}")
    try:
        for i, value in enumerate(values):
            if i >= max_length:
                raise InvalidInput(f"{name} has more than {max_length:,} entries; give a shorter list of {what}")
            yield value
    except InvalidInput:
        raise
    except CONVERSION_ERRORS:
        raise InvalidInput(
            f"{name} is {short_repr(values)}, which cannot be gone through; give a list of {what}"
        ) from None


def as_json(value: Any, name: str) -> Json:
    """Return a JSON object, in new plain values.

    >>> as_json({"seeds": (1, 2)}, "provenance")
    {'seeds': [1, 2]}
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is not a JSON object: {short_repr(value)}; give a dict of plain values")
    try:
        content: Json = parse_json(json.dumps(dict(value)), name)
    except (*CONVERSION_ERRORS, FileFormatError) as error:
        raise InvalidInput(f"{name} is not a JSON object: {error}; give a dict of plain values") from None
    return content


def as_label(label: Any, name: str) -> Label:
    """Return a label as plain text or a plain number."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str):
        return as_text(plain, name)
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise InvalidInput(f"{name} is {short_repr(label)}; a label must be a str or an int")
    number = int.__index__(plain)
    if abs(number) > MAX_ABS_LABEL:
        raise InvalidInput(f"{name} is {short_repr(number)}; a number as label lies within ±1e100: give text")
    return number


def short_repr(value: Any) -> str:
    """Return a value for a message, not more than a line of it.

    >>> short_repr("x" * 1000)[-3:], short_repr(10**5000)
    ('xx…', 'an int too long to print')
    """
    try:
        if isinstance(value, str | bytes | bytearray | list | tuple) and len(value) > 80:
            value = value[:80]  # what follows would be cut anyway
        text = " ".join(repr(value).split())
    except CONVERSION_ERRORS as error:
        kind = type(value).__name__
        what = "too long to print" if isinstance(error, ValueError | RecursionError) else "that cannot be printed"
        return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind} {what}"
    return text if len(text) <= 80 else text[:79] + "…"
