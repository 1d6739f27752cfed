"""Where things of the user's are kept: the cache folder, also where there is no home."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

import platformdirs

from lpbandits.errors import InvalidInput

PACKAGE = __name__.partition(".")[0]


def as_path(value: object) -> Path:
    """Return a path; what is none is an `InvalidInput`.

    >>> as_path(7)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a path is text, not a int; give a name such as 'model.json'
    """
    if isinstance(value, str):
        return Path(str.__str__(value))  # a subclass may have odd ideas of itself
    with contextlib.suppress(TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError):
        if isinstance(value, os.PathLike):
            return Path(os.fspath(value))
    raise InvalidInput(f"a path is text, not a {type(value).__name__}; give a name such as 'model.json'")


def cache_path() -> Path | None:
    """Return the user's cache folder for this package, which may not exist; None if the user has no home.

    >>> place = cache_path()
    >>> place is None or place.is_absolute()
    True
    """
    with contextlib.suppress(RuntimeError, KeyError, OSError):
        place = platformdirs.user_cache_path(PACKAGE)
        if place.is_absolute() and "~" not in place.parts:
            return place
    return None


def writable(folder: Path | None) -> Path | None:
    """Return a folder if files can be made in it; it is made if it is not there."""
    if folder is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


def own_temporary() -> Path | None:
    """Return one folder for all processes of this user in the temporary directory, if nobody else can write to it.

    Machine code is loaded from it, so a folder that another user made under its name is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    with contextlib.suppress(OSError):
        folder = Path(tempfile.gettempdir()) / f"{PACKAGE}-{user}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        if stat.S_ISDIR(found.st_mode) and ours:
            return writable(folder)
    return None
