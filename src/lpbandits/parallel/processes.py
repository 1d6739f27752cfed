"""Processes of this machine: pools of joblib's loky, each used by one executor at a time and kept warm for the next."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, ClassVar

from lpbandits.parallel.signals import block_sigint, defer_signals
from lpbandits.parallel.travel import LEAST, opened, packed, unpacked

IDLE = 120
"""Seconds after which a process that has nothing to do ends; until then the next call finds it warm."""

KEPT = 2
"""Pools that are kept for the next call."""

ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Libraries in a worker use one thread: as many workers as cores are busy already."""

LOOK = 1.0
"""Seconds after which a worker looks again whether its parent is there."""

LET_GO = 5.0
"""Seconds that the end of a pool waits at most for the thread that fills its queue."""

Place = tuple[object, ...]


class ProcessBackend:
    """Processes of this machine. When one dies the others end, too, and new ones take their place."""

    least = LEAST

    def __init__(self, count: int) -> None:
        from joblib.externals.loky import BrokenProcessPool  # noqa: PLC0415 - heavy, and only parallel work needs it

        self.count, self.sent = count, 2 * count
        self.lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)
        self._pool: Any = None
        self._place: Place = ()
        self._sent: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call."""
        call = packed(function, arguments)
        with defer_signals(), block_sigint():
            if self._pool is None:
                self._place = _place(self.count)
                self._pool = _taken(self._place, self.count)
            try:
                future: Future[Any] = self._pool.submit(unpacked, call)
            except self.lost as error:  # one has just died, which those who wait for other calls do not know yet
                future = Future()
                future.set_exception(error)
        self._sent = [one for one in self._sent if not one.done()] + [future]
        return future

    def opened(self, answer: Any) -> Any:
        """Return what a call gave."""
        return opened(answer)

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make the call here: processes of this machine find what this one finds."""
        return [function(*arguments)]

    def take_back(self, future: "Future[Any]") -> None:
        """Leave it: it is in the workers' queue already, and loky's thread may fail at calls that are cancelled."""

    def check(self) -> None:
        """Do nothing: a process that dies is told of at once."""

    def renew(self) -> None:
        """End all processes; after that every call that was sent has ended, and the next finds new ones."""
        self.stop()

    def stop(self) -> None:
        """End all processes at once: one that computes would otherwise go on for as long as its job takes.

        loky can do it, but its thread fails when a call has not reached the queue yet; deaths it is made for.
        """
        if self._pool is not None:
            with defer_signals():
                for process in list(self._pool._processes.values()):
                    process.terminate()
                _shut(self._pool)
                self._pool = None

    def close(self) -> None:
        """Leave the processes to the next call; those that still work for a loop that was left end."""
        if any(not future.done() for future in self._sent):
            self.stop()
        if self._pool is not None:
            _Idle.add(self._place, self._pool)
            self._pool = None


class _Idle:
    """Pools that nobody uses: whoever takes one has it alone, and its workers end when nobody does for a while."""

    lock = threading.Lock()
    pools: ClassVar[list[tuple[Place, Executor]]] = []

    @classmethod
    def add(cls, place: Place, pool: Executor) -> None:
        """Keep a pool, and let go of the one that has been here longest."""
        with cls.lock:
            cls.pools.append((place, pool))
            gone = [cls.pools.pop(0)[1] for _ in range(len(cls.pools) - KEPT)]
        for one in gone:
            _shut(one)

    @classmethod
    def take(cls, place: Place) -> Executor | None:
        """Return a pool of such workers, if there is one."""
        with cls.lock:
            for number, (where, pool) in enumerate(cls.pools):
                if where == place:
                    del cls.pools[number]
                    return pool
        return None


def _place(count: int) -> Place:
    """Return what workers have from the process that started them: others must not be used in their place."""
    folder = None
    with contextlib.suppress(OSError):  # it may be deleted
        folder = Path.cwd()
    return os.getpid(), count, folder, tuple(sys.path), tuple(sorted(os.environ.items()))


def _taken(place: Place, count: int) -> Executor:
    """Return a pool of one's own, warm if there is one."""
    from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor  # noqa: PLC0415

    while (idle := _Idle.take(place)) is not None:
        with contextlib.suppress(BrokenProcessPool):  # a worker died while nobody used it
            idle.submit(int)
            return idle
    new: Executor = ProcessPoolExecutor(count, timeout=IDLE, env=ALONE, initializer=_begin, initargs=(os.getpid(),))
    return new


def _shut(pool: Any) -> None:
    """End a pool, and the thread that fills its queue, for which loky does not wait.

    Were that the last to let go of the queue's locks, and this program to end meanwhile, they would be reported as
    leaked. It may be stuck with a call larger than a pipe: where nobody can read any more, it gives up.
    """
    queue = pool._call_queue
    pool.shutdown(wait=True)
    if queue is not None and queue._thread is not None:
        queue._reader.close()
        queue._thread.join(LET_GO)


def _begin(parent: int) -> None:
    """Prepare a worker: it ends with its parent, in the middle of a job too, and may grow."""
    from joblib.externals.loky import process_executor  # noqa: PLC0415

    # loky takes a worker that has grown by 300 MB for a leak, ends it and warns; a block of ratings is larger
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent is gone; on Windows, where that cannot be seen, an idle one ends by itself."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
