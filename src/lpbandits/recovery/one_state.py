"""One state's Bradley-Terry model, at the cost of the actions that its people rated rather than of all."""

from dataclasses import dataclass, replace

import numpy as np

from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import BradleyTerry, maximise
from lpbandits.recovery.pairs import Comparisons, PairCounts, count_wins, gather
from lpbandits.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class StateCounts:
    """The counts of one state's people among the actions they rated: `kept` of all `actions`, by index."""

    counts: PairCounts
    kept: IntArray
    actions: int


def count_state(comparisons: Comparisons, weight: FloatArray, *, threads: Threads) -> StateCounts:
    """Count the comparisons of people with a weight above 0."""
    rated = np.zeros(comparisons.actions, dtype=np.bool_)
    used = np.repeat(weight[comparisons.person] > 0, np.diff(comparisons.offsets))
    rated[comparisons.action[used]] = True
    rated[0] |= not rated.any()  # a state that lost all its people keeps one action, never compared
    kept = np.flatnonzero(rated)
    fewer = comparisons
    if len(kept) < comparisons.actions:
        # Actions of other people get wrong numbers here; those people's histories are not looked at.
        number = np.maximum(np.cumsum(rated) - 1, 0).astype(np.uint32)
        fewer = replace(comparisons, action=number[comparisons.action], actions=len(kept))
    counts = gather(count_wins(fewer, weight, threads=threads), threads=threads)
    return StateCounts(counts, kept, comparisons.actions)


def maximise_state(
    state: StateCounts,
    *,
    prior_sd: float,
    tolerance: float = 1e-6,
    start: FloatArray | None = None,
    errors: bool = True,
    threads: Threads,
) -> BradleyTerry:
    """Fit the rated actions, and say of all others that they were never compared."""
    fit = maximise(
        state.counts,
        prior_sd=prior_sd,
        tolerance=tolerance,
        start=None if start is None else start[state.kept],
        errors=errors,
        threads=threads,
    )
    if len(state.kept) == state.actions:
        return fit
    utilities = np.zeros(state.actions)
    deviations = np.full(state.actions, prior_sd if errors else np.nan)
    never = np.ones(state.actions, dtype=np.bool_)
    pieces = len(state.kept) + np.arange(state.actions)  # each alone, with a number that no piece of the fit has
    for whole, part in (
        (utilities, fit.utilities),
        (deviations, fit.standard_errors),
        (never, fit.never_compared),
        (pieces, fit.pieces),
    ):
        whole[state.kept] = part
    return BradleyTerry(utilities, deviations, fit.passes, fit.converged, never, pieces)
