"""Temporary folders, which the next run removes if their owner was killed.

A folder has a file `LOCK`, which its owner keeps locked: the system releases the lock when the process ends, however it
ends. The name of a folder has a hash of the machine's name, because some shared disks hide the locks of other machines,
and the process id, for debugging.
"""

import contextlib
import hashlib
import os
import platform
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: without locks, no folder is removed
    fcntl = None

UNFINISHED = ".lpb-"
"""Prefix of the names of temporary folders."""

LOCK = ".lpb-lock"


@contextlib.contextmanager
def owned_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in `parent`, empty but for `LOCK`, deleted on exit; other users cannot access it.

    Folders that killed processes of this machine left in `parent` are deleted first.
    """
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
    _remove_abandoned(parent, f"{UNFINISHED}{machine}-")
    while True:
        folder = parent / f"{UNFINISHED}{machine}-{os.getpid()}-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        with contextlib.suppress(FileNotFoundError):  # another process removed it before it was locked: try again
            lock = _lock(folder, wait=True)
            break
    try:
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Delete the folders whose names begin with `prefix` and that no running process has locked."""
    for folder in list(parent.glob(f"{prefix}*")) if fcntl is not None else ():
        with contextlib.suppress(OSError):  # it is in use, of another user, or on a disk without locks
            lock = _lock(folder, wait=False)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int:
    """Return the open, locked file of a folder; FileNotFoundError if the folder is being deleted."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError) if wait else contextlib.nullcontext():  # some disks have no locks
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if not os.path.samestat(os.fstat(handle), (folder / LOCK).stat()):
            raise FileNotFoundError(folder)
    except OSError:
        os.close(handle)
        raise
    return handle
