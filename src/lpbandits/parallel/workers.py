"""`Workers`: the number, kind and address of worker processes; `executor_for`: an executor that uses them."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.parallel.backends import DaskExecutor, ProcessExecutor
from lpbandits.parallel.executor import Executor
from lpbandits.parallel.threads import cores, resolve_threads

Backend = Literal["processes", "dask"]

MAX_JOBS = 1024


@dataclass(frozen=True)
class Workers:
    """Worker processes that jobs are sent to.

    Parameters
    ----------
    jobs
        Number of jobs at a time; by default one per core, or one per thread of the cluster.
    backend
        "processes" of this machine, or "dask": the cluster at `address`, or a temporary one on this machine's loopback
        interface.
    address
        Address of a Dask scheduler, such as "tcp://10.0.0.1:8786".

    Examples
    --------
    >>> Workers(2)
    Workers(jobs=2, backend='processes', address=None)
    """

    jobs: int | None = None
    backend: Backend = "processes"
    address: str | None = None

    def __post_init__(self) -> None:
        validate.as_choice(self.backend, "backend", get_args(Backend))
        if self.jobs is not None:
            object.__setattr__(self, "jobs", validate.as_count(self.jobs, "jobs", high=MAX_JOBS))
        if self.address is not None:
            if self.backend != "dask":
                raise InvalidInput(
                    f"address is {validate.short_repr(self.address)}, but the backend is {self.backend!r}; use "
                    "backend='dask' (--backend dask), or leave the address out"
                )
            try:
                parts = urlsplit(validate.as_text(self.address, "address"))
                valid = parts.scheme in ("tcp", "tls", "ucx") and parts.hostname and parts.port is not None
            except ValueError:  # a port that is not a number up to 65535
                valid = False
            if not valid:
                expected = "the address of a Dask scheduler, such as tcp://10.0.0.1:8786 (or tls://, ucx://)"
                raise validate.invalid("address", expected, self.address)

    @property
    def n_local(self) -> int:
        """Number of processes to start on this machine."""
        return 0 if self.address is not None else self.jobs or cores()


def as_workers(jobs: Any) -> Workers | None:
    """Return the workers that `jobs` asks for; None for this process only.

    >>> as_workers(1), as_workers(None), as_workers(2).jobs
    (None, None, 2)
    """
    if jobs is None or isinstance(jobs, Workers):
        return jobs
    workers = Workers(jobs)
    return None if workers.jobs == 1 else workers


def concurrency(jobs: int | Workers | None, *, threads: int | None) -> int:
    """Return the number of jobs at a time, as far as it is known without a connection to a cluster."""
    workers = as_workers(jobs)
    n_threads = resolve_threads(threads)
    return n_threads if workers is None else workers.jobs or cores()


def executor_for(
    jobs: int | Workers | None = None, *, threads: int | None = None, max_jobs: int = MAX_JOBS
) -> Executor:
    """Return an executor on workers, or, if `jobs` is None or 1, in this process.

    `threads` is the number of threads of one job; by default the workers share the cores. `max_jobs` is the number of
    jobs, if known: no more processes are started, and for 0 no cluster is contacted.

    >>> with executor_for(2, threads=1) as executor: executor.n_workers, executor.threads, executor.in_process
    (2, 1, False)
    """
    workers = as_workers(jobs)
    if workers is None or max_jobs == 0:
        return Executor(threads=threads)
    n_local = min(workers.n_local, max_jobs)
    if threads is None:
        threads = max(cores() // n_local, 1) if n_local else 1
    if workers.backend == "dask":
        return DaskExecutor(n_local or workers.jobs, workers.address, threads=threads)
    return ProcessExecutor(n_local, threads=threads)
