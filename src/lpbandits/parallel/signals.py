"""What an interrupt may not disturb: workers that start or end, and what is only half written."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Hold back interrupts for what must not stay half done: half a cluster can neither work nor be closed.

    The first that comes waits until the end of the block; the second, of somebody who has waited long enough, does not,
    whatever the block waits for.
    """
    if threading.current_thread() is not threading.main_thread():  # Python's signals arrive in that
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
def block_sigint() -> Iterator[None]:
    """Block SIGINT for what is started: threads and processes inherit that, and keep it.

    A terminal sends Ctrl-C to all processes of a command, and it is this one that ends the others. Whoever blocks it
    does not hear it either, so the block must be short; `start_with_sigint_blocked` is for what takes long.
    """
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


def start_with_sigint_blocked(start: Callable[[], T]) -> T:
    """Return what `start` gives, called in a thread of its own that is `block_sigint`: whoever waits for it here is not.

    >>> start_with_sigint_blocked(lambda: 8)
    8
    """
    made: Future[T] = Future()

    def work() -> None:
        with block_sigint():
            try:
                made.set_result(start())
            except BaseException as error:
                made.set_exception(error)

    threading.Thread(target=work, daemon=True).start()  # daemon: who goes without it need not wait for it at the end
    return made.result()
