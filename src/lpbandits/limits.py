"""What one call may take: memory and time, estimated from its sizes and refused before the work starts.

An estimate says what surely is needed, or about that; it is there to refuse what cannot end, not to plan by.
"""

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

from lpbandits.errors import InvalidInput

MAX_BYTES = 64 * 2**30
"""Memory that one call may take, on whatever machine."""

MAX_HOURS = 300
"""How long one call may go on, by its estimate."""

SPEED = 10**9
"""Simple operations that a core does in a second."""

_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def memory_limit() -> int:
    """Return how much memory one call may take: three quarters of what there is, and never more than `MAX_BYTES`.

    >>> 0 < memory_limit() <= MAX_BYTES
    True
    """
    found = [MAX_BYTES * 4 // 3]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for place in _CONTAINERS:
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            found.append(int(Path(place).read_text()))
    return min(size for size in found if size > 0) * 3 // 4


def peak_bytes() -> int | None:
    """Return the most memory that this process has had so far; None where the system does not tell.

    >>> peak_bytes() is None or peak_bytes() > 10**6
    True
    """
    with contextlib.suppress(OSError, ValueError, StopIteration):  # what getrusage says begins with the parent's
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
    """Refuse `what` if its `size` in bytes or its `operations`, one after another, are more than one call may take.

    >>> check_resources("a run of 9 people", "take fewer people", operations=10**20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a run of 9 people would take about 28,000,000 hours; at most 300 are begun: take ...
    """
    size, operations = min(size, 1e300), min(operations, 1e300)  # a product of many sizes may be beyond floats
    if size > (most := memory_limit()):
        raise InvalidInput(
            f"{what} would take {_rounded(size / 2**30)} GiB of memory; at most {_rounded(most / 2**30)} are used: "
            f"{remedy}"
        )
    hours = operations / SPEED / 3600
    if hours > max_hours:
        raise InvalidInput(
            f"{what} would take about {_rounded(hours)} hours; at most {max_hours:g} are begun: {remedy}"
        )


def _rounded(number: float) -> str:
    """Return a number for people, with the digits that an estimate has.

    >>> _rounded(0.0123), _rounded(17.25), _rounded(123456.0), _rounded(1e40)
    ('0.012', '17', '120,000', '1e+40')
    """
    text = f"{number:.2g}"
    return text if number < 100 or number > 1e15 else f"{float(text):,.0f}"
