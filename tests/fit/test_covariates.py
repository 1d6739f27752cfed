"""Covariates of a fit: found where they help, left out where they do not, and unable to do harm."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.fit.covariates import CovariateReport, fit_covariates
from lpbandits.people.covariates import CovariateTable
from lpbandits.typing import FloatArray, IntArray
from tests.studies.covariates import planted


@pytest.mark.slow
def test_covariates_with_half_of_the_information_reduce_the_regret_of_ten_rounds() -> None:
    log = planted(0, informative=0.73, restarts=5)
    assert 0.44 < log.entropy < 0.56
    assert log.report["gain"] > 2 * log.report["standard_error"]
    assert log.report["summary"].startswith("covariates help")
    for name in ("lpbts", "lpb-ids"):
        assert log.regret(name, priors=True) < 0.85 * log.regret(name, priors=False)


@pytest.mark.slow
def test_useless_covariates_change_nothing() -> None:
    log = planted(1, informative=0.0, restarts=5)
    assert log.entropy > 0.97
    assert log.report["summary"].startswith("covariates do not help")
    assert log.report["factor"] == 0.0
    assert log.people.priors is not None
    np.testing.assert_array_equal(log.people.priors, np.tile(log.model.prior, (800, 1)))
    assert log.model.prior_for({"age": 80.0, "group": "g1"}).tolist() == log.model.prior.tolist()


def fitted(
    columns: dict[str, Any], z: IntArray, *, certainty: float = 1.0, m: int = 2, seed: int = 0
) -> tuple[lpb.CovariateModel | None, CovariateReport]:
    """Fit covariates to people whose states have this probability."""
    membership = np.full((len(z), m), (1 - certainty) / max(m - 1, 1))
    membership[np.arange(len(z)), z] = certainty if m > 1 else 1.0
    table = CovariateTable.read(pl.DataFrame({"person": range(len(z)), **columns}, strict=False))
    return fit_covariates(table, range(len(z)), membership, membership.mean(axis=0), seed=seed)


def test_useless_tables_are_used_rarely() -> None:
    """A gain of two standard errors has a probability of 2.3 % by chance; 4 of 25 are four standard errors above."""
    used = 0
    for seed in range(25):
        rng = np.random.default_rng([9, seed])
        z = rng.integers(0, 2, 100)
        model, report = fitted({"x": rng.normal(size=100), "y": rng.choice(["a", "b", "c"], 100)}, z, seed=seed)
        assert model is not None
        assert report.summary.startswith("covariates help" if model.factor > 0 else "covariates do not help")
        used += model.factor > 0
    assert used < 4


@pytest.mark.parametrize("certainty", [0.7, 1.0])
def test_probabilities_are_those_of_the_people(certainty: float) -> None:
    """Of the people at level a 80 % are in state 0; the standard error of a share of 600 people is 0.016."""
    rng = np.random.default_rng(4)
    level = rng.integers(0, 2, 1200)
    z = np.where(rng.random(1200) < 0.8, level, 1 - level)
    seen = np.where(rng.random(1200) < certainty, z, 1 - z)  # the state that ratings suggest
    model, report = fitted({"group": np.array(["a", "b"])[level]}, seen, certainty=certainty)
    assert model is not None
    share = np.array([0.5, 0.5])
    np.testing.assert_allclose(model.prior_for({"group": "a"}, share)[0], 0.8, atol=0.05 if certainty == 1.0 else 0.1)
    q = 0.8 * certainty + 0.2 * (1.0 - certainty)  # of the ratings, at level a
    expected = np.log(2) + q * np.log(q) + (1 - q) * np.log(1 - q)
    assert report.gain is not None
    assert report.standard_error is not None
    assert abs(report.gain - expected) < 4 * report.standard_error


def test_missing_and_rare_and_unknown_values() -> None:
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, 400)
    tea = np.where(z == 1, "tea", "jam").astype(object)
    tea[:5] = "rare"
    age = np.where(z == 1, np.nan, rng.normal(40, 5, 400))  # a missing age tells the state, too
    model, report = fitted({"drink": tea, "age": age, "name": [f"n{i}" for i in range(400)], "one": [1] * 400}, z)
    assert model is not None
    assert tuple(model.levels) in (((), ("jam", "tea"), ()), (("jam", "tea"), ()), (("tea", "jam"), ()))
    assert set(report.left_out) == {"name", "one"}
    share = np.array([0.5, 0.5])
    assert model.prior_for({"drink": "tea"}, share)[1] > 0.9
    assert model.prior_for({"age": 41.0}, share)[0] > 0.8
    assert report.rare == {"drink": 5}
    assert any("drink counts as missing for 5 people" in text for text in report.warnings())
    for level in ("rare", "new"):
        with pytest.warns(lpb.CovariateWarning, match=f"drink has '{level}'"):
            prior = model.prior_for({"drink": level, "age": 41.0}, share)
        np.testing.assert_array_equal(prior, model.prior_for({"age": 41.0}, share))
    np.testing.assert_array_equal(model.prior_for({}, share), share)


def test_columns_of_ids_are_not_used() -> None:
    z = np.arange(200) % 2
    columns = {
        "code": [f"c{n if n > 40 else 0}" for n in range(200)],  # one level is frequent
        "record id": [1000 + 7 * n for n in range(200)],
        "number": range(500, 700),
        "site id": np.arange(200) % 5,
        "steps": [1000 + 7 * n for n in range(200)],
    }
    _, report = fitted(columns, z)
    assert set(report.columns) == {"site id", "steps"}
    assert "distinct, as ids and names" in report.left_out["code"]
    for name in ("record id", "number"):
        assert "whole numbers, as ids" in report.left_out[name]
    assert [text.partition(":")[0] for text in report.warnings()] == [
        f"column {name} is not used" for name in ("code", "record id", "number")
    ]


@pytest.mark.parametrize(
    ("columns", "people", "m", "match"),
    [
        ({"name": [f"n{i}" for i in range(80)]}, 80, 2, "no usable column"),
        ({"x": np.arange(40) % 2}, 40, 2, "only 40 people"),
        ({"x": np.arange(80) % 2}, 80, 1, "one state"),
    ],
)
def test_reasons_why_covariates_are_not_used(columns: dict[str, Any], people: int, m: int, match: str) -> None:
    model, report = fitted(columns, np.arange(people) % m, m=m)
    assert match in report.summary
    assert report.gain is None
    assert report.factor == 0.0
    assert model is None or model.factor == 0.0


def test_people_of_the_log_and_of_the_table_may_differ() -> None:
    z = np.arange(200) % 2
    table = CovariateTable.read(pl.DataFrame({"person": [str(i) for i in range(100, 300)], "x": [*z[100:], *z[:100]]}))
    model, report = fit_covariates(table, range(200), np.eye(2)[z], np.array([0.5, 0.5]), seed=0)
    assert (report.people, report.without, report.others) == (100, 100, 100)
    assert model is not None
    assert model.factor > 0
    everyone = CovariateTable.read(pl.DataFrame({"person": range(200), "x": z}))
    sampled, _ = fit_covariates(everyone, range(200), np.eye(2)[z], np.array([0.5, 0.5]), seed=0)
    assert sampled is not None
    assert sampled.columns == ("x",)


def test_a_log_on_disk_gives_the_same_covariates() -> None:
    z = np.arange(120) % 2
    owner, action = np.divmod(np.arange(480), 4)
    log = lpb.Ratings.from_arrays(owner, action, np.where(z[owner], action, -action) + 0.3 * np.sin(np.arange(480)))
    table = pl.DataFrame({"person": range(120), "group": [f"g{state}" for state in z]})
    options: dict[str, Any] = {"states": 2, "people": table, "taste": False, "heldout": 0.0}
    rows = pl.DataFrame({"person": owner, "action": action, "rating": log.rating})
    with lpb.spill_ratings(rows) as chunks:
        on_disk = lpb.fit_states(chunks, lpb.Mixture(restarts=2), **options)
    in_memory = lpb.fit_states(log, lpb.Mixture(restarts=2), **options)
    assert in_memory.model.covariates is not None
    assert in_memory.model.covariates.factor > 0.9
    assert on_disk.model.covariates == in_memory.model.covariates


def test_large_logs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.arange(300) % 2
    sizes = []

    def spy(x: FloatArray, *rest: Any) -> Any:
        sizes.append(len(x))
        return choose(x, *rest)

    from lpbandits.fit import covariates

    choose = covariates._choose
    monkeypatch.setattr(covariates, "_choose", spy)
    monkeypatch.setattr(covariates, "MAX_ROWS", 200)
    model, _ = fitted({"x": z + np.arange(300) % 3}, z)
    assert sizes == [100]
    assert model is not None


def test_a_table_of_other_people_is_an_error() -> None:
    table = CovariateTable.read(pl.DataFrame({"person": ["x1", "x2"], "age": [30, 40]}))
    with pytest.raises(lpb.InvalidInput, match=r"none of 2.*'ann'.*'x1'"):
        fit_covariates(table, ["ann", "bo"], np.eye(2), np.array([0.5, 0.5]), seed=0)
