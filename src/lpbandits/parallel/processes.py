"""`ProcessExecutor`: jobs on joblib's worker processes (loky)."""

import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from lpbandits.errors import InvalidInput, UncompiledWarning
from lpbandits.parallel.executor import Executor
from lpbandits.parallel.signals import block_sigint, defer_signals

IDLE_SECONDS = 120
"""Idle worker processes end after this time; until then the next call reuses them."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment variables of workers: one BLAS thread each, because there is one worker per core."""


class ProcessExecutor(Executor):
    """Run jobs on processes of this machine: joblib's reusable pool, which all executors of this process share.

    When one worker crashes, loky ends all of them, and every submitted call fails.
    """

    in_process = False

    def __init__(self, n_workers: int, *, threads: int | None = None) -> None:
        from joblib.externals.loky import process_executor  # noqa: PLC0415 - heavy

        super().__init__(n_workers, threads=threads)
        self._crash_errors = (process_executor.TerminatedWorkerError, process_executor.ShutdownExecutorError)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Submit a call; the first starts the processes."""
        call = pack(function, arguments)
        with defer_signals(), block_sigint():
            self._pool = self._pool or _reusable_pool(self.n_workers)
            try:
                return self._pool.submit(run_packed, call)  # type: ignore[no-any-return]
            except self._crash_errors as error:  # since the last call
                failed: Future[Any] = Future()
                failed.set_exception(error)
                return failed

    def _result(self, future: "Future[Any]") -> Any:
        """Return the result of a call: its arrays are aligned, and as writeable as they were in the worker."""
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


def pack(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Pickle a call; functions of a script or a notebook go by value, those of modules by name."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415 - heavy, and only parallel work needs it

    try:
        return bytes(dumps((function, arguments)))
    except Exception as error:
        remedy = "define policies in a module, without open files or locks"
        raise _unpicklable("cannot pickle a job for", error, remedy) from None


def run_packed(call: bytes) -> bytes:
    """Run a pickled call in a worker and pickle its result; the parent has already warned of uncompiled functions."""
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415

    try:
        function, arguments = pickle.loads(call)  # noqa: S301 - from the process that started this worker
    except Exception as error:
        raise _unpicklable("cannot load a job in", error, "install the module there or set PYTHONPATH") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncompiledWarning)
        return bytes(dumps(function(*arguments)))


def _unpicklable(what: str, error: Exception, remedy: str) -> InvalidInput:
    why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return InvalidInput(f"{what} worker processes ({why}); {remedy}, or use one process (--jobs 1)")
