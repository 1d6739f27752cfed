"""`DaskExecutor`: jobs on a Dask cluster, which is checked when it is connected."""

import contextlib
import logging
import pickle
import socket
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any
from urllib.parse import urlsplit

from lpbandits.errors import InvalidInput, ResourceError, reason
from lpbandits.io.compressed import temporary_folder
from lpbandits.parallel.executor import Executor
from lpbandits.parallel.processes import pack, run_packed
from lpbandits.parallel.signals import block_sigint, defer_signals

CONNECT_SECONDS = 5
"""Seconds to connect to a Dask scheduler's machine."""

REPLY_SECONDS = 15
"""Seconds for a Dask scheduler to reply."""

WORKER_SECONDS = 30
"""Seconds that a Dask cluster may be without workers."""

SAME_VERSIONS = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose version can change the last bit of a result."""


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
            _check_versions(self._client)
            self._executor = stack.enter_context(self._client.get_executor(pure=False))
            self._stack = stack.pop_all()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call, pickled: arrays that Dask itself sends are not aligned, which changes the order of sums."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a job's data are sent once
            return self._executor.submit(run_packed, pack(function, arguments))  # type: ignore[no-any-return]

    def _result(self, future: "Future[Any]") -> Any:
        try:
            return pickle.loads(future.result())  # noqa: S301 - from our own worker
        except CancelledError:
            raise ResourceError("the Dask scheduler is gone; start it and run the command again") from None

    def run_everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of a call on every worker."""
        return list(self._client.run(function, *arguments).values())

    def _check_workers(self) -> None:
        """Wait for workers if there are none, and raise if none come; futures report a lost scheduler."""
        with contextlib.suppress(OSError):
            if self._client.nthreads():
                return
            try:
                self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
            except TimeoutError:
                raise ResourceError(
                    f"the Dask cluster {self._name} has had no workers for {WORKER_SECONDS} seconds; start some and "
                    "run the command again"
                ) from None

    def _close(self, *, abort: bool) -> None:
        """Disconnect, and end what was started here; `abort` cancels calls first."""
        with defer_signals():
            if abort:
                self._executor.shutdown(wait=False)
            self._stack.close()


def _connect(address: str | None, n_workers: int | None, stack: contextlib.ExitStack) -> Any:
    """Return a client of a cluster, which is started if there is no address; `stack` ends both."""
    try:
        from distributed import Client  # noqa: PLC0415 - heavy, and an extra
        from distributed.utils import silence_logging_cmgr  # noqa: PLC0415
        from distributed.versions import VersionMismatchWarning  # noqa: PLC0415
    except ImportError:
        raise InvalidInput(
            "backend is 'dask', which is not installed: pip install 'lpbandits[dask]', or use backend 'processes'"
        ) from None
    stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # suppress Dask's long log messages
    target = address or _local_cluster(n_workers, stack)
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


def _local_cluster(n_workers: int | None, stack: contextlib.ExitStack) -> Any:
    from distributed import LocalCluster  # noqa: PLC0415

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
            return stack.enter_context(cluster)
    except RuntimeError as error:
        raise ResourceError(
            f"cannot start a Dask cluster on this machine: {error}; in a script, put the call under "
            "`if __name__ == '__main__':`, or use backend 'processes'"
        ) from None


def _check_versions(client: Any) -> None:
    """Raise if a worker has other versions than this process; for Python, only major and minor version must agree."""
    versions = client.get_versions(packages=list(SAME_VERSIONS))

    def relevant(machine: Any) -> Any:
        packages = machine["packages"]
        python = ".".join(packages["python"].split(".")[:2])
        return {"python": python, **{name: packages.get(name) for name in SAME_VERSIONS}}

    here = relevant(versions["client"])
    for worker, machine in versions["workers"].items():
        for name, version in relevant(machine).items():
            if version != here[name]:
                raise InvalidInput(
                    f"the Dask worker at {worker} has {name} {version} but this process has {here[name]}, so results "
                    "could differ; install the same versions"
                )
