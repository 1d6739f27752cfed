"""The memory limit of one call, checked against a rough estimate before the work starts."""

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

from lpbandits.errors import InvalidInput

MAX_BYTES = 64 * 2**30
"""Maximum memory of one call, even on a larger machine."""

_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def memory_limit() -> int:
    """Return the memory limit of one call in bytes: ¾ of that of the machine or its container, at most `MAX_BYTES`."""
    sizes = [MAX_BYTES * 4 // 3]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for place in _CONTAINERS:
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            sizes.append(int(Path(place).read_text()))
    return min(size for size in sizes if size > 0) * 3 // 4


def peak_bytes() -> int | None:
    """Return the peak memory of this process in bytes; None if the system does not report it."""
    with contextlib.suppress(OSError, ValueError, StopIteration):  # the peak of getrusage includes the parent's
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def check_memory(what: str, remedy: str, size: float) -> None:
    """Raise `InvalidInput` if an estimate of `size` bytes exceeds the limit of one call.

    >>> check_memory("a run of 9 people", "take fewer people", 10**18)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a run of 9 people would take 9.3e+08 GiB of memory; the limit is ...
    """
    most = memory_limit()
    if size > most:
        needed, available = (f"{min(number, 1e300) / 2**30:.2g}" for number in (size, most))
        raise InvalidInput(f"{what} would take {needed} GiB of memory; the limit is {available}: {remedy}")
