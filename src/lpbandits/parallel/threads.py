"""Threads of this process: run a kernel over ranges of rows, and limit libraries to one thread."""

import contextlib
import functools
import itertools
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from lpbandits import validate


def cores() -> int:
    """Return the number of cores that this process may use, which can be fewer in a container."""
    from joblib import cpu_count  # noqa: PLC0415 - heavy, and only parallel work needs it

    return int(cpu_count())


@functools.cache
def _controller(sklearn_is_loaded: bool) -> Any:  # noqa: ARG001 - only a cache key
    """Return the controller of the loaded libraries' threads; cached, since searching takes longer than a small fit.

    Loading sklearn adds libraries, which need a new controller.
    """
    import scipy.linalg  # noqa: F401, PLC0415 - only a loaded library can be limited
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types

    return ThreadpoolController()


def _limit(library: str) -> Any:
    """Limit a library to one thread; return the context manager that restores its number of threads."""
    return _controller("sklearn.cluster" in sys.modules).limit(limits=1, user_api=library)


def _release_openblas() -> None:
    """Let any thread set OpenBLAS's limit: threadpoolctl 3.8 silently ignores all threads but the first."""
    from threadpoolctl import OpenBLASController  # noqa: PLC0415

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


class _BlasLimit:
    """The limit of BLAS threads, which is global: set by the first block that is entered, reset by the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_blocks = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_blocks:
                _release_openblas()
                self._limit = _limit("blas")
            self._n_blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_blocks -= 1
            if not self._n_blocks:
                _release_openblas()
                self._limit.restore_original_limits()
                _release_openblas()


_BLAS_LIMIT = _BlasLimit()


def one_thread(library: Literal["blas", "openmp"]) -> contextlib.AbstractContextManager[None]:
    """Limit a library to one thread in a `with` block, so that its sums have one order.

    The limit of BLAS holds in all threads of the process, that of OpenMP in the calling thread.
    """
    return _BLAS_LIMIT if library == "blas" else _limit(library)


def resolve_threads(count: int | None) -> int:
    """Validate a number of threads; None means all cores.

    >>> resolve_threads(3)
    3
    """
    return cores() if count is None else validate.as_count(count, "threads", high=1024)


class Threads(ThreadPoolExecutor):
    """Threads that run `kernel(low, high, *arrays)` over a range, in blocks.

    A block must write its own rows only and read nothing that another one writes; then the number of threads cannot
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
        super().__init__(self.count)

    def __exit__(self, *_: object) -> None:
        self.shutdown(cancel_futures=True)

    def run(self, kernel: Callable[..., None], total: int, *arrays: Any, blocks: int = 1, smallest: int = 1) -> None:
        """Run the kernel over 0..total−1 in `blocks` parts per thread, each at least `smallest` long."""
        parts = max(min(self.count * blocks, total // smallest), 1) if self.count > 1 else 1
        if parts == 1:
            kernel(0, total, *arrays)
            return
        edges = [total * part // parts for part in range(parts + 1)]
        jobs = [self.submit(kernel, low, high, *arrays) for low, high in itertools.pairwise(edges)]
        for job in jobs:
            job.result()
