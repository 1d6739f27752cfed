"""Vega's scripts, which draw the charts of a page: put together once for each version of them, and kept."""

import contextlib
import hashlib
from importlib.metadata import version
from pathlib import Path

import vl_convert

from lpbandits.errors import InvalidInput
from lpbandits.files import places
from lpbandits.files.writing import write_bytes


def scripts() -> str:
    """Return the scripts, for a page that opens without a network.

    To put them together takes more than a second of every program that writes a report, so they are kept in the user's
    cache folder, behind their hash: what was damaged there is made anew.
    """
    place = _place()
    if place is not None:
        with contextlib.suppress(OSError, ValueError):
            digest, _, text = place.read_bytes().partition(b"\n")
            if digest == _digest(text):
                return text.decode()
    made: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type] # its stub lacks the default
    if place is not None:
        with contextlib.suppress(InvalidInput):
            write_bytes(place, _digest(made.encode()) + b"\n" + made.encode())
    return made


def _place() -> Path | None:
    """Return where the scripts of this version are kept; None where nothing can be."""
    folder = places.writable(places.cache_path()) or places.own_temporary()
    return None if folder is None else folder / f"vega-{version('vl-convert-python')}.js"


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
