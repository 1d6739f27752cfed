"""Vega's scripts, which draw the charts of a page: put together once for each version of them, and kept."""

import contextlib
import hashlib
from importlib.metadata import version

import vl_convert

from lpbandits.errors import InvalidInput
from lpbandits.files import places
from lpbandits.files.writing import write_bytes


def scripts() -> str:
    """Return the scripts, for a page that opens without a network.

    To put them together takes more than a second of every program that writes a report, so they are kept in the user's
    cache folder, behind their hash: what was damaged there is made anew.
    """
    folder, name = places.cache_path(), f"vega-{version('vl-convert-python')}.txt"
    if folder is not None:
        with contextlib.suppress(OSError, ValueError):
            digest, _, text = (folder / name).read_bytes().partition(b"\n")
            if digest == _digest(text):
                return text.decode()
    made: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type] # its stub lacks the default
    if (kept := places.writable(folder)) is not None:
        with contextlib.suppress(InvalidInput):
            write_bytes(kept / name, _digest(made.encode()) + b"\n" + made.encode())
    return made


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
