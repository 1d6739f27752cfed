"""Evaluations: the split, the replay, the references, the selection, and the verdict."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.errors import InvalidInput
from lpbandits.evaluation import evaluate
from lpbandits.evaluation.baselines import REFERENCES, best_possible, item_knn, leave_one_out
from lpbandits.evaluation.bootstrap import intervals
from lpbandits.evaluation.contestants import DEFAULT, Contest, Knowledge
from lpbandits.evaluation.evaluate import contestant_names
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.results import Gain, Score
from lpbandits.evaluation.split import split
from lpbandits.evaluation.summary import best_of, summarize
from lpbandits.evaluation.tuning import Choice, Trial, cross_validated
from lpbandits.evaluation.verdict import sentence
from lpbandits.fit.provenance import Provenance
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import informative
from lpbandits.parallel import Executor
from lpbandits.statistics import t_multiplier
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray
from tests.logs import log_of

PLANTED = log_of(150, 20, states=3, noise=0.5, seed=1)
"""A log of three states with different orderings."""


def moments_of(log: Ratings) -> Moments:
    return moments(log, people=informative(log))


def policy_scores(replay: Replay, policy: lpb.Policy, *, seed: int) -> FloatArray:
    games = replay.games([policy], seed=seed)
    return replay.scores_of_games(games, [game.play() for game in games])[0]


def rows_of(log: Ratings) -> tuple[Any, Any, Any]:
    return np.array(log.people)[log.owner], np.array(log.actions)[log.action], log.rating.copy()


# Split


@given(st.integers(12, 300), st.integers(0, 5))
def test_split_is_a_partition(people: int, seed: int) -> None:
    parts = split(log_of(people, 5, seed=seed), least=4, seed=seed)
    everyone = np.concatenate([parts.fitted, parts.development, parts.report])
    assert sorted(everyone.tolist()) == list(range(people))
    assert parts.known.tolist() == sorted([*parts.fitted.tolist(), *parts.development.tolist()])
    assert min(len(parts.fitted), len(parts.development), len(parts.report)) > 0


def test_people_who_cannot_be_replayed_are_fitted() -> None:
    person, action, rating = rows_of(log_of(60, 8))
    rating[person == 3] = 2.0  # all alike
    kept = (person != 5) | (action < 3)  # too few
    log = Ratings.from_arrays(person[kept], action[kept], rating[kept])
    for seed in range(20):
        assert {3, 5} <= set(split(log, least=4, seed=seed).fitted.tolist())


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (log_of(50, 3), "at least 4 ratings.*maximum is 3.*--repeats"),
        (log_of(50, 2), "at least 4 ratings.*maximum is 2$"),
        (Ratings.from_arrays(*np.divmod(np.arange(200), 4), np.ones(200)), "all ratings of each person are equal"),
        (log_of(11, 8), "11 people have 4 ratings.*at least 12"),
    ],
)
def test_logs_that_cannot_be_split_raise(log: Ratings, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        evaluate(log)


def test_three_ratings_are_enough_with_repeats() -> None:
    assert evaluate(log_of(50, 3), policies=["lpbts"], states=1, repeats=True).people == 17


def test_the_selection_does_not_depend_on_report_people() -> None:
    parts = split(PLANTED, least=4, seed=0)
    person, action, rating = rows_of(PLANTED)
    reported = np.isin(person, parts.report)
    rating[reported] = np.random.default_rng(5).permutation(rating[reported])
    other = Ratings.from_arrays(person, action, rating)
    one, two = (evaluate(log, policies=["lpbts", "taste", "item-knn", "ease"], seed=0) for log in (PLANTED, other))
    assert (one.chosen, one.candidate) == (two.chosen, two.candidate)
    assert one.policies["taste"].curve != two.policies["taste"].curve


def test_development_people_are_not_in_the_fit_they_are_replayed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[set[Any]] = []

    def spy(log: Ratings, *args: Any, **options: Any) -> Any:
        fitted.append(set(log.people))
        return lpb.fit_states(log, *args, **options)

    monkeypatch.setattr("lpbandits.evaluation.fit_config.fit_states", spy)
    parts = split(PLANTED, least=4, seed=0)
    evaluate(PLANTED, policies=["lpbts"], states=2, scale="cosine", seed=0)
    first = set(parts.fitted.tolist())
    assert fitted == [first, first | set(parts.development.tolist())]


# Replay


def test_a_person_plays_at_most_half_of_the_rated_actions() -> None:
    log = log_of(40, 30, share=0.5, seed=2)
    replay = Replay.of(log, np.arange(40), rounds=6)
    assert replay.rounds.tolist() == sorted(min(n // 2, 6) for n in log.counts.tolist())
    scores = replay.scores(best_possible(replay))
    assert (~np.isnan(scores)).sum(axis=1).tolist() == replay.rounds.tolist()


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("name", ["lpbts", "lpb-ids", "taste", "ts-top"])
def test_a_replay_equals_a_loop_of_agents(name: str, once: bool) -> None:
    log = log_of(60, 12, share=0.8, states=2, seed=3)
    model = lpb.fit_states(log, lpb.TwoStage(scale="cosine"), states=2, heldout=0).model
    replay = Replay.of(log, np.arange(20, 32), rounds=5, once=once)
    policy = choose_policy(model, name).policy
    got = policy_scores(replay, policy, seed=4)
    for row, n in enumerate(replay.person.tolist()):
        part = slice(log.offsets[n], log.offsets[n + 1])
        ratings = {log.actions[a]: r for a, r in zip(log.action[part], log.rating[part].tolist(), strict=True)}
        agent = lpb.Agent(policy, seed=4, person=row)
        available: list[Any] = list(ratings)
        rewards: list[float] = []
        for _ in range(int(replay.rounds[row])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lpb.errors.LockInWarning)  # greedy, where actions repeat
                action = agent.ask(allowed=available)
            agent.tell(action, ratings[action])
            rewards.append(ratings[action])
            if once:
                available.remove(action)
        values = np.array(list(ratings.values()))
        want = (np.array(rewards) - values.mean()) / values.std()
        np.testing.assert_allclose(got[row, : len(want)], want, rtol=1e-12, atol=1e-12)


def test_popularity_equals_the_policy_popular() -> None:
    person, action, rating = rows_of(log_of(80, 15, share=0.7, seed=4))
    kept = (action != 3) | (person >= 50)  # no fitted person rated action 3
    log = Ratings.from_arrays(person[kept], action[kept], rating[kept])
    first = log.subset(np.arange(50))
    model = lpb.fit_states(first, lpb.TwoStage(scale="cosine"), states=2, heldout=0).model
    replay = Replay.of(log, np.arange(50, 80), rounds=5)
    got = Contest(["popular"], 0, Executor(), 1).scores(["popular"], Knowledge.of(model, first), replay)["popular"]
    np.testing.assert_array_equal(got, policy_scores(replay, lpb.Popular(model), seed=0))


def test_scores_are_standardized_by_person() -> None:
    replay = Replay.of(PLANTED, np.arange(150), rounds=10)
    best = mean_scores(replay.scores(best_possible(replay)))
    chance = mean_scores(policy_scores(replay, lpb.Uniform(lpb.PreferenceModel([list(range(20))])), seed=0))
    assert abs(chance.mean()) < 4 * chance.std() / np.sqrt(150)
    assert best.min() > chance.max()
    ratings = replay.recorded[0]
    top = np.sort(ratings)[::-1][:10]
    np.testing.assert_allclose(best[0], ((top - ratings.mean()) / ratings.std()).mean())


def test_results_do_not_depend_on_threads() -> None:
    log = log_of(150, 15, states=2, levels=5, seed=6)
    one, two = (evaluate(log, policies=list(DEFAULT), states=2, seed=3, threads=n).to_dict() for n in (1, 2))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}


# References


def naive_play(score: Callable[[list[int], FloatArray], FloatArray], replay: Replay) -> FloatArray:
    """The slow twin: one person and one round at a time."""
    out = np.full((len(replay), replay.max_rounds), np.nan)
    for p, row in enumerate(replay.recorded):
        available = ~np.isnan(row)
        played: list[int] = []
        for t in range(int(replay.rounds[p])):
            values = np.where(available, score(played, row[played]), -np.inf)
            played.append(int(np.argmax(values)))
            available[played[-1]] = False
            out[p, t] = row[played[-1]]
    return out


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_item_knn_and_ease_equal_their_naive_twins(seed: int) -> None:
    log = log_of(60, 12, share=0.8, states=2, seed=seed)
    first, replay = log.subset(np.arange(40)), Replay.of(log, np.arange(40, 60), rounds=5)
    seen = moments_of(first)
    products, raters = seen.products, seen.raters
    k = len(products)
    similarity, regression = np.zeros((k, k)), np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            if a != b:
                cosine = products[a, b] / np.sqrt(products[a, a] * products[b, b])
                similarity[a, b] = cosine * raters[a, b] / (raters[a, b] + 30)
    for b in range(k):  # ridge regression of action b on all others
        others = [a for a in range(k) if a != b]
        square = products[np.ix_(others, others)] + 100 * np.eye(k - 1)
        regression[others, b] = np.linalg.solve(square, products[others, b])

    def residuals(played: list[int], rewards: FloatArray) -> FloatArray:
        values = (rewards - seen.level) / np.exp(seen.log_scale) - seen.means[played]
        return np.asarray(values - values.sum() / (len(values) + 3))

    def knn(played: list[int], rewards: FloatArray) -> FloatArray:
        close = similarity[:, played]
        return np.asarray(seen.means + close @ residuals(played, rewards) / (np.abs(close).sum(axis=1) + 0.3))

    def steck(played: list[int], rewards: FloatArray) -> FloatArray:
        return np.asarray(seen.means + 2.0 * residuals(played, rewards) @ regression[played])

    for recommender, twin in (
        (REFERENCES["item-knn"].recommender(seen, 30.0, 0.3), knn),
        (REFERENCES["ease"].recommender(seen, 100.0, 2.0), steck),
    ):
        np.testing.assert_array_equal(recommender.play(replay) + replay.mask, naive_play(twin, replay))


def test_a_reference_settles_on_one_action_if_actions_repeat() -> None:
    log = log_of(60, 8, seed=7)
    replay = Replay.of(log, np.arange(40, 60), rounds=30, once=False)
    rewards = item_knn(moments_of(log.subset(np.arange(40))), 10.0).play(replay)
    assert (rewards[:, -1] >= rewards[:, 0]).all()
    assert (rewards[:, -1] == rewards[:, -2]).all()


def test_tuned_constants_have_the_highest_score() -> None:
    log = log_of(120, 12, states=3, seed=8)
    seen, replay = moments_of(log.subset(np.arange(80))), Replay.of(log, np.arange(80, 120), rounds=5)
    constants = Contest(["ease"], 0, Executor(), 1).tune(seen, replay)["ease"]
    reference = REFERENCES["ease"]
    value = {
        (ridge, gain): mean_scores(replay.scores(reference.recommender(seen, ridge, gain).play(replay))).mean()
        for ridge in reference.firsts
        for gain in reference.seconds
    }
    assert value[constants] == max(value.values())
    assert len(set(value.values())) > 3


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(0, 3))
def test_the_ceiling_conditions_on_all_other_ratings(seed: int, rated: int, factors: int) -> None:
    rng = np.random.default_rng(seed)
    k = 9
    taste = TasteModel(
        rng.normal(size=k),
        rng.normal(size=(k, factors)),
        rng.uniform(0.3, 1, k),
        offset=0.7,
        level=3.0,
        log_scale_sd=0.0,
    )
    which, rewards = np.sort(rng.permutation(k)[:rated]), rng.normal(3, 2, rated)
    got = leave_one_out(taste, which, rewards)
    y = rewards - 3.0 - taste.means[which]
    covariance = taste.factors[which] @ taste.factors[which].T
    total = covariance + taste.offset + np.diag(taste.variances[which])
    for i in range(rated):
        others = np.arange(rated) != i
        weights = np.linalg.solve(total[np.ix_(others, others)], y[others])
        want = taste.means[which[i]] + covariance[i, others] @ weights
        np.testing.assert_allclose(got[i], want, rtol=1e-9, atol=1e-9)


# Selection, and models given by the user


def test_cross_validation_removes_the_selection_bias() -> None:
    rng = np.random.default_rng(12)
    trials = [Trial(FitConfig(lpb.TwoStage(), 2), {"lpbts": rng.normal(size=400)}) for _ in range(20)]  # all equal
    biased = max(trial.value(np.ones(400, dtype=bool)) for trial in trials)
    assert biased > 0.05
    assert abs(cross_validated(trials, 400)["lpbts"]) < 3 / np.sqrt(400)
    assert cross_validated(trials, 400)["lpbts"] < biased - 0.05


def test_a_model_trained_on_these_people_is_refitted() -> None:
    fit = lpb.fit_states(PLANTED, lpb.TwoStage(seed=5, prior_sd=2.0), states=3)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts", "taste"], seed=0)
    assert "refitted" in evaluation.warnings[-1]
    assert evaluation.chosen["settings"]["prior_sd"] == 2.0
    assert evaluation.chosen["settings"]["states"] == 3


def test_a_model_of_other_people_is_used_as_it_is() -> None:
    person, action, rating = rows_of(PLANTED)
    other = Ratings.from_arrays([f"other {n}" for n in person], action, rating)
    fit = lpb.fit_states(other, lpb.TwoStage(), states=3)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts", "taste"], seed=0)
    assert "used as it is" in evaluation.warnings[-1]
    assert evaluation.fit_config is None
    with pytest.raises(InvalidInput, match="keep that model"):
        evaluation.refit(PLANTED)
    replay = Replay.of(PLANTED, split(PLANTED, least=4, seed=0).report, rounds=20)
    want = policy_scores(replay, lpb.Taste(fit.model), seed=0)
    np.testing.assert_allclose(evaluation.policies["taste"].curve[-1], mean_scores(want, 10).mean())


def test_a_model_with_unknown_training_people_is_refitted_if_possible() -> None:
    crowd = lpb.fit_states(log_of(2000, 4, seed=3), lpb.TwoStage(restarts=1), states=1, heldout=0, taste=False).model
    people, actions = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    log = Ratings.from_arrays([f"new {n}" for n in people], actions, np.arange(120) % 7)
    assert Provenance.of(crowd).none_in_training(log.people) is None
    evaluation = evaluate(log, model=crowd, policies=["lpbts"])
    assert "unknown whether" in evaluation.warnings[0]
    assert "refitted" in evaluation.warnings[0]
    assert "not the one that the model was fitted to" in evaluation.warnings[1]
    evaluation = evaluate(log, model=crowd.replace(provenance={}), policies=["lpbts"])
    assert "used as it is; it is unknown" in evaluation.warnings[-1]
    assert "held-out" not in evaluation.verdict


@pytest.mark.parametrize("settings", [{"states": 3}, {"scale": "raw"}, {"states": "nonsense"}])
def test_a_model_excludes_fit_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="states and scale"):
        evaluate(PLANTED, model=lpb.PreferenceModel([[0]]), **settings)


def test_the_log_is_limited_to_the_actions_of_the_model() -> None:
    model = lpb.PreferenceModel([list(range(10)), list(range(10))[::-1]])
    evaluation = evaluate(PLANTED, model=model, policies=["lpbts"])
    assert "1,500 ratings" in evaluation.warnings[0]
    assert evaluation.rounds == 5
    with pytest.raises(InvalidInput, match=r"no action in common.*'x'"):
        evaluate(PLANTED, model=lpb.PreferenceModel([[0]], actions=["x"]))


def test_policies_without_their_taste_are_left_out() -> None:
    fit = lpb.fit_states(PLANTED, lpb.TwoStage(), states=2, taste=False)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts", "taste"])
    assert "--no-taste" in evaluation.left_out["taste"]
    evaluation = evaluate(log_of(26, 12, states=2, seed=2), seed=0)  # too few people for a taste
    assert set(evaluation.left_out) == {"taste", "ceiling"}
    assert "20" in evaluation.left_out["taste"]
    assert "taste" not in evaluation.policies


def test_refit_uses_the_selected_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = evaluate(PLANTED, policies=["taste", "lpbts"], seed=0)
    model = evaluation.refit(PLANTED)
    assert model.evaluation == evaluation.note()
    assert model.n_states == evaluation.chosen["settings"]["states"]
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 2_000)  # several blocks, so that workers share them
    assert evaluation.refit(PLANTED, jobs=2) == evaluation.refit(PLANTED)


# Intervals and the verdict


def test_intervals_of_normal_samples_are_as_wide_as_students() -> None:
    draws = np.random.default_rng(14).normal(size=(200, 25))
    bounds = np.concatenate([intervals(row[None, :], seed=i) for i, row in enumerate(draws)])
    student = t_multiplier(25) * draws.std(axis=1, ddof=1) / 5
    # plain percentiles have 0.93 of that; the mean ratio of 200 has a standard error below 0.003
    np.testing.assert_allclose(((bounds[:, 1] - bounds[:, 0]) / 2 / student).mean(), 1.0, atol=0.02)


def test_intervals_of_few_values_are_not_too_narrow() -> None:
    rng = np.random.default_rng(11)
    bounds = np.concatenate([intervals(rng.integers(-1, 2, (1, 6)).astype(float), seed=i) for i in range(400)])
    assert (bounds[:, 0] > 0).mean() < 0.05  # 2.5 % expected; three standard errors are 2.3 %


@pytest.mark.parametrize(("people", "skew"), [(10, False), (40, False), (40, True)])
def test_intervals_have_their_nominal_coverage(people: int, skew: bool) -> None:
    rng = np.random.default_rng(10)
    draws = rng.exponential(size=(600, people)) - 1.0 if skew else rng.normal(size=(600, people))
    bounds = np.concatenate([intervals(row[None, :], seed=i) for i, row in enumerate(draws)])
    inside = ((bounds[:, 0] <= 0) & (bounds[:, 1] >= 0)).mean()
    # 600 intervals of 95 %: three standard errors are 2.7 %; a skewed mean of 40 is covered a little less
    assert (0.90 if skew else 0.923) < inside < 0.985


def score(name: str, mean: float, low: float, high: float, kind: str = "policy") -> Score:
    return Score(name, kind, {20: 0.5}, 0.01, Gain(mean, low, high), [0.5], np.zeros(2))


SELECTED = "taste (selected on the development set)"


@pytest.mark.parametrize(
    ("best", "gain", "words"),
    [
        ("taste", (0.059, 0.044, 0.073), ["On 556 held-out people (of 1,589), taste gains 0.059 [0.044, 0.073]"]),
        (
            "taste",
            (0.059, 0.044, 0.073),
            ["it beats EASE by 0.020 and ties item kNN; lpbTS loses 0.030."],
        ),
        ("popular", (0.001, -0.01, 0.02), [f"nothing beats popularity: {SELECTED} scores +0.001 [-0.010, +0.020]"]),
        ("popular", (0.1, -0.1, 0.3), ["[-0.100, +0.300] in 20 rounds", "rule out a gain of 0.30"]),
        ("popular", (0.0, 0.0, 0.0), [f"{SELECTED} gives each person the same score"]),
        ("popular", (0.02, 0.01, 0.03), ["+0.020 [+0.010, +0.030]", "did not beat popularity on the development set"]),
    ],
)
def test_verdict_sentence(best: str, gain: tuple[float, float, float], words: list[str]) -> None:
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
        assert "no policy beats popularity, but a recommender does" in text
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


@pytest.mark.parametrize("seed", range(5))
def test_nothing_beats_popularity_if_all_people_share_one_ordering(seed: int) -> None:
    evaluation = evaluate(log_of(150, 20, share=0.7, levels=5 * (seed % 2), seed=seed), seed=seed)
    assert evaluation.best == "popular"
    assert "nothing beats popularity" in evaluation.verdict


@pytest.mark.parametrize("seed", range(3))
def test_a_policy_beats_popularity_if_states_differ(seed: int) -> None:
    log = log_of(240, 24, states=3, noise=0.7, levels=5 * (seed % 2), seed=seed)
    evaluation = evaluate(log, seed=seed)
    assert evaluation.best == evaluation.candidate != "popular"
    assert (evaluation.policies[evaluation.best].vs_popularity.low or 0.0) > 0.02
    assert f"{lpb.policies.POLICIES[evaluation.best].title} gains" in evaluation.verdict


def test_evaluation_content() -> None:
    evaluation = evaluate(PLANTED, seed=0)
    content = evaluation.to_dict()
    assert {"people", "policies", "verdict", "best"} <= set(content)
    assert set(content["policies"]) == set(DEFAULT)
    assert list(content["policies"]["taste"]["z"]) == ["5", "10", "20"]
    assert content["policies"]["taste"]["z"]["20"] is None  # 20 actions: half of them
    assert content["policies"]["popular"]["vs_popularity"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    scores = {name: one.curve[-1] for name, one in evaluation.policies.items()}
    assert scores["best-possible"] == max(scores.values())
    assert scores["random"] == min(scores.values())
    assert scores["ceiling"] > scores["popular"]
    assert evaluation.table.height == evaluation.people == len(evaluation.gaps)
    gain = evaluation.policies[evaluation.candidate or "popular"].vs_popularity
    np.testing.assert_allclose(evaluation.gaps.mean(), gain.mean)
    assert evaluation.groups[0].people == evaluation.people
    assert {group.name.split()[0] for group in evaluation.groups[1:]} == {"state"}
    people = evaluation.table["state"].value_counts()["count"]
    assert sorted(group.people for group in evaluation.groups[1:]) == people.filter(people >= 5).sort().to_list()


def test_ten_actions_and_people_with_different_numbers_of_ratings() -> None:
    evaluation = evaluate(log_of(80, 10, share=0.6, states=2, seed=11), policies=["taste"], rounds=20)
    assert evaluation.rounds <= 5
    assert evaluation.policies["taste"].z[20] is None
    assert evaluation.policies["taste"].z[evaluation.rounds] is not None
    assert {"light", "heavy"} <= {group.name.split()[0] for group in evaluation.groups}


def test_repeats_let_a_policy_return_to_the_best_action() -> None:
    once, again = (
        evaluate(PLANTED, policies=["lpbts", "best-possible", "ceiling"], states=3, repeats=repeats)
        for repeats in (False, True)
    )
    assert (once.once, again.once, again.rounds) == (True, False, 20)
    assert again.policies["best-possible"].curve[-1] > once.policies["best-possible"].curve[-1]
    assert ("ceiling" in once.policies, "ceiling" in again.policies) == (True, False)


@pytest.mark.parametrize("name", ["lpb-duel", "no-such"])
def test_unknown_contestants_raise(name: str) -> None:
    assert contestant_names(None) == list(DEFAULT)
    with pytest.raises(InvalidInput, match=name):
        contestant_names([name])
