"""`DaskBackend`: connect to a Dask cluster or start one, and report what is wrong with it."""

import contextlib
import logging
import socket
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any
from urllib.parse import urlsplit

from lpbandits.errors import InvalidInput, ResourceError, reason
from lpbandits.io.compressed import temporary_folder
from lpbandits.parallel.backends import Backend, pack, run_packed, unpack
from lpbandits.parallel.signals import block_sigint, defer_signals
from lpbandits.parallel.workers import Workers

CONNECT_SECONDS = 5
"""Seconds to connect to a Dask scheduler's machine."""

REPLY_SECONDS = 15
"""Seconds for a Dask scheduler to reply."""

WORKER_SECONDS = 30
"""Seconds that a Dask cluster may be without workers."""

SAME_VERSIONS = ("python", "lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Versions that can change the last bit of a result."""


class DaskBackend(Backend):
    """A Dask cluster: the one at an address, or a temporary one on this machine's loopback interface.

    The scheduler resubmits calls of workers that crashed, and gives up after `distributed.scheduler.allowed-failures`.
    """

    def __init__(self, workers: Workers) -> None:
        self._open = contextlib.ExitStack()
        self._name = f"at {workers.address}" if workers.address else "of this machine"
        try:
            self._client = self._connect(workers)
            n_threads = sum(self._client.nthreads().values())
            if not n_threads:
                raise InvalidInput(
                    f"the Dask cluster {self._name} has no workers; start some: dask worker {workers.address}"
                )
            super().__init__(n_threads if workers.jobs is None else workers.jobs)
            if self.n_workers < n_threads:  # the scheduler starts all that it gets
                self.window = self.n_workers
            _check_versions(self._client)
            self._executor = self._open.enter_context(self._client.get_executor(pure=False))
        except BaseException:
            self.close()
            raise

    def _connect(self, workers: Workers) -> Any:
        try:
            from distributed import Client, LocalCluster  # noqa: PLC0415 - heavy, and an extra
            from distributed.utils import silence_logging_cmgr  # noqa: PLC0415
            from distributed.versions import VersionMismatchWarning  # noqa: PLC0415
        except ImportError:
            raise InvalidInput(
                "backend is 'dask', which is not installed: pip install 'lpbandits[dask]', or use backend 'processes'"
            ) from None
        self._open.enter_context(silence_logging_cmgr(logging.CRITICAL))
        target: Any = workers.address
        if target is None:
            with defer_signals():
                target = self._open.enter_context(_local_cluster(LocalCluster, workers.n_local, self._open))
        else:
            _check_address(target)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_versions` raises
                return self._open.enter_context(Client(target, timeout=REPLY_SECONDS, set_as_default=False))  # type: ignore[no-untyped-call]
        except Exception as error:  # OSError, or for tls:// and ucx:// that are not set up, any other
            raise _no_scheduler(workers.address, error) from None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call, pickled: arrays that Dask itself sends are not aligned, which changes the order of sums."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a job's data are sent once
            return self._executor.submit(run_packed, pack(function, arguments))  # type: ignore[no-any-return]

    def result(self, future: "Future[Any]") -> Any:
        """Return the result of a call."""
        from distributed import KilledWorker  # noqa: PLC0415

        try:
            return unpack(future)
        except KilledWorker as error:
            raise ResourceError(
                "Dask workers crashed several times on the same task; if memory is short, use fewer workers, or a "
                "smaller problem"
            ) from error
        except CancelledError:
            raise ResourceError("the Dask scheduler is gone; start it and run the command again") from None

    def run_everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of a call on every worker; workers that are gone are left out."""
        results = self._client.run(function, *arguments, on_error="return").values()
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, OSError):
                raise result
        return [result for result in results if not isinstance(result, OSError)]

    def check_alive(self) -> None:
        """Wait for workers if there are none, and raise if none come; futures say that a scheduler is gone."""
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

    def stop(self) -> None:
        """Cancel calls, and end what was started here."""
        with defer_signals():
            self._executor.shutdown(wait=False)
            self._open.close()

    def close(self) -> None:
        """Disconnect, and end what was started here."""
        with defer_signals():
            self._open.close()


def _local_cluster(cluster: Callable[..., Any], n_workers: int, resources: contextlib.ExitStack) -> Any:
    folder = str(resources.enter_context(temporary_folder()))
    try:
        with block_sigint():
            return cluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                scheduler_kwargs={"local_directory": folder},
            )
    except RuntimeError as error:
        raise ResourceError(
            f"cannot start a Dask cluster on this machine: {error}; in a script, put the call under "
            "`if __name__ == '__main__':`, or use backend 'processes'"
        ) from None


def _check_address(address: str) -> None:
    """Raise at once if no scheduler listens; Dask retries for half a minute, and waits forever for a silent one."""
    parts = urlsplit(address)
    if parts.scheme == "ucx":  # it does not listen on a socket
        return
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=CONNECT_SECONDS) as connection:
            connection.settimeout(REPLY_SECONDS)
            if parts.scheme == "tcp" and not connection.recv(1):
                raise ConnectionError("the connection was closed")
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        raise _no_scheduler(address, error) from None


def _no_scheduler(address: str | None, error: Exception) -> InvalidInput:
    why = reason(error) if str(error) else "no reply"
    return InvalidInput(
        f"no Dask scheduler answers at {address}: {why}; start one (dask scheduler --host 127.0.0.1; its port is 8786, "
        "its web page's is 8787), or leave the address out for a cluster on this machine"
    )


def _check_versions(client: Any) -> None:
    """Raise if a worker has other versions than this process."""
    versions = client.get_versions(packages=list(SAME_VERSIONS[1:]))
    here = versions["client"]["packages"]
    for worker, there in versions["workers"].items():
        for name in SAME_VERSIONS:
            expected, got = here[name], there["packages"].get(name)
            if name == "python":  # up to the minor version
                expected, got = (".".join(str(version).split(".")[:2]) for version in (expected, got))
            if expected != got:
                raise InvalidInput(
                    f"the Dask worker at {worker} has {name} {got}, this process has {expected}, and results could "
                    "differ; install the same versions"
                )
