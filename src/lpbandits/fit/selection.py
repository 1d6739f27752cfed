"""The choice of the number of states by the density of held-out people's ratings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, as_blocks, subsample
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.methods.mixture import Mixture
from lpbandits.fit.strengths import fit_shares, log_densities, mixture_densities
from lpbandits.parallel import Threads
from lpbandits.progress import Progress, Stopwatch
from lpbandits.statistics import gaps_to_best
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Json

FOLDS = 4
"""Number of folds of people in the choice of the number of states."""

PATIENCE, NEGLIGIBLE = 2, 1e-5
"""The choice stops after this many numbers of states in a row that score worse than the best, or as good: with a
difference per rating below `NEGLIGIBLE`, the additional states are empty."""

MIXTURE: Json = {"restarts": 8, "tolerance": 1e-5, "max_steps": 100}
"""Settings of the mixtures that are compared: less exact than those of a fit."""

MAX_SCORED = 2_500
"""Maximum number of people who are scored per fold, and of training people who determine the shares of a mixture."""

MIN_PEOPLE, FLAT = 50, 1.5
"""Warn about a choice with fewer people, or if as good a number of states is larger by this factor (and by 2)."""


def candidates_up_to(max_states: int) -> tuple[int, ...]:
    """Return the numbers of states to try: all small numbers, then steps of 20 to 33 %.

    >>> candidates_up_to(3), candidates_up_to(30)
    ((1, 2, 3), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30))
    """
    doubled = (step * 2**power for power in range(max_states.bit_length()) for step in (4, 5, 6))
    return tuple(sorted({m for m in (1, 2, 3, *doubled) if m < max_states} | {max_states}))


CANDIDATES = candidates_up_to(12)


@dataclass(frozen=True, eq=False)
class StateCurve:
    """Held-out scores by number of states."""

    candidates: tuple[int, ...]
    """Numbers of states tried."""
    score: FloatArray
    """Mean log density per rating of held-out people, relative to chance; it peaks near the right number."""
    below_best: FloatArray
    """Difference to the best score."""
    standard_error: FloatArray
    """Standard error over people of this difference."""
    states: int
    """The choice: the fewest states with a score at most one standard error below the best."""
    people: int
    """Number of people scored, each by fits without them."""

    def rows(self) -> list[Json]:
        """Return one JSON object per number of states."""
        names = ("score", "below_best", "standard_error")
        columns = np.stack([self.score, self.below_best, self.standard_error], axis=1)
        return [
            {"states": m, **dict(zip(names, row, strict=True)), "chosen": m == self.states}
            for m, row in zip(self.candidates, columns.tolist(), strict=True)
        ]

    def warnings(self) -> list[str]:
        """Return warnings if the log does not determine the number of states, or if more states may score better."""
        out = []
        if self.people < MIN_PEOPLE:
            out.append(
                f"{pluralize(self.people, 'person', 'people')} with different ratings cannot determine the number of "
                f"states: use at least {MIN_PEOPLE} people, or give the number (--states 5)"
            )
        first = self.candidates.index(self.states)
        last = first + int(np.argmin(np.append(self.below_best <= self.standard_error, False)[first:])) - 1
        most, gain = self.candidates[last], self.score[last] - self.score[first]
        if most > max(self.states + 1, math.ceil(FLAT * self.states)) and abs(gain) > NEGLIGIBLE:
            out.append(
                f"the log does not determine the number of states: {self.states} to {most} states predict held-out "
                "people equally well (within one standard error), so the fewest were chosen; use more people or more "
                "ratings per person"
            )
        if self.states == max(self.candidates):
            out.append(
                f"{pluralize(self.states, 'state')}, the most that were tried, scored best on held-out people; more "
                "may score better: increase max_states (--max-states)"
            )
        return out


@translate_errors("choosing the number of states")
def choose_states(
    ratings: Ratings | Blocks,
    *,
    candidates: Sequence[int] = CANDIDATES,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> StateCurve:
    """Choose the number of states by the density of held-out people's ratings under a `Mixture` of each number.

    The density is that of the arrangement of a person's ratings over the rated actions, relative to chance.
    The choice does not depend on the method of the fit that follows. The people are split into four folds; each person
    is scored by the fits to the other folds. The fewest states within one standard error of the best score are chosen.
    The search stops after two numbers in a row that score more than one standard error below the best, or whose
    additional states are empty. Of a log with more than about two million ratings, every n-th person is used; at most
    2,500 people per fold are scored.

    Examples
    --------
    >>> rows = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(40) for a in range(4)]
    >>> choose_states(Ratings.from_arrays(*zip(*rows)), candidates=[1, 2, 3]).states
    2
    """
    numbers = [validate.as_count(m, "candidates") for m in validate.as_list(candidates, "candidates", "numbers")]
    if not isinstance(ratings, Blocks):
        as_ratings(ratings)
    watch = Stopwatch(progress)
    with Threads(threads) as pool:
        folds = split_folds(as_blocks(ratings, pool), seed=validate.as_seed(seed))
        numbers = [m for m in sorted(set(numbers)) if m <= min(len(one.training.log.people) for one in folds)]
        if not numbers:
            raise InvalidInput(
                f"candidates must include a number of states below the number of people, got {candidates}"
            )
        total = float(sum(np.maximum(one.heldout.log.counts - 1, 0).sum() for one in folds))
        scores: list[FloatArray] = []
        worse = 0
        for i, m in enumerate(numbers):
            with watch.part("how many states", i, len(numbers)):
                scores.append(np.concatenate([one.densities(m, seed) for one in folds]))
            below, error = gaps_to_best(np.stack(scores), total)
            superfluous = i > 0 and abs(below[-1] - below[:-1].min()) <= NEGLIGIBLE
            worse = worse + 1 if superfluous or below[-1] > error[-1] else 0
            if worse == PATIENCE:
                break
        watch.skip_to_end("how many states", len(numbers))
    tried = tuple(numbers[: len(scores)])
    chosen = tried[int(np.flatnonzero(below <= error + NEGLIGIBLE)[0])]
    return StateCurve(tried, np.stack(scores).sum(axis=1) / total, below, error, chosen, len(scores[0]))


@dataclass(frozen=True, eq=False)
class Fold:
    """Training people, held-out people who are scored, and training people who determine the shares of a mixture."""

    training: Blocks
    heldout: Blocks
    shares: Blocks

    def densities(self, states: int, seed: int) -> FloatArray:
        """Fit a mixture to the training people; return each held-out person's log density (see `strengths`)."""
        components = Mixture(seed=seed, **MIXTURE).components(self.training, states, watch=Stopwatch())
        shares = fit_shares(log_densities(self.shares, components), components.shares)
        return mixture_densities(log_densities(self.heldout, components), shares)


def split_folds(log: Blocks, *, seed: int) -> list[Fold]:
    """Split the people whose ratings differ, or a sample of them, at random into folds, in memory."""
    sample = subsample(np.arange(len(log.log.people)), log.log.counts)
    size = 2 * FOLDS * int(log.log.counts[sample].sum())  # the sample, and the sets of all folds
    subject, remedy = f"{size:,} ratings of training and held-out people", "give a number of states (--states 5)"
    log.budget.check(subject, BYTES_PER_RATING * size, remedy)
    ratings, budget = log.subset(sample), log.budget.reserve(size)
    first = np.append(ratings.rating, 0.0)[ratings.offsets[:-1]]
    different = np.flatnonzero(np.bincount(ratings.owner, ratings.rating != first[ratings.owner], len(sample)))
    if len(different) < 2 * FOLDS:
        raise InvalidInput(
            f"states='auto' needs at least {2 * FOLDS} people whose ratings differ, got {len(different)}; give the "
            "number of states"
        )
    order = np.random.default_rng([seed, 1]).permutation(different)
    folds = []
    for fold in range(FOLDS):
        heldout, training = order[fold::FOLDS], np.delete(order, np.s_[fold::FOLDS])
        sets = training, heldout[:MAX_SCORED], training[:MAX_SCORED]
        folds.append(Fold(*(Blocks(ratings.subset(np.sort(people)), log.pool, budget) for people in sets)))
    return folds
