"""The one seam to more cores and machines: order, tasks, deaths, interrupts, and what is refused."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from lpbandits.errors import InvalidInput, ResourceError, translate_errors
from lpbandits.parallel import Executor, Workers, cluster, executor_for, one_thread
from lpbandits.parallel.travel import about

ROOT = Path(__file__).parents[2]


def slow_square(x: int) -> int:
    time.sleep(0.02 * (x % 3))
    return x * x


def rest(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def note(folder: str, number: int) -> int:
    """Leave word of who works on what, and of what was done."""
    mine = Path(folder, f"now-{os.getpid()}")
    mine.touch()
    time.sleep(0.1)
    Path(folder, f"done-{number}-{time.monotonic_ns()}").touch()
    mine.unlink()
    return number


def kill_oneself(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def fails_at_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


Open = Callable[[], Executor]


@pytest.fixture(params=["alone", "threads", "processes", "dask"])
def opened(request: pytest.FixtureRequest) -> Open:
    def executor() -> Executor:
        if request.param == "dask":
            return executor_for(Workers(2, "dask", request.getfixturevalue("address")))
        if request.param == "processes":
            return executor_for(Workers(2))
        return executor_for(threads=3, threaded=request.param == "threads")

    return executor


def test_results_come_in_the_order_of_the_jobs(opened: Open) -> None:
    with opened() as executor:
        assert list(executor.map(slow_square, ((x,) for x in range(12)))) == [x * x for x in range(12)]
        ended = list(executor.as_completed(slow_square, ((x,) for x in range(12)), batch=False))
    assert sorted(ended) == [(x, x * x) for x in range(12)]


def test_arrays_come_back_as_ones_own(opened: Open) -> None:
    """Of arrays that are not aligned numpy adds up 8,192 numbers at a time, and so in another order."""
    with opened() as executor:
        found = list(executor.map(np.ones, [(size,) for size in (1, 1000, 100_003)]))
    assert [len(array) for array in found] == [1, 1000, 100_003]
    assert all(array.flags.aligned and array.flags.writeable for array in found)


def blas_threads(_: int = 0) -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_whoever_works(opened: Open) -> None:
    with threadpool_limits(2, user_api="blas"), opened() as executor:
        found = list(executor.map(blas_threads, [(number,) for number in range(6)], batch=False))
        assert found == [{1}] * 6
        with executor.threaded() as both:
            assert list(both.map(blas_threads, [(0,), (1,)])) == [{1}] * 2


def test_whichever_thread_leaves_last_puts_back_how_many_there_were() -> None:
    """The one that entered first, and limited them, is gone when the other leaves; then the other limits them."""

    def enter(one: "AbstractContextManager[None]") -> None:
        one.__enter__()
        assert blas_threads() == {1}

    def leave(one: "AbstractContextManager[None]", left: int) -> None:
        one.__exit__(None, None, None)
        assert blas_threads() == {left}

    first, second, third = one_thread("blas"), one_thread("blas"), one_thread("blas")
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as here, ThreadPoolExecutor(1) as there:
        here.submit(enter, first).result()
        there.submit(enter, second).result()
        here.submit(leave, first, 1).result()
        there.submit(leave, second, 2).result()
        there.submit(enter, third).result()
        here.submit(leave, third, 2).result()


def test_a_library_that_is_loaded_later_has_one_thread_too() -> None:
    script = """
        from lpbandits.parallel import one_thread
        from threadpoolctl import threadpool_info
        with one_thread("blas"):
            import scipy.linalg
            print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
    """
    two = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    words = [sys.executable, "-c", textwrap.dedent(script)]
    assert subprocess.run(words, env=two, capture_output=True, text=True, check=True).stdout == "{1}\n"


def test_an_error_in_a_job_is_the_error(opened: Open) -> None:
    with pytest.raises(ValueError, match="three"), opened() as executor:
        list(executor.map(fails_at_three, ((x,) for x in range(9))))
    with opened() as executor:
        assert list(executor.map(slow_square, [(2,)])) == [4]


def test_a_loop_left_early_does_no_harm(opened: Open) -> None:
    with opened() as executor:
        for value in executor.map(slow_square, ((x,) for x in range(50))):
            assert value == 0
            break
        assert list(executor.map(slow_square, [(3,), (4,)])) == [9, 16]


@pytest.mark.parametrize(("seconds", "jobs", "least", "most"), [(0.001, 400, 2, 60), (0.6, 5, 5, 5)])
def test_short_jobs_go_out_together_and_long_ones_alone(seconds: float, jobs: int, least: int, most: int) -> None:
    with executor_for(2) as executor:
        sent: list[object] = []
        engine = executor._engine
        assert engine is not None
        submit = engine.submit
        engine.submit = lambda *task: (sent.append(task), submit(*task))[1]  # type: ignore[method-assign,func-returns-value] # counts
        assert list(executor.map(rest, [(seconds,)] * jobs)) == [seconds] * jobs
    assert least <= len(sent) <= most


def test_jobs_are_not_made_long_before_they_are_sent() -> None:
    made: list[int] = []

    def jobs() -> Iterator[tuple[int]]:
        for number in range(10_000):
            made.append(number)
            yield (number,)

    with executor_for(2) as executor:
        results = executor.map(slow_square, jobs(), batch=False)
        next(results)
        assert len(made) < 30
        results.close()


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_a_killed_worker_costs_its_task_and_not_the_run(backend: str, tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(40)]
    with executor_for(Workers(2, backend)) as executor:  # type: ignore[arg-type] # as declared
        found = []
        for value in executor.map(note, jobs, batch=False):
            found.append(value)
            if len(found) == 5:
                working = next(path for path in tmp_path.glob("now-*"))
                os.kill(int(working.name.removeprefix("now-")), signal.SIGKILL)
    assert found == [number for _, number in jobs]
    done = [int(path.name.split("-")[1]) for path in tmp_path.glob("done-*")]
    assert sorted(set(done)) == list(range(40))
    assert len(done) <= 40 + 4  # what was under way, or waiting with it


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_a_job_that_kills_every_worker_is_given_up(backend: str) -> None:
    with (
        pytest.raises(ResourceError, match=r"died"),
        translate_errors("working"),
        executor_for(Workers(2, backend)) as executor,  # type: ignore[arg-type] # as declared
    ):
        list(executor.map(kill_oneself, [(1,)]))


def test_what_is_not_possible_is_refused_with_a_remedy(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 1)
    with pytest.raises(InvalidInput, match=f"no Dask scheduler answers at tls://{nobody}"):
        executor_for(Workers(backend="dask", address=f"tls://{nobody}"))
    with pytest.raises(InvalidInput, match=f"no Dask scheduler answers at tcp://{nobody}"):
        executor_for(Workers(backend="dask", address=f"tcp://{nobody}"))
    with pytest.raises(InvalidInput, match="an address is for backend='dask'"):
        Workers(2, address="tcp://127.0.0.1:9")
    with pytest.raises(InvalidInput, match=r"backend .*'spark'"):
        Workers(2, "spark")  # type: ignore[arg-type] # on purpose
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInput, match=r"pip install 'lpbandits\[dask\]'"):
        executor_for(Workers(2, "dask"))


def test_a_cluster_with_other_versions_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "about", lambda: {**about(), "numba": "0.0.1"})
    with pytest.raises(InvalidInput, match=r"has numba .*, and whoever sends it work has 0.0.1: results could differ"):
        executor_for(Workers(2, "dask", address))


@pytest.mark.parametrize("backend", ["processes", "dask"])
@pytest.mark.parametrize(("number", "whole"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_an_interrupt_ends_the_workers_and_says_so(
    number: signal.Signals, whole: bool, backend: str, tmp_path: Path
) -> None:
    """A terminal sends Ctrl-C to the workers, too (`whole`); a service manager's SIGTERM comes to one process."""
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time
            from pathlib import Path
            import lpbandits.cli as cli
            from lpbandits.parallel import Workers, executor_for

            def endless(i):
                Path(sys.argv[1], f"worker-{os.getpid()}").touch()
                time.sleep(600)

            def command():
                try:
                    with executor_for(Workers(2, sys.argv[2])) as executor:
                        list(executor.map(endless, [(i,) for i in range(4)], batch=False))
                finally:
                    Path(sys.argv[1], "cleaned").touch()

            if __name__ == "__main__":
                cli.app = command
                cli.main()
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), backend], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("worker-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    if whole:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert error.strip() == "lpb: stopped"
    assert (tmp_path / "cleaned").exists()
    for worker in workers:
        assert not Path(f"/proc/{worker}").exists() or _is_dead(worker)


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
