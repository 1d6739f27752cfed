"""Random streams: the 32-bit number that identifies a person in random draws (docs/adr/0003)."""

import hashlib
from collections.abc import Sequence

import numpy as np

from lpbandits.typing import IntArray, Label

LIMIT = 2**32
"""Stream ids are 32 bits of a counter."""


def stream_id(person: Label) -> int:
    """Return the random stream of a person, given a validated label.

    A whole number from 0 to 2³² − 1 is its own stream, even if given as text, because a column of numbers with one text
    label is read as text. Any other label is hashed: 32 bits of the SHA-256 of its text.

    >>> stream_id(7), stream_id("7"), stream_id("alice"), stream_id(-1) == stream_id("-1")
    (7, 7, 3372668971, True)
    """
    text = str(person)
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < LIMIT and str(int(text)) == text:
        return int(text)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def addresses_of(people: Sequence[Label] | IntArray) -> IntArray:
    """Return the random stream of each person.

    >>> addresses_of([3, "alice"]).tolist()
    [3, 3372668971]
    """
    if isinstance(people, np.ndarray) and people.dtype.kind == "i" and not np.any((people < 0) | (people >= LIMIT)):
        return people.astype(np.int64)
    return np.fromiter(map(stream_id, people), dtype=np.int64, count=len(people))
