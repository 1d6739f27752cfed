"""Reading text and JSON that anybody may have written: bounded in size and depth, every number finite."""

import hashlib
import json
import math
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any, Never

from lpbandits.errors import FileFormatError, reason
from lpbandits.io.paths import as_path
from lpbandits.typing import Json

MAX_BYTES = 2**28
"""Of one JSON document: a model of a hundred states and ten thousand actions has a fifth of it."""
MOST_VALUES = 20_000_000
"""Numbers, texts, lists and objects in one JSON document."""
MOST_DEPTH = 64
LARGEST_INT = 10**100


def digest(content: Any) -> str:
    """Return the SHA-256 of a JSON value, whatever the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_json(path: str | Path) -> Any:
    """Return the JSON document in a file."""
    place = as_path(path)
    try:
        data = read_bytes(place, MAX_BYTES)
    except FileFormatError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise FileFormatError(f"cannot read {place}: {reason(error)}") from None
    return parse_json(data, str(place))


def read_bytes(path: Path, most: int) -> bytes:
    """Return what a file holds, if that is not too much: a device has no size, and may have no end."""
    if path.stat().st_size > most:
        raise FileFormatError(f"{path} has {path.stat().st_size:,} bytes; at most {most:,} are read")
    with path.open("rb") as raw:
        data = raw.read(most + 1)
    if len(data) > most:
        raise FileFormatError(f"{path} has more than {most:,} bytes, which is all that is read")
    return data


def parse_json(text: str | bytes, source: str) -> Any:
    """Return the value of a JSON document; `source` names it in errors.

    Refused are documents that are too long, too deep or cut short, keys given twice, what is not a finite number (NaN,
    1e400, integers beyond 1e100) and text that is not Unicode.

    >>> parse_json('{"a": [1, 2.5, null]}', "it")
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}', "it")
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: it has the key 'a' twice; it is not as it was written
    """
    if not isinstance(text, str | bytes | bytearray):
        raise FileFormatError(f"{source} is a {type(text).__name__}; give its JSON text")
    if len(text) > MAX_BYTES:
        raise FileFormatError(f"{source} has more than {MAX_BYTES:,} bytes; that much is not read")
    try:
        plain = text if isinstance(text, str) else bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(f"{source} is not UTF-8 text, so it is not a JSON file of ours") from None
    if plain.count(",") + plain.count("[") + plain.count("{") > MOST_VALUES:
        raise FileFormatError(f"{source} holds more than {MOST_VALUES:,} values; that much is not read")

    def constant(name: str) -> Never:
        raise FileFormatError(f"{source} holds {name}; every number must be finite")

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = max(Counter(key for key, _ in pairs).items(), key=itemgetter(1))[0]
            raise FileFormatError(f"{source} has the key {twice!r:.60} twice; it is not as it was written")
        return found

    try:
        content = json.loads(plain, parse_constant=constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source} is not whole JSON (line {error.lineno}, column {error.colno}): it is cut short, damaged or "
            "another kind of file"
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
    """Go through a document level by level: numbers finite, text Unicode, not too deep."""
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise _too_deep(source)
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is float:
                if not math.isfinite(value):
                    raise _not_a_number(source, "a number beyond 1e308")
            elif kind is int:
                if not -LARGEST_INT < value < LARGEST_INT:
                    raise _not_a_number(source, "an integer beyond 1e100")
            elif kind is str:
                if not value.isascii():
                    _check_text(value, source)
            elif kind is list:
                below += value
            elif kind is dict:
                below += value.keys()
                below += value.values()
        level = below


def _check_text(text: str, source: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FileFormatError(f"{source} holds the text {text!r:.60}, which is not Unicode; write it anew") from None


def _too_deep(source: str) -> FileFormatError:
    return FileFormatError(f"{source} nests lists and objects more than {MOST_DEPTH} deep; it is not a file of ours")


def _not_a_number(source: str, what: str) -> FileFormatError:
    return FileFormatError(f"{source} holds {what}; every number must be finite")
