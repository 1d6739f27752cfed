"""Backends of an `Executor` on this machine: this process, its threads, and joblib's worker processes (loky).

A backend takes one call at a time and returns a `concurrent.futures.Future`.
"""

import contextlib
import os
import pickle
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from lpbandits.errors import InvalidInput, UncompiledWarning
from lpbandits.parallel.signals import block_sigint, defer_signals

IDLE_SECONDS = 120
"""Idle worker processes end after this time; until then the next call reuses them."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of worker processes: all cores are busy with workers already."""


class Backend:
    """Base of the backends; itself runs every call at once, in this process.

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

    task_seconds = 0.0
    crash_errors: tuple[type[BaseException], ...] = ()

    def __init__(self, n_workers: int = 1, window: int = 1) -> None:
        self.n_workers, self.window = n_workers, window

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call; calls start in the order of submission."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

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

    def close(self, *, abort: bool = False) -> None:
        """Release the workers; `abort` also ends calls that are running."""


class ThreadBackend(Backend):
    """Threads of this process, for jobs that spend their time in kernels; `abort` waits for running calls."""

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers, 2 * n_workers)
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call."""
        return self._pool.submit(function, *arguments)

    def close(self, *, abort: bool = False) -> None:  # noqa: ARG002 - a thread cannot be ended
        """Cancel waiting calls, and end the threads after the running ones."""
        self._pool.shutdown(cancel_futures=True)


class ProcessBackend(Backend):
    """Processes of this machine: joblib's reusable pool, which stays warm between calls.

    All backends of this process share the pool. When one worker crashes, loky ends all of them, and every submitted
    call fails.
    """

    task_seconds = 0.5
    _users: ClassVar["weakref.WeakSet[ProcessBackend]"] = weakref.WeakSet()

    def __init__(self, n_workers: int) -> None:
        from joblib.externals.loky import process_executor  # noqa: PLC0415 - heavy

        super().__init__(n_workers, 2 * n_workers)
        self.crash_errors = (process_executor.TerminatedWorkerError, process_executor.ShutdownExecutorError)
        self._pool: Any = None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call; the first starts the processes."""
        call = pack(function, arguments)
        self._users.add(self)
        with defer_signals(), block_sigint():
            self._pool = self._pool or _reusable_pool(self.n_workers)
            try:
                return self._pool.submit(run_packed, call)  # type: ignore[no-any-return]
            except self.crash_errors as error:  # since the last call
                failed: Future[Any] = Future()
                failed.set_exception(error)
                return failed

    def result(self, future: "Future[Any]") -> Any:
        """Return the result of a call: its arrays are aligned, and as writeable as they were in the worker."""
        return pickle.loads(future.result())  # noqa: S301 - from our own worker

    def restart(self) -> None:
        """Wait for the end of a broken pool; the next call starts a new one."""
        with defer_signals():
            self._pool.shutdown(wait=True)
            self._pool = None

    def close(self, *, abort: bool = False) -> None:
        """Keep the processes for the next executor; `abort` ends them unless another executor uses them.

        loky's own `kill_workers=True` fails in a race with calls that are not in its queue yet; it handles processes
        that die.
        """
        self._users.discard(self)
        if abort and self._pool is not None and not self._users:
            with defer_signals():
                for process in list(self._pool._processes.values()):
                    process.terminate()
                self.restart()


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
    """Let a worker grow, and let it end with its parent process."""
    from joblib.externals.loky import process_executor  # noqa: PLC0415

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # loky ends workers that grow by 300 MB; a block is larger

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
