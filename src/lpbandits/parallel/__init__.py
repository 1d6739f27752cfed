"""More cores and machines: the only place that starts threads, processes or a cluster.

Work is spread at two levels. `Executor.map` sends whole jobs to workers: processes of this machine, or a Dask cluster's;
inside a job `Threads` runs one kernel over the rows of an array. Neither changes a result: every job and every row
depends on nothing but its own arguments, and results are put together in the order of the jobs.
"""

from lpbandits.parallel.executor import Executor, executor_for, thread_map
from lpbandits.parallel.signals import defer_signals
from lpbandits.parallel.threads import Threads, cores, one_thread, resolve_threads
from lpbandits.parallel.workers import Workers, concurrency

__all__ = [
    "Executor",
    "Threads",
    "Workers",
    "concurrency",
    "cores",
    "defer_signals",
    "executor_for",
    "one_thread",
    "resolve_threads",
    "thread_map",
]
