"""Intervals of gains, the best policy and the verdict sentence."""

from collections import Counter

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.evaluation.results import Gain, Score
from lpbandits.evaluation.splits import Combined
from lpbandits.evaluation.summary import summarize
from lpbandits.evaluation.tuning import Choice
from lpbandits.evaluation.verdict import Claims, Subject, people_of, sentence
from lpbandits.typing import FloatArray


@pytest.mark.parametrize(("people", "differing"), [(10, 1.0), (40, 1.0), (200, 0.02), (200, 0.1)])
def test_intervals_have_their_nominal_coverage_also_where_few_people_differ(people: int, differing: float) -> None:
    rng = np.random.default_rng(10)
    draws = np.where(rng.random((1200, people)) < differing, rng.normal(0.07, 0.07, (1200, people)), 0.0)
    gains = [Gain.of(draw) for draw in draws if np.count_nonzero(draw) > 1]
    inside = np.mean([(gain.low or 0.0) <= 0.07 * differing <= (gain.high or 0.0) for gain in gains])
    assert inside > 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(gains))  # Student's t of all people: .87 of the third case
    assert inside < 0.97 or differing < 1.0


def test_gains_of_one_person_or_of_equal_scores() -> None:
    assert Gain.of(np.zeros(5)) == Gain(0.0, 0.0, 0.0)
    assert Gain.of(np.array([0.0, 0.5])) == Gain(0.25, None, None)
    assert Gain.of(np.array([0.5])) == Gain(0.5, None, None)


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
                "it beats EASE by 0.020 and does not clearly differ from item kNN;",
                "; lpbTS scores 0.030 below popularity.",
            ],
        ),
        (
            "popular",
            (0.001, -0.01, 0.02),
            [f"no policy is clearly better than popularity: {SELECTED} scores +0.001 [-0.010, +0.020]"],
        ),
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
        (
            "popular",
            (-0.1, -0.2, -0.05),
            [
                f"(of 1,589), {SELECTED} scores 0.100 [0.050, 0.200] below popularity in 20 rounds; ",
                "; no policy is clearly better than popularity",
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
    claims = Claims({"lpbts": -1, "ease": 0}, {"item-knn": 0, "ease": 1})
    subject = "taste" if best == "taste" else SELECTED
    where = people_of(556, 1589, unseen=True, splits=1)
    text = sentence(best, subject, Gain(*gain), claims, scores, against, where=where, rounds=20)
    for part in words:
        assert part in text
    if best == "popular":
        scores["ease"] = score("ease", 0.2, 0.1, 0.3, "reference")
        claims = Claims({"ease": 1}, {})
        text = sentence(best, subject, Gain(*gain), claims, scores, against, where=where, rounds=20)
        beats = (gain[1] or 0) > 0
        assert ("no policy is chosen over popularity, but a recommender beats it" in text) == beats
        assert ("no policy is clearly better than popularity, but a recommender is" in text) == (not beats)
        assert "EASE gains 0.200 [0.100, 0.300]" in text


def unit_noise(people: int) -> FloatArray:
    """Return values with mean 0 and standard deviation 1."""
    noise = np.random.default_rng(0).normal(size=people)
    return np.asarray((noise - noise.mean()) / noise.std(ddof=1))


def test_side_claims_hold_together() -> None:
    """With 100 people, standard errors of 0.1 and six claims, 1 % in all is 3.22 standard errors for each."""
    gains = {"popular": 0.0, "taste": 0.0, "lpbts": -0.33, "ts-top": -0.31, "item-knn": -0.33, "ease": 0.31}
    means = {name: mean + (name not in ("popular", "taste")) * unit_noise(100) for name, mean in gains.items()}
    scores = summarize({name: one[:, None] for name, one in means.items()}, rounds=1)
    claims = Claims.of("taste", means["taste"], scores)
    assert claims == Claims({"lpbts": -1, "ts-top": 0, "item-knn": -1, "ease": 0}, {"item-knn": 1, "ease": 0})


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
    noise = unit_noise(100)
    means = {"popular": np.zeros(100)} | {name: mean + noise for name, mean in gains.items()}
    scores = summarize({name: one[:, None] for name, one in means.items()}, rounds=1)
    choice = Choice(FitConfig(lpb.TwoStage(), 2), {}, {})
    promise = 1.0 if promising else -1.0
    people = Combined(np.arange(100), np.ones(100, int), {}, means["lpbts"], Counter(["lpbts"]), promise, 1.0, choice)
    subject = Subject.of(people, scores)
    assert subject.best == best
    np.testing.assert_array_equal(subject.people, means["lpbts" if best == "popular" else best])


@pytest.mark.parametrize(
    ("selected", "alone", "best", "label"),
    [
        (0.25, 0.1, "taste", "the selected policy"),  # standard errors are 0.1
        (0.1, 0.1, "popular", "the selected policy"),
        (0.1, 0.3, "taste", "taste"),  # the policy by itself, in the stricter test
        (0.25, -0.1, "lpbts", "the selected policy"),  # the most frequent policy has no gain of its own
    ],
)
def test_splits_that_select_different_policies(selected: float, alone: float, best: str, label: str) -> None:
    noise = unit_noise(100)
    means = {"popular": np.zeros(100), "taste": alone + noise, "lpbts": 0.1 + noise}
    scores = summarize({name: one[:, None] for name, one in means.items()}, rounds=1)
    choice, candidates = Choice(FitConfig(lpb.TwoStage(), 2), {}, {}), Counter({"taste": 4, "lpbts": 2})
    people = Combined(np.arange(100), np.ones(100, int), {}, selected + noise, candidates, 1.0, 1.0, choice)
    subject = Subject.of(people, scores)
    assert (subject.best, subject.label) == (best, label)
    gain = Gain.of(subject.people)
    np.testing.assert_allclose(gain.mean, alone if label == "taste" else selected)
    assert best == "popular" or gain.sign > 0
    assert ("taste in 4, lpbTS in 2 of 6 splits" in subject.words(people)) == (label == "the selected policy")
