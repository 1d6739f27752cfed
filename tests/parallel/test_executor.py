"""The contract of an executor on every backend: order, batches, errors, crashes."""

import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.errors import InvalidInput, ResourceError, translate_errors
from lpbandits.parallel import Executor, Workers, executor_for
from lpbandits.parallel.backends import ThreadBackend, pack, run_packed
from lpbandits.policies import POLICIES, Setting
from tests.conftest import REWARDS, model_for
from tests.parallel.jobs import crash, fail_at_three, fail_unpicklably, sleep, slow_square, work
from tests.parallel.processes import kill, pids_in
from tests.parallel.test_threads import blas_threads
from tests.policies.test_plugins import _registries, example, load

__all__ = ["_registries"]  # a fixture: what a test registers is forgotten after it
pytestmark = pytest.mark.xdist_group("workers")

Open = Callable[[], Executor]


@pytest.fixture(params=["in_process", "threads", "processes", "dask"])
def opened(request: pytest.FixtureRequest) -> Open:
    def executor() -> Executor:
        if request.param == "dask":
            return executor_for(Workers(2, "dask", request.getfixturevalue("address")))
        if request.param == "processes":
            return executor_for(Workers(2))
        return executor_for(threads=3, threaded=request.param == "threads")

    return executor


def test_results_have_the_order_of_the_jobs(opened: Open) -> None:
    with opened() as executor:
        assert list(executor.map(slow_square, ((x,) for x in range(12)))) == [x * x for x in range(12)]
        completed = list(executor.as_completed(slow_square, ((x,) for x in range(12)), batch=False))
    assert sorted(completed) == [(x, x * x) for x in range(12)]


def test_two_maps_may_run_at_the_same_time(opened: Open) -> None:
    with opened() as executor:
        jobs = [(x,) for x in range(6)]
        pairs = list(zip(executor.map(slow_square, jobs), executor.map(fail_at_three, jobs[:3]), strict=False))
    assert pairs == [(0, 0), (1, 1), (4, 2)]


def test_arrays_are_aligned_and_writeable(opened: Open) -> None:
    """Of arrays that are not aligned numpy adds up 8,192 numbers at a time, and so in another order."""
    with opened() as executor:
        arrays = list(executor.map(np.ones, [(size,) for size in (1, 1000, 100_003)]))
    assert [len(array) for array in arrays] == [1, 1000, 100_003]
    assert all(array.flags.aligned and array.flags.writeable for array in arrays)


def test_linear_algebra_has_one_thread(opened: Open) -> None:
    with opened() as executor:
        assert list(executor.map(blas_threads, [()] * 4, batch=False)) == [{1}] * 4
        with executor.threaded() as pool:
            assert list(pool.map(blas_threads, [(), ()])) == [{1}] * 2


def test_an_error_of_a_job_is_raised_and_the_next_call_works(opened: Open) -> None:
    with pytest.raises(ValueError, match="three"), opened() as executor:
        list(executor.map(fail_at_three, ((x,) for x in range(9))))
    with opened() as executor:
        for value in executor.map(slow_square, ((x,) for x in range(50))):
            assert value == 0
            break
        assert list(executor.map(slow_square, [(3,), (4,)])) == [9, 16]


class Counted(ThreadBackend):
    """Count submitted tasks that should take 0.2 seconds."""

    task_seconds = 0.2
    n_submitted = 0

    def submit(self, *call: Any) -> Any:
        self.n_submitted += 1
        return super().submit(*call)


@pytest.mark.parametrize(("seconds", "n_jobs", "low", "high"), [(0.001, 400, 2, 200), (0.25, 3, 3, 3)])
def test_short_jobs_are_batched_and_long_ones_are_not(seconds: float, n_jobs: int, low: int, high: int) -> None:
    backend = Counted(2)
    with Executor(backend) as executor:
        assert list(executor.map(sleep, [(seconds,)] * n_jobs)) == [seconds] * n_jobs
    assert low <= backend.n_submitted <= high


def test_jobs_are_read_and_started_only_as_they_are_needed() -> None:
    read: list[int] = []

    def jobs() -> Iterator[tuple[float]]:
        for number in range(1000):
            read.append(number)
            yield (0.5 if number == 0 else 0.0,)

    with executor_for(threads=2, threaded=True) as executor:
        results = executor.map(sleep, jobs(), batch=False, max_ahead=2)
        next(results)
        assert len(read) < 12  # the first job holds the others back
        results.close()


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_the_tasks_of_a_killed_worker_are_run_again(backend: str, tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(24)]
    results = []
    with executor_for(Workers(2, backend)) as executor:  # type: ignore[arg-type] # as declared
        for value in executor.map(work, jobs, batch=False):
            results.append(value)
            if len(results) == 5:
                kill(pids_in(tmp_path)[0])
    assert results == list(range(24))
    done = [int(path.name.split("-")[1]) for path in tmp_path.glob("done-*")]
    assert sorted(set(done)) == list(range(24))
    assert len(done) <= 24 + 4  # those in flight


def test_a_task_that_crashes_its_worker_each_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.parallel.executor.MAX_CRASHES", 2)
    with executor_for(Workers(1)) as executor:  # two tasks that crash once each: a crash counts for what was started
        assert list(executor.map(crash, [(str(tmp_path), 0, 1), (str(tmp_path), 1, 1)], batch=False)) == [0, 1]
    with pytest.raises(ResourceError, match="crashed 2 times"), executor_for(Workers(1)) as executor:
        list(executor.map(crash, [(str(tmp_path), 2, 9)]))


def test_errors_and_jobs_that_cannot_be_pickled_are_reported() -> None:
    with pytest.raises(InvalidInput, match=r"pickle .*TypeError.*lock"):
        pack(print, (threading.Lock(),))
    with pytest.raises(ResourceError, match="picklable"), translate_errors("testing"), executor_for(2) as executor:
        list(executor.map(fail_unpicklably, [()]))


def test_workers_do_not_repeat_the_warning_about_uncompiled_functions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_packed(pack(warnings.warn, ("slow", lpb.errors.UncompiledWarning)))


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_pickled(name: str) -> None:
    policy = POLICIES[name].build(Setting(model_for(REWARDS["gaussian"]), REWARDS["gaussian"]))
    copy = pickle.loads(run_packed(pack(lambda one: one, (policy,))))  # noqa: S301 - made here
    assert (copy, copy.id) == (policy, policy.id)
    with pytest.raises(ValueError, match="read-only"):
        copy.model.prior[0] = 0


def test_classes_of_a_script_are_sent() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(example(), scope)  # noqa: S102 - our own documentation
    rule = scope["EpsilonGreedy"](0.2)  # __main__ has no such class, so it cannot be loaded by its name
    assert pickle.loads(run_packed(pack(vars, (rule,)))) == vars(rule)  # noqa: S301 - made here


def test_classes_of_a_missing_module_are_refused(tmp_path: Path) -> None:
    rule = load(example(), tmp_path, "module_that_workers_do_not_find").EpsilonGreedy()
    with pytest.raises(InvalidInput, match=r"module_that_workers_do_not_find.*PYTHONPATH"), executor_for(2) as executor:
        list(executor.map(vars, [(rule,)]))


def test_no_cluster_is_contacted_for_no_jobs(closed_port: str) -> None:
    with executor_for(Workers(2, "dask", f"tcp://{closed_port}"), max_jobs=0) as executor:
        assert executor.in_process
    with pytest.raises(InvalidInput, match=r"jobs.*0"):
        executor_for(0, max_jobs=0)
