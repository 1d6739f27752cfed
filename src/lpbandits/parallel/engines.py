"""Who does the work: threads, processes (joblib's loky) or a Dask cluster, all behind one small face.

An engine takes one call at a time and gives a future for it. `lost` are the errors that say that a worker died, not
that its job failed; after one of them `renew` makes sure that there are workers again.
"""

import contextlib
import logging
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, Protocol

from lpbandits.errors import InvalidInput, MachineFault, reason
from lpbandits.limits import affordable
from lpbandits.parallel.travel import opened, packed, unpacked
from lpbandits.parallel.workers import Workers

PROCESS = 2**28
"""Bytes that a process takes before it does anything."""

IDLE = 120
"""Seconds after which a process that has nothing to do ends; until then the next call finds it warm."""

ANSWER = 15
"""Seconds that a scheduler has to answer."""

ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Libraries in a worker use one thread: as many workers as cores are busy already."""

LEAST = 0.5
"""Seconds of work that other processes are sent at a time: sending costs milliseconds."""

SAME = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose versions decide the last bit of a result."""


class Engine(Protocol):
    """Runs calls somewhere."""

    count: int
    """How many at a time."""
    lost: tuple[type[BaseException], ...]
    least: float
    """Seconds of work that are sent at a time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call; it may wait until a worker is free."""

    def opened(self, answer: Any) -> Any:
        """Return what a call gave, from how it came back."""

    def renew(self) -> None:
        """Replace workers that died."""

    def stop(self) -> None:
        """End at once, whatever is under way."""

    def close(self) -> None:
        """End, when nothing is under way any more."""


class OnThreads:
    """Threads of this process, for jobs that spend their time in kernels."""

    lost: tuple[type[BaseException], ...] = ()
    least = 0.0

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call."""
        return self._pool.submit(function, *arguments)

    def opened(self, answer: Any) -> Any:
        """Return it as it is."""
        return answer

    def renew(self) -> None:
        """Do nothing: threads do not die alone."""

    def stop(self) -> None:
        """Let calls under way end, and start no other."""
        self._pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


class OnProcesses:
    """Processes of this machine. When one dies the others end, too, and new ones take their place."""

    least = LEAST

    def __init__(self, count: int) -> None:
        from joblib.externals.loky import BrokenProcessPool  # noqa: PLC0415 - heavy, and only parallel work needs it

        self.count = count
        self.lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    @property
    def _pool(self) -> Executor:
        from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415

        pool: Executor = get_reusable_executor(max_workers=self.count, timeout=IDLE, env=ALONE)
        return pool

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call."""
        call = packed(function, arguments)
        with undisturbed():
            return self._pool.submit(unpacked, call)

    def opened(self, answer: Any) -> Any:
        """Return what a call gave."""
        return opened(answer)

    def renew(self) -> None:
        """Make new processes."""
        self.stop()

    def stop(self) -> None:
        """End all processes at once: one that computes would otherwise go on for as long as its job takes."""
        self._pool.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg] # loky's own

    def close(self) -> None:
        """Leave the processes to the next call; they end by themselves when there is none for a while."""


class OnDask:
    """A Dask cluster: the one at an address, or one of this machine's own processes on loopback.

    The scheduler gives the job of a worker that died to another; `lost` is what it says after several deaths.
    """

    lost: tuple[type[BaseException], ...] = ()
    least = LEAST

    def __init__(self, workers: Workers) -> None:
        self._open = contextlib.ExitStack()
        try:
            client = self._client(workers)
            threads = sum(client.nthreads().values())
            self.count = threads if workers.jobs is None else workers.jobs
            if not threads:
                raise InvalidInput(
                    f"the cluster at {workers.address} has no workers; start some: dask worker {workers.address}"
                )
            _check_versions(client)
            self._executor = self._open.enter_context(client.get_executor(pure=False))
        except BaseException:
            self._open.close()
            raise

    def _client(self, workers: Workers) -> Any:
        try:
            from distributed import Client, LocalCluster  # noqa: PLC0415 - heavy, and an extra
        except ImportError:
            raise InvalidInput(
                "backend is 'dask', which is not installed: pip install 'lpbandits[dask]', or use backend 'processes'"
            ) from None
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # deaths of workers are ours to tell
        where: Any = workers.address
        if where is None:
            with undisturbed():
                where = self._local(LocalCluster, workers.here)
        try:
            return self._open.enter_context(Client(where, timeout=ANSWER, set_as_default=False))  # type: ignore[no-untyped-call]
        except Exception as error:  # of the system, or, without certificates for tls://, of any other kind
            raise InvalidInput(
                f"no Dask scheduler answers at {workers.address}: {reason(error) or 'it was silent'}; start one (dask "
                "scheduler), or leave the address out for workers of this machine"
            ) from None

    def _local(self, cluster: Callable[..., Any], count: int) -> Any:
        """Start a cluster of this machine's own processes."""
        try:
            return self._open.enter_context(
                cluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
            )
        except RuntimeError as error:
            raise MachineFault(
                f"a Dask cluster could not be started here: {error}; in a script put what it does under "
                "`if __name__ == '__main__':`, or use backend 'processes'"
            ) from None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # each job's own data go out once
            return self._executor.submit(unpacked, packed(function, arguments))  # type: ignore[no-any-return]

    def opened(self, answer: Any) -> Any:
        """Return what a call gave."""
        return opened(answer)

    def renew(self) -> None:
        """Do nothing: the scheduler has done it."""

    def stop(self) -> None:
        """Take back what is not done, and end what was started here."""
        self._executor.shutdown(wait=False)
        self._open.close()

    def close(self) -> None:
        """End what was started here."""
        self._open.close()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Start processes that an interrupt does not reach: a terminal sends it to all, and it is this one that ends them.

    An interrupt that comes meanwhile waits.
    """
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    from multiprocessing import resource_tracker  # noqa: PLC0415 - only parallel work needs them

    from joblib.externals.loky.backend import resource_tracker as of_loky  # noqa: PLC0415

    for tracker in (resource_tracker, of_loky):
        tracker.ensure_running()  # which lets interrupts through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _about() -> dict[str, str]:
    return {name: version(name) for name in SAME}


def _check_versions(client: Any) -> None:
    """Refuse a cluster whose results might differ from those of this machine."""
    mine = _about()
    try:
        found = client.run(_about)
    except ImportError:
        raise InvalidInput(
            "the workers of the Dask cluster do not have lpbandits; install it there in the same version"
        ) from None
    for worker, theirs in found.items():
        for name in SAME:
            if theirs[name] != mine[name]:
                raise InvalidInput(
                    f"the Dask worker {worker} has {name} {theirs[name]}, and this machine has {mine[name]}: results "
                    "could differ; install the same versions"
                )


def engine_of(workers: Workers) -> Engine:
    """Start workers."""
    affordable(f"{workers.here:,} worker processes", "use fewer jobs (--jobs)", size=PROCESS * workers.here)
    return OnDask(workers) if workers.backend == "dask" else OnProcesses(workers.here)
