"""`Executor`: run jobs in this process, on its threads, on worker processes or on a Dask cluster.

Backends (`backends`) decide which worker runs a task. The loop here batches short jobs into tasks, keeps a few tasks in
flight, resubmits tasks of workers that crashed, and returns results in order.
"""

import collections
import contextlib
import itertools
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any, TypeVar

from lpbandits.errors import ResourceError
from lpbandits.parallel.backends import Backend, ProcessBackend, ThreadBackend
from lpbandits.parallel.cluster import DaskBackend
from lpbandits.parallel.threads import cores, one_thread, resolve_threads
from lpbandits.parallel.workers import Workers, as_workers

T = TypeVar("T")
Task = list[tuple[int, tuple[Any, ...]]]
"""Jobs that are sent together: (index, arguments) each."""

MAX_BATCH = 4096

MAX_CRASHES = 3
"""Give up on a task after it has crashed this many workers."""

CHECK_SECONDS = 2.0
"""Seconds without a result after which the backend is asked whether there are workers."""


class Executor:
    """Run jobs on a backend; without one, in this process one after the other.

    Parameters
    ----------
    backend
        Where jobs run.
    threads
        Number of threads of one job; by default the number of cores.

    Examples
    --------
    >>> with Executor() as executor:
    ...     list(executor.map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    def __init__(self, backend: Backend | None = None, *, threads: int | None = None) -> None:
        self._backend = backend or Backend()
        self.n_workers = self._backend.n_workers
        self.threads = resolve_threads(threads)

    @property
    def in_process(self) -> bool:
        """Whether jobs run in this process, one after the other."""
        return type(self._backend) is Backend

    def map(
        self, function: Callable[..., T], jobs: Iterable[tuple[Any, ...]], *, batch: bool = True, max_ahead: int = 8
    ) -> Generator[T, None, None]:
        """Yield `function(*job)` for every job, in the order of the jobs.

        Parameters
        ----------
        function, jobs
            Jobs are tuples of arguments; an iterator is read only as jobs are sent.
        batch
            Whether short jobs may be sent together.
        max_ahead
            Maximum number of tasks per worker that start before the first unfinished one, which bounds the memory of
            results that wait for it.

        Notes
        -----
        Leaving the loop early cancels the jobs that have not started. An error or an interrupt ends the workers, unless
        another executor uses them.
        """
        waiting: dict[int, T] = {}
        index = 0
        with contextlib.closing(self.as_completed(function, jobs, batch=batch, max_ahead=max_ahead)) as completed:
            for number, result in completed:
                waiting[number] = result
                while index in waiting:
                    yield waiting.pop(index)
                    index += 1

    def as_completed(
        self,
        function: Callable[..., T],
        jobs: Iterable[tuple[Any, ...]],
        *,
        batch: bool = True,
        max_ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Yield (index of the job, result) in the order of completion; parameters as of `map`."""
        yield from _Run(self._backend, function, jobs, batch, max_ahead).results()

    def run_everywhere(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """Call `function` once on every worker of a cluster; without a cluster, once in this process.

        Examples
        --------
        >>> Executor().run_everywhere(pow, 2, 3)
        [8]
        """
        return self._backend.run_everywhere(function, *arguments)

    @contextlib.contextmanager
    def threaded(self) -> Iterator["Executor"]:
        """Give an executor for jobs that spend their time in kernels: these workers, or threads of this process.

        Examples
        --------
        >>> with executor_for(threads=2) as executor, executor.threaded() as pool: executor.n_workers, pool.n_workers
        (1, 2)
        """
        if self.in_process and self.threads > 1:
            with Executor(ThreadBackend(self.threads), threads=1) as pool:
                yield pool
        else:
            yield self

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._backend.close(abort=error is not None)


class _Run:
    """One call of `Executor.as_completed`."""

    def __init__(
        self,
        backend: Backend,
        function: Callable[..., Any],
        jobs: Iterable[tuple[Any, ...]],
        batch: bool,
        max_ahead: int | None,
    ) -> None:
        self._backend, self._function, self._jobs = backend, function, enumerate(jobs)
        self._batch, self._max_ahead = batch, max_ahead
        self._tasks: dict[Future[Any], Task] = {}
        self._crashes: collections.Counter[int] = collections.Counter()
        self._seconds, self._n_done, self._n_sent = 0.0, 0, 0

    def results(self) -> Generator[tuple[int, Any], None, None]:
        """Send jobs and yield (index, result) until there are none left."""
        try:
            self._send()
            while self._tasks:
                done = wait(self._tasks, timeout=CHECK_SECONDS, return_when=FIRST_COMPLETED).done
                if not done:
                    self._backend.check_alive()
                crashed = False
                for future in sorted(done, key=lambda future: self._tasks[future][0][0]):
                    try:
                        seconds, values = self._backend.result(future)
                    except self._backend.crash_errors:
                        crashed = True
                        continue
                    task = self._tasks.pop(future)
                    self._seconds, self._n_done = self._seconds + seconds, self._n_done + len(values)
                    yield from zip((index for index, _ in task), values, strict=True)
                if crashed:
                    self._retry()
                self._send()
        finally:
            for future in self._tasks:
                future.cancel()

    def _send(self) -> None:
        while len(self._tasks) < self._backend.window and not self._is_ahead():
            task = list(itertools.islice(self._jobs, self._batch_size()))
            if not task:
                return
            self._n_sent += len(task)
            self._submit(task)

    def _is_ahead(self) -> bool:
        if self._max_ahead is None or not self._tasks:
            return False
        first = min(task[0][0] for task in self._tasks.values())
        return self._n_sent - first > self._max_ahead * self._backend.n_workers * self._batch_size()

    def _batch_size(self) -> int:
        """Return the number of jobs of a task that takes about `backend.task_seconds`, by the time of earlier jobs."""
        if not self._batch or not self._n_done:
            return 1
        return min(max(int(self._backend.task_seconds * self._n_done / max(self._seconds, 1e-9)), 1), MAX_BATCH)

    def _submit(self, task: Task) -> None:
        self._tasks[self._backend.submit(_run_task, self._function, [job for _, job in task])] = task

    def _retry(self) -> None:
        """Resubmit the tasks that failed with a crash.

        A crash counts for the tasks that may have caused it. They start in the order of submission, so these are the
        first `n_workers`.
        """
        self._backend.restart()  # after which every future is done
        errors = self._backend.crash_errors
        lost = [self._tasks.pop(future) for future in list(self._tasks) if isinstance(future.exception(), errors)]
        self._crashes.update(task[0][0] for task in lost[: self._backend.n_workers])
        if max(self._crashes.values()) >= MAX_CRASHES:
            raise ResourceError(
                f"worker processes crashed {MAX_CRASHES} times on the same task; if memory is short, use fewer jobs "
                "(--jobs) or a smaller problem"
            )
        for task in sorted(lost, key=lambda task: task[0][0]):
            self._submit(task)


def _run_task(function: Callable[..., T], jobs: list[tuple[Any, ...]]) -> tuple[float, list[T]]:
    """Return the seconds that jobs took, and their results.

    Linear algebra has one thread: the number of threads changes the order of its sums, and so the last bit.
    """
    started = time.perf_counter()
    with one_thread("blas"):
        results = [function(*job) for job in jobs]
    return time.perf_counter() - started, results


def executor_for(
    jobs: int | Workers | None = None,
    *,
    threads: int | None = None,
    threaded: bool = False,
    max_jobs: int | None = None,
) -> Executor:
    """Return an executor on workers, or, if `jobs` is None or 1, in this process.

    Parameters
    ----------
    jobs
        Number of worker processes, or `Workers`.
    threads
        Number of threads of one job; by default the workers share the cores.
    threaded
        Whether jobs spend their time in kernels; without workers they then run on `threads` threads at a time.
    max_jobs
        Number of jobs, if known. No more processes are started; for 0, no cluster is contacted.

    Examples
    --------
    >>> with executor_for(2, threads=1) as executor: executor.n_workers, executor.threads, executor.in_process
    (2, 1, False)
    >>> with executor_for(threads=3, threaded=True) as executor: executor.n_workers, executor.threads
    (3, 1)
    """
    workers = as_workers(jobs)
    if max_jobs == 0:
        workers = None
    if workers is not None and max_jobs is not None and workers.address is None:
        workers = replace(workers, jobs=min(workers.n_local, max_jobs))
    if workers is None:
        n_threads = resolve_threads(threads)
        if threaded and n_threads > 1:
            return Executor(ThreadBackend(n_threads), threads=1)
        return Executor(threads=n_threads)
    share = 1 if workers.address is not None or threaded else max(cores() // workers.n_local, 1)
    backend = DaskBackend(workers) if workers.backend == "dask" else ProcessBackend(workers.n_local)
    return Executor(backend, threads=share if threads is None else threads)


def thread_map(
    function: Callable[..., T], jobs: Iterable[tuple[Any, ...]], *, threads: int | None = None
) -> Generator[T, None, None]:
    """Yield `function(*job)` for every job, in order, computed on threads of this process.

    Examples
    --------
    >>> list(thread_map(pow, [(2, 3), (3, 2)], threads=2))
    [8, 9]
    """
    with executor_for(threads=threads, threaded=True) as executor:
        yield from executor.map(function, jobs, batch=False)
