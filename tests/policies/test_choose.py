"""Test that a model gives the same policy in the library, in `decide` and in simulations."""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.policies import POLICIES, Policy, Setting
from lpbandits.policies.choose import choose_policy
from lpbandits.policies.evidences import Refit
from lpbandits.policies.rules import Sample
from lpbandits.simulation.run import builders_of, tasks_of
from lpbandits.typing import FloatArray
from lpbandits.worlds import Population
from tests.synthetic_recovery import log_from, quick_fit

KINDS = ("stars", "0-100", "thumbs", "counts", "ranks")


def log_of(kind: str) -> lpb.Ratings:
    """Draw ratings by two groups of people who prefer opposite actions."""
    rng = np.random.default_rng(len(kind))
    rows = []
    for person in range(60):
        taste = np.arange(5.0) if person % 2 else np.arange(5.0)[::-1]
        values = taste + rng.normal(0, 0.7, 5)
        rating = {
            "stars": np.clip(np.rint(values) + 1, 1, 5),
            "0-100": np.clip(np.rint(25 * values), 0, 100),
            "thumbs": (values > 2) * 1.0,
            "counts": rng.poisson(np.exp(np.clip(values, 0, 3))) * 1.0,
            "ranks": np.argsort(np.argsort(values)) + 1.0,
        }[kind]
        rows += [(person, f"a{a}", value) for a, value in enumerate(rating.tolist())]
    return log_from(rows)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request: pytest.FixtureRequest) -> tuple[lpb.Ratings, lpb.PreferenceModel]:
    log = log_of(request.param)
    return log, quick_fit(log, states=2).model


def posterior(policy: Policy, outcomes: list[tuple[str, float]]) -> FloatArray:
    agent = lpb.Agent(policy, seed=1)
    for outcome in outcomes:
        agent.tell(*outcome)
    return agent.posterior


def simulated(world: Any, name: str = "lpbts") -> Policy:
    """Return the policy that a simulation gives the people of a world."""
    population: Population = world.draw(people=3, seed=0)
    return tasks_of(builders_of([name]), [population], 2)[0].policy


def test_every_way_from_a_model_gives_the_same_posterior(
    fitted: tuple[lpb.Ratings, lpb.PreferenceModel], tmp_path: Path
) -> None:
    log, model = fitted
    outcomes = [(label, float(log.rating[i])) for i, label in enumerate(["a0", "a4", "a1"])]
    first = lpb.LpbTS(model)
    others = [
        lpb.policy(model, "lpbts"),
        choose_policy(model, "lpbts").policy,
        simulated(lpb.MeansWorld(model)),
        simulated(lpb.ReplayWorld(model, log, least=2)),
    ]
    for other in others:
        assert other.id == first.id
        np.testing.assert_array_equal(posterior(other, outcomes), posterior(first, outcomes))
    model.save(tmp_path / "model.json")
    table = tmp_path / "history.csv"
    table.write_text("person,action,reward\n" + "".join(f"ann,{a},{r}\n" for a, r in outcomes))
    out = tmp_path / "decisions.parquet"
    command = ["decide", "--model", str(tmp_path / "model.json"), str(table), "--policy", "lpbts", "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    agent = lpb.Agent(first, seed=0, person="ann")
    for outcome in outcomes:
        agent.tell(*outcome)
    row = pl.read_parquet(out).row(0, named=True)
    assert row["probability"] == agent.probabilities()[model.index[row["action"]]]


def test_a_log_of_0_and_1_has_bernoulli_rewards() -> None:
    models = {kind: quick_fit(log_of(kind), states=2).model for kind in KINDS}
    assert {kind: model.rewards for kind, model in models.items()} == dict.fromkeys(KINDS) | {"thumbs": "bernoulli"}
    assert lpb.LpbTS(models["thumbs"]).rewards.family == "bernoulli"
    assert lpb.LpbTS(models["thumbs"], rewards="gaussian").rewards.family == "gaussian"
    with pytest.raises(lpb.InvalidInput, match="0 or 1"):
        lpb.Agent(lpb.policy(models["thumbs"]), seed=1).tell("a0", 0.5)


def test_a_wide_scale_does_not_decide_after_two_ratings() -> None:
    model = quick_fit(log_of("0-100"), states=2).model
    told = [("a0", 60.0), ("a4", 40.0)]
    assert posterior(lpb.LpbTS(model), told).min() > 0.05
    with pytest.warns(lpb.NoiseWarning, match="noise is 1, .*model"):
        certain = lpb.LpbTS(model, noise=1.0)
    assert posterior(certain, told).min() < 1e-6


@pytest.mark.parametrize("name", [name for name, entry in POLICIES.items() if entry.feedback == "rewards"])
@pytest.mark.parametrize("settings", [{}, {"noise": 2.0}, {"rewards": lpb.Rewards(noise=2.0)}], ids=repr)
def test_classes_and_names_give_equal_policies(name: str, settings: dict[str, Any]) -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], noise=1.5)
    if name == "taste":
        model = model.replace(taste=lpb.TasteModel(np.zeros(3), np.ones((3, 1)), np.ones(3), level=3.0))
    classes: dict[str, Any] = {
        "lpbts": lpb.LpbTS,
        "lpbts-incremental": lambda m, **s: lpb.LpbTS(m, likelihood="incremental", **s),
        "lpbts-marginal": lambda m, **s: lpb.LpbTS(m, likelihood="marginal", **s),
        "lpb-utility": lpb.LpbUtility,
        "lpb-ids": lpb.LpbIDS,
        "lpb-horizon": lambda m, **s: lpb.LpbHorizon(m, rounds=200, **s),
        "mts": lpb.MTS,
        "lpb-order-ucb": lpb.LpbOrderUcb,
        "mucb": lpb.MUCB,
        "ts": lpb.TS,
        "ucb": lpb.UCB,
        "ts-top": lambda m, **s: lpb.TS(m, top=True, **s),
        "ucb-top": lambda m, **s: lpb.UCB(m, top=True, **s),
    }
    if name not in classes:  # they have no noise
        settings = {}
        classes = {"taste": lpb.Taste, "popular": lpb.Popular, "uniform": lpb.Uniform, "lpb-paired": lpb.LpbPaired}
    rounds = 200 if name == "lpb-horizon" else None
    assert lpb.policy(model, name, rounds=rounds, **settings).id == classes[name](model, **settings).id


def test_noise_is_exact_only_if_it_is_given_or_said_to_be() -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]], noise=3.0)
    plain = lpb.PreferenceModel([[0, 1], [1, 0]])
    assert not lpb.LpbTS(model).rewards.noise_known
    assert not lpb.LpbTS(plain).rewards.noise_known
    assert lpb.LpbTS(plain).rewards.noise is None
    assert lpb.LpbTS(model, noise=2.0).rewards == lpb.Rewards(noise=2.0)
    assert lpb.LpbTS(model, noise_known=True).rewards.noise == 3.0
    assert lpb.LpbTS(plain, noise_known=True).rewards == lpb.Rewards()
    assert lpb.policy(model, "lpb-ids", noise_known=True).rewards.noise_known
    assert not lpb.policy(model, "lpb-ids", noise=2.0).rewards.noise_known
    assert Setting(model, lpb.Rewards(noise=2.0)).guess == lpb.Rewards(noise=2.0).as_guess


@pytest.mark.parametrize(("noise", "warns"), [(0.9, True), (1.1, False), (8.9, False), (9.1, True)])
@pytest.mark.parametrize(
    "way",
    [
        lambda model, noise: lpb.policy(model, "lpbts", noise=noise),
        lambda model, noise: lpb.policy(model, "lpb-ids", rewards=lpb.Rewards(noise=noise)),
        lambda model, noise: lpb.LpbTS(model, noise=noise),
        lambda model, noise: lpb.TS(model, rewards=lpb.Rewards(noise=noise)),
        lambda model, noise: Policy(model, Refit(lpb.Rewards(noise=noise)), Sample()),
    ],
)
def test_a_noise_far_from_the_model_s_warns(
    way: Callable[..., Policy], noise: float, warns: bool, recwarn: pytest.WarningsRecorder
) -> None:
    way(lpb.PreferenceModel([[0, 1], [1, 0]], noise=3.0), noise)
    assert [one.category for one in recwarn] == [lpb.NoiseWarning] * warns


def test_policies_without_a_noise_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]], noise=9.0)
    lpb.LpbDuel(model)
    lpb.LpbTS(model, rewards="bernoulli")
    assert len(recwarn) == 0


@pytest.mark.parametrize("name", ["lpbts", "lpbts-incremental", "lpbts-marginal", "mts", "ts", "lpb-ids"])
def test_a_noise_of_bernoulli_rewards_is_refused_alike(name: str) -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]], means=[[0.9, 0.1], [0.1, 0.9]], rewards="bernoulli")
    likelihood = name.removeprefix("lpbts").removeprefix("-") or "refit"
    classes: dict[str, Callable[..., Policy]] = {"mts": lpb.MTS, "ts": lpb.TS, "lpb-ids": lpb.LpbIDS}
    one = classes.get(name, functools.partial(lpb.LpbTS, likelihood=likelihood))
    if name in ("ts", "lpb-ids"):  # they treat all rewards as Gaussian
        assert lpb.policy(model, name, noise=0.4).id == one(model, noise=0.4).id
        return
    with pytest.raises(lpb.InvalidInput, match="left out for bernoulli") as of_name:
        lpb.policy(model, name, noise=0.4)
    with pytest.raises(lpb.InvalidInput) as of_class:
        one(model, noise=0.4)
    assert str(of_name.value) == str(of_class.value)


def test_forecasts_need_a_noise() -> None:
    plain, noisy = (lpb.PreferenceModel([[0, 1], [1, 0]], noise=noise) for noise in (None, 2.0))
    assert choose_policy(noisy, "ts").noise is None
    assert math.isnan(choose_policy(plain, "ts").noise or 0.0)
    assert choose_policy(plain, "lpbts").noise is None  # estimated from the rewards


SEX = lpb.CovariateModel(
    *(["sex"], ["text"], [["f", "m"]], np.zeros(1), np.ones(1), np.zeros(2), np.eye(2, 3)), factor=0.5
)
KNOWING = lpb.PreferenceModel([[0, 1], [1, 0]], covariates=SEX)
FITTED = lpb.PreferenceModel([[0, 1], [1, 0]], noise=15.0)
NOBODY = lpb.Histories.from_arrays([1], [0], [1.0], KNOWING)
XS = pl.DataFrame({"person": [1], "sex": ["x"]})


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (lambda: lpb.LpbTS(FITTED, noise=1.0), lpb.NoiseWarning),
        (lambda: lpb.policy(FITTED, "lpbts", noise=1.0), lpb.NoiseWarning),
        (lambda: lpb.LpbTS(KNOWING, noise=1.0).with_model(FITTED), lpb.NoiseWarning),
        (lambda: KNOWING.prior_for({"sex": "x"}), lpb.CovariateWarning),
        (lambda: lpb.Agent(lpb.LpbTS(KNOWING), seed=1, covariates={"sex": "x"}), lpb.CovariateWarning),
        (lambda: lpb.decide(lpb.LpbTS(KNOWING), NOBODY, people=XS, seed=0), lpb.CovariateWarning),
    ],
)
def test_warnings_point_to_the_line_of_the_caller(call: Callable[[], object], category: type[Warning]) -> None:
    with pytest.warns(category) as caught:
        call()
    assert {one.filename for one in caught} == {__file__}
