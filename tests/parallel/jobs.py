"""Jobs of tests; this module imports little, so that workers start fast."""

import os
import time
from pathlib import Path

from tests.parallel.processes import kill, leave_pid


def slow_square(x: int) -> int:
    time.sleep(0.005 * (x % 3))
    return x * x


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def work(folder: str, number: int) -> int:
    pid = leave_pid(folder)
    time.sleep(0.05)
    Path(folder, f"done-{number}-{time.monotonic_ns()}").touch()
    Path(folder, str(pid)).unlink()
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
