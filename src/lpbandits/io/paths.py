"""Paths and the user's cache folder."""

import contextlib
import os
from pathlib import Path

import platformdirs

from lpbandits.errors import InvalidInput

PACKAGE = __name__.partition(".")[0]


def as_path(value: object) -> Path:
    """Return a path; other types, and names that no file can have, raise `InvalidInput`.

    >>> as_path(7)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: path must be a str or PathLike, got int
    """
    if not isinstance(value, str | os.PathLike):
        raise InvalidInput(f"path must be a str or PathLike, got {type(value).__name__}")
    path = Path(value)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InvalidInput(f"path must not have a null byte or half of a character, got {str(path)!r:.80}")
    return path


def cache_path() -> Path | None:
    """Return the user's cache folder for this package, which may not exist; None without a home."""
    with contextlib.suppress(RuntimeError, KeyError, OSError):
        place = platformdirs.user_cache_path(PACKAGE)
        if place.is_absolute() and "~" not in place.parts:
            return place
    return None


def writable(folder: Path | None) -> Path | None:
    """Return a folder if it is writable, else None; it is created if it does not exist."""
    with contextlib.suppress(OSError, ValueError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return folder if os.access(folder, os.W_OK | os.X_OK) else None
    return None
