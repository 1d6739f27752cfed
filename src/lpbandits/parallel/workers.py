"""`Workers`: how many, of which kind, and where."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.parallel.threads import cores, resolve_threads

Backend = Literal["processes", "dask"]

MOST = 1024
"""Workers that this machine may be asked to start."""


@dataclass(frozen=True)
class Workers:
    """Worker processes that jobs are sent to.

    Parameters
    ----------
    jobs
        How many jobs are worked on at a time; by default one per core, or per thread of the cluster.
    backend
        "processes" of this machine, or "dask": the cluster at `address`, or one that is started on this machine for
        the time being and listens on its loopback only.
    address
        Where the scheduler of a Dask cluster is, such as "tcp://10.0.0.1:8786".

    >>> Workers(2)
    Workers(jobs=2, backend='processes', address=None)
    >>> Workers(backend="dask", address="10.0.0.1")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: address is '10.0.0.1': it does not begin with tcp://, tls:// or ucx://; give that ...
    """

    jobs: int | None = None
    backend: Backend = "processes"
    address: str | None = None

    def __post_init__(self) -> None:
        backend = validate.as_choice(self.backend, "backend", get_args(Backend))
        jobs = None if self.jobs is None else validate.as_count(self.jobs, "jobs", high=MOST)
        if self.address is not None:
            if backend != "dask":
                raise InvalidInput(
                    f"address is {validate.short_repr(self.address)}, but the backend is {backend!r}; an address is for "
                    "backend='dask' (--backend dask): add that, or leave the address out"
                )
            object.__setattr__(self, "address", _as_address(self.address))
        object.__setattr__(self, "backend", backend)
        object.__setattr__(self, "jobs", jobs)

    @property
    def here(self) -> int:
        """How many processes are started on this machine."""
        return 0 if self.address is not None else cores() if self.jobs is None else self.jobs


def as_workers(jobs: Any) -> Workers | None:
    """Return who is to work; None for this process alone.

    >>> as_workers(1), as_workers(None)
    (None, None)
    >>> as_workers(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: jobs must be a whole number from 1 to 1024, got 0
    """
    if jobs is None or isinstance(jobs, Workers):
        return jobs
    count = validate.as_count(jobs, "jobs", high=MOST)
    return None if count == 1 else Workers(count)


def concurrency(jobs: int | Workers | None, *, threads: int | None) -> int:
    """Return how many pieces of work are done at a time, as far as that is known before anybody is asked.

    >>> concurrency(None, threads=3), concurrency(Workers(2), threads=3)
    (3, 2)
    """
    workers = as_workers(jobs)
    count = resolve_threads(threads)
    return count if workers is None else workers.jobs or cores()


def _as_address(value: Any) -> str:
    text = validate.as_text(value, "address")
    try:
        parts = urlsplit(text)
        wrong = "" if parts.scheme in ("tcp", "tls", "ucx") else "it does not begin with tcp://, tls:// or ucx://"
        wrong = wrong or ("" if parts.hostname else "it names no machine")
        wrong = wrong or ("it names no port" if parts.port is None else "")
    except ValueError:
        wrong = "its port is not a whole number up to 65535"
    if wrong:
        raise InvalidInput(
            f"address is {validate.short_repr(text)}: {wrong}; give that of a Dask scheduler, such as tcp://10.0.0.1:8786"
        )
    return text
