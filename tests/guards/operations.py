"""The cost of decisions without a clock: lines run and numbers accessed by kernels, with the compiler off.

`NUMBA_DISABLE_JIT=1 python -m tests.guards.operations` prints the counts for tests/kernels/test_guards_operations.py.
"""

import json
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import lpbandits as lpb
from lpbandits.decisions.engine import Engine
from lpbandits.decisions.kernels.allowance import DecisionBatch
from lpbandits.fit.bradley_terry import maximise
from lpbandits.fit.comparisons import gather
from lpbandits.kernels.compiler import SOURCES
from lpbandits.kernels.layout import Arrays
from lpbandits.parallel import Threads
from lpbandits.policies import Belief
from lpbandits.simulation import rollout
from tests.conftest import random_orderings, taste_for

KERNELS = tuple(str(file) for pattern in SOURCES for file in Path(lpb.__file__).parent.glob(pattern))
TRIED = 3
"""Number of tried actions."""
FEW, MORE, MANY = 8, 20, 8_777
"""Numbers of all actions; many only if the cost does not grow from few to more."""
CYCLES = 4
"""Number of times that the same outcomes are told; the first tries the actions."""
SEED_OF_CYCLES = 6
"""With this seed all cycles of double-ts reject equally many gamma draws; a rejected draw is repeated, which costs."""


class Counter:
    """Count, while it is entered, the accessed numbers of watched arrays and the lines run by kernels."""

    def __init__(self, *, lines: bool = True) -> None:
        self.total = 0
        self.lines = lines

    def __enter__(self) -> "Counter":
        Watched.counter = self
        if self.lines:
            sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        Watched.counter = None

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:  # noqa: ARG002 - as sys.settrace calls it
        return self._ran if frame.f_code.co_filename.startswith(KERNELS) else None

    def _ran(self, frame: FrameType, event: str, _: Any) -> Any:  # noqa: ARG002
        self.total += event == "line"
        return self._ran


class Watched(np.ndarray[Any, Any]):
    """An array that reports to the counter how many of its numbers are read, written or computed with."""

    counter: Counter | None = None

    def touch(self, size: int) -> None:
        if Watched.counter is not None:
            Watched.counter.total += size

    def __getitem__(self, key: Any) -> Any:
        out = super().__getitem__(key)
        self.touch(0 if isinstance(out, np.ndarray) else 1)  # a view costs nothing until it is read
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        self.touch(getattr(super().__getitem__(key), "size", 1))
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **rest: Any) -> Any:
        self.touch(sum(array.size for array in (*inputs, *out) if isinstance(array, Watched)))
        if out:
            rest["out"] = tuple(np.asarray(array) for array in out)
        return getattr(ufunc, method)(*map(np.asarray, inputs), **rest)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.touch(sum(array.size for array in args if isinstance(array, Watched)))
        return super().__array_function__(func, types, args, kwargs)


def watched_arrays(policy: lpb.Policy, belief: Belief) -> Arrays:
    return Arrays(*(array.view(Watched) for array in unwatched_arrays(policy, belief)))


unwatched_arrays = lpb.Policy.arrays


def model_of(k: int, m: int = 3) -> lpb.PreferenceModel:
    """Return a model whose orders of the tried actions do not depend on k; all states rank the others below."""
    tried, rest = random_orderings(m, TRIED, seed=1), np.tile(np.arange(TRIED, k), (m, 1))
    orderings = np.concatenate([tried, rest], axis=1)
    falling = np.concatenate([np.linspace(4.0, 2.0, TRIED), np.linspace(1.9, 1.0, k - TRIED)])
    means = np.empty((m, k))
    np.put_along_axis(means, orderings, np.tile(falling, (m, 1)), axis=1)
    return lpb.PreferenceModel(orderings, means=means, utilities=means / 4.0, taste=taste_for(k))


def policy_of(name: str, k: int) -> lpb.Policy:
    return lpb.policies.POLICIES[name].build(lpb.policies.Setting(model_of(k), lpb.Rewards(), 50))


def cycles(name: str, k: int, count: int, seed: int = 1) -> list[int]:
    """Return the cost of each cycle: a choice and an outcome for each tried action."""
    policy = policy_of(name, k)
    offered, arrays = policy.offer(None), policy.arrays(policy.new_belief(TRIED))
    choose, tell = policy.choose, policy.tell  # builds both, once per process
    costs, n = [], 0
    for _ in range(count):
        with Counter() as counter:
            for action in range(TRIED):
                choose(arrays, n, offered, seed, 2, action)
                rival = (action + 1) % TRIED
                n = tell(arrays, n, action, rival if policy.feedback == "duels" else 3.0 - 0.25 * action)
        costs.append(counter.total)
    return costs


def by_actions(name: str) -> dict[str, int]:
    """Return the cost of two cycles by the number of all actions."""
    costs = {k: sum(cycles(name, k, 2)) for k in (FEW, MORE)}
    if costs[MORE] < 1.1 * costs[FEW]:
        with suppress(lpb.InvalidInput):  # too many actions for the policy
            costs[MANY] = sum(cycles(name, MANY, 2))
    return {str(k): cost for k, cost in costs.items()}


def beyond_people(name: str) -> list[int]:
    """Return the cost of the two halves of 2 and 4 people minus that of all: the cost per call."""
    policy = policy_of(name, FEW)
    means = np.linspace(1.0, 4.0, 4 * FEW).reshape(4, FEW)
    people = lpb.worlds.Population(policy.model, np.arange(4) % 3, means, lpb.Rewards())

    def cost(low: int, high: int) -> int:
        with Counter() as counter:
            rollout(policy, people.cut(slice(low, high)), rounds=3, seed=1, first_person=low)
        return counter.total

    cost(0, 1)  # builds the loop
    return [cost(0, n) + cost(n, 2 * n) - cost(0, 2 * n) for n in (1, 2)]


def by_person_decided(name: str) -> dict[str, int]:
    """Return the cost of one more person in `decide` by the number of all actions."""
    costs = {}
    for k in (FEW, MORE):
        engine, totals = Engine(policy_of(name, k), seed=1), []
        for people in (1, 2):
            actions = np.tile(np.arange(TRIED, dtype=np.int32), people)
            batch = DecisionBatch(TRIED * np.arange(people + 1), actions, 3.0 - actions / 2.0, np.arange(people))
            with Counter() as counter:
                engine.run(batch)
            totals.append(counter.total)
        costs[str(k)] = totals[1] - totals[0]
    return costs


def passes(k: int) -> list[int]:
    """Return the reported passes of a Bradley-Terry fit, and the accessed numbers of its k×k counts per k²."""
    rng = np.random.default_rng(k)
    wins = rng.integers(1, 9, (k, k)).astype(np.float64)
    np.fill_diagonal(wins, 0.0)
    counts = gather(wins)
    watched = type(counts)(counts.double_counts.view(Watched), counts.wins, counts.kept, counts.actions)
    with Counter(lines=False) as counter:
        fit = maximise(watched, prior_sd=1.0, threads=Threads(1))
    return [fit.passes, *divmod(counter.total, k * k)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lpb.Policy.arrays = watched_arrays  # type: ignore[method-assign,assignment] # this process only counts
    on_rewards = [name for name, entry in lpb.policies.POLICIES.items() if entry.feedback == "rewards"]
    tables = {
        "actions": {name: by_actions(name) for name in lpb.policies.POLICIES},
        "cycles": {name: cycles(name, FEW, CYCLES, SEED_OF_CYCLES) for name in lpb.policies.POLICIES},
        "people": {name: beyond_people(name) for name in lpb.policies.POLICIES},
        "decided": {name: by_person_decided(name) for name in on_rewards},
        "passes": {str(k): passes(k) for k in (5, 30)},
    }
    json.dump(tables, sys.stdout)
