"""Reading untrusted files and JSON: bounded in size and depth, all numbers finite."""

import hashlib
import json
import math
import re
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any, Never

from lpbandits.errors import FileFormatError, reason
from lpbandits.io.paths import as_path
from lpbandits.typing import Json

MAX_BYTES = 2**28
"""Size of a JSON document: five times that of a model of 100 states and 10,000 actions."""
MAX_VALUES = 20_000_000
"""Number of values in a JSON document."""
MAX_DEPTH = 64
MAX_INT = 10**100
_SURROGATE = re.compile("[\ud800-\udfff]")


def digest(content: Any) -> str:
    """Return the SHA-256 of a JSON value; it does not depend on the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: str | Path) -> Any:
    """Parse the JSON document in a file."""
    place = as_path(path)
    try:
        data = read_bytes(place, MAX_BYTES)
    except FileFormatError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise FileFormatError(f"cannot read {place}: {reason(error)}") from None
    return parse_json(data, str(place))


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file of at most `most` bytes; a device has no size, and may not end."""
    if path.stat().st_size > most:
        raise FileFormatError(f"{path} has {path.stat().st_size:,} bytes; the limit is {most:,}")
    with path.open("rb") as raw:
        data = raw.read(most + 1)
    if len(data) > most:
        raise FileFormatError(f"{path} is larger than the limit of {most:,} bytes")
    return data


def parse_json(text: str | bytes, source: str) -> Any:
    """Return the value of a JSON document; `source` is its name in errors.

    Documents that are too long, too deep or truncated, repeated keys, numbers that are not finite (NaN, 1e400, integers
    beyond 1e100) and text that is not Unicode raise `FileFormatError`.

    >>> parse_json('{"a": [1, 2.5, null]}', "it")
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}', "it")
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: it has the key 'a' twice; the file was changed
    """
    if not isinstance(text, str | bytes | bytearray):
        raise FileFormatError(f"{source} must be JSON text, got {type(text).__name__}")
    if len(text) > MAX_BYTES:
        raise FileFormatError(f"{source} is larger than the limit of {MAX_BYTES:,} bytes")
    try:
        plain = text if isinstance(text, str) else bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(f"{source} is not UTF-8 text, so it is not a JSON file") from None
    if plain.count(",") + plain.count("[") + plain.count("{") > MAX_VALUES:
        raise FileFormatError(f"{source} holds more values than the limit of {MAX_VALUES:,}")

    def constant(name: str) -> Never:
        raise FileFormatError(f"{source} holds {name}; every number must be finite")

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        content = dict(pairs)
        if len(content) < len(pairs):
            twice = max(Counter(key for key, _ in pairs).items(), key=itemgetter(1))[0]
            raise FileFormatError(f"{source} has the key {twice!r:.60} twice; the file was changed")
        return content

    try:
        content = json.loads(plain, parse_constant=constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source} is not valid JSON (line {error.lineno}, column {error.colno}): it is truncated, damaged or "
            "in another format"
        ) from None
    except RecursionError:
        raise _too_deep(source) from None
    except FileFormatError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise _not_a_number(source, "an integer of thousands of digits") from None
    _check(content, source)
    return content


def _check(content: Any, source: str) -> None:
    """Check level by level: numbers finite, text Unicode, not too deep."""
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep(source)
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is float:
                if not math.isfinite(value):
                    raise _not_a_number(source, "a number beyond 1e308")
            elif kind is int:
                if not -MAX_INT < value < MAX_INT:
                    raise _not_a_number(source, "an integer beyond 1e100")
            elif kind is str:
                if not value.isascii() and _SURROGATE.search(value):
                    raise FileFormatError(f"{source} holds the text {value!r:.60}, which is not Unicode")
            elif kind is list:
                below += value
            elif kind is dict:
                below += value.keys()
                below += value.values()
        level = below


def _too_deep(source: str) -> FileFormatError:
    return FileFormatError(f"{source} nests lists and objects deeper than the limit of {MAX_DEPTH}")


def _not_a_number(source: str, what: str) -> FileFormatError:
    return FileFormatError(f"{source} holds {what}; every number must be finite")
