"""Inner loops of policies allocate no arrays, and a fit allocates as many for many people as for few."""

from collections.abc import Iterator
from typing import Any

import numba.core.runtime.nrt
import numpy as np
import pytest
from numba.core.errors import NumbaError

import lpbandits as lpb
from lpbandits.decisions.kernels.deciding import kernel_of
from lpbandits.kernels.choices import apply_exploration_floor, apply_exploration_floor_to_pair
from lpbandits.kernels.outcomes import duelled, rewarded
from lpbandits.policies import POLICIES, Setting, make_policy
from lpbandits.simulation.kernels import offer_once, offer_sets, rollout_of
from tests.conftest import REWARDS, model_for
from tests.guards.kernels import allocating, looked_on
from tests.logs import log_of

runtime: Any = numba.core.runtime.nrt  # it has no types
GAUSSIAN = REWARDS["gaussian"]

ALLOCATES = {
    "fit.kernels.arrangements.arrangement_means": "a table of partial arrangements per person",
    "fit.kernels.arrangements.log_permanent": "nothing",
    "fit.kernels.arrangements.scale_to_one": "nothing",
    "fit.kernels.arrangements.scaled_means": "a matrix of all pairs of a person's ratings and actions",
    "fit.kernels.bradley_terry.expected_wins": "sums of a block of columns",
    "fit.kernels.bradley_terry.hessian_off_diagonal": "sums of a block of columns",
    "fit.kernels.bradley_terry.squared_off_diagonal": "sums of a block of columns",
    "fit.kernels.comparisons.add_transposed": "nothing",
    "fit.kernels.comparisons.count_rows": "nothing",
    "fit.kernels.comparisons.group_by_action": "a counter per action",
    "fit.kernels.comparisons.group_sizes": "nothing",
    "fit.kernels.comparisons.history_log_likelihoods": "scratch for the longest history",
    "fit.kernels.comparisons.sort_histories": "see PER_PERSON",
    "fit.kernels.comparisons.split_histories": "its result, and scratch",
    "fit.kernels.bradley_terry.scatter_parts": "scratch for the longest history",
    "kernels.kendall.kendall_distances": "its result, and scratch",
}
"""Kernels that may allocate arrays, and what for. All others are compiled without the runtime that allocates."""

PER_PERSON = {
    "fit.kernels.comparisons.sort_histories": "numba's stable argsort allocates two arrays per history",
}
"""Kernels that allocate more arrays for more people, and why."""


@pytest.fixture
def allocations() -> Iterator[Any]:
    """Yield a function that returns the number of arrays allocated so far by compiled code."""
    runtime._nrt.memsys_enable_stats()
    yield lambda: runtime.rtsys.get_allocation_stats().alloc
    runtime._nrt.memsys_disable_stats()


def test_only_listed_kernels_may_allocate() -> None:
    assert set(allocating()) == set(ALLOCATES)


@pytest.mark.parametrize("name", POLICIES)
def test_loops_around_a_policy_cannot_allocate(name: str) -> None:
    policy = make_policy(name, Setting(model_for(GAUSSIAN), GAUSSIAN))
    duels = policy.feedback == "duels"
    floor, outcome = (apply_exploration_floor_to_pair, duelled) if duels else (apply_exploration_floor, rewarded)
    parts = {"choose": policy.choose, "apply_exploration_floor": floor, "outcome": outcome, "tell": policy.tell}
    compiled: list[Any] = [rollout_of(offer=offer, **parts) for offer in (offer_sets, offer_once)]
    compiled += [] if duels else [kernel_of(policy)]
    assert any(function.py_func.__name__.startswith("rollout") for function in compiled)
    for function in compiled:
        assert function.targetoptions["_nrt"] is False


def test_a_kernel_that_allocates_does_not_compile() -> None:
    @lpb.kernel
    def allocates(n: int) -> float:
        return float(np.zeros(n)[0])

    with pytest.raises(NumbaError, match="zeros"):
        allocates(3)


def test_a_fit_of_more_people_allocates_no_more_arrays(allocations: Any) -> None:
    most: dict[int, dict[str, int]] = {}
    for people in (60, 240):
        counts = most.setdefault(people, {})

        def note(name: str, call: Any, args: Any, counts: dict[str, int] = counts) -> Any:
            before = allocations()
            out = call()
            counts[name] = max(counts.get(name, 0), allocations() - before)
            return out

        log = log_of(people, 30, share=0.5, states=2)
        lpb.fit_states(log, lpb.TwoStage(), states=2, taste=False, threads=1)  # compiles the kernels
        with looked_on(allocating(), note):
            lpb.fit_states(log, lpb.TwoStage(), states=2, taste=False, threads=1)
            lpb.fit_states(log, lpb.Em(restarts=1, max_steps=2), states=2, pairs_per_person=20, taste=False, threads=1)
    few, many = most[60], most[240]
    assert set(few) == set(many)
    assert {name for name in few if many[name] > few[name]} == set(PER_PERSON)
    kernels = ("comparisons.count_rows", "bradley_terry.scatter_parts", "bradley_terry.expected_wins")
    assert {f"fit.kernels.{name}" for name in kernels} <= set(few)
