"""Bootstrap intervals, the best policy and the verdict sentence."""

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.evaluation.results import Gain, Score
from lpbandits.evaluation.summary import intervals, summarize
from lpbandits.evaluation.tuning import Choice
from lpbandits.evaluation.verdict import best_of, sentence
from lpbandits.statistics import t_multiplier


def test_intervals_of_normal_samples_are_as_wide_as_students() -> None:
    draws = np.random.default_rng(14).normal(size=(200, 25))
    bounds = intervals(draws, seed=0)
    student = t_multiplier(25) * draws.std(axis=1, ddof=1) / 5
    # plain percentiles have 0.93 of that; the mean ratio of 200 has a standard error below 0.003
    np.testing.assert_allclose(((bounds[:, 1] - bounds[:, 0]) / 2 / student).mean(), 1.0, atol=0.02)


def test_intervals_of_few_values_are_not_too_narrow() -> None:
    rng = np.random.default_rng(11)
    bounds = intervals(rng.integers(-1, 2, (400, 6)).astype(float), seed=0)
    assert (bounds[:, 0] > 0).mean() < 0.05  # 2.5 % expected; three standard errors are 2.3 %


@pytest.mark.parametrize(("people", "skew"), [(10, False), (40, False), (40, True)])
def test_intervals_have_their_nominal_coverage(people: int, skew: bool) -> None:
    rng = np.random.default_rng(10)
    draws = rng.exponential(size=(600, people)) - 1.0 if skew else rng.normal(size=(600, people))
    bounds = intervals(draws, seed=0)
    inside = ((bounds[:, 0] <= 0) & (bounds[:, 1] >= 0)).mean()
    # 600 intervals of 95 %: three standard errors are 2.7 %; a skewed mean of 40 is covered a little less
    assert (0.90 if skew else 0.923) < inside < 0.985


def score(name: str, mean: float, low: float | None, high: float | None, kind: str = "policy") -> Score:
    return Score(name, kind, {20: 0.5}, 0.01, Gain(mean, low, high), [0.5], np.zeros(2))


SELECTED = "taste (selected on the development set)"


@pytest.mark.parametrize(
    ("best", "gain", "words"),
    [
        (
            "taste",
            (0.059, 0.044, 0.073),
            [
                "On 556 held-out people (of 1,589), taste gains 0.059 [0.044, 0.073]",
                "it beats EASE by 0.020 and ties item kNN; lpbTS scores 0.030 below popularity.",
            ],
        ),
        ("popular", (0.001, -0.01, 0.02), [f"nothing beats popularity: {SELECTED} scores +0.001 [-0.010, +0.020]"]),
        ("popular", (0.1, -0.1, 0.3), ["[-0.100, +0.300] in 20 rounds", "rule out a gain of 0.30"]),
        ("popular", (0.0, 0.0, 0.0), [f"{SELECTED} gives each person the same score"]),
        (
            "popular",
            (0.02, 0.01, 0.03),
            [
                f"no policy is chosen over popularity: {SELECTED} scores +0.020 [+0.010, +0.030]",
                "did not beat popularity on the development set",
            ],
        ),
        ("popular", (0.02, None, None), ["scores +0.020 in 20 rounds, with too few people for an interval"]),
    ],
)
def test_verdict_sentence(best: str, gain: tuple[float, float | None, float | None], words: list[str]) -> None:
    scores = {
        "popular": score("popular", 0, 0, 0),
        "taste": score("taste", *gain),
        "lpbts": score("lpbts", -0.03, -0.04, -0.02),
        "random": score("random", -0.7, -0.8, -0.6),
    }
    against = {"item-knn": Gain(0.002, -0.01, 0.01), "ease": Gain(0.02, 0.01, 0.03)}
    text = sentence(best, "taste", scores, against, people=556, log_people=1589, rounds=20)
    for part in words:
        assert part in text
    if best == "popular":
        scores["ease"] = score("ease", 0.2, 0.1, 0.3, "reference")
        text = sentence(best, "taste", scores, against, people=556, log_people=1589, rounds=20)
        beats = (gain[1] or 0) > 0
        assert ("no policy is chosen over popularity, but a recommender beats it" in text) == beats
        assert ("no policy beats popularity, but a recommender does" in text) == (not beats)
        assert "EASE gains 0.200 [0.100, 0.300]" in text


@pytest.mark.parametrize(
    ("gains", "promising", "best"),
    [
        ({"lpbts": 0.25, "taste": 0.9}, True, "lpbts"),  # standard errors are 0.1
        ({"lpbts": 0.15, "taste": 0.25}, True, "popular"),
        ({"lpbts": 0.15, "taste": 0.32}, True, "taste"),  # 99 % for two together: 2.63 standard errors
        ({"lpbts": 0.25, "taste": 0.1}, False, "popular"),
        ({"lpbts": 0.32, "taste": 0.1}, False, "lpbts"),
    ],
)
def test_the_best_policy_is_the_selected_one_or_passes_a_stricter_test(
    gains: dict[str, float], promising: bool, best: str
) -> None:
    noise = np.random.default_rng(0).normal(size=100)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    means = {"popular": np.zeros(100)} | {name: mean + noise for name, mean in gains.items()}
    scores = summarize({name: one[:, None] for name, one in means.items()}, rounds=1, seed=0)
    development = {"popular": 0.0, **dict.fromkeys(gains, -1.0), "lpbts": 1.0 if promising else -1.0}
    assert best_of(Choice(FitConfig(lpb.TwoStage(), 2), {}, development, "lpbts"), scores) == best
