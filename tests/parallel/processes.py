"""Helpers that watch, kill and interrupt processes, and jobs of workers; little is imported, so workers start fast."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped] # distributed brings it, without types


def until(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextlib.contextmanager
def started(words: list[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a Python process, and kill it at the end."""
    process = subprocess.Popen([sys.executable, *words], text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def leave_pid(folder: str) -> int:
    """Write the id of this process into a folder."""
    Path(folder, str(os.getpid())).touch()
    return os.getpid()


def pids_in(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def kill(pid: int) -> None:
    """Kill a process and wait for its end."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def slow_square(x: int) -> int:
    time.sleep(0.005 * (x % 3))
    return x * x


def sleep(seconds: float) -> tuple[float, float]:
    """Return the start and the end of a sleep."""
    start = time.monotonic()
    time.sleep(seconds)
    return start, time.monotonic()


HELD: list[bytes] = []


def grow(n_bytes: int, seconds: float) -> int:
    HELD.append(b"1" * n_bytes)
    time.sleep(seconds)
    return os.getpid()


def surroundings(place: str) -> tuple[str, str | None, bool]:
    return str(Path.cwd()), os.environ.get("PLACE"), place in sys.path


def work(folder: str, number: int) -> int:
    """Leave the process id, and a file for each time that the job was done."""
    leave_pid(folder)
    time.sleep(0.05)
    Path(folder, f"done-{number}-{time.monotonic_ns()}").touch()
    return number


def crash(folder: str, number: int, times: int) -> int:
    """Kill this process, the first `times` times."""
    before = len(list(Path(folder).glob(f"{number}-*")))
    Path(folder, f"{number}-{before}").touch()
    if before < times:
        kill(os.getpid())
    return number


def fail_at_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


class Unpicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_unpicklably() -> None:
    raise Unpicklable(1, 2)
