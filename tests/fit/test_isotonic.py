"""Test the isotonic fit, alone and in explanations of an agent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import isotonic_regression

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray
from tests import naive
from tests.conftest import Outcome, models, outcomes_for

SIZES = st.integers(1, 12)
VALUES = st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float)
WEIGHTS = st.floats(1e-3, 1e3) | st.integers(1, 5).map(float)


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, FloatArray]:
    n = draw(SIZES)
    return draw(hnp.arrays(np.float64, n, elements=VALUES)), draw(hnp.arrays(np.float64, n, elements=WEIGHTS))


@pytest.mark.jitless
@given(problems())
def test_isotonic_equals_the_min_max_formula_and_scipy(problem: tuple[FloatArray, FloatArray]) -> None:
    values, weights = problem
    got = lpb.isotonic(values, weights=weights)
    tolerance = 1e-9 * (1 + np.abs(values).max())
    np.testing.assert_allclose(got, naive.isotonic(values, weights), rtol=0, atol=tolerance)
    theirs = isotonic_regression(values, weights=weights, increasing=False).x
    np.testing.assert_allclose(got, theirs, rtol=0, atol=tolerance)
    assert np.all(np.diff(got) <= 0)


def test_isotonic_of_known_cases_does_not_change_its_input() -> None:
    values, weights = np.array([3.0, 4.0, 1.0]), np.array([1.0, 2.0, 1.0])
    np.testing.assert_allclose(lpb.isotonic(values, weights=weights), [11 / 3, 11 / 3, 1.0])
    assert (values.tolist(), weights.tolist()) == ([3.0, 4.0, 1.0], [1.0, 2.0, 1.0])
    np.testing.assert_allclose(lpb.isotonic([1.0, 2.0]), [1.5, 1.5])
    assert lpb.isotonic([]).shape == (0,)


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([1.0, np.nan], None, r"values\[1\].*nan"),
        ([[1.0]], None, r"values.*1×1"),
        ([1.0, 2.0], [1.0], "weights"),
        ([1.0, 2.0], [1.0, 0.0], r"weights\[1\].* 0"),
    ],
)
def test_isotonic_refuses_invalid_values(values: object, weights: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.isotonic(values, weights=weights)


@pytest.mark.jitless
@given(st.data())
def test_explanations_have_plain_fits_and_intervals_of_untried_actions(data: st.DataObject) -> None:
    model = data.draw(models())
    history: list[Outcome] = data.draw(outcomes_for(model, "gaussian"))
    agent = lpb.Agent(lpb.LpbTS(model), seed=0)
    for action, reward in history:
        agent.tell(action, reward)
    for fit in agent.explain().states:
        ordering, theirs = list(fit.means), naive.fitted_means(naive.orders_of(model)[fit.state], history)
        assert ordering == model.orderings[fit.state].tolist()
        np.testing.assert_allclose([fit.means[a] for a in theirs], list(theirs.values()), rtol=0, atol=1e-9)
        assert fit.active == sum(len(block) - 1 for block in fit.blocks)
        assert [a for block in fit.blocks for a in block] == list(theirs)
        assert all(len({fit.means[a] for a in block}) == 1 for block in fit.blocks)
        assert set(fit.intervals) == set(ordering) - set(theirs)
        for untried, (low, high) in fit.intervals.items():
            place = ordering.index(untried)
            before = [fit.means[a] for a in ordering[:place] if a in theirs]
            after = [fit.means[a] for a in ordering[place:] if a in theirs]
            assert high == (before[-1] if before else None)
            assert low == (after[0] if after else None)
            assert low is None or fit.means[untried] >= low
            assert high is None or fit.means[untried] <= high
