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
from typing import Any, ClassVar, Literal

from lpbandits import validate

Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""


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


def _loaded() -> tuple[bool, ...]:
    return tuple(name in sys.modules for name in ("numpy", "scipy.linalg", "sklearn.cluster"))


def _limited(of: str) -> Any:
    return _libraries(_loaded()).limit(limits=1, user_api=of)


class _Blas:
    """How many are inside `one_thread("blas")`, and what the last of them puts back."""

    lock = threading.Lock()
    inside = 0
    limits: ClassVar[dict[tuple[bool, ...], Any]] = {}
    """By what was loaded: a library that was loaded since is limited by whoever enters next."""


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
    with _Blas.lock:
        if _loaded() not in _Blas.limits:
            _Blas.limits[_loaded()] = _limited(of)
        _Blas.inside += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.inside -= 1
            while _Blas.limits and not _Blas.inside:
                _Blas.limits.popitem()[1].restore_original_limits()  # the last first


def threads_of(count: int | None, name: str = "threads") -> int:
    """Return a checked number of threads; all cores for None.

    >>> threads_of(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: threads is 0; it must be a whole number from 1 to 1024
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
        self.count = threads_of(count)
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
