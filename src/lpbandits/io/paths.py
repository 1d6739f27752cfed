"""Paths and the user's cache folder."""

import contextlib
import os
from pathlib import Path

import platformdirs

from lpbandits.errors import InvalidInput

PACKAGE = __name__.partition(".")[0]


def as_path(value: object) -> Path:
    """Return a path; other types raise `InvalidInput`.

    >>> as_path(7)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: path must be a str or PathLike, got int
    """
    if not isinstance(value, str | os.PathLike):
        raise InvalidInput(f"path must be a str or PathLike, got {type(value).__name__}")
    return Path(value)


def cache_path() -> Path | None:
    """Return the user's cache folder for this package, which may not exist; None without a home."""
    with contextlib.suppress(RuntimeError, KeyError, OSError):
        place = platformdirs.user_cache_path(PACKAGE)
        if place.is_absolute() and "~" not in place.parts:
            return place
    return None


def writable(folder: Path | None) -> Path | None:
    """Return a folder if it is writable, else None; it is created if it does not exist."""
    if folder is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None
