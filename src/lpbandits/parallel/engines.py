"""Who does the work: threads, processes or a Dask cluster, all behind one small face.

An engine takes one call at a time and gives a future for it. `lost` are the errors that say that a worker died, not
that its job failed; after one of them `renew` makes sure that there are workers again.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from lpbandits.limits import check_resources
from lpbandits.parallel.cluster import DaskBackend
from lpbandits.parallel.processes import ProcessBackend
from lpbandits.parallel.workers import Workers

PROCESS = 2**28
"""Bytes that a process takes before it does anything."""


class Engine(Protocol):
    """Runs calls somewhere."""

    count: int
    """How many at a time."""
    sent: int
    """How many may be sent: twice as many, so that nobody waits for the next, where no more than `count` start."""
    lost: tuple[type[BaseException], ...]
    least: float
    """Seconds of work that are sent at a time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call; it may wait until a worker is free. Calls start in the order in which they are sent."""

    def opened(self, answer: Any) -> Any:
        """Return what a call gave, from how it came back."""

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return what a call gives on every machine there is."""

    def take_back(self, future: "Future[Any]") -> None:
        """Have a call not made, if it still waits: nobody wants it any more."""

    def check(self) -> None:
        """Fail if there is nobody left to make calls; this is asked when none has ended for a while."""

    def renew(self) -> None:
        """Replace workers that died; after that no call is under way."""

    def stop(self) -> None:
        """End at once, whatever is under way."""

    def close(self) -> None:
        """End, when nothing is under way any more."""


class ThreadBackend:
    """Threads of this process, for jobs that spend their time in kernels."""

    lost: tuple[type[BaseException], ...] = ()
    least = 0.0

    def __init__(self, count: int) -> None:
        self.count, self.sent = count, 2 * count
        self._pool = ThreadPoolExecutor(count)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call."""
        return self._pool.submit(function, *arguments)

    def opened(self, answer: Any) -> Any:
        """Return it as it is."""
        return answer

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make the call here."""
        return [function(*arguments)]

    def take_back(self, future: "Future[Any]") -> None:
        """Do not start it."""
        future.cancel()

    def check(self) -> None:
        """Do nothing: threads are always there."""

    def renew(self) -> None:
        """Do nothing: threads do not die alone."""

    def stop(self) -> None:
        """Let calls under way end, and start no other."""
        self._pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def engine_of(workers: Workers) -> Engine:
    """Start workers."""
    check_resources(f"{workers.here:,} worker processes", "use fewer jobs (--jobs)", size=PROCESS * workers.here)
    return DaskBackend(workers) if workers.backend == "dask" else ProcessBackend(workers.here)
