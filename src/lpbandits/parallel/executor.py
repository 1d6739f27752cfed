"""`Executor`: run jobs in this process; its subclasses in `backends` run them on workers.

All share one loop, which keeps a few jobs in flight, runs the jobs of crashed workers again, and orders results.
"""

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from lpbandits.errors import ResourceError
from lpbandits.parallel.threads import one_thread, resolve_threads

T = TypeVar("T")
Job = tuple[Any, ...]
"""Arguments of one call."""

MAX_CRASHES = 3
"""Give up on a job after it has crashed this many worker processes; Dask has its own limit."""

CHECK_SECONDS = 5.0
"""Seconds without a result after which an executor checks that it has workers."""


class Executor:
    """Run jobs in this process: one after the other, or `n_workers` at a time on threads, if jobs release the GIL.

    `threads` is the number of threads of one job, by default the number of cores.

    >>> with Executor() as executor:
    ...     list(executor.map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    in_process = True
    """Whether jobs run in this process."""
    _crash_errors: tuple[type[BaseException], ...] = ()
    """Errors of jobs whose worker crashed."""

    def __init__(self, n_workers: int = 1, *, threads: int | None = None) -> None:
        self.n_workers = n_workers
        self._max_submitted = 1 if self.in_process and n_workers == 1 else 2 * n_workers
        """Number of jobs to keep submitted; more than `n_workers`, so that no worker waits for the next."""
        self.threads = resolve_threads(threads)
        self._pool: Any = None

    def map(self, function: Callable[..., T], jobs: Iterable[Job], *, max_ahead: int = 8) -> Generator[T, None, None]:
        """Yield `function(*job)` for every job, in the order of the jobs.

        At most `max_ahead` jobs per worker are submitted ahead of the oldest unfinished one, which bounds the results
        held in memory; an iterator of jobs is read only as jobs are sent. Leaving the loop early cancels the jobs that
        have not started. An error or an interrupt ends the workers.
        """
        waiting: dict[int, T] = {}
        index = 0
        with contextlib.closing(self.as_completed(function, jobs, max_ahead=max_ahead)) as completed:
            for number, result in completed:
                waiting[number] = result
                while index in waiting:
                    yield waiting.pop(index)
                    index += 1

    def as_completed(
        self, function: Callable[..., T], jobs: Iterable[Job], *, max_ahead: float = math.inf
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (index of the job, result) in the order of completion; otherwise as `map`."""
        running: dict[Future[Any], tuple[int, Job, int]] = {}
        unsent, n_sent = enumerate(jobs), 0

        def submit(index: int, job: Job, crashes: int = 0) -> None:
            if crashes == MAX_CRASHES:
                raise ResourceError(
                    f"worker processes crashed {crashes} times on the same job; if memory is short, use fewer jobs "
                    "(--jobs) or a smaller problem"
                )
            running[self._submit(function, job)] = index, job, crashes

        try:
            while True:
                oldest = min((index for index, _, _ in running.values()), default=n_sent)
                last = oldest + max_ahead * self.n_workers
                while len(running) < self._max_submitted and n_sent <= last and (numbered := next(unsent, None)):
                    submit(*numbered)
                    n_sent += 1
                if not running:
                    return
                done = wait(running, timeout=CHECK_SECONDS, return_when=FIRST_COMPLETED).done
                if not done:
                    self._check_workers()
                crashed = False
                for future in sorted(done, key=lambda future: running[future][0]):
                    try:
                        result = self._result(future)
                    except self._crash_errors:
                        crashed = True
                    else:
                        yield running.pop(future)[0], result
                if crashed:
                    self._restart()
                    lost = [future for future in running if isinstance(future.exception(), self._crash_errors)]
                    for place, (index, job, crashes) in enumerate(map(running.pop, lost)):
                        # jobs start in order, so the first ones were running, and one of them crashed its worker
                        submit(index, job, crashes + 1 if place < self.n_workers else crashes)
        finally:
            for future in running:
                future.cancel()

    @contextlib.contextmanager
    def threaded(self) -> Iterator["Executor"]:
        """Yield an executor for jobs that release the GIL: these workers, or threads of this process.

        >>> with Executor(threads=2) as executor, executor.threaded() as pool: executor.n_workers, pool.n_workers
        (1, 2)
        """
        if self.in_process and self.n_workers == 1 < self.threads:
            with Executor(self.threads, threads=1) as pool:
                yield pool
        else:
            yield self

    def run_everywhere(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """Call `function` once on every worker of a cluster; without a cluster, once in this process."""
        return [function(*arguments)]

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close(abort=error is not None)

    def _submit(self, function: Callable[..., Any], job: Job) -> "Future[Any]":
        """Submit a job; jobs start in the order of submission."""
        if self.n_workers > 1:
            self._pool = self._pool or ThreadPoolExecutor(self.n_workers)
            return self._pool.submit(run_job, function, job)  # type: ignore[no-any-return]
        future: Future[Any] = Future()
        future.set_result(run_job(function, job))
        return future

    def _result(self, future: "Future[Any]") -> Any:
        """Return the result of a job that is done, or raise its error."""
        return future.result()

    def _check_workers(self) -> None:
        """Raise `ResourceError` if there are no workers, and warn of workers that are silent."""

    def _restart(self) -> None:
        """Replace workers after a crash; afterwards all submitted futures are done."""

    def _close(self, *, abort: bool) -> None:
        """Release the workers; `abort` also ends jobs that are running, except on threads."""
        del abort
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def run_job(function: Callable[..., T], job: Job) -> T:
    """Run a job with one thread of linear algebra: another number changes the order of sums, and so the last bit."""
    with one_thread("blas"):
        return function(*job)


def thread_map(
    function: Callable[..., T], jobs: Iterable[Job], *, threads: int | None = None
) -> Generator[T, None, None]:
    """Yield `function(*job)` for every job, in order, computed on threads of this process."""
    with Executor(threads=threads).threaded() as pool:
        yield from pool.map(function, jobs)
