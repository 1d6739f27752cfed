"""More cores: the only place that starts threads or processes, and the type of a progress callback.

`each` runs jobs and gives their results in order, as they end; `Threads` runs one kernel over the rows of an array.
Neither changes a result: every job and every row depends on nothing but its own arguments.
"""

import functools
import itertools
import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal, TypeVar

from lpbandits import validate

Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""

T = TypeVar("T")
Kind = Literal["threads", "processes"]


def cores() -> int:
    """Return how many cores this process may use, in a container too."""
    from joblib import cpu_count  # noqa: PLC0415 - heavy, and only parallel work needs it

    return int(cpu_count() or os.cpu_count() or 1)


@functools.cache
def _libraries() -> Any:
    """Return what limits the threads of the libraries that are loaded: finding them takes longer than a small fit."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types

    return ThreadpoolController()


def one_thread(of: Literal["blas", "openmp"]) -> Any:
    """Return a context in which libraries of a kind use one thread, so that their sums have one order."""
    return _libraries().limit(limits=1, user_api=of)


def workers_of(count: int | None, name: str = "threads") -> int:
    """Return a checked number of workers; all cores for None.

    >>> workers_of(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: threads is 0; it must be a whole number from 1 to 1024
    """
    return cores() if count is None else validate.as_count(count, name, high=1024)


def each(
    function: Callable[..., T], jobs: Iterable[tuple[Any, ...]], *, workers: int | None = None, kind: Kind = "threads"
) -> Generator[T, None, None]:
    """Call `function` with every job's arguments; give the results in the order of the jobs, as they end.

    Threads suit kernels, which run without the GIL; processes suit everything else. Only a few jobs are under way or
    waiting at a time, so `jobs` may be made on the way. Leaving the loop early, by an error or an interrupt, ends the
    workers.

    >>> list(each(pow, [(2, 3), (3, 2)], workers=2))
    [8, 9]
    """
    count = workers_of(workers)
    if count == 1:
        yield from itertools.starmap(function, jobs)
        return
    import joblib  # noqa: PLC0415 - heavy, and only parallel work needs it

    backend = "threading" if kind == "threads" else "loky"
    results = joblib.Parallel(n_jobs=count, backend=backend, return_as="generator", pre_dispatch="2*n_jobs")(
        joblib.delayed(function)(*job) for job in jobs
    )
    try:
        yield from results
    except BaseException:
        if kind == "processes":
            _end_processes()
        raise
    finally:
        results.close()


def _end_processes() -> None:
    """End worker processes at once: one that computes would otherwise go on for as long as its job takes."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415

    get_reusable_executor().shutdown(wait=True, kill_workers=True)


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
        self.count = workers_of(count)
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
