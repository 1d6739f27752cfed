"""The address of a person's luck: the number by which random draws tell people apart (docs/adr/0003)."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.typing import IntArray, Label

MOST = 2**32
"""Addresses are 32 bits of a counter."""

LONGEST = len(str(MOST))


def stream_id(person: Label) -> int:
    """Return the address of a person, by a checked label.

    A whole number from 0 to 2³² − 1 is itself, also if it is written as text: in a table of people a single name makes
    text of all numbers. Other text has 32 bits of its SHA-256, and any other number those of its digits.

    >>> stream_id(7), stream_id("7"), stream_id("alice"), stream_id(-1) == stream_id("-1")
    (7, 7, 3372668971, True)
    """
    text = str(person)
    if text.isascii() and text.isdigit() and len(text) <= LONGEST and int(text) < MOST and str(int(text)) == text:
        return int(text)
    return int.from_bytes(_hashed(text), "little")


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:4]


def addresses_of(people: Sequence[Label] | IntArray) -> IntArray:
    """Return the address of everybody.

    >>> addresses_of([3, "alice"]).tolist()
    [3, 3372668971]
    """
    if isinstance(people, np.ndarray) and people.dtype.kind == "i":
        numbers: IntArray = people.astype(np.int64)
        for i in np.flatnonzero((numbers < 0) | (numbers >= MOST)).tolist():
            numbers[i] = stream_id(int(people[i]))
        return numbers
    if all(type(person) is str for person in people):
        found = np.frombuffer(b"".join(map(_hashed, people)), dtype="<u4").astype(np.int64)
        for i in [i for i, person in enumerate(people) if person.isdigit()]:
            found[i] = stream_id(people[i])
        return found
    return np.fromiter(map(stream_id, people), dtype=np.int64, count=len(people))


def as_person(person: Any) -> Label:
    """Return who a person is, text or a whole number, as a plain label.

    >>> as_person(1.5)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: person must be a str or an int, got 1.5
    """
    return validate.as_label(person, "person")
