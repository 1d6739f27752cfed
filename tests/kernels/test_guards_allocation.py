"""Inner loops make no arrays: what a policy runs cannot, and a fit makes as many for many people as for few."""

import inspect
from collections.abc import Iterator
from typing import Any

import numba.core.runtime.nrt
import numpy as np
import pytest
from numba.core.errors import NumbaError

import lpbandits as lpb
from lpbandits.decisions.engine import kernel_of
from lpbandits.kernels.exploring import apply_exploration_floor, apply_exploration_floor_to_pair
from lpbandits.kernels.outcomes import duelled, rewarded
from lpbandits.simulation import rollout
from lpbandits.simulation.kernels import offer_once, offer_sets, rollout_of
from tests.conftest import REWARDS, model_for, population_for
from tests.guards.kernels import allocating, looked_on
from tests.logs import log_of

runtime: Any = numba.core.runtime.nrt  # it has no types

ALLOCATES = {
    "kernels.bradley_terry.expect": "sums of a block of columns",
    "kernels.bradley_terry.neighbours": "sums of a block of columns",
    "kernels.bradley_terry.squared_neighbours": "sums of a block of columns",
    "kernels.bradley_terry.pieces": "what it returns, and a queue",
    "kernels.isotonic.isotonic": "what it returns, and blocks",
    "kernels.kendall.kendall_distances": "what it returns, and scratch",
    "kernels.pairs.add_transposed": "nothing",
    "kernels.pairs.count_groups": "what it returns",
    "kernels.pairs.count_rows": "nothing",
    "kernels.pairs.group_by_action": "how far each action has come",
    "kernels.pairs.group_sizes": "nothing",
    "kernels.pairs.history_log_likelihoods": "scratch for the longest history",
    "kernels.pairs.sort_histories": "see PER_PERSON",
    "kernels.pairs.split_histories": "scratch for the longest history",
    "kernels.products.group_rows": "scratch for all actions",
    "kernels.scatter.scatter_parts": "scratch for the longest history",
}
"""Kernels that may make arrays, and what for. All others are compiled so that they cannot."""

PER_PERSON = {
    "kernels.pairs.sort_histories": (
        "numba's stable argsort makes two arrays a history; a merge sort of our own on scratch took as long"
    )
}
"""Those that make more arrays for more people, and why."""


@pytest.fixture
def allocations() -> Iterator[Any]:
    """Return a function that says how many arrays compiled code has made so far."""
    runtime._nrt.memsys_enable_stats()
    yield lambda: runtime.rtsys.get_allocation_stats().alloc
    runtime._nrt.memsys_disable_stats()


def test_only_these_kernels_may_make_arrays() -> None:
    assert set(allocating()) == set(ALLOCATES)


@pytest.mark.parametrize("name", lpb.policies.POLICIES)
def test_loops_around_a_policy_cannot_make_arrays(name: str) -> None:
    policy = lpb.policies.POLICIES[name].build(
        lpb.policies.Setting(model_for(REWARDS["gaussian"]), REWARDS["gaussian"])
    )
    duels = policy.feedback == "duels"
    after = (apply_exploration_floor_to_pair, duelled) if duels else (apply_exploration_floor, rewarded)
    loops = [rollout_of(offer, policy.choose, *after, policy.tell) for offer in (offer_sets, offer_once)]
    loops += [] if duels else [kernel_of(policy)]
    built = [inspect.getclosurevars(loop).nonlocals["made"] for loop in loops]
    for function in (policy.choose, policy.tell, *built):
        assert function.targetoptions["_nrt"] is False


def test_what_cannot_make_arrays_is_not_compiled_if_it_does() -> None:
    @lpb.kernel
    def wasteful(n: int) -> float:
        return float(np.zeros(n)[0])

    with pytest.raises(NumbaError, match="zeros"):
        wasteful(3)


@pytest.mark.parametrize("name", lpb.policies.POLICIES)
def test_rounds_and_people_make_no_arrays(name: str, allocations: Any) -> None:
    rewards = REWARDS["gaussian"]
    model = model_for(rewards)
    policy = lpb.policies.POLICIES[name].build(lpb.policies.Setting(model, rewards))
    before = allocations()
    for people, rounds in ((1, 3), (4, 12)):
        rollout(policy, population_for(model, rewards, people=people), rounds=rounds, seed=1)
    assert allocations() == before


def test_a_fit_of_more_people_makes_no_more_arrays(allocations: Any) -> None:
    most: dict[int, dict[str, int]] = {}
    for people in (60, 240):
        made = most.setdefault(people, {})

        def note(name: str, call: Any, args: Any, made: dict[str, int] = made) -> Any:
            before = allocations()
            out = call()
            made[name] = max(made.get(name, 0), allocations() - before)
            return out

        log = log_of(people, 30, share=0.5, states=2)
        lpb.fit_states(log, lpb.TwoStage(), states=2, taste=False, threads=1)  # compiles what is to be compiled
        with looked_on(allocating(), note):
            lpb.fit_states(log, lpb.TwoStage(), states=2, taste=False, threads=1)
            lpb.fit_states(log, lpb.Em(restarts=1, max_steps=2), states=2, pairs_per_person=20, taste=False, threads=1)
    few, many = most[60], most[240]
    assert set(few) == set(many)
    assert {name for name in few if many[name] > few[name]} == set(PER_PERSON)
    assert {"kernels.pairs.count_rows", "kernels.scatter.scatter_parts", "kernels.bradley_terry.expect"} <= set(few)
