"""Space on a disk, and what to say where there is none."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from lpbandits.errors import InvalidInput


@contextlib.contextmanager
def space_for(what: str, folder: Path, remedy: str) -> Iterator[None]:
    """Say of what a disk was too full, and what to do about it.

    >>> with space_for("a table", Path("/small"), "name another folder"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: there is no space for a table in /small: free some, or name another folder
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InvalidInput(f"there is no space for {what} in {folder}: free some, or {remedy}") from None
