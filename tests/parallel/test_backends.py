"""Processes and clusters: whose they are, what they cost when they die, and that nobody outlives whom it works for."""

import contextlib
import gc
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped] # distributed brings it, without types
import pytest
from joblib.externals.loky.backend import queues, resource_tracker
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from lpbandits.errors import InvalidInput, ResourceError
from lpbandits.parallel import Workers, cluster, executor_for, processes
from lpbandits.parallel import executor as executors
from lpbandits.parallel.processes import ProcessBackend
from lpbandits.parallel.signals import defer_signals
from lpbandits.parallel.travel import about, packed, unpacked


def who(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def meets(folder: str, others: int) -> int:
    """Return one's process, once so many others have come: however slowly they start, each does its part."""
    Path(folder, str(os.getpid())).touch()
    until(lambda: len(list(Path(folder).iterdir())) > others)
    return os.getpid()


def held(seconds: float, _: bytes) -> None:
    time.sleep(seconds)


def span(seconds: float) -> tuple[float, float]:
    started = time.monotonic()
    time.sleep(seconds)
    return started, time.monotonic()


def hears_not() -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def dies(folder: str, number: int, times: int) -> int:
    """End one's process, so many times."""
    before = len(list(Path(folder).glob(f"{number}-*")))
    Path(folder, f"{number}-{before}").touch()
    if before < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


HELD: list[Any] = []


def grows(seconds: float) -> int:
    HELD.append(np.ones(50_000_000))
    time.sleep(seconds)
    return os.getpid()


def linear_algebra(number: int) -> tuple[int, set[int], float]:
    time.sleep(0.05)
    some = np.random.default_rng(number).normal(size=(300, 300))
    used = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
    return threading.get_ident(), used, float(np.linalg.inv(some @ some.T + np.eye(300)).sum())


# Processes


def test_two_teams_at_once_never_share_a_process(tmp_path: Path) -> None:
    found: dict[str, set[int]] = {}
    for name in ("one", "two", "next"):
        (tmp_path / name).mkdir()
    with executor_for(2) as executor:
        list(executor.map(who, [(0.0,)]))  # now there is a pool that both could take

    def work(name: str) -> None:
        with executor_for(2) as executor:
            found[name] = set(executor.map(meets, [(str(tmp_path / name), 1)] * 2, batch=False))
            until(lambda: len(found) == 2)  # nobody puts back what the other could take then

    both = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(found["one"]) == 2
    assert not found["one"] & found["two"]
    with executor_for(2) as executor:
        warm = set(executor.map(meets, [(str(tmp_path / "next"), 1)] * 2, batch=False))
    assert warm in found.values(), "the next finds them warm"


def test_the_error_of_one_team_does_not_reach_another() -> None:
    with executor_for(2) as executor:
        results = executor.map(who, [(0.1,)] * 12, batch=False)
        next(results)
        with pytest.raises(TypeError), executor_for(2) as other:
            list(other.map(who, [("late",)]))
        assert len(list(results)) == 11


FROM_PARENT: dict[str, tuple[Any, Any]] = {
    "folder": (lambda patch, place: patch.chdir(place), lambda place: Path.cwd() == Path(place)),
    "environment": (lambda patch, place: patch.setenv("TOLD", place), lambda place: os.environ.get("TOLD") == place),
    "modules": (lambda patch, place: patch.syspath_prepend(place), lambda place: place in sys.path),
}
"""What workers have from the process that starts them: how it is changed there, and whether they have it."""


@pytest.mark.parametrize("what", FROM_PARENT)
def test_workers_are_of_the_folder_the_environment_and_the_modules_that_they_work_for(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, has = FROM_PARENT[what]

    def found() -> list[bool]:
        with executor_for(Workers(1)) as executor:
            return list(executor.map(has, [(str(tmp_path),)]))

    assert found() == [False]
    change(monkeypatch, str(tmp_path))
    assert found() == [True]


def test_calls_that_nobody_wants_any_more_fail_no_thread() -> None:
    """A call may still be on its way to loky's queue when all is stopped; pytest fails for errors of any thread."""
    for number in range(12):
        engine = ProcessBackend(2)
        calls = [engine.submit(who, 60.0) for _ in range(4)]
        for one in calls:
            engine.take_back(one)
            if number % 2:
                one.cancel()
        engine.stop()
        assert all(one.done() for one in calls)


def stopped(call: Any) -> None:
    engine = ProcessBackend(1)
    engine.submit(call, 60.0)
    engine.stop()


def let_go(call: Any) -> None:
    """Have more pools than are kept."""
    engine = ProcessBackend(1)
    engine.submit(call, 0.0).result()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "KEPT", 0)
        patch.setattr(processes._Idle, "pools", [])
        engine.close()


@pytest.mark.parametrize("end", [stopped, let_go])
def test_no_thread_is_left_that_lets_go_of_locks(end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends while one does is told of leaked locks."""
    feed, unregister = queues.Queue._feed, resource_tracker.unregister
    filling: set[int] = set()
    letting_go: set[int] = set()

    def slow(*arguments: Any) -> None:
        filling.add(threading.get_ident())
        feed(*arguments)
        time.sleep(0.3)  # and still holds them

    def told(*arguments: Any) -> None:
        letting_go.add(threading.get_ident())
        unregister(*arguments)

    monkeypatch.setattr(queues.Queue, "_feed", staticmethod(slow))
    monkeypatch.setattr(resource_tracker, "unregister", told)
    monkeypatch.setattr(processes, "LET_GO", 60.0)
    end(who)
    gc.collect()
    time.sleep(0.5)
    assert filling
    assert letting_go
    assert not filling & letting_go


def test_a_thread_that_is_stuck_with_a_call_ends_with_its_pool() -> None:
    """The call is larger than a pipe, and whoever would read it computes."""
    engine = ProcessBackend(1)
    calls = [engine.submit(held, 60.0, b"." * 2**20) for _ in range(4)]
    filling = engine._pool._call_queue._thread
    until(lambda: any(one.running() for one in calls))
    engine.stop()
    assert all(one.done() for one in calls)
    assert not filling.is_alive()


def test_a_death_is_charged_to_what_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "DEATHS", 3)
    jobs = [(str(tmp_path), 0, 2), (str(tmp_path), 1, 2)]  # the second waits while the first dies
    with executor_for(Workers(1)) as executor:
        assert list(executor.map(dies, jobs, batch=False)) == [0, 1]


def test_a_worker_may_grow() -> None:
    """Loky's own limit is 300 MB; beyond it would end the worker, and warn."""
    with executor_for(Workers(1)) as executor:
        assert len(set(executor.map(grows, [(0.0,), (1.1,), (0.0,)], batch=False))) == 1
        assert executor._engine is not None
        executor._engine.stop()


def test_nobody_is_asked_when_there_is_nothing_to_do(nobody: str) -> None:
    with executor_for(Workers(2, "dask", f"tcp://{nobody}"), max_jobs=0) as executor:
        assert executor.in_process
    with pytest.raises(InvalidInput, match=r"jobs .*0"):
        executor_for(0, max_jobs=0)


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_workers_end_when_their_parent_is_killed(backend: str, tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys
            from pathlib import Path
            from lpbandits.parallel import Workers, executor_for

            def endless(number):
                Path(sys.argv[1], f"worker-{os.getpid()}").touch()
                while True:
                    pass

            if __name__ == "__main__":
                with executor_for(Workers(2, sys.argv[2])) as executor:
                    list(executor.map(endless, [(1,), (2,)], batch=False))
            """
        )
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path), backend], stderr=subprocess.DEVNULL)
    with ending(parent):
        until(lambda: len(list(tmp_path.glob("worker-*"))) == 2)
        below = psutil.Process(parent.pid).children(recursive=True)
    assert len(below) >= 2
    assert psutil.wait_procs(below, timeout=20)[1] == []


# Interrupts


def test_the_first_interrupt_waits_and_the_second_does_not() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    done = []

    def pressed(times: int) -> None:
        with defer_signals():
            for number in range(times):
                signal.raise_signal(signal.SIGINT)
                done.append(number)

    with pytest.raises(KeyboardInterrupt):
        pressed(1)
    assert done == [0]
    with pytest.raises(KeyboardInterrupt):
        pressed(2)
    assert done == [0, 0]


@pytest.mark.parametrize("wait", ["threading.Event().wait(60)", "start_with_sigint_blocked(lambda: time.sleep(60))"])
def test_the_second_interrupt_ends_a_wait(wait: str, tmp_path: Path) -> None:
    """In a process of its own, which has no other thread that would hear what the waiting one does not."""
    script = f"""
        import signal, sys, threading, time
        from pathlib import Path
        from lpbandits.parallel.signals import start_with_sigint_blocked, defer_signals

        signal.signal(signal.SIGINT, signal.default_int_handler)
        with defer_signals():
            Path(sys.argv[1]).touch()
            {wait}
    """
    ready = tmp_path / "ready"
    words = [sys.executable, "-c", textwrap.dedent(script), str(ready)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    with ending(process):
        until(ready.exists)
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)  # two that come at once are one
            time.sleep(0.2)
        assert process.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in process.communicate()[1]


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_workers_do_not_hear_ctrl_c_and_this_process_does(backend: Any) -> None:
    with executor_for(Workers(1, backend)) as executor:
        assert list(executor.map(hears_not, [()])) == [True]
        assert not hears_not()


# Clusters


def until(true: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def ending(*processes: "subprocess.Popen[Any]") -> Iterator[None]:
    try:
        yield
    finally:
        for one in processes:
            one.kill()
            one.wait()


def told(file: Path) -> str:
    """Return the address that a scheduler has written down; nothing, if it has not, or not all of it."""
    with contextlib.suppress(OSError, ValueError):
        return str(json.loads(file.read_text())["address"])
    return ""


@contextlib.contextmanager
def a_cluster() -> Iterator[tuple[str, "subprocess.Popen[Any]", "subprocess.Popen[Any]"]]:
    """Give the address, the scheduler and the only worker, which has two threads and no nanny."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        start: Any = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        start += ["--no-dashboard", "--scheduler-file", str(file)]
        scheduler = subprocess.Popen(start, stderr=subprocess.DEVNULL)
        with ending(scheduler):
            until(lambda: told(file))
            address = told(file)
            start = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "2"]
            start += ["--no-dashboard", "--local-directory", folder]
            worker = subprocess.Popen(start, stderr=subprocess.DEVNULL)
            with ending(worker):
                yield address, scheduler, worker


def opened(address: str, jobs: int | None = None) -> executors.Executor:
    """Return a executor of a cluster whose worker may just be coming."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return executor_for(Workers(jobs, "dask", address))
        except InvalidInput as error:
            if "has no workers" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def loggers() -> list[logging.Logger]:
    """Return two that Dask speaks through."""
    name = pytest.importorskip("distributed").__name__
    return [logging.getLogger(name), logging.getLogger(f"{name}.client")]


def killed_on_the_way(address: str, process: "subprocess.Popen[Any]") -> None:
    with opened(address) as executor:
        for _ in executor.map(who, [(0.2,)] * 20, batch=False):
            process.kill()


def test_threads_of_one_worker_change_nothing_and_that_all_are_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    monkeypatch.setattr(executors, "LOOK", 0.2)
    jobs = [(number,) for number in range(8)]
    with executor_for() as executor:
        alone = [total for _, _, total in executor.map(linear_algebra, jobs)]
    said = loggers()
    before = [one.level for one in said]
    with a_cluster() as (address, _, worker):
        with opened(address) as executor:
            assert (executor.n_workers, {one.level for one in said}) == (2, {logging.CRITICAL})
            found = list(executor.map(linear_algebra, jobs, batch=False))
        assert len({thread for thread, _, _ in found}) == 2
        assert {count for _, used, _ in found for count in used} == {1}
        assert [total for _, _, total in found] == alone
        assert [one.level for one in said] == before
        with pytest.raises(ResourceError, match=rf"cluster at {address} has had no workers for 1 seconds; start some"):
            killed_on_the_way(address, worker)
        with pytest.raises(
            InvalidInput,
            match=f"the cluster at {address} has no workers; start some, each at .* dask worker {address} --host",
        ):
            executor_for(Workers(2, "dask", address))


def test_that_the_scheduler_is_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "AFTERWARDS", 3)
    said = loggers()
    before = [one.level for one in said]
    with a_cluster() as (address, scheduler, _):
        with pytest.raises(ResourceError, match="the scheduler of the Dask cluster is gone; start it again"):
            killed_on_the_way(address, scheduler)
        assert {one.level for one in said} == {logging.CRITICAL}, "its client would still speak of it"
        until(lambda: [one.level for one in said] == before)


def test_no_more_jobs_at_a_time_than_asked_for(address: str) -> None:
    """The cluster has two threads, and starts whatever it is sent."""
    with executor_for(Workers(1, "dask", address)) as executor:
        spans = sorted(executor.map(span, [(0.1,)] * 6, batch=False))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_every_worker_of_a_cluster_is_asked(address: str) -> None:
    with executor_for(Workers(1, "dask", address)) as executor:
        assert len(set(executor.run_everywhere(who, 0.0))) == 2
        with pytest.raises(ValueError, match="must be non-negative"):
            executor.run_everywhere(who, -1.0)
    with executor_for(2) as executor:
        assert executor.run_everywhere(who, 0.0) == [os.getpid()]


def test_a_cluster_of_this_machine_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with executor_for(Workers(1, "dask")) as executor:
        assert list(executor.map(pow, [(2, 3)])) == [8]
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_joins_later_is_asked_for_its_versions(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"has Python 3\.\d+, and whoever sends it work has 2.7: results could"):
        unpacked(packed(who, (0.0,)), {**about(), "Python": "2.7"})
    with executor_for(Workers(2, "dask", address)) as executor:
        monkeypatch.setattr(cluster, "about", lambda: {**about(), "numpy": "1.0"})
        with pytest.raises(InvalidInput, match=r"has numpy .*, and whoever sends it work has 1.0: results"):
            list(executor.map(who, [(0.0,)]))


def test_a_client_that_fails_without_a_word_was_silent(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(pytest.importorskip("distributed"), "Client", fail)
    with pytest.raises(InvalidInput, match=f"no Dask scheduler answers at {address}: it was silent; start one"):
        executor_for(Workers(2, "dask", address))


def test_where_nobody_is_is_told_at_once(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's own client, which takes 15 to 30 seconds or never ends, is not asked."""
    asked: list[Any] = []
    monkeypatch.setattr(pytest.importorskip("distributed"), "Client", lambda *_, **__: asked.append(1))

    def refused(address: str, why: str) -> None:
        with pytest.raises(InvalidInput, match=why):
            executor_for(Workers(2, "dask", address))
        assert not asked

    refused(f"tcp://{nobody}", f"no Dask scheduler answers at tcp://{nobody}: Connection refused; start one")
    refused(f"tls://{nobody}", f"no Dask scheduler answers at tls://{nobody}: Connection refused; start one")
    refused(f"ucx://{nobody}", "ucx needs the package distributed-ucxx, which is not installed; install it")
    refused("tcp://" + "a" * 80 + ":80", "no Dask scheduler answers at tcp://aaa.*label too long")
    refused("tcp://" + "a" * 80 + ":8787", "its web page is at port 8787, itself at 8786; start one")
    monkeypatch.setattr(cluster, "ANSWER", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        refused(f"tcp://127.0.0.1:{silent.getsockname()[1]}", "no Dask scheduler answers at .* timed out")
