"""`ProcessExecutor` and `DaskExecutor`: jobs on joblib's worker processes (loky), and on a Dask cluster.

Jobs and results are pickled here, to bytes: an array that Dask itself sends is not aligned, which changes the order of
sums, and a job that cannot be pickled or loaded gives one error with its cause.
"""

import contextlib
import copyreg
import importlib
import logging
import os
import pickle
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from lpbandits.errors import InvalidInput, ResourceError, StalledWarning, UncompiledWarning, reason
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import PACKAGE
from lpbandits.parallel.executor import Executor, Job, run_job
from lpbandits.parallel.signals import block_sigint, defer_signals

IDLE_SECONDS = 120
"""Idle worker processes end after this time; until then the next call reuses them."""

CONNECT_SECONDS = 5
"""Seconds to connect to a Dask scheduler's machine."""

REPLY_SECONDS = 15
"""Seconds for a Dask scheduler to reply."""

SILENT_SECONDS = 30
"""Seconds without a reply or a heartbeat after which a Dask scheduler or worker is reported.

A cluster without workers is given up after this time, and so is one whose workers do not reply when it is connected.
"""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment variables of worker processes: one BLAS thread each, because there is one worker per core."""

SAME_VERSIONS = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose version can change the last bit of a result."""


class ProcessExecutor(Executor):
    """Run jobs on processes of this machine: joblib's reusable pool, which all executors of this process share.

    When one worker crashes, loky ends all of them, and every submitted call fails.
    """

    in_process = False

    def __init__(self, n_workers: int, *, threads: int | None = None) -> None:
        from joblib.externals.loky import process_executor  # noqa: PLC0415 - heavy

        super().__init__(n_workers, threads=threads)
        self._crash_errors = (process_executor.TerminatedWorkerError, process_executor.ShutdownExecutorError)

    def _submit(self, function: Callable[..., Any], job: Job) -> "Future[Any]":
        """Submit a job; the first starts the processes."""
        call = pack(function, job)
        with defer_signals(), block_sigint():
            self._pool = self._pool or _reusable_pool(self.n_workers)
            try:
                return self._pool.submit(run_packed, call)  # type: ignore[no-any-return]
            except self._crash_errors as error:  # since the last call
                failed: Future[Any] = Future()
                failed.set_exception(error)
                return failed

    def _result(self, future: "Future[Any]") -> Any:
        return pickle.loads(future.result())  # noqa: S301 - from our own worker

    def _restart(self) -> None:
        """Wait for the end of a broken pool; the next call starts a new one."""
        with defer_signals():
            self._pool.shutdown(wait=True)
            self._pool = None

    def _close(self, *, abort: bool) -> None:
        """Keep the processes for the next executor; `abort` ends them.

        Another executor that uses them restarts its jobs. loky's `kill_workers=True` has a race with calls that are not
        in its queue yet, so the processes are ended here, which loky handles.
        """
        if abort and self._pool is not None:
            with defer_signals():
                for process in list(self._pool._processes.values()):
                    process.terminate()
                self._restart()


def _reusable_pool(n_workers: int) -> Any:
    """Return joblib's pool; a new one if the folder, the environment or `sys.path` has changed since the last."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415

    return get_reusable_executor(
        n_workers,
        timeout=IDLE_SECONDS,
        env={**os.environ, **ONE_THREAD},
        initializer=_initialize_worker,
        initargs=(os.getpid(), Path.cwd(), tuple(sys.path)),
    )


def _initialize_worker(parent: int, *_: object) -> None:
    """Disable loky's limit of a worker's growth, and end the worker when its parent ends."""
    from joblib.externals.loky import process_executor  # noqa: PLC0415

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # loky ends workers that grow by 300 MB; a block is larger

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class DaskExecutor(Executor):
    """Run jobs on the Dask cluster at an address, or on a temporary one on this machine's loopback interface.

    The scheduler resubmits calls of workers that crashed, and gives up after `distributed.scheduler.allowed-failures`.
    """

    in_process = False

    def __init__(self, n_workers: int | None, address: str | None, *, threads: int | None = None) -> None:
        self._name = f"at {address}" if address else "of this machine"
        with contextlib.ExitStack() as stack:
            self._client = _connect(address, n_workers, stack)
            n_threads = sum(self._client.nthreads().values())
            if not n_threads:
                raise InvalidInput(f"the Dask cluster {self._name} has no workers; start some: dask worker {address}")
            super().__init__(n_workers or n_threads, threads=threads)
            if self.n_workers < n_threads:
                self._max_submitted = self.n_workers  # a Dask worker starts every call it receives
            _check_versions(self._client, self._name)
            self._pool = stack.enter_context(self._client.get_executor(pure=False))
            self._stack = stack.pop_all()
        self._heartbeats: dict[tuple[str, float], float] = {}
        """When a worker's last heartbeat, by the scheduler's clock, was first seen here."""
        self._silent: list[str] = []

    def _submit(self, function: Callable[..., Any], job: Job) -> "Future[Any]":
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a job's data are sent once
            return self._pool.submit(run_packed, pack(function, job))  # type: ignore[no-any-return]

    def _result(self, future: "Future[Any]") -> Any:
        try:
            return pickle.loads(future.result())  # noqa: S301 - from our own worker
        except CancelledError:
            raise ResourceError("the Dask scheduler is gone; start it and run the command again") from None

    def run_everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of a call on every worker."""
        return list(self._client.run(function, *arguments).values())

    def _check_workers(self) -> None:
        """Warn of a silent scheduler or worker; wait for workers if there are none, and raise if none come.

        Futures report a lost scheduler.
        """
        address, asked = self._client.scheduler.address, time.monotonic()
        try:
            workers = self._client.sync(self._client.scheduler.identity, callback_timeout=SILENT_SECONDS)["workers"]
        except TimeoutError:
            self._heartbeats = {}  # which the scheduler did not receive
            self._warn_of([f"scheduler at {address}"])
            return
        except OSError:
            return
        try:
            if not workers:  # `wait_for_workers` does not count busy workers that are paused
                self._client.wait_for_workers(1, timeout=SILENT_SECONDS)
        except TimeoutError:
            raise ResourceError(
                f"the Dask cluster {self._name} has had no workers for {SILENT_SECONDS} seconds; start some and "
                "run the command again"
            ) from None
        beats = [(worker, about["last_seen"]) for worker, about in workers.items()]
        self._heartbeats = {beat: self._heartbeats.get(beat, asked) for beat in beats}
        silent = [worker for (worker, _), since in self._heartbeats.items() if asked - since >= SILENT_SECONDS]
        self._warn_of([f"worker at {worker} (scheduler at {address})" for worker in silent])

    def _warn_of(self, silent: list[str]) -> None:
        """Warn once about each silent part of the cluster, and again if it replied in between."""
        for part in silent:
            if part not in self._silent:
                warnings.warn(
                    f"the Dask {part} has been silent for {SILENT_SECONDS} seconds; the work waits for it: check its "
                    "machine, or end it (the jobs of a worker that ends run on the others)",
                    StalledWarning,
                    stacklevel=4,
                )
        self._silent = silent

    def _close(self, *, abort: bool) -> None:
        """Disconnect, and end what was started here; `abort` cancels calls first."""
        with defer_signals():
            if abort:
                self._pool.shutdown(wait=False)
            self._stack.close()


def _connect(address: str | None, n_workers: int | None, stack: contextlib.ExitStack) -> Any:
    """Return a client of a cluster, which is started if there is no address; `stack` ends both."""
    try:
        from distributed import Client, LocalCluster  # noqa: PLC0415 - heavy, and an extra
        from distributed.utils import silence_logging_cmgr  # noqa: PLC0415
        from distributed.versions import VersionMismatchWarning  # noqa: PLC0415
    except ImportError:
        raise InvalidInput(
            "backend is 'dask', which is not installed: pip install 'lpbandits[dask]', or use backend 'processes'"
        ) from None
    stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # suppress Dask's long log messages
    target: Any = address
    if address is None:
        folder = str(stack.enter_context(temporary_folder()))
        try:
            with defer_signals(), block_sigint():
                cluster = LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=n_workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                    local_directory=folder,
                    scheduler_kwargs={"local_directory": folder},
                )
                target = stack.enter_context(cluster)
        except RuntimeError as error:
            raise ResourceError(
                f"cannot start a Dask cluster on this machine: {error}; in a script, put the call under "
                "`if __name__ == '__main__':`, or use backend 'processes'"
            ) from None
    try:
        if address is not None:
            _check_scheduler(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_versions` raises
            return stack.enter_context(Client(target, timeout=REPLY_SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
    except Exception as error:  # OSError, or for tls:// and ucx:// that are not set up, any other
        raise InvalidInput(
            f"no Dask scheduler answers at {address}: {reason(error) if str(error) else 'no reply'}; start one (dask "
            "scheduler --host 127.0.0.1; its port is 8786, its web page's is 8787), or leave the address out for a "
            "cluster on this machine"
        ) from None


def _check_scheduler(address: str) -> None:
    """Raise at once if no scheduler listens; Dask retries for half a minute, and waits forever for a silent one."""
    parts = urlsplit(address)
    if parts.scheme == "ucx":  # it does not listen on a socket
        return
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=CONNECT_SECONDS) as connection:
        connection.settimeout(REPLY_SECONDS)
        if parts.scheme == "tcp" and not connection.recv(1):
            raise ConnectionError("the connection was closed")


def _check_versions(client: Any, cluster: str) -> None:
    """Raise if a worker has other versions than this process; for Python, only major and minor version must agree."""
    try:
        names = list(SAME_VERSIONS)
        versions = client.sync(client.get_versions, packages=names, callback_timeout=SILENT_SECONDS)
    except TimeoutError:
        raise ResourceError(
            f"a worker of the Dask cluster {cluster} has not replied for {SILENT_SECONDS} seconds; check or end it"
        ) from None
    for address, worker in versions["workers"].items():
        for name in ("python", *SAME_VERSIONS):
            here, there = (machine["packages"].get(name) for machine in (versions["client"], worker))
            if name == "python":
                here, there = (version.rsplit(".", 3)[0] for version in (here, there))
            if here != there:
                raise InvalidInput(
                    f"the Dask worker at {address} has {name} {there} but this process has {here}, so results could "
                    "differ; install the same versions"
                )


def pack(function: Callable[..., Any], job: Job) -> bytes:
    """Pickle a call; functions of a script or a notebook go by value, those of modules by name."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415 - heavy, and only parallel work needs it

    kind = type(sys.modules[PACKAGE])
    if kind is not ModuleType:  # lazy_loader gives the package a type of its own, which cannot be pickled
        copyreg.pickle(kind, _by_name)
    with _picklable("cannot pickle a job for", "define policies in a module, without open files or locks"):
        return bytes(dumps((function, job)))


def _by_name(module: ModuleType) -> tuple[Callable[[str], ModuleType], tuple[str]]:
    """Pickle a module by its name."""
    return importlib.import_module, (module.__name__,)


def run_packed(call: bytes) -> bytes:
    """Run a pickled call in a worker and pickle its result; the parent has already warned of uncompiled functions."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415

    with _picklable("cannot load a job in", "install the module there or set PYTHONPATH"):
        function, job = pickle.loads(call)  # noqa: S301 - from the process that started this worker
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncompiledWarning)
        return bytes(dumps(run_job(function, job)))


@contextlib.contextmanager
def _picklable(problem: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise InvalidInput(f"{problem} worker processes ({why}); {remedy}, or use one process (--jobs 1)") from None
