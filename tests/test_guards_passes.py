"""How often a fit goes over its k×k counts, and how many of them it holds at a time."""

import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import maximise
from lpbandits.recovery.pairs import compare, count_state
from tests.guards.kernels import allocating, looked_on
from tests.logs import log_of
from tests.test_recovery_bradley_terry import contest

SWEEPS = ("expect", "neighbours", "squared_neighbours")
AROUND = 3
"""Passes of a state beside those that its fit tells: counting, adding the transpose, the pieces of the graph."""


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [3, 30, 300])
def test_dense_counts_take_few_passes(k: int, seed: int, spread: float) -> None:
    wins = contest(seed, k, 20, spread)
    fit = lpb.fit_bradley_terry(wins)
    assert fit.converged
    assert fit.passes <= 30
    wins[k // 2] = 0  # never wins
    loser = lpb.fit_bradley_terry(wins)
    assert loser.converged
    assert loser.passes <= 40


@pytest.mark.parametrize("threads", [1, 2])
def test_every_sweep_is_told_as_a_pass(threads: int) -> None:
    swept: list[int] = []

    def note(name: str, call: Any, args: Any) -> Any:
        if name.endswith(SWEEPS):
            low, high = args[:2]
            swept.append(high - low)
        return call()

    wins = contest(3, 600, 5)
    with looked_on(allocating(), note):
        fit = lpb.fit_bradley_terry(wins, threads=threads)
    assert sum(swept) == fit.passes * 600
    assert len(swept) == fit.passes * threads


def squares(args: Any) -> list[Any]:
    """Return the matrices as wide as long, and so large, that they can only be counts."""
    shapes = [(one, one.shape) for one in args if isinstance(one, np.ndarray) and one.ndim == 2]
    return [one for one, (rows, columns) in shapes if rows == columns > 20]


@pytest.mark.parametrize(
    ("heldout", "quick", "at_a_time"), [(0.0, False, 1), (0.2, False, 1), (0.2, True, 2)], ids=["all", "anew", "less"]
)
def test_a_fit_of_states_goes_over_few_counts_and_holds_fewer(
    heldout: float, quick: bool, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpbandits.recovery.counting.CELLS", 1)  # as if a matrix filled the memory
    if quick:  # as for very many ratings: counts of those set aside are taken from those of all
        monkeypatch.setattr("lpbandits.recovery.fit.HUGE", 0)
    passes, most = 0, 0
    held: dict[int, Any] = {}

    def note(name: str, call: Any, args: Any) -> Any:  # noqa: ARG001
        nonlocal passes, most
        for counts in squares(args):
            passes += 1
            held[id(counts)] = weakref.ref(counts)
        most = max(most, sum(ref() is not None for ref in held.values()))
        return call()

    log = log_of(120, 60, share=0.5, states=3)
    with looked_on(allocating(), note):
        found = lpb.fit_states(log, lpb.TwoStage(), states=3, heldout=heldout, taste=False, threads=1)
    told = found.report.passes
    assert len(told) == 3
    assert max(told) <= 30
    assert most == at_a_time
    if heldout == 0.0:
        assert passes == sum(told) + AROUND * 3
    else:  # of each state another fit, without those set aside
        assert sum(told) + AROUND * 3 < passes <= 3 * 2 * (30 + AROUND)


def test_counting_and_fitting_need_one_matrix() -> None:
    k = 1200
    comparisons = compare(log_of(40, k, share=0.5))
    weight = np.ones(40)
    threads = Threads(1)
    maximise(count_state(comparisons, weight), prior_sd=1.0, errors=False, threads=threads)  # compiles
    ratings = len(comparisons.action)
    tracemalloc.start()
    counts = count_state(comparisons, weight, threads=threads)
    maximise(counts, prior_sd=1.0, errors=False, threads=threads)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.halves.itemsize == 2
    assert counts.halves.nbytes == 2 * k * k
    assert peak < 1.05 * counts.halves.nbytes + 20 * ratings + 400 * k
