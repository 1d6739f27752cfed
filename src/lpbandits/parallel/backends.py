"""Backends of an `Executor` on this machine: threads, and the worker processes of joblib (loky).

A backend takes one call at a time and returns a `concurrent.futures.Future`.
"""

import contextlib
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lpbandits.errors import InvalidInput, ResourceError, UncompiledWarning
from lpbandits.parallel.signals import block_sigint, defer_signals

IDLE_SECONDS = 120
"""Idle worker processes end after this time; until then the next call reuses them."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of worker processes: all cores are busy with workers already."""


class Backend:
    """Base of the backends; as it is, calls run on threads of this process.

    Attributes
    ----------
    n_workers
        Number of calls at a time.
    window
        Number of calls to keep submitted: more than `n_workers`, so that no worker waits for the next.
    task_seconds
        Seconds of work that are worth one call.
    crash_errors
        Errors of calls that must be submitted again: their worker crashed.
    """

    task_seconds = 0.5
    crash_errors: tuple[type[BaseException], ...] = ()

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.window = 2 * n_workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call; calls start in the order of submission."""
        raise NotImplementedError

    def result(self, future: "Future[Any]") -> Any:
        """Return the result of a call that is done, or raise its error."""
        return future.result()

    def run_everywhere(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the results of a call on every machine."""
        return [function(*arguments)]

    def check_alive(self) -> None:
        """Raise `ResourceError` if there are no workers."""

    def restart(self) -> None:
        """Replace workers after a crash; every submitted call is then done."""

    def abandon(self, futures: "Sequence[Future[Any]]") -> None:
        """Cancel calls, as far as they have not started."""
        for future in futures:
            future.cancel()

    def stop(self) -> None:
        """End the workers at once."""

    def close(self) -> None:
        """Release the workers."""


class ThreadBackend(Backend):
    """Threads of this process, for jobs that spend their time in kernels."""

    task_seconds = 0.0

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers)
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call."""
        return self._pool.submit(function, *arguments)

    def close(self) -> None:
        """Wait for calls that have started, and end the threads."""
        self._pool.shutdown(cancel_futures=True)


class ProcessBackend(Backend):
    """Processes of this machine: joblib's reusable pool, which stays warm between calls.

    When one worker crashes, loky ends all of them, and every submitted call fails.
    """

    def __init__(self, n_workers: int) -> None:
        from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415 - heavy

        super().__init__(n_workers)
        self.crash_errors = (TerminatedWorkerError,)
        self._pool: Any = None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call; the first starts the processes."""
        call = pack(function, arguments)
        with defer_signals(), block_sigint():
            self._pool = self._pool or _reusable_pool(self.n_workers)
            try:
                return self._pool.submit(run_packed, call)  # type: ignore[no-any-return]
            except self.crash_errors as error:  # a worker has just crashed
                failed: Future[Any] = Future()
                failed.set_exception(error)
                return failed

    def result(self, future: "Future[Any]") -> Any:
        """Return the result of a call."""
        from joblib.externals.loky import BrokenProcessPool  # noqa: PLC0415 - heavy

        try:
            return unpack(future)
        except self.crash_errors:
            raise
        except BrokenProcessPool as error:  # an error that cannot be pickled
            raise ResourceError(f"a worker process failed: {error}") from error

    def restart(self) -> None:
        """End all processes; the next call starts new ones."""
        self.stop()

    def abandon(self, futures: "Sequence[Future[Any]]") -> None:  # noqa: ARG002 - loky cannot cancel single calls
        """End all processes: they would compute what is not needed."""
        self.stop()

    def stop(self) -> None:
        """End all processes at once.

        loky's own `kill_workers=True` fails in a race with calls that are not in its queue yet; it handles processes
        that die.
        """
        if self._pool is not None:
            with defer_signals():
                for process in list(self._pool._processes.values()):
                    process.terminate()
                self._pool.shutdown(wait=True)
                self._pool = None


def _reusable_pool(n_workers: int) -> Any:
    """Return joblib's pool; a new one if the folder, the environment or `sys.path` has changed since the last."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415

    folder = None
    with contextlib.suppress(OSError):  # it may be deleted
        folder = Path.cwd()
    return get_reusable_executor(
        n_workers,
        timeout=IDLE_SECONDS,
        env={**os.environ, **ONE_THREAD},
        initializer=_initialize_worker,
        initargs=(os.getpid(), folder, tuple(sys.path)),
    )


def _initialize_worker(parent: int, *_: object) -> None:
    """Let a worker end with its parent process, and let it grow."""
    from joblib.externals.loky import process_executor  # noqa: PLC0415

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # loky ends workers that grow by 300 MB; a block is larger
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def pack(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Pickle a call; functions of a script or a notebook go by value, those of modules by name."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415 - heavy, and only parallel work needs it

    try:
        return bytes(dumps((function, arguments)))
    except Exception as error:
        raise InvalidInput(
            f"cannot pickle a job for worker processes ({_first_line(error)}); define policies in a module, without "
            "open files or locks, or use one process (--jobs 1)"
        ) from None


def run_packed(call: bytes) -> bytes:
    """Run a pickled call in a worker and pickle its result; the parent has already warned of uncompiled functions."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415

    try:
        function, arguments = pickle.loads(call)  # noqa: S301 - from the process that started this worker
    except Exception as error:
        raise InvalidInput(
            f"a worker process cannot load a job ({_first_line(error)}); install the module there or set PYTHONPATH, "
            "or use one process (--jobs 1)"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncompiledWarning)
        return bytes(dumps(function(*arguments)))


def unpack(future: "Future[bytes]") -> Any:
    """Return the result of a pickled call: its arrays are aligned, and as writeable as they were in the worker."""
    return pickle.loads(future.result())  # noqa: S301 - from our own worker


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
