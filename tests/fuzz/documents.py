"""Strategies for damaged documents."""

import base64
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from lpbandits.io.json import digest
from tests.fuzz.values import NAMES, Code

TOKENS = (
    *("NaN", "Infinity", "-Infinity", "1e400", "1" * 5000, "-1", "0", "0.5", "1e308", "1e-320", str(2**63)),
    *(str(10**30), "true", "null", '""', '"x"', '"\\ud800"', '"\\u0000"', "[]", "{}", "[[]]", '{"a": 1}'),
    *("[1, 2, 3]", "[null]", "[" * 100 + "]" * 100, "[" * 5000, '"' + "x" * 10_000 + '"'),
)
"""JSON text that replaces a value of a document."""


@contextlib.contextmanager
def temporary_file(name: str, data: bytes) -> Iterator[Path]:
    """Yield the path of a file with this name and content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def packed(data: str) -> bytes:
    return base64.b85decode(data)


NAMES["packed"] = packed


def source_of(data: bytes) -> str:
    """Return bytes as Python source."""
    plain = repr(data)
    return plain if len(plain) < 2 * len(data) else f"packed({base64.b85encode(data).decode()!r})"


@st.composite
def changed_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    """Draw a document with bytes flipped, removed, repeated, inserted or cut off."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        change = draw(st.sampled_from(["flip", "remove", "truncate", "repeat", "insert"]))
        if change == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif change == "remove":
            del data[at : at + draw(st.integers(1, 20))]
        elif change == "truncate":
            del data[at:]
        elif change == "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 40))]
        else:
            data[at:at] = draw(st.sampled_from([b"\x00", b"\xff", b"\n", b'"', b"{", b"1e999", b"\xed\xa0\x80", b","]))
    return bytes(data)


def cut_off(valid: bytes) -> st.SearchStrategy[bytes]:
    """Draw the beginning of a document."""
    return st.integers(0, len(valid) - 1).map(lambda end: valid[:end])


def _paths_in(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a JSON document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, value in inner for place in _paths_in(value, (*path, key)))]


@st.composite
def changed_json(draw: st.DrawFn, valid: str) -> str:
    """Draw a JSON document with a value replaced, removed, repeated or renamed; its hash is mostly correct."""
    content = json.loads(valid)
    tokens: dict[str, str] = {}
    for i in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(_paths_in(content)[1:] or [()]))
        if not path:
            break
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        change = draw(st.sampled_from(["replace", "replace", "replace", "remove", "repeat", "rename"]))
        if change == "replace":
            token = draw(st.sampled_from(TOKENS))
            try:  # a value that Python can hold is part of the hash below
                holder[path[-1]] = json.loads(token)
            except (ValueError, RecursionError):
                holder[path[-1]] = f"@{i}@"
                tokens[f"@{i}@"] = token
        elif change == "remove":
            del holder[path[-1]]
        elif change == "repeat" and isinstance(holder, list):
            holder.append(holder[path[-1]])
        elif isinstance(holder, dict):
            holder["renamed"] = holder.pop(path[-1])
    if draw(st.integers(0, 4)) and isinstance(content, dict):
        with contextlib.suppress(ValueError):
            _update_hashes(content)
    out = json.dumps(content)
    for mark, token in tokens.items():
        out = out.replace(f'"{mark}"', token)
    return out.replace("{", '{"format": 1, ', 1) if draw(st.integers(0, 9)) == 0 else out  # a repeated key


def _update_hashes(content: dict[str, Any]) -> None:
    inner = content.get("model")
    if isinstance(inner, dict) and "sha256" in inner:
        _update_hashes(inner)
        content["model_sha256"] = inner["sha256"]
    if "sha256" in content:
        hashed = {key: value for key, value in content.items() if key not in ("sha256", "evaluation")}
        content["sha256"] = digest(hashed)


def changed_text(valid: str) -> Code:
    """Draw the source of a JSON text with its values or its bytes changed."""
    by_bytes = changed_bytes(valid.encode()).map(lambda data: repr(data.decode("utf-8", "surrogateescape")))
    return st.one_of(changed_json(valid).map(repr), changed_json(valid).map(repr), by_bytes)
