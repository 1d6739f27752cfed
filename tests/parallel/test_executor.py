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
from lpbandits.parallel.backends import pack, run_packed
from lpbandits.policies import POLICIES, Setting
from tests.conftest import REWARDS, model_for
from tests.parallel.processes import crash, fail_at_three, fail_unpicklably, kill, pids_in, sleep, slow_square, work
from tests.parallel.test_threads import blas_threads
from tests.policies.test_plugins import _registries, example, load

__all__ = ["_registries"]  # a fixture: what a test registers is forgotten after it
pytestmark = pytest.mark.xdist_group("workers")

Open = Callable[[], Executor]


@pytest.fixture(params=["in_process", "threads", "processes", "dask"])
def opened(request: pytest.FixtureRequest) -> Open:
    """Return a function that opens an executor."""
    executors: dict[str, Open] = {
        "in_process": executor_for,
        "threads": lambda: Executor(3),
        "processes": lambda: executor_for(2),
        "dask": lambda: executor_for(Workers(2, "dask", request.getfixturevalue("address"))),
    }
    return executors[request.param]


def test_results_are_in_the_order_of_the_jobs(opened: Open) -> None:
    jobs = [(x,) for x in range(12)]
    with opened() as executor:
        assert list(executor.map(slow_square, iter(jobs))) == [x * x for x in range(12)]
        assert sorted(executor.as_completed(slow_square, jobs)) == [(x, x * x) for x in range(12)]
        pairs = zip(executor.map(slow_square, jobs), executor.map(fail_at_three, jobs[:3]), strict=False)
        assert list(pairs) == [(0, 0), (1, 1), (4, 2)]


def test_arrays_are_aligned_and_writeable(opened: Open) -> None:
    """Numpy adds arrays that are not aligned in another order."""
    with opened() as executor:
        arrays = list(executor.map(np.ones, [(size,) for size in (1, 1000, 100_003)]))
    assert [len(array) for array in arrays] == [1, 1000, 100_003]
    assert all(array.flags.aligned and array.flags.writeable for array in arrays)


def test_linear_algebra_has_one_thread(opened: Open) -> None:
    with opened() as executor:
        assert list(executor.map(blas_threads, [()] * 4)) == [{1}] * 4
        with executor.threaded() as pool:
            assert list(pool.map(blas_threads, [(), ()])) == [{1}] * 2


def test_errors_of_jobs_are_raised_and_the_next_call_works(opened: Open) -> None:
    with pytest.raises(ValueError, match="three"), opened() as executor:
        list(executor.map(fail_at_three, ((x,) for x in range(9))))
    with opened() as executor:
        assert next(executor.map(slow_square, ((x,) for x in range(50)))) == 0
        assert list(executor.map(slow_square, [(3,), (4,)])) == [9, 16]


def test_jobs_are_read_and_started_only_as_they_are_needed() -> None:
    read: list[int] = []

    def jobs() -> Iterator[tuple[float]]:
        for number in range(1000):
            read.append(number)
            yield (0.5 if number == 0 else 0.0,)

    with Executor(2) as executor:
        results = executor.map(sleep, jobs(), max_ahead=2)
        next(results)
        assert len(read) < 12  # the first job holds the others back
        results.close()


@pytest.mark.parametrize("backend", ["processes", "dask"])
def test_the_jobs_of_a_killed_worker_are_run_again(backend: str, tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(24)]
    results = []
    with executor_for(Workers(2, backend)) as executor:  # type: ignore[arg-type] # as declared
        for value in executor.map(work, jobs):
            results.append(value)
            if len(results) == 5:
                kill(pids_in(tmp_path)[0])
    assert results == list(range(24))
    done = [int(path.name.split("-")[1]) for path in tmp_path.glob("done-*")]
    assert sorted(set(done)) == list(range(24))
    assert len(done) <= 24 + 4  # those in flight


def test_a_job_that_crashes_its_worker_each_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.parallel.executor.MAX_CRASHES", 2)
    with executor_for(Workers(1)) as executor:  # two jobs that crash once each: a crash counts for started jobs only
        assert list(executor.map(crash, [(str(tmp_path), 0, 1), (str(tmp_path), 1, 1)])) == [0, 1]
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
