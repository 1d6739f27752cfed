"""Threads, worker processes and Dask clusters. No other subpackage starts threads or processes.

`Executor.map` sends jobs to workers; inside a job `Threads` runs a kernel over the rows of an array. Neither changes a
result: a job depends on its arguments only, and results are combined in the order of the jobs.
"""

from lpbandits.parallel.executor import Executor, thread_map
from lpbandits.parallel.threads import Threads, one_thread, resolve_threads
from lpbandits.parallel.workers import Workers, concurrency, executor_for

__all__ = [
    "Executor",
    "Threads",
    "Workers",
    "concurrency",
    "executor_for",
    "one_thread",
    "resolve_threads",
    "thread_map",
]
