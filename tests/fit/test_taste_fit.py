"""Test taste fits against plain formulas, the choice on held-out people, and logs that are too small."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.fit.taste.moments import FLOOR, Moments, leading_factors, moments, taste_with
from lpbandits.fit.taste.popularity import informative
from lpbandits.fit.taste.tuning import GREEDY, MAX_PREDICTED, HeldOutRatings, TasteReport, _calibrate, fit_taste
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray
from tests import naive
from tests.conftest import taste_for


def taste_log(people: int = 150, k: int = 12, d: int = 2, share: float = 0.7, seed: int = 0) -> Ratings:
    """Draw a log of people with factor scores, each of whom rated a share of the actions."""
    rng = np.random.default_rng(seed)
    means, factors = rng.normal(size=k), rng.normal(size=(k, d))
    person, action = np.nonzero(rng.random((people, k)) < share)
    scale, offset, taste = np.exp(0.3 * rng.normal(size=people)), rng.normal(size=people), rng.normal(size=(people, d))
    value = offset[person] + means[action] + (factors[action] * taste[person]).sum(axis=1)
    return Ratings.from_arrays(person, action, 3.0 + scale[person] * (value + 0.5 * rng.normal(size=len(person))))


def fitted(log: Ratings, seed: int = 0, threads: int = 1) -> tuple[TasteModel, TasteReport]:
    with Threads(threads) as pool:
        fit = fit_taste(log, seed=seed, watch=Stopwatch(), threads=pool)
    assert fit.taste is not None
    assert fit.report is not None
    return fit.taste, fit.report


def naive_moments(log: Ratings) -> Moments:
    """Return the moments, computed person by person and pair by pair."""
    people, k = len(log.people), len(log.actions)
    table = np.full((people, k), np.nan)
    table[log.owner, log.action] = log.rating
    mean, sd = np.nanmean(table, axis=1), np.nanstd(table, axis=1)
    y = (table - mean[:, None]) / sd[:, None]
    n = (~np.isnan(y)).sum(axis=0)
    means, offsets = np.zeros(k), np.zeros(people)
    for _ in range(20):
        means = np.nansum(y - offsets[:, None], axis=0) / (n + 20)
        offsets = np.nanmean(y - means, axis=1)
    e = y - means - offsets[:, None]
    typical = np.nansum(e**2) / n.sum()
    both = [[(~np.isnan(e[:, a] * e[:, b])).sum() for b in range(k)] for a in range(k)]
    level = mean.mean()
    counts = (~np.isnan(y)).sum(axis=1)
    return Moments(
        means=means,
        covariance_actions=np.arange(k),
        products=np.array([[np.nansum(e[:, a] * e[:, b]) for b in range(k)] for a in range(k)]),
        raters=np.array(both, dtype=np.float64),
        variances=np.array([(np.nansum(e[:, a] ** 2) + 20 * typical) / (n[a] + 20) for a in range(k)]),
        offset=float(np.var(offsets + (mean - level) / np.maximum(sd, np.median(sd) / 2))),
        level=float(level),
        log_scale=float(np.log(sd).mean()),
        log_scale_sd=float(np.sqrt(max(np.log(sd).var() - np.mean(0.5 / (counts - 1)), 0.01))),
    )


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(3, 9))
def test_moments_equal_plain_sums(seed: int, k: int) -> None:
    log = taste_log(people=25, k=k, seed=seed)
    log = log.subset(informative(log))
    got, wanted = moments(log), naive_moments(log)
    for name, value in vars(wanted).items():
        np.testing.assert_allclose(getattr(got, name), value, rtol=1e-8, atol=1e-8, err_msg=name)


def naive_factors(seen: Moments, count: int, shrinkage: float) -> FloatArray:
    matrix = seen.products / (seen.raters + shrinkage)
    explained = 0.3 * seen.variances
    for _ in range(6):
        np.fill_diagonal(matrix, explained)
        values, vectors = np.linalg.eigh(matrix)
        q = vectors[:, ::-1][:, :count] * np.sqrt(np.maximum(values[::-1][:count], 0))
        before, explained = explained, np.minimum((q**2).sum(axis=1), 0.95 * seen.variances)
        if np.mean(np.abs(before - explained) / seen.variances) < 1e-3:
            break
    w = (q**2).sum(axis=0)
    return np.asarray(q * np.sqrt(1 - FLOOR * w.min() / w))


@pytest.mark.parametrize(("k", "count"), [(12, 2), (12, 4), (210, 3)])
def test_factors_equal_plain_formulas(k: int, count: int) -> None:
    log = taste_log(people=120, k=k, d=4, seed=3)
    seen = moments(log.subset(informative(log)))
    got, wanted = leading_factors(seen, count, 30.0), naive_factors(seen, count, 30.0)
    np.testing.assert_allclose(got @ got.T, wanted @ wanted.T, rtol=1e-4, atol=1e-5)
    assert np.all(got[np.abs(got).argmax(axis=0), np.arange(count)] > 0)
    taste = taste_with(seen, got)
    np.testing.assert_allclose(
        taste.variances, np.maximum(seen.variances - (wanted**2).sum(axis=1), 0.1 * seen.variances), atol=2e-4
    )


def test_planted_factors_are_recovered() -> None:
    log = taste_log(people=600, k=15, d=2, seed=1)
    taste, report = fitted(log)
    assert report.factors in (2, 5)
    assert report.score > report.score_without + 0.2
    found = taste.factors @ taste.factors.T
    rng = np.random.default_rng(1)
    rng.normal(size=15)
    q = rng.normal(size=(15, 2))
    off = ~np.eye(15, dtype=bool)
    assert np.corrcoef(found[off], (q @ q.T)[off])[0, 1] > 0.95
    # 80 % within 4 standard errors; each half of 120 people has about 500 ratings
    assert abs(report.coverage - 0.8) < 0.07
    assert abs(report.coverage_greedy - 0.8) < 0.09


def test_the_fit_does_not_depend_on_threads_or_the_order_of_rows() -> None:
    log = taste_log()
    one = fitted(log)
    assert fitted(log, threads=2) == one
    mixed = np.random.default_rng(0).permutation(len(log))
    again = Ratings.from_arrays(log.owner[mixed], log.action[mixed], log.rating[mixed])
    assert fitted(again) == one
    assert fitted(log, seed=1)[1] != one[1]


def test_predictions_equal_those_of_the_policy() -> None:
    taste, log = taste_for(8, calibration=1.3), taste_log(people=6, k=8)
    heldout = HeldOutRatings.of(log, 0, 5)
    for greedy in (0, 2):
        errors, logs = heldout.predict(taste, Threads(1), greedy)
        policy = lpb.Taste(lpb.PreferenceModel([np.arange(8)], taste=taste))
        at = 0
        for p in range(heldout.people):
            rows = slice(heldout.offsets[p], heldout.offsets[p + 1])
            remaining = list(zip(heldout.action[rows].tolist(), heldout.rating[rows].tolist(), strict=True))
            history: list[tuple[int, float]] = []
            count = len(remaining)
            for i in range(count):
                mean, sd, weights = naive.taste_of(policy, history)
                best = max(remaining, key=lambda row: mean[row[0]]) if i < min(greedy, count // 2) else remaining[0]
                if i < min(greedy, count // 2):  # the kernel swaps the best with the first
                    where = remaining.index(best)
                    remaining[0], remaining[where] = remaining[where], remaining[0]
                action, rating = remaining.pop(0)
                np.testing.assert_allclose(errors[at], abs(rating - mean[action]) / (1.2815515655 * sd[action]))
                density = 0.0
                scales = np.exp(taste.log_scale + taste.log_scale_sd * np.linspace(-2, 2, 9))
                for s, weight in zip(scales, weights, strict=True):
                    one = replace(taste, log_scale=float(np.log(s)), log_scale_sd=0.0, calibration=1.0)
                    m, v, _ = naive.taste_forecast(one, taste.lasting, history, spreads=True)
                    density += weight * np.exp(-0.5 * ((rating - m[action]) / v[action]) ** 2) / v[action]
                np.testing.assert_allclose(logs[at], np.log(density / np.sqrt(2 * np.pi)), rtol=1e-6)
                if not greedy or i < min(greedy, count // 2):
                    history.append((action, rating))
                at += 1


def test_widths_are_measured_on_other_people() -> None:
    tight, wide = np.linspace(0, 1, 1001), np.linspace(0, 2, 1001)
    width, covered = _calibrate([(tight, wide), (tight, wide)])
    np.testing.assert_allclose(covered, (1.0 + 0.4) / 2, atol=1e-3)
    np.testing.assert_allclose(width, np.quantile(np.concatenate([tight, wide]), 0.8))
    width, covered = _calibrate([(tight, tight), (wide, wide)])
    between = (0.8 + 1.6) / 2
    np.testing.assert_allclose([width, *covered], [between, 1.0, between / 2], atol=1e-3)


def test_held_out_ratings_are_in_random_order() -> None:
    log = taste_log(people=4, k=12, share=1.0)
    heldout = HeldOutRatings.of(log, 0, 5)
    assert np.diff(heldout.offsets).tolist() == [5] * 4
    first = heldout.action[:5].tolist()
    assert first != sorted(first)
    assert len({tuple(heldout.action[i : i + 5].tolist()) for i in range(0, 20, 5)}) == 4
    rating = dict(zip(log.action[:12].tolist(), log.rating[:12].tolist(), strict=True))
    assert heldout.rating[:5].tolist() == [rating[a] for a in first]
    assert GREEDY < MAX_PREDICTED
    parts = heldout.halves(np.arange(20.0), greedy=20)
    assert [part.tolist() for part in parts] == [[2, 3, 4, 12, 13, 14], [7, 8, 9, 17, 18, 19]]


SMALL = {
    "three people": ([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, [1, 2, 3, 3, 2, 1, 1, 3, 2]),
    "two actions": (np.repeat(np.arange(30), 2), [0, 1] * 30, np.arange(60) % 5),
    "all alike": (np.repeat(np.arange(30), 4), [0, 1, 2, 3] * 30, np.full(120, 3.0)),
    "few ratings": ([*range(30), 0], [*([0] * 30), 1], np.arange(31.0)),
}


@pytest.mark.parametrize("name", SMALL)
def test_too_small_a_log_gives_no_taste_and_a_warning(name: str) -> None:
    log = Ratings.from_arrays(*SMALL[name])
    fit = lpb.fit_states(log, lpb.TwoStage(), states=1)
    assert fit.model.taste is None
    assert fit.report.taste is None
    assert any("no taste model was fitted: " in warning for warning in fit.report.warnings)


@pytest.mark.parametrize(("shift", "unit"), [(-1e3, 1e-6), (0.0, 1e6), (1e6, 1.0)])
def test_level_and_unit_of_ratings_do_not_matter(shift: float, unit: float) -> None:
    log = taste_log(people=60)
    other = Ratings.from_arrays(log.owner, log.action, unit * (log.rating + shift))
    (one, report), (two, other_report) = fitted(log), fitted(other)
    assert (report.factors, report.shrinkage) == (other_report.factors, other_report.shrinkage)
    np.testing.assert_allclose(two.factors, one.factors, atol=2e-4)
    np.testing.assert_allclose(two.level, unit * (one.level + shift), rtol=1e-9)


def test_unrated_actions_have_average_means() -> None:
    log = taste_log(people=80)
    more = Ratings.from_arrays(log.owner, log.action, log.rating, actions=list(range(14)))
    taste, _ = fitted(more)
    np.testing.assert_array_equal(taste.means[12:], 0.0)
    np.testing.assert_allclose(taste.factors[12:], 0.0, atol=1e-3)


def test_a_model_has_its_taste_and_the_report_of_its_choice() -> None:
    log = taste_log()
    fit = lpb.fit_states(log, lpb.TwoStage(), states=2)
    taste, report = fitted(log)
    assert fit.model.taste == taste
    assert fit.report.taste == vars(report)
    assert fit.model.provenance["report"]["taste"]["coverage"] == report.coverage
    assert taste.about["factors"] == report.factors
    without = lpb.fit_states(log, lpb.TwoStage(), states=2, taste=False).model
    assert without.taste is None
    np.testing.assert_array_equal(without.orderings, fit.model.orderings)
    assert lpb.fit_states(log, lpb.Em(), states=2, taste=False).model.taste is None


def test_only_the_most_rated_of_very_many_actions_have_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    log = taste_log(people=200, share=0.6)
    rare = np.isin(log.action, [1, 4]) & (log.owner % 3 > 0)  # two actions with few raters
    log = Ratings.from_arrays(log.owner[~rare], log.action[~rare], log.rating[~rare])
    full, _ = fitted(log)
    for module in ("moments", "tuning"):
        monkeypatch.setattr(f"lpbandits.fit.taste.{module}.MAX_COVARIANCE_ACTIONS", 10)
    limited, _ = fitted(log)
    assert not limited.factors[[1, 4]].any()
    assert limited.factors[[0, 2, 3]].any(axis=1).all()
    np.testing.assert_array_equal(limited.means, full.means)
    assert limited.variances[1] > full.variances[1]  # not explained by factors
    fit = fit_taste(log, seed=0, watch=Stopwatch())
    assert "factors for the 10 most rated of 12 actions" in fit.warnings[0]


@pytest.mark.parametrize("step", [1e-2, 1e-4, 1e-7])
def test_a_nearly_constant_rater_hardly_changes_the_taste(step: float) -> None:
    rng = np.random.default_rng(4)
    rating = 3 + rng.normal(size=(60, 1)) + rng.normal(size=(60, 8))
    usual, _ = fitted(Ratings.from_matrix(rating))
    rating[0] = 5 + step * np.arange(8)
    odd, _ = fitted(Ratings.from_matrix(rating))
    assert abs(odd.offset / usual.offset - 1) < 0.3
