"""Defer interrupts while workers start or end and while files are written."""

import contextlib
import functools
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer the first SIGINT or SIGTERM to the end of the block; the second is handled at once.

    Notes
    -----
    Python runs signal handlers in the main thread, so the block has no effect in other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}

    def defer(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, defer)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if len(received) == 1:
            handlers[received[0]](received[0], None)


@contextlib.contextmanager
def block_sigint() -> Iterator[None]:
    """Block SIGINT in the threads and processes that the block starts.

    A terminal sends Ctrl-C to every process of a command. The parent process ends its workers itself, so they must not
    handle it, too: each would print a traceback, and a Dask nanny would restart its worker.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    _start_trackers()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@functools.cache
def _start_trackers() -> None:
    """Start the resource trackers, which unblock SIGINT as they start.

    Cached, because `ensure_running` wakes both processes each time.
    """
    from multiprocessing import resource_tracker  # noqa: PLC0415 - only worker processes need them

    from joblib.externals.loky.backend import resource_tracker as loky_tracker  # noqa: PLC0415

    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
