"""A Dask cluster: how it is reached or started, and what is said when it is gone."""

import contextlib
import importlib.util
import logging
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, ClassVar
from urllib.parse import urlsplit

from lpbandits.errors import InvalidInput, ResourceError, reason
from lpbandits.io.compressed import temporary_folder
from lpbandits.parallel.signals import defer_signals, start_with_sigint_blocked
from lpbandits.parallel.travel import LEAST, about, check_same, opened, packed, unpacked
from lpbandits.parallel.workers import Workers

REACH = 5
"""Seconds that a machine has to take a connection."""

ANSWER = 15
"""Seconds that a scheduler has to answer."""

PATIENCE = 30
"""Seconds that a cluster may be without workers: those that died are started again, if somebody looks after them."""

AFTERWARDS = 60
"""Seconds for which a client that lost its scheduler goes on speaking of it."""


class DaskBackend:
    """A Dask cluster: the one at an address, or one of this machine's own processes on loopback.

    Its scheduler gives the job of a worker that died to another, and gives up one with which several died: for us no
    call is `lost`.
    """

    lost: tuple[type[BaseException], ...] = ()
    least = LEAST

    def __init__(self, workers: Workers) -> None:
        self._open = contextlib.ExitStack()
        self._bare: float | None = None
        self._where = f"at {workers.address}" if workers.address else "of this machine"
        try:
            self._client = self._reached(workers)
            threads = sum(self._client.nthreads().values())
            self.count = threads if workers.jobs is None else workers.jobs
            self.sent = self.count if self.count < threads else 2 * self.count  # a scheduler starts all that it can
            if not threads:
                raise InvalidInput(
                    f"the cluster at {workers.address} has no workers; start some, each at an address that nobody sees "
                    f"whom you do not trust: dask worker {workers.address} --host 10.0.0.2"
                )
            _check_versions(self._client)
            self._executor = self._open.enter_context(self._client.get_executor(pure=False))
        except BaseException:
            self.close()
            raise

    def _reached(self, workers: Workers) -> Any:
        try:
            from distributed import Client, LocalCluster  # noqa: PLC0415 - heavy, and an extra
        except ImportError:
            raise InvalidInput(
                "backend is 'dask', which is not installed: pip install 'lpbandits[dask]', or use backend 'processes'"
            ) from None
        self._open.enter_context(_quiet())
        where: Any = workers.address
        if where is None:
            with defer_signals():
                where = self._local(LocalCluster, workers.here)
        else:
            _check_way(where)
        try:
            return self._open.enter_context(Client(where, timeout=ANSWER, set_as_default=False))  # type: ignore[no-untyped-call]
        except Exception as error:  # of the system, or, without certificates for tls://, of any other kind
            raise _silent(workers.address, error) from None

    def _local(self, cluster: Callable[..., Any], count: int) -> Any:
        """Start a cluster of this machine's own processes, whose files go with it."""
        place = self._open.enter_context(temporary_folder())
        try:
            made = start_with_sigint_blocked(
                lambda: cluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                    local_directory=str(place),
                    scheduler_kwargs={"local_directory": str(place)},
                )
            )
        except RuntimeError as error:
            raise ResourceError(
                f"a Dask cluster could not be started here: {error}; in a script put what it does under "
                "`if __name__ == '__main__':`, or use backend 'processes'"
            ) from None
        return self._open.enter_context(made)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Send one call, and our versions with it: a worker may have joined since they were compared."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # each job's own data go out once
            return self._executor.submit(unpacked, packed(function, arguments), about())  # type: ignore[no-any-return]

    def opened(self, answer: Any) -> Any:
        """Return what a call gave."""
        self._bare = None
        return opened(answer)

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Make the call on every worker, also on those that work; one that dies meanwhile is left out."""
        answers = self._client.run(unpacked, packed(function, arguments), about(), on_error="return").values()
        for one in answers:
            if isinstance(one, BaseException) and not isinstance(one, OSError):
                raise one
        return [opened(one) for one in answers if not isinstance(one, OSError)]

    def take_back(self, future: "Future[Any]") -> None:
        """Tell the scheduler to forget it."""
        future.cancel()

    def check(self) -> None:
        """Fail if there have been no workers for a while; that the scheduler is gone is told by the futures."""
        try:
            there = bool(self._client.nthreads())
        except OSError:
            return
        now = time.monotonic()
        self._bare = None if there else now if self._bare is None else self._bare
        if self._bare is not None and now - self._bare >= PATIENCE:
            raise ResourceError(
                f"the Dask cluster {self._where} has had no workers for {PATIENCE} seconds; start some, and the "
                "command again"
            )

    def renew(self) -> None:
        """Do nothing: the scheduler has done it."""

    def stop(self) -> None:
        """Take back what is not done, and end what was started here."""
        with defer_signals():
            if self._client.status != "running":
                _quiet_for(AFTERWARDS)
            self._executor.shutdown(wait=False)
            self._open.close()

    def close(self) -> None:
        """End what was started here."""
        with defer_signals():
            self._open.close()


class _Quiet:
    """How many clusters are in use, and what the last of them puts back."""

    lock = threading.Lock()
    inside = 0
    levels: ClassVar[dict[str, int]] = {}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let Dask say nothing by itself: deaths of workers are ours to tell."""
    with _Quiet.lock:
        if not _Quiet.inside:
            names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]
            _Quiet.levels = {name: logging.getLogger(name).level for name in names}
            for name in names:
                logging.getLogger(name).setLevel(logging.CRITICAL)
        _Quiet.inside += 1
    try:
        yield
    finally:
        with _Quiet.lock:
            _Quiet.inside -= 1
            if not _Quiet.inside:
                for name, level in _Quiet.levels.items():
                    logging.getLogger(name).setLevel(level)


def _quiet_for(seconds: float) -> None:
    """Let Dask say nothing for a while."""
    open_ = contextlib.ExitStack()
    open_.enter_context(_quiet())
    end = threading.Timer(seconds, open_.close)
    end.daemon = True
    end.start()


def _check_way(address: str) -> None:
    """Refuse an address that nobody can be reached at: Dask itself tries for half a minute."""
    parts = urlsplit(address)
    if parts.scheme == "ucx":  # which does not listen as others do
        if importlib.util.find_spec("distributed_ucxx") is None:
            raise InvalidInput(
                f"address is {address}, and ucx needs the package distributed-ucxx, which is not installed; install "
                "it, or use tcp:// or tls://"
            )
        return
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=REACH) as there:
            there.settimeout(ANSWER)
            if parts.scheme == "tcp" and not there.recv(1):  # a scheduler speaks first; Dask waits for it for ever
                raise ConnectionError("it hung up")
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be one
        raise _silent(address, error) from None


def _silent(address: str | None, error: Exception) -> InvalidInput:
    other = "its web page is at port 8787, itself at 8786; " if (address or "").endswith(":8787") else ""
    why = reason(error) if str(error) else "it was silent"
    return InvalidInput(
        f"no Dask scheduler answers at {address}: {why}; {other}start one (on this "
        "machine alone: dask scheduler --host 127.0.0.1), or leave the address out for workers of this machine"
    )


def _check_versions(client: Any) -> None:
    """Refuse a cluster whose results might differ from those of this machine."""
    try:
        client.run(check_same, about())
    except ImportError:
        raise InvalidInput(
            "the workers of the Dask cluster do not have lpbandits; install it there in the same version"
        ) from None
