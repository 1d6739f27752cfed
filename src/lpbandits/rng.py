"""Random streams: the 32-bit number that identifies a person in random draws (docs/adr/0003)."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.typing import IntArray, Label

LIMIT = 2**32
"""Stream ids are 32 bits of a counter."""


def stream_id(person: Label) -> int:
    """Return the random stream of a person, given a validated label.

    A whole number from 0 to 2³² − 1 is its own stream, also as text, because a single name turns a column of numbers
    into text. Any other label is hashed: 32 bits of the SHA-256 of its text.

    >>> stream_id(7), stream_id("7"), stream_id("alice"), stream_id(-1) == stream_id("-1")
    (7, 7, 3372668971, True)
    """
    text = str(person)
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < LIMIT and str(int(text)) == text:
        return int(text)
    return int.from_bytes(_hashed(text), "little")


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:4]


def addresses_of(people: Sequence[Label] | IntArray) -> IntArray:
    """Return the random stream of each person.

    >>> addresses_of([3, "alice"]).tolist()
    [3, 3372668971]
    """
    if isinstance(people, np.ndarray) and people.dtype.kind == "i":
        streams: IntArray = people.astype(np.int64)
        for i in np.flatnonzero((streams < 0) | (streams >= LIMIT)).tolist():
            streams[i] = stream_id(int(people[i]))
        return streams
    if all(type(person) is str for person in people):
        streams = np.frombuffer(b"".join(map(_hashed, people)), dtype="<u4").astype(np.int64)
        for i in [i for i, person in enumerate(people) if person.isdigit()]:
            streams[i] = stream_id(people[i])
        return streams
    return np.fromiter(map(stream_id, people), dtype=np.int64, count=len(people))


def as_person(person: Any) -> Label:
    """Return a person's label, text or a whole number, as a plain str or int.

    >>> as_person(1.5)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: person must be a str or an int, got 1.5
    """
    return validate.as_label(person, "person")
