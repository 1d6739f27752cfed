"""Sums over people: exact moments, and quantiles within their stated error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lpbandits as lpb
from lpbandits.simulation import rollout, simulate, sums
from lpbandits.simulation.sums import ERROR, QUANTILES, Distribution, Moments, to_bins
from lpbandits.typing import FloatArray

WORLD = lpb.SyntheticWorld(states=3, actions=5, scale="different")
VALUES = hnp.arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.floats(0, 1e6))


@pytest.mark.jitless
@given(VALUES, st.data())
def test_merged_moments_equal_those_of_all_values(values: FloatArray, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    joined = Moments.of(values[:cut]).merge(Moments.of(values[cut:]))
    np.testing.assert_allclose(joined.mean, values.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(joined.sd, values.std(axis=0, ddof=1), rtol=1e-9, atol=1e-6)


@pytest.mark.jitless
@given(VALUES, st.data())
def test_binned_quantiles_have_the_stated_error(values: FloatArray, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(values)))
    spread = Distribution()
    for part in (values[:cut], values[cut:]):
        spread.add(to_bins(part))
    exact = np.quantile(values, QUANTILES, axis=0)
    np.testing.assert_allclose(spread.quantiles(), exact, rtol=1.0001 * ERROR, atol=1.01 * sums.SMALLEST)


def test_range_of_the_bins() -> None:
    spread = Distribution()
    spread.add(to_bins(np.array([[0.0], [1e-9], [1e11], [5e11], [6e11]])))
    np.testing.assert_allclose(spread.quantiles()[:, 0], [0.0, 1e11, 5.8e11], rtol=ERROR)


def test_binned_runs_have_the_same_sums_and_similar_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = simulate(WORLD, ["lpbts", "uniform"], people=300, rounds=40, draws=2)
    monkeypatch.setattr(sums, "EXACT", 100)
    binned = simulate(WORLD, ["lpbts", "uniform"], people=300, rounds=40, draws=2)
    assert exact.people().equals(binned.people(), null_equal=True)
    for name in ("lpbts", "uniform"):
        for part in ("mean", "sd", "se"):
            np.testing.assert_array_equal(getattr(exact[name].regret, part), getattr(binned[name].regret, part))
        for part in ("p05", "p50", "p95"):
            binned_part, exact_part = getattr(binned[name].regret, part), getattr(exact[name].regret, part)
            np.testing.assert_allclose(binned_part, exact_part, rtol=1.0001 * ERROR, atol=1e-9)


def test_traces_are_kept_on_request() -> None:
    kept = simulate(WORLD, ["lpbts"], people=200, rounds=6, draws=2, traces=True)["lpbts"].trace
    assert kept is not None
    assert simulate(WORLD, ["lpbts"], people=2, rounds=6)["lpbts"].trace is None
    for draw in range(2):
        people = WORLD.draw(people=200, seed=0, draw=draw)
        whole = rollout(lpb.LpbTS(people.model, noise=1.0), people, rounds=6, seed=0, first_person=600 * draw)
        np.testing.assert_array_equal(kept.plays[600 * draw : 600 * (draw + 1)], whole.plays)
        np.testing.assert_array_equal(kept.mass[600 * draw : 600 * (draw + 1)], whole.mass)
