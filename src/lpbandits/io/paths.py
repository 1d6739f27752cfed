"""Paths and the user's cache folder."""

import contextlib
import os
import stat
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


def private_folder(folder: Path) -> Path | None:
    """Return a writable folder that no other user can write or replace, else None; it is created if it does not exist.

    For files whose content runs: others could put their own there. Others may write to a parent only if it is sticky,
    as /tmp is. A group with the number of the user is the user's own.
    """
    with contextlib.suppress(OSError, ValueError):
        place = folder.resolve()
        for level in (*reversed(place.parents), place):
            level.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid"):
            user = os.getuid()
            for level in (place, *place.parents):
                info = level.stat()
                shared = info.st_mode & (0o002 if info.st_gid == user else 0o022)
                trusted = info.st_uid == user or (info.st_uid == 0 and level != place)
                if not trusted or (shared and (level == place or not info.st_mode & stat.S_ISVTX)):
                    return None
        return place if os.access(place, os.W_OK | os.X_OK) else None
    return None
