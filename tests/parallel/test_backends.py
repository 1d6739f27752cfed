"""Worker processes: reused while their surroundings stay the same, and allowed to grow."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpbandits.parallel import Workers, executor_for
from tests.parallel.processes import kill

pytestmark = pytest.mark.xdist_group("workers")

HELD: list[Any] = []


def grow(seconds: float) -> int:
    HELD.append(np.ones(50_000_000))
    time.sleep(seconds)
    return os.getpid()


def pid_of_worker() -> int:
    with executor_for(Workers(1)) as executor:
        (pid,) = executor.map(os.getpid, [()])
    return pid


INHERITED: dict[str, tuple[Any, Any]] = {
    "folder": (lambda patch, place: patch.chdir(place), lambda place: Path.cwd() == Path(place)),
    "environment": (lambda patch, place: patch.setenv("PLACE", place), lambda place: os.environ.get("PLACE") == place),
    "modules": (lambda patch, place: patch.syspath_prepend(place), lambda place: place in sys.path),
}
"""How this process is changed, and whether a worker has the change."""


@pytest.mark.parametrize("what", INHERITED)
def test_workers_have_the_folder_environment_and_path_of_this_process(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, has = INHERITED[what]
    change(monkeypatch, str(tmp_path))
    with executor_for(Workers(1)) as executor:
        assert list(executor.map(has, [(str(tmp_path),)])) == [True]


def test_processes_are_reused_and_a_dead_one_is_replaced() -> None:
    first = pid_of_worker()
    assert pid_of_worker() == first
    kill(first)
    assert pid_of_worker() != first


def test_an_error_in_one_executor_does_not_reach_another() -> None:
    with executor_for(2) as executor:
        results = executor.map(abs, [(number,) for number in range(12)], batch=False)
        next(results)
        with pytest.raises(TypeError), executor_for(2) as other:
            list(other.map(abs, [("text",)]))
        assert list(results) == list(range(1, 12))


def test_a_worker_may_grow() -> None:
    """Loky ends a worker that grows by 300 MB, with a warning, when it next looks (after a second)."""
    with executor_for(Workers(1)) as executor:
        assert len(set(executor.map(grow, [(0.0,), (1.1,), (0.0,)], batch=False))) == 1
        executor._backend.close(abort=True)
