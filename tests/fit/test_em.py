"""Compare EM with its plain implementation: both steps, shares, starts and the best start."""

from dataclasses import replace

import numpy as np
import pytest

from lpbandits.data import Ratings
from lpbandits.data.blocks import MemoryBlocks
from lpbandits.fit import Em, cluster_people
from lpbandits.fit.bradley_terry import BradleyTerry
from lpbandits.fit.comparisons import Comparisons, compare
from lpbandits.fit.em import expectation, maximisation
from lpbandits.fit.estimator import Estimate
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import IntArray
from tests import naive_recovery as naive
from tests.synthetic_recovery import log_from

STATES = 3
PRIOR_SD = 0.8
UNEVEN = np.array([0, 0, 0, 1, 1, 2] * 5)
"""Labels of a start with unequal shares."""


def small(seed: int) -> Ratings:
    """Return a noisy log with ties, of states with shares 60, 30 and 10 %."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 1.2, (STATES, 5))
    rows = []
    for n in range(30):
        z = rng.choice(STATES, p=[0.6, 0.3, 0.1])
        rows += [(n, a, np.rint(taste[z, a] + rng.normal())) for a in rng.choice(5, 4, replace=False).tolist()]
    return log_from(rows, actions=range(5))


def fitted(em: Em, log: Ratings) -> Estimate:
    with Threads(1) as threads:
        return replace(em, shrink=False)(MemoryBlocks(log, threads), STATES, watch=Stopwatch())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [2, 6])
def test_em_equals_its_twin_from_the_same_start(seed: int, steps: int) -> None:
    log = small(seed)
    real = fitted(Em(start=tuple(UNEVEN.tolist()), prior_sd=PRIOR_SD, max_steps=steps, tolerance=0), log)
    betas, shares, chance, values = naive.em(log, UNEVEN, STATES, prior_sd=PRIOR_SD, steps=steps)
    np.testing.assert_allclose(real.history, values, atol=2e-3)
    np.testing.assert_allclose(real.shares, shares, atol=2e-3)
    np.testing.assert_allclose(real.utilities, betas, atol=5e-3)
    np.testing.assert_array_equal(real.labels, chance.argmax(axis=1))
    assert np.abs(real.shares - np.bincount(UNEVEN) / 30).max() > 0.01


def test_shares_matter_beyond_the_tolerances_of_the_comparison() -> None:
    log = small(0)
    betas, shares, chance, _ = naive.em(log, UNEVEN, STATES, prior_sd=PRIOR_SD, steps=6)
    even, _ = naive.responsibilities(log, betas, np.full(STATES, 1 / STATES))
    assert np.abs(even - chance).max() > 0.02
    assert np.abs(shares - 1 / STATES).max() > 0.02


def _steps(log: Ratings) -> tuple[Comparisons, tuple[BradleyTerry, ...], Threads]:
    threads = Threads(1)
    comparisons = compare(log, threads=threads)
    rng = np.random.default_rng(4)
    chance = rng.dirichlet(np.ones(STATES), size=len(log.people))
    fits = []
    for z in range(STATES):
        fit = maximisation(comparisons, chance[:, z], prior_sd=PRIOR_SD, start=None, final=True, threads=threads)
        beta, _ = naive.bradley_terry(naive.halves_won(log, chance[:, z]) / 2, PRIOR_SD)
        np.testing.assert_allclose(fit.utilities, beta, atol=1e-5)
        fits.append(fit)
    return comparisons, tuple(fits), threads


def test_each_step_equals_its_twin() -> None:
    log = small(5)
    comparisons, fits, threads = _steps(log)
    shares = np.array([0.7, 0.25, 0.05])
    chance, value = expectation(comparisons, fits, shares, prior_sd=PRIOR_SD, threads=threads)
    betas = np.stack([fit.utilities for fit in fits])
    twin, likelihood = naive.responsibilities(log, betas, shares)
    np.testing.assert_allclose(chance, twin, atol=1e-10)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    np.testing.assert_allclose(value, likelihood - np.sum(betas**2) / (2 * PRIOR_SD**2))


def test_em_ends_at_a_fixed_point() -> None:
    log = small(2)
    real = fitted(Em(restarts=1, prior_sd=PRIOR_SD, tolerance=1e-12, max_steps=2000), log)
    chance, _ = naive.responsibilities(log, real.utilities, real.shares)
    np.testing.assert_allclose(chance.mean(axis=0), real.shares, atol=1e-3)
    for z in range(len(real.fits)):
        beta, _ = naive.bradley_terry(naive.halves_won(log, chance[:, z]) / 2, PRIOR_SD)
        np.testing.assert_allclose(real.utilities[z], beta, atol=1e-3)
    assert np.diff(real.history).min() > -1e-5
    np.testing.assert_array_equal(real.labels, chance.argmax(axis=1))


def test_errors_count_people_by_their_probability_of_the_state() -> None:
    log = small(2)
    real = fitted(Em(restarts=1, prior_sd=PRIOR_SD), log)
    chance, _ = naive.responsibilities(log, real.utilities, real.shares)
    for z, fit in enumerate(real.fits):
        squares, curvature = naive.scatter(log, chance[:, z], fit.utilities)
        wanted = np.sqrt(squares + PRIOR_SD**-2) / (curvature + PRIOR_SD**-2)
        np.testing.assert_allclose(fit.standard_errors, wanted, rtol=1e-4)
        assert np.sum((chance[:, z] > 0.05) & (chance[:, z] < 0.95)) > 3  # labels would give other errors


def starts_of(log: Ratings, count: int, seed: int) -> list[IntArray]:
    """Return the labels that EM starts from: raw clusters, cosine clusters, then random ones."""
    starts = [cluster_people(log, STATES, scale=scale, seed=seed).labels for scale in ("raw", "cosine")]
    people = np.arange(len(log.people))
    return starts + [np.random.default_rng([seed, run]).permutation(people % STATES) for run in range(2, count)]


def test_the_best_of_several_starts_is_kept() -> None:
    bests = set()
    for seed in (4, 5):
        log = small(seed)
        starts = starts_of(log, 3, seed)
        best, ends = naive.best_em(log, starts, STATES, prior_sd=PRIOR_SD, steps=6)
        several = fitted(Em(scale="raw", restarts=3, prior_sd=PRIOR_SD, max_steps=6, tolerance=0, seed=seed), log)
        np.testing.assert_allclose(several.history[-1], max(ends), atol=5e-3)
        alone = fitted(Em(start=tuple(starts[best].tolist()), prior_sd=PRIOR_SD, max_steps=6, tolerance=0), log)
        np.testing.assert_array_equal(several.utilities, alone.utilities)
        np.testing.assert_array_equal(several.shares, alone.shares)
        assert max(ends) - min(ends) > 0.05  # another start would show
        bests.add(best)
    assert bests == {0, 1}
    assert Em().restarts == 3
