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


def grow(n_bytes: int, seconds: float) -> int:
    HELD.append(np.ones(n_bytes, dtype=np.uint8))
    time.sleep(seconds)
    return os.getpid()


def pid_of_worker() -> int:
    with executor_for(Workers(1)) as executor:
        (pid,) = executor.map(os.getpid, [()])
    return pid


def surroundings(place: str) -> tuple[str, str | None, bool]:
    return str(Path.cwd()), os.environ.get("PLACE"), place in sys.path


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda patch, place: patch.chdir(place), id="folder"),
        pytest.param(lambda patch, place: patch.setenv("PLACE", place), id="environment"),
        pytest.param(lambda patch, place: patch.syspath_prepend(place), id="path"),
    ],
)
def test_workers_have_the_surroundings_of_this_process(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_of_worker()  # started before the change
    change(monkeypatch, str(tmp_path))
    with executor_for(Workers(1)) as executor:
        assert list(executor.map(surroundings, [(str(tmp_path),)])) == [surroundings(str(tmp_path))]


def test_processes_are_reused_and_a_dead_one_is_replaced() -> None:
    first = pid_of_worker()
    assert pid_of_worker() == first
    kill(first)
    assert pid_of_worker() != first


def test_an_error_in_one_executor_does_not_reach_another() -> None:
    with executor_for(2) as executor:
        results = executor.map(abs, [(number,) for number in range(12)])
        next(results)
        with pytest.raises(TypeError), executor_for(2) as other:
            list(other.map(abs, [("text",)]))
        assert list(results) == list(range(1, 12))


def test_a_worker_may_grow() -> None:
    """Loky ends a worker that has grown by 300 MB since its first job, with a warning; it checks once a second."""
    with executor_for(Workers(1)) as executor:
        assert len(set(executor.map(grow, [(0, 0.0), (400_000_000, 1.1), (0, 0.0)]))) == 1
        executor._close(abort=True)
