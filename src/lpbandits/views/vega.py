"""Vega's scripts, which draw the charts of a page: put together once for each version of them, and kept."""

import contextlib
from importlib.metadata import version

import vl_convert

from lpbandits.errors import InvalidInput
from lpbandits.io import paths
from lpbandits.io.atomic import write_bytes
from lpbandits.io.sealed import sealed, unsealed


def scripts() -> str:
    """Return the scripts, for a page that opens without a network.

    To put them together takes more than a second of every program that writes a report, so they are kept in the user's
    cache folder, with their hash: what was damaged there is made anew.
    """
    folder, name = paths.cache_path(), f"vega-{version('vl-convert-python')}.sealed"
    if folder is not None:
        with contextlib.suppress(OSError, ValueError):
            found = unsealed((folder / name).read_bytes())
            if found is not None:
                return found.decode()
    made: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type] # its stub lacks the default
    if (kept := paths.writable(folder)) is not None:
        with contextlib.suppress(InvalidInput):
            write_bytes(kept / name, sealed(made.encode()))
    return made
