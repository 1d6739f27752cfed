"""Limits of memory and time, checked against estimates before a long call starts.

Estimates are rough lower bounds, used only to refuse work that could not finish.
"""

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

from lpbandits.errors import InvalidInput

MAX_BYTES = 64 * 2**30
"""Maximum memory of one call, even on a larger machine."""

MAX_HOURS = 300
"""Time limit of one call."""

SPEED = 10**9
"""Simple operations per second of a core."""

_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def memory_limit() -> int:
    """Return the memory limit of one call in bytes: three quarters of the machine's, at most `MAX_BYTES`."""
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


def check_resources(
    what: str, remedy: str, *, size: float = 0, operations: float = 0, max_hours: float = MAX_HOURS
) -> None:
    """Raise `InvalidInput` if `size` bytes or `operations` sequential operations exceed the limits of one call.

    >>> check_resources("a run of 9 people", "take fewer people", operations=10**20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a run of 9 people would take about 28,000,000 hours; the limit is 300: ...
    """
    size, operations = min(size, 1e300), min(operations, 1e300)  # products of sizes may overflow
    if size > (most := memory_limit()):
        raise InvalidInput(
            f"{what} would take {_rounded(size / 2**30)} GiB of memory; the limit is {_rounded(most / 2**30)}: {remedy}"
        )
    hours = operations / SPEED / 3600
    if hours > max_hours:
        raise InvalidInput(f"{what} would take about {_rounded(hours)} hours; the limit is {max_hours:g}: {remedy}")


def _rounded(number: float) -> str:
    """Return an estimate with two significant digits."""
    text = f"{number:.2g}"
    return text if number < 100 or number > 1e15 else f"{float(text):,.0f}"
