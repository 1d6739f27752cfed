"""`Executor`: workers that are there, to whom jobs are sent and from whom results come back.

There is no scheduler here: an engine (`engines`) decides who does what. This loop keeps a few jobs on their way, joins
short ones into tasks of half a second, sends again what died with its worker, and gives results in order.
"""

import collections
import itertools
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from lpbandits.errors import ResourceError
from lpbandits.parallel.engines import Engine, ThreadBackend, engine_of
from lpbandits.parallel.threads import cores, one_thread, resolve_threads
from lpbandits.parallel.workers import Workers, as_workers

T = TypeVar("T")
Jobs = list[tuple[int, tuple[Any, ...]]]

MOST_JOINED = 4096

DEATHS = 4
"""A task with which so many workers died is given up: it is not their fault."""

LOOK = 2.0
"""Seconds without a result after which it is seen whether there are workers at all."""


class Executor:
    """Workers, or this process alone.

    >>> with Executor() as executor:
    ...     list(executor.map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    def __init__(self, engine: Engine | None = None, *, threads: int | None = None) -> None:
        self._engine = engine
        self.n_workers = 1 if engine is None else engine.count
        """How many jobs are done at a time."""
        self.threads = resolve_threads(threads)
        """How many threads a job has for itself."""

    @property
    def in_process(self) -> bool:
        """Whether jobs are done by this process, one after the other."""
        return self._engine is None

    def map(
        self, function: Callable[..., T], jobs: Iterable[tuple[Any, ...]], *, batch: bool = True, max_ahead: int = 8
    ) -> Generator[T, None, None]:
        """Call `function` with every job's arguments; give the results in the order of the jobs, as they end.

        Only a few jobs are under way or waiting at a time, so `jobs` may be made on the way. Leaving the loop early
        takes back what waits; leaving the executor by an error or an interrupt ends the workers. Without `batch` every job
        is sent alone. At most `max_ahead` tasks per worker start before the first that has not ended.
        """
        results = self.as_completed(function, jobs, batch=batch, max_ahead=max_ahead)
        kept: dict[int, T] = {}
        wanted = 0
        try:
            for number, result in results:
                kept[number] = result
                while wanted in kept:
                    yield kept.pop(wanted)
                    wanted += 1
        finally:
            results.close()

    def as_completed(
        self,
        function: Callable[..., T],
        jobs: Iterable[tuple[Any, ...]],
        *,
        batch: bool = True,
        max_ahead: int | None = None,
    ) -> Generator[tuple[int, T], None, None]:
        """Do what `map` does, and give (number of the job, result) in whatever order they end.

        At most `max_ahead` tasks per worker start before the first that has not ended.
        """
        numbered = enumerate(jobs)
        if self._engine is None:
            for number, job in numbered:
                yield number, _task(function, [job])[1][0]
            return
        yield from _Round(self._engine, function, numbered, batch, max_ahead).results()

    def run_everywhere(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """Call `function` once on every worker of a cluster, and else once in this process, whose files workers see.

        >>> Executor().run_everywhere(pow, 2, 3)
        [8]
        """
        return [function(*arguments)] if self._engine is None else self._engine.everywhere(function, *arguments)

    @contextmanager
    def threaded(self) -> Iterator["Executor"]:
        """Give the executor for jobs that spend their time in kernels: alone, this process does them on its threads.

        >>> with executor_for(threads=2) as executor, executor.threaded() as both: executor.n_workers, both.n_workers
        (1, 2)
        """
        if self._engine is not None or self.threads == 1:
            yield self
            return
        with Executor(ThreadBackend(self.threads), threads=1) as beside:
            yield beside

    def close(self) -> None:
        """End workers that are no longer needed."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> "Executor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engine is not None and error is not None:
            self._engine.stop()
        self.close()


class _Round:
    """One call of `Executor.map`: what is on its way, and how long jobs take."""

    def __init__(
        self,
        engine: Engine,
        function: Callable[..., Any],
        jobs: Iterator[tuple[int, tuple[Any, ...]]],
        batch: bool,
        max_ahead: int | None,
    ) -> None:
        self.engine, self.function, self.jobs, self.batch, self.max_ahead = engine, function, jobs, batch, max_ahead
        self.waiting: dict[Future[Any], Jobs] = {}
        self.deaths: collections.Counter[int] = collections.Counter()
        self.seconds, self.done = 0.0, 0

    def results(self) -> Generator[tuple[int, Any], None, None]:
        """Send jobs and give their results, until there are none left."""
        try:
            self.send()
            while self.waiting:
                ended = wait(self.waiting, timeout=LOOK, return_when=FIRST_COMPLETED).done
                if not ended:
                    self.engine.check()
                lost = False
                for future in sorted(ended, key=lambda one: self.waiting[one][0][0]):
                    if isinstance(_fault_of(future), self.engine.lost):
                        lost = True
                        continue
                    task = self.waiting.pop(future)
                    seconds, values = self.engine.opened(future.result())
                    self.seconds, self.done = self.seconds + seconds, self.done + len(values)
                    yield from zip((number for number, _ in task), values, strict=True)
                if lost:
                    self.again()
                self.send()
        finally:
            for future in self.waiting:
                self.engine.take_back(future)

    def send(self) -> None:
        """Keep as many tasks on their way as the engine takes."""
        while len(self.waiting) < self.engine.sent and not self.too_far():
            task = list(itertools.islice(self.jobs, self.size()))
            if not task:
                return
            self.submit(task)

    def too_far(self) -> bool:
        """Return whether the oldest task is far behind: then what has ended since would pile up."""
        if self.max_ahead is None or not self.waiting:
            return False
        numbers = [task[0][0] for task in self.waiting.values()]
        return max(numbers) - min(numbers) > self.max_ahead * self.engine.count * self.size()

    def size(self) -> int:
        """Return how many jobs make a task that is long enough to be sent, as far as earlier jobs tell."""
        if not self.batch or not self.done:
            return 1
        return min(max(int(self.engine.least * self.done / max(self.seconds, 1e-9)), 1), MOST_JOINED)

    def submit(self, task: Jobs) -> None:
        self.waiting[self.engine.submit(_task, self.function, [job for _, job in task])] = task

    def again(self) -> None:
        """Send again what was lost with a worker, which is laid to the charge of those tasks that may have started."""
        self.engine.renew()  # after which all have ended, and those with a result are given in their turn
        lost = [future for future in self.waiting if isinstance(_fault_of(future), self.engine.lost)]
        tasks = [self.waiting.pop(future) for future in lost]
        self.deaths.update(task[0][0] for task in tasks[: self.engine.count])  # they start in the order of sending
        if max(self.deaths.values()) >= DEATHS:
            raise ResourceError(
                f"worker processes died {DEATHS} times over the same work; there may be too little memory: use fewer "
                "jobs (--jobs), or make the problem smaller"
            )
        for task in sorted(tasks, key=lambda task: task[0][0]):
            self.submit(task)


def _fault_of(future: "Future[Any]") -> BaseException | None:
    """Return the error that a call ended with, if any; one that nobody here took back was lost with its scheduler."""
    try:
        return future.exception()
    except CancelledError:
        raise ResourceError("the scheduler of the Dask cluster is gone; start it again, and the command") from None


def _task(function: Callable[..., T], jobs: list[tuple[Any, ...]]) -> tuple[float, list[T]]:
    """Do some jobs, here or wherever they were sent; return how long they took, and their results.

    Linear algebra has one thread: another number could move the last bit.
    """
    started = time.perf_counter()
    with one_thread("blas"):
        found = [function(*job) for job in jobs]
    return time.perf_counter() - started, found


def executor_for(
    jobs: int | Workers | None = None,
    *,
    threads: int | None = None,
    threaded: bool = False,
    max_jobs: int | None = None,
) -> Executor:
    """Return who does the work: workers, or for None or 1 this process.

    `threads` are those of one job, by default as many as cores are left for it. In this process, `threaded` jobs, which
    spend their time in kernels, run beside each other instead, on so many threads. `max_jobs` is how many jobs there are:
    no more processes are started, and for none nobody is asked.

    >>> with executor_for(2, threads=1) as executor: executor.n_workers, executor.threads, executor.in_process
    (2, 1, False)
    >>> with executor_for(threads=3, threaded=True) as executor: executor.n_workers, executor.threads
    (3, 1)
    """
    workers = as_workers(jobs)
    if max_jobs == 0:
        workers = None
    if workers is not None and max_jobs is not None and workers.address is None:
        workers = replace(workers, jobs=min(workers.here, max_jobs))
    if workers is None:
        count = resolve_threads(threads)
        return Executor(ThreadBackend(count), threads=1) if threaded and count > 1 else Executor(threads=threads)
    inside = 1 if workers.address is not None or threaded else max(cores() // workers.here, 1)
    return Executor(engine_of(workers), threads=inside if threads is None else threads)


def thread_map(
    function: Callable[..., T], jobs: Iterable[tuple[Any, ...]], *, threads: int | None = None
) -> Generator[T, None, None]:
    """Call `function` with every job's arguments, on threads of this process; give the results in order.

    >>> list(thread_map(pow, [(2, 3), (3, 2)], threads=2))
    [8, 9]
    """
    with executor_for(threads=threads, threaded=True) as executor:
        yield from executor.map(function, jobs, batch=False)
