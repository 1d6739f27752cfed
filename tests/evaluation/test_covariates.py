"""Evaluation of covariates: the selected policy with and without them, on people who were not in the fit."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.evaluation import evaluate
from lpbandits.evaluation.replay import Replay, play_recorded
from lpbandits.evaluation.results import CovariateGain, Gain
from tests.logs import log_of

LOG = log_of(300, 12, states=3, noise=1.5, seed=1)
POLICIES = ["lpbts", "taste"]


def table_of(values: Any) -> pl.DataFrame:
    return pl.DataFrame({"person": [*LOG.people], "group": values})


def states() -> list[str]:
    """Return the state of each person, drawn as in `log_of`."""
    rng = np.random.default_rng([1, 99])
    rng.normal(size=12)
    for _ in range(3):
        rng.permutation(12)
    return [f"g{state}" for state in rng.integers(0, 3, 300)]


@pytest.fixture(scope="module")
def helpful() -> lpb.Evaluation:
    return evaluate(LOG, policies=POLICIES, states=3, people=table_of(states()), seed=0)


def test_covariates_that_tell_the_state_help(helpful: lpb.Evaluation) -> None:
    gain = helpful.covariates
    assert gain is not None
    assert gain.gain is not None
    assert gain.gain.sign == 1
    assert gain.sentence.startswith("Covariates help: they change the score of lpbTS by +0.")
    content = helpful.to_dict()["covariates"]
    assert content["policy"] == "lpbts"
    assert content["gain"] == {"mean": gain.gain.mean, "low": gain.gain.low, "high": gain.gain.high}
    assert gain.vs_popularity is not None
    without = helpful.policies["lpbts"].vs_popularity.mean
    assert gain.vs_popularity.mean == pytest.approx(without + gain.gain.mean, rel=1e-12)
    assert content["vs_popularity"]["mean"] == gain.vs_popularity.mean
    assert f"with them its gain over popularity is {gain.vs_popularity:+.3f}. The verdict compares" in gain.sentence


def test_the_other_scores_do_not_depend_on_covariates(helpful: lpb.Evaluation) -> None:
    without = evaluate(LOG, policies=POLICIES, states=3, seed=0)
    assert without.covariates is None
    assert without.to_dict()["covariates"] is None
    for name, score in without.policies.items():
        np.testing.assert_array_equal(score.people, helpful.policies[name].people)


def test_useless_covariates_change_nothing() -> None:
    noise = np.random.default_rng(3).choice(["a", "b"], len(LOG.people))
    evaluation = evaluate(LOG, policies=["lpbts"], states=3, people=table_of(noise), max_people=40, seed=0)
    assert evaluation.covariates is not None
    assert evaluation.covariates.gain == Gain(0.0, 0.0, 0.0)
    assert "change nothing" in evaluation.covariates.sentence


def test_a_model_that_is_used_unchanged_needs_covariates(helpful: lpb.Evaluation) -> None:
    model = lpb.PreferenceModel([range(12), range(11, -1, -1)], actions=LOG.actions)
    with pytest.raises(lpb.InvalidInput, match="model must have covariates"):
        evaluate(LOG, model=model, new_people=True, people=table_of(["a"] * 300))
    fresh = helpful.refit(LOG, people=table_of(states()))
    assert fresh.covariates is not None
    assert fresh.covariates.factor > 0.5
    assert helpful.refit(LOG).covariates is None


def test_a_number_of_people_is_an_error() -> None:
    with pytest.raises(lpb.InvalidInput, match=r"people must be a table.*500; use max_people"):
        evaluate(LOG, people=500)


def test_replays_use_the_priors_of_their_people() -> None:
    model = lpb.PreferenceModel([range(12), range(11, -1, -1)], actions=LOG.actions)
    replay = Replay.of(LOG, np.arange(150), rounds=3)
    priors = np.eye(2)[np.arange(150) % 2]
    games = replay.games(lambda _: [lpb.LpbTS(model, noise=1.0)], seed=0, priors=priors)
    (scores,) = replay.scores_of_games([play_recorded(*game) for game in games], 1)
    best = np.where(np.arange(150) % 2, 11, 0)
    np.testing.assert_allclose(scores[:, 0], replay.scores(replay.recorded[np.arange(150), best][:, None])[:, 0])


@pytest.mark.parametrize(
    ("gain", "match"),
    [
        (Gain(0.02, 0.01, 0.03), "help: they change the score of lpb-ids by +0.020"),
        (Gain(-0.02, -0.03, -0.01), "do harm: they change the score of lpb-ids by -0.020"),
        (Gain(0.0, -0.01, 0.01), "no clear difference"),
        (Gain(0.02, None, None), "no clear difference"),
        (None, "not evaluated"),
    ],
)
def test_the_sentence_follows_the_interval(gain: Gain | None, match: str) -> None:
    assert match in CovariateGain("lpb-ids", gain, 20).sentence
