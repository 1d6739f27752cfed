"""What an interrupt may not disturb: workers that start, and workers that end."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back interrupts while workers start or end: half a cluster can neither work nor be closed.

    The first that comes waits until the end of the block; the second, of somebody who has waited long enough, does not.
    Processes that are started meanwhile never hear Ctrl-C: a terminal sends it to them, too, and it is this process
    that ends them.
    """
    with _held_back(), _deaf_children():
        yield


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Call the handlers of the main thread, where all signals of Python arrive, only at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual: dict[int, Any] = {one: signal.getsignal(one) for one in STOPS}
    held = {number: handler for number, handler in usual.items() if callable(handler)}

    def hold(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            held[number](number, frame)

    for number in held:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        if len(came) == 1:
            held[came[0]](came[0], None)


@contextlib.contextmanager
def _deaf_children() -> Iterator[None]:
    """Block SIGINT for what is started: threads and processes inherit that, and keep it."""
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    from multiprocessing import resource_tracker  # noqa: PLC0415 - only parallel work needs them

    from joblib.externals.loky.backend import resource_tracker as of_loky  # noqa: PLC0415

    for tracker in (resource_tracker, of_loky):
        tracker.ensure_running()  # which unblocks it when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
