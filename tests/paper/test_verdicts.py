"""Verdicts: intervals, ranges, Bonferroni's correction and pairing within draws."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, Kind, interval, judge
from lpbandits.paper.claims.numbers import per_draw


@pytest.mark.parametrize("draws", [2, 3, 5, 20])
def test_interval_equals_students_t(draws: int) -> None:
    values = np.random.default_rng(draws).normal(size=draws)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(np.array(interval(values)), np.array([theirs.low, theirs.high]), rtol=1e-12, atol=1e-12)
    ratios = np.array(interval(np.exp(values), kind="ratio"))
    np.testing.assert_allclose(np.log(ratios), np.array([theirs.low, theirs.high]), rtol=1e-12, atol=1e-12)


RATIOS = [1.5, 2.5, 1.8, 2.2]
ABOUT_1_3 = [1.3, 1.32, 1.28, 1.31]


@pytest.mark.parametrize(
    ("values", "kind", "above", "below", "verdict"),
    [
        ([-1.0, -1.1, -0.9], "difference", -math.inf, 0, "holds"),
        ([1.0, 1.1, 0.9], "difference", -math.inf, 0, "does not hold"),
        ([-1.0, 1.0, 0.5], "difference", -math.inf, 0, "not settled"),
        ([-1.0, -1.0, -1.0], "difference", -math.inf, 0, "not settled"),
        ([-1.0, -1.1], "difference", -math.inf, 0, "not settled"),
        ([-1.0], "difference", -math.inf, 0, "not settled"),
        ([-1.0, -1.1, math.nan], "difference", -math.inf, 0, "not settled"),
        ([-1.0, -1.1, -math.inf], "difference", -math.inf, 0, "not settled"),
        (ABOUT_1_3, "difference", -math.inf, COMPARABLE, "holds"),
        (ABOUT_1_3, "difference", 1 / CONSTANT, CONSTANT, "does not hold"),
        (ABOUT_1_3, "difference", 1 / 1.3, 1.3, "not settled"),
        (RATIOS, "ratio", 1, math.inf, "holds"),
        ([1 / ratio for ratio in RATIOS], "ratio", 1, math.inf, "does not hold"),
        ([1.0, 0.0, 1.2], "ratio", -math.inf, 2, "not settled"),
        ([1.0] * 30, "share", 0.8, math.inf, "holds"),
        ([1.0] * 10, "share", 0.8, math.inf, "not settled"),
    ],
)
def test_verdict_follows_the_interval(
    values: list[float], kind: Kind, above: float, below: float, verdict: str
) -> None:
    claim = judge("A has less regret.", np.array(values), kind=kind, measure="A − B", above=above, below=below)
    assert claim.verdict == verdict
    assert (claim.above, claim.below) == (None if above == -math.inf else above, None if below == math.inf else below)


def test_effect_of_a_ratio_is_the_geometric_mean() -> None:
    ratio, zero = (judge("A", np.array([1.0, 4.0, x]), kind="ratio", measure="m", below=2) for x in (2.0, 0.0))
    assert ratio.parts[0].effect == pytest.approx(2.0)
    assert zero.effect_text == "–"


def test_claim_over_settings_has_bonferroni_correction() -> None:
    rng = np.random.default_rng(0)
    good = {f"k = {i}": 5.0 + rng.normal(size=5) for i in range(20)}
    assert judge("A", good, measure="m", above=0).verdict == "holds"
    bad = np.array([-1.0, -1.4, -0.6, -1.6, -0.2])  # its own interval lies below 0; not with Bonferroni's correction
    assert judge("A", bad, measure="m", above=0).verdict == "does not hold"
    among = judge("A", {**good, "k = 20": bad}, measure="m", above=0)
    assert among.verdict == "not settled"
    assert among.parts[0].where == "k = 20"
    assert among.where_text == "k = 20; holds in 20 of 21"
    assert among.parts[0].high is not None
    assert among.parts[0].high > 0, "the interval that is shown is the one that decides"
    np.testing.assert_allclose([part.level for part in among.parts], [1 - 0.05 / 21, *[0.95] * 20])
    assert judge("A", {**good, "k = 20": bad - 5.0}, measure="m", above=0).verdict == "does not hold"


def test_values_of_policies_are_paired_by_draw() -> None:
    regret = np.array([[40.0, 10.0, 60.0, 20.0], [41.1, 10.9, 61.2, 20.8]])
    columns = {"policy": np.repeat(["a", "b"], 4), "draw": np.tile(np.arange(4), 2)}
    table = pl.DataFrame({**columns, "regret": regret.ravel()}).sample(fraction=1, shuffle=True, seed=1)
    np.testing.assert_array_equal([per_draw(table, "a"), per_draw(table, "b")], regret)
