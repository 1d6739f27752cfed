"""Compare EM with its plain implementation: steps, shares, errors and the best of several starts."""

from dataclasses import replace

import numpy as np
import pytest

from lpbandits.data import Ratings
from lpbandits.fit import Em, cluster_people
from lpbandits.fit.methods.estimator import Estimate
from lpbandits.typing import IntArray
from tests import naive_recovery as naive
from tests.synthetic_recovery import estimate_of, log_from

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
    return estimate_of(replace(em, shrink=False), log, STATES)


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
        np.testing.assert_allclose(real.errors[z], wanted, rtol=1e-4)
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
        ends = [naive.em(log, start, STATES, prior_sd=PRIOR_SD, steps=6)[3][-1] for start in starts]
        best = int(np.argmax(ends))
        several = fitted(Em(scale="raw", restarts=3, prior_sd=PRIOR_SD, max_steps=6, tolerance=0, seed=seed), log)
        np.testing.assert_allclose(several.history[-1], max(ends), atol=5e-3)
        alone = fitted(Em(start=tuple(starts[best].tolist()), prior_sd=PRIOR_SD, max_steps=6, tolerance=0), log)
        np.testing.assert_array_equal(several.utilities, alone.utilities)
        np.testing.assert_array_equal(several.shares, alone.shares)
        assert max(ends) - min(ends) > 0.05  # another start would show
        bests.add(best)
    assert bests == {0, 1}
    assert Em().restarts == 3
