"""Threads of one process: `Threads` runs a kernel over the rows of an array; libraries are kept to one."""

import contextlib
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal

from lpbandits import validate


def cores() -> int:
    """Return how many cores this process may use, in a container too."""
    from joblib import cpu_count  # noqa: PLC0415 - heavy, and only parallel work needs it

    return int(cpu_count() or os.cpu_count() or 1)


@functools.cache
def _libraries(loaded: tuple[bool, ...]) -> Any:
    """Return what limits the threads of the libraries that are loaded: finding them takes longer than a small fit."""
    del loaded  # others are found when more are
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types

    return ThreadpoolController()


def _limited(of: str) -> Any:
    import scipy.linalg  # noqa: F401, PLC0415 - the threads of its library can be limited only once it is there

    loaded = tuple(name in sys.modules for name in ("numpy", "sklearn.cluster"))
    return _libraries(loaded).limit(limits=1, user_api=of)


class _Blas:
    """How many are inside `one_thread("blas")`, and what the last of them puts back."""

    lock = threading.Lock()
    inside = 0
    limit: Any = None

    @classmethod
    def enter(cls) -> None:
        """Limit them, if nobody is inside."""
        with cls.lock:
            if not cls.inside:
                _any_may_set()
                cls.limit = _limited("blas")
            cls.inside += 1

    @classmethod
    def leave(cls) -> None:
        """Put back how many there were, if nobody is left."""
        with cls.lock:
            cls.inside -= 1
            if not cls.inside:
                _any_may_set()
                cls.limit.restore_original_limits()
                _any_may_set()  # and whoever comes next


def _any_may_set() -> None:
    """Let any thread set how many OpenBLAS has: threadpoolctl 3.8 heeds only the first that did, and says nothing."""
    from threadpoolctl import OpenBLASController  # noqa: PLC0415

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@contextlib.contextmanager
def one_thread(of: Literal["blas", "openmp"]) -> Iterator[None]:
    """Let libraries of a kind use one thread, so that their sums have one order.

    The number of BLAS's threads is that of the whole process: it is put back when the last who needs it leaves. That of
    OpenMP is each thread's own.
    """
    if of == "openmp":
        with _limited(of):
            yield
        return
    _Blas.enter()
    try:
        yield
    finally:
        _Blas.leave()


def resolve_threads(count: int | None, name: str = "threads") -> int:
    """Return a checked number of threads; all cores for None.

    >>> resolve_threads(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: threads must be a whole number from 1 to 1024, got 0
    """
    return cores() if count is None else validate.as_count(count, name, high=1024)


class Threads:
    """Runs `kernel(low, high, *arrays)` over a range, in blocks.

    Every block writes its own part of the output and reads nothing another one writes, so the number of threads cannot
    change a result.

    >>> import numpy as np
    >>> def double(low, high, values): values[low:high] *= 2
    >>> values = np.arange(5)
    >>> with Threads(2) as threads: threads.run(double, 5, values)
    >>> values.tolist()
    [0, 2, 4, 6, 8]
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = resolve_threads(count)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None

    def run(self, kernel: Callable[..., None], total: int, *arrays: Any, blocks: int = 1, smallest: int = 1) -> None:
        """Run the kernel over 0..total−1 in `blocks` parts per thread, each at least `smallest` long."""
        parts = max(min(self.count * blocks, total // smallest), 1)
        if self._pool is None or parts == 1:
            kernel(0, total, *arrays)
            return
        edges = [total * part // parts for part in range(parts + 1)]
        jobs = [self._pool.submit(kernel, low, high, *arrays) for low, high in itertools.pairwise(edges)]
        for job in jobs:
            job.result()

    def __enter__(self) -> "Threads":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
