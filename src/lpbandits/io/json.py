"""JSON documents: bounded files, unique keys, finite numbers and valid text."""

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, Never

from lpbandits.errors import FileFormatError, reason
from lpbandits.io.paths import as_path
from lpbandits.typing import Json

MAX_BYTES = 2**28
"""Maximum size of a JSON file: five times that of a model of 100 states and 10,000 actions."""


def digest(content: Any) -> str:
    """Return the SHA-256 of a JSON value; it does not depend on the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse(*_: object, **__: object) -> Never:
    raise TypeError("records of a model are read-only; change a copy, such as model.to_dict()['provenance']")


class FrozenObject(dict[str, Any]):
    """A JSON object that cannot be changed."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[Json]]:
        return FrozenObject, (dict(self),)


class FrozenArray(list[Any]):
    """A JSON array that cannot be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = _refuse
    insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return FrozenArray, (list(self),)


def frozen(value: Any) -> Any:
    """Return a JSON value whose objects and arrays cannot be changed; they are still a `dict` and a `list`.

    >>> frozen({"a": [1, 2]}) == {"a": [1, 2]}
    True
    >>> frozen({"a": [1, 2]})["a"].append(3)
    Traceback (most recent call last):
    ...
    TypeError: records of a model are read-only; change a copy, such as model.to_dict()['provenance']
    """
    if isinstance(value, dict):
        return FrozenObject({key: frozen(entry) for key, entry in value.items()})
    return FrozenArray(frozen(entry) for entry in value) if isinstance(value, list) else value


def thawed(value: Any) -> Any:
    """Return a copy of a JSON value as plain objects and arrays."""
    if isinstance(value, dict):
        return {key: thawed(entry) for key, entry in value.items()}
    return [thawed(entry) for entry in value] if isinstance(value, list) else value


def finite_or_none(value: float | None) -> float | None:
    """Return a number, None (null in JSON) if it is infinite, NaN or missing."""
    return value if value is not None and math.isfinite(value) else None


def read_json(path: str | Path) -> Any:
    """Parse the JSON document in a file."""
    place = as_path(path)
    return parse_json(read_bytes(place, MAX_BYTES), str(place))


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file of at most `most` bytes; a device such as /dev/zero may not end."""
    try:
        with path.open("rb") as raw:
            data = raw.read(most + 1)
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {reason(error)}") from None
    if len(data) > most:
        raise FileFormatError(f"{path} is larger than the limit of {most:,} bytes")
    return data


def parse_json(text: str | bytes, source: str) -> Any:
    """Return the value of a JSON document; `source` is its name in errors.

    Truncated documents, repeated keys, numbers that are not finite (NaN, 1e400) and text that is not Unicode raise
    `FileFormatError`.

    >>> parse_json('{"a": [1, 2.5, null]}', "it")
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}', "it")
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: it has the key 'a' twice; the file was edited or damaged
    """

    def refuse(number: str) -> Never:
        raise FileFormatError(f"{source} holds {number}; every number must be finite")

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse(f"{digits:.20}, a number beyond 1e308")

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        content = dict(pairs)
        if len(content) < len(pairs):
            (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise FileFormatError(f"{source} has the key {twice!r:.60} twice; the file was edited or damaged")
        return content

    if not isinstance(text, str | bytes):
        raise FileFormatError(f"{source} must be JSON text, got {type(text).__name__}")
    try:
        plain = text if isinstance(text, str) else text.decode()
        content = json.loads(plain, parse_float=finite, parse_constant=refuse, object_pairs_hook=unique)
        if not plain.isascii() or "\\u" in plain:
            json.dumps(content, ensure_ascii=False).encode()  # raises for half of a surrogate pair
    except FileFormatError:
        raise
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{source} is not valid JSON (line {error.lineno}, column {error.colno}): it is truncated, damaged or "
            "in another format"
        ) from None
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise FileFormatError(f"{source} is not UTF-8 text, so it is not a JSON file: {error.reason}") from None
    except (ValueError, RecursionError):
        raise FileFormatError(f"{source} holds an integer of thousands of digits, or is nested too deeply") from None
    return content
