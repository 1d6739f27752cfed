"""`Workers`: the number, kind and address of worker processes."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from lpbandits import validate
from lpbandits.errors import InvalidInput
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
        backend = validate.as_choice(self.backend, "backend", get_args(Backend))
        jobs = None if self.jobs is None else validate.as_count(self.jobs, "jobs", high=MAX_JOBS)
        if self.address is not None:
            if backend != "dask":
                raise InvalidInput(
                    f"address is {validate.short_repr(self.address)}, but the backend is {backend!r}; use "
                    "backend='dask' (--backend dask), or leave the address out"
                )
            object.__setattr__(self, "address", _as_address(self.address))
        object.__setattr__(self, "backend", backend)
        object.__setattr__(self, "jobs", jobs)

    @property
    def n_local(self) -> int:
        """Number of processes to start on this machine."""
        return 0 if self.address is not None else cores() if self.jobs is None else self.jobs


def as_workers(jobs: Any) -> Workers | None:
    """Return the workers that `jobs` asks for; None for this process only.

    Examples
    --------
    >>> as_workers(1), as_workers(None), as_workers(2).jobs
    (None, None, 2)
    """
    if jobs is None or isinstance(jobs, Workers):
        return jobs
    count = validate.as_count(jobs, "jobs", high=MAX_JOBS)
    return None if count == 1 else Workers(count)


def concurrency(jobs: int | Workers | None, *, threads: int | None) -> int:
    """Return the number of jobs at a time, as far as it is known without a connection to a cluster.

    Examples
    --------
    >>> concurrency(None, threads=3), concurrency(Workers(2), threads=3)
    (3, 2)
    """
    workers = as_workers(jobs)
    n_threads = resolve_threads(threads)
    return n_threads if workers is None else workers.jobs or cores()


def _as_address(value: Any) -> str:
    text = validate.as_text(value, "address")
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("tcp", "tls", "ucx") and parts.hostname and parts.port is not None
    except ValueError:  # a port that is not a number up to 65535
        valid = False
    if not valid:
        raise InvalidInput(
            f"address must be tcp://, tls:// or ucx://, a host and a port, got {validate.short_repr(text)}; give the "
            "address of a Dask scheduler, such as tcp://10.0.0.1:8786"
        )
    return text
