"""Worker processes: reuse and growth. Dask clusters: connecting, limits, versions, lost workers and schedulers."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpbandits.errors import InvalidInput, ResourceError, StalledWarning
from lpbandits.parallel import Executor, Workers, backends, executor_for
from tests.parallel.processes import grow, kill, sleep, started, surroundings, until

pytestmark = pytest.mark.xdist_group("workers")


def pid_of_worker() -> int:
    with executor_for(Workers(1)) as executor:
        (pid,) = executor.map(os.getpid, [()])
    return pid


def test_workers_have_the_surroundings_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid_of_worker()  # started before the first change
    for change in (monkeypatch.chdir, partial(monkeypatch.setenv, "PLACE"), monkeypatch.syspath_prepend):
        change(str(tmp_path))
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


@pytest.mark.filterwarnings("ignore:A worker stopped")  # an error would end loky's thread, and the test would hang
def test_a_worker_may_grow() -> None:
    """Loky ends a worker that has grown by 300 MB since its first job, with a warning; it checks once a second."""
    with executor_for(Workers(1)) as executor:
        assert len(set(executor.map(grow, [(0, 0.0), (400_000_000, 1.1), (0, 0.0)]))) == 1
        executor._close(abort=True)


def invert(seed: int) -> tuple[int, float]:
    time.sleep(0.05)
    matrix = np.random.default_rng(seed).normal(size=(200, 200))
    return threading.get_ident(), float(np.linalg.inv(matrix @ matrix.T + np.eye(200)).sum())


@contextlib.contextmanager
def dask_cluster() -> Iterator[tuple[str, "subprocess.Popen[str]", "subprocess.Popen[str]"]]:
    """Yield the address, the scheduler and the only worker, which has two threads and no nanny."""
    quiet: Any = {"stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")

        def address() -> str:
            with contextlib.suppress(OSError, ValueError):  # not written yet, or half of it
                return str(json.loads(file.read_text())["address"])
            return ""

        words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        with started([*words, "--scheduler-file", str(file)], **quiet) as scheduler:
            until(address)
            words = ["-m", "distributed.cli.dask_worker", address(), "--no-nanny", "--nthreads", "2", "--no-dashboard"]
            with started([*words, "--local-directory", folder], **quiet) as worker:
                yield address(), scheduler, worker


def connected(address: str) -> Executor:
    """Return an executor on a cluster that is starting its worker."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return executor_for(Workers(None, "dask", address))
        except InvalidInput as error:
            if "has no workers" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def kill_while_running(address: str, process: "subprocess.Popen[str]") -> None:
    with connected(address) as executor:
        for _ in executor.map(sleep, [(0.2,)] * 20):
            process.kill()


def warning_of_frozen(process: "subprocess.Popen[str]", executor: Executor) -> str:
    """Freeze a process until the executor warns of it, and return the warning; all jobs are done in the end."""
    messages: list[str] = []

    def wake(message: Warning | str, *_: Any, **__: Any) -> None:
        messages.append(str(message))
        process.send_signal(signal.SIGCONT)

    late = threading.Timer(20, process.send_signal, [signal.SIGCONT])  # without a warning
    with warnings.catch_warnings():
        warnings.simplefilter("always", StalledWarning)
        warnings.showwarning = wake
        results = executor.map(abs, [(number,) for number in range(12)])
        next(results)
        process.send_signal(signal.SIGSTOP)
        late.start()
        assert list(results) == list(range(1, 12))
    late.cancel()
    assert len(set(messages)) == len(messages)
    return messages[0]


@pytest.mark.filterwarnings("ignore::lpbandits.errors.StalledWarning")  # a busy machine takes more than a second
def test_frozen_and_lost_workers_and_schedulers_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "SILENT_SECONDS", 1)
    monkeypatch.setattr("lpbandits.parallel.executor.CHECK_SECONDS", 0.2)
    jobs = [(seed,) for seed in range(8)]
    with executor_for() as executor:
        expected = [total for _, total in executor.map(invert, jobs)]
    with dask_cluster() as (address, scheduler, worker):
        with connected(address) as executor:
            assert executor.n_workers == 2
            results = list(executor.map(invert, jobs))
        assert len({thread for thread, _ in results}) == 2  # two threads of one process change nothing
        assert [total for _, total in results] == expected
        with connected(address) as executor:
            assert f"scheduler at {address}" in warning_of_frozen(scheduler, executor)
            message = warning_of_frozen(worker, executor)
            assert message.startswith("the Dask worker at ")
            assert address in message
        with pytest.raises(ResourceError, match=rf"{address} has had no workers for 1 seconds"):
            kill_while_running(address, worker)
        with pytest.raises(InvalidInput, match=f"{address} has no workers"):
            executor_for(Workers(2, "dask", address))
        words = ["-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
        with (
            started(words, stderr=subprocess.DEVNULL),
            pytest.raises(ResourceError, match="scheduler is gone"),
        ):
            kill_while_running(address, scheduler)


def test_no_more_jobs_at_a_time_than_asked_for(address: str) -> None:
    """The cluster has two threads."""
    with executor_for(Workers(1, "dask", address)) as executor:
        spans = sorted(executor.map(sleep, [(0.05,)] * 6))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_run_everywhere_calls_every_worker(address: str) -> None:
    with executor_for(Workers(1, "dask", address)) as executor:
        assert len(set(executor.run_everywhere(os.getpid))) == 2
        with pytest.raises(ValueError, match="must be non-negative"):
            executor.run_everywhere(sleep, -1.0)
    with executor_for(2) as executor:
        assert executor.run_everywhere(os.getpid) == [os.getpid()]


def test_a_local_cluster_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with executor_for(Workers(1, "dask")) as executor:
        assert list(executor.map(pow, [(2, 3)])) == [8]
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_with_other_versions_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.versions._version_cached", lambda name: f"{name}-of-the-client")
    with pytest.raises(InvalidInput, match=r"lpbandits .*this process has lpbandits-of-the-client"):
        executor_for(Workers(2, "dask", address))


def test_an_address_without_a_scheduler_is_refused_at_once(closed_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's own client takes 15 to 30 seconds, or does not return."""
    distributed = pytest.importorskip("distributed")

    def refused(address: str, why: str) -> None:
        with pytest.raises(InvalidInput, match=f"no Dask scheduler answers at {address}.*{why}"):
            executor_for(Workers(2, "dask", address))

    def fail(*_: Any, **__: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(distributed, "Client", fail)
    monkeypatch.setattr(backends, "REPLY_SECONDS", 0.2)
    refused(f"tcp://{closed_port}", "Connection refused")
    refused(f"tls://{closed_port}", "Connection refused")
    refused(f"ucx://{closed_port}", "no reply")
    refused("tcp://" + "a" * 80 + ":80", "label too long")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        refused(f"tcp://127.0.0.1:{silent.getsockname()[1]}", "timed out")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInput, match=r"pip install 'lpbandits\[dask\]'"):
        executor_for(Workers(2, "dask"))
