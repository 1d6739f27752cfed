"""Evaluations: selection on the development set, models of the user, and results."""

from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.evaluation import evaluate
from lpbandits.evaluation.contestants import DEFAULT, Contest
from lpbandits.evaluation.evaluate import replay_split
from lpbandits.evaluation.fit_config import FitConfig, ModelSource
from lpbandits.evaluation.independence import repeated_people
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.results import Gain
from lpbandits.evaluation.splits import Combined, Result, splits
from lpbandits.evaluation.tuning import Choice, Trial, cross_validated
from lpbandits.parallel import Executor
from lpbandits.progress import Stopwatch
from lpbandits.views.evaluation_report import group_table, how_to_read, selection
from tests.evaluation.planted import PLANTED, policy_scores, rows_of
from tests.logs import log_of


@pytest.fixture(scope="module")
def evaluation() -> lpb.Evaluation:
    return evaluate(PLANTED, seed=0)


def test_the_selection_does_not_depend_on_report_people(evaluation: lpb.Evaluation) -> None:
    (parts,) = splits(PLANTED, least=4, seed=0)
    person, action, rating = rows_of(PLANTED)
    reported = np.isin(person, parts.report)
    rating[reported] = np.random.default_rng(5).permutation(rating[reported])
    other = evaluate(Ratings.from_arrays(person, action, rating), seed=0)
    assert (other.chosen, other.candidate) == (evaluation.chosen, evaluation.candidate)
    assert other.policies["taste"].curve != evaluation.policies["taste"].curve


def test_development_people_are_not_in_the_fit_they_are_replayed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[set[Any]] = []

    def spy(log: Ratings, *args: Any, **options: Any) -> Any:
        fitted.append(set(log.people))
        return lpb.fit_states(log, *args, **options)

    monkeypatch.setattr("lpbandits.evaluation.fit_config.fit_states", spy)
    (parts,) = splits(PLANTED, least=4, seed=0)
    evaluate(PLANTED, policies=["lpbts"], states=2, scale="cosine", seed=0)
    first = set(parts.fitted.tolist())
    assert fitted == [first, first | set(parts.development.tolist())]


def test_cross_validation_removes_the_selection_bias() -> None:
    rng = np.random.default_rng(12)
    trials = [Trial(FitConfig(lpb.TwoStage(), 2), {"lpbts": rng.normal(size=400)}) for _ in range(20)]  # all equal
    biased = max(trial.best_scores(np.ones(400, dtype=bool)).mean() for trial in trials)
    assert biased > 0.05
    assert abs(cross_validated(trials, 400)["lpbts"]) < 3 / np.sqrt(400)
    assert cross_validated(trials, 400)["lpbts"] < biased - 0.05


def test_a_model_trained_on_these_people_is_refitted() -> None:
    fit = lpb.fit_states(PLANTED, lpb.TwoStage(seed=5, prior_sd=2.0), states=3)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts", "taste"], seed=0)
    assert "are in the model's training data" in evaluation.warnings[-1]
    assert "refitted" in evaluation.warnings[-1]
    assert evaluation.chosen["settings"]["prior_sd"] == 2.0
    assert evaluation.chosen["settings"]["states"] == 3
    for model in (fit.model, None):
        with pytest.raises(InvalidInput, match=r"new_people.*True"):
            evaluate(PLANTED, model=model, new_people=True)


def test_a_model_of_other_people_is_used_as_it_is() -> None:
    person, action, rating = rows_of(PLANTED)
    other = Ratings.from_arrays([f"other {n}" for n in person], action, rating)
    fit = lpb.fit_states(other, lpb.TwoStage(), states=3)
    evaluation = evaluate(PLANTED, model=fit.model, new_people=True, policies=["lpbts", "taste"], seed=0)
    assert "used unchanged" in evaluation.warnings[-1]
    assert "held-out" in evaluation.verdict
    assert "training data" not in how_to_read(evaluation)
    assert "unchanged" in selection(evaluation)[0]
    assert evaluation.fit_config is None
    with pytest.raises(InvalidInput, match="keep that model"):
        evaluation.refit(PLANTED)
    replay = Replay.of(PLANTED, splits(PLANTED, least=4, seed=0)[0].report, rounds=20)
    want = policy_scores(replay, lpb.Taste(fit.model), seed=0)
    np.testing.assert_allclose(evaluation.policies["taste"].curve[-1], mean_scores(want, 10).mean())


def test_a_model_with_unknown_training_people_is_refitted_if_possible() -> None:
    crowd = lpb.fit_states(log_of(100, 4, seed=3), lpb.TwoStage(restarts=1), states=1, heldout=0, taste=False).model
    people, actions = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    log = Ratings.from_arrays([f"new {n}" for n in people], actions, np.arange(120) % 7)
    evaluation = evaluate(log, model=crowd, policies=["lpbts"])
    assert "may be in the model's training data" in evaluation.warnings[0]
    assert "refitted" in evaluation.warnings[0]
    assert "neither for fitting" in how_to_read(evaluation)
    assert "fitted again" in selection(evaluation)[0]
    evaluation = evaluate(log, model=crowd.replace(provenance={}), policies=["lpbts", "ease"])
    assert "may be in" in evaluation.warnings[-1]
    assert "used unchanged" in evaluation.warnings[-1]
    assert "held-out" not in evaluation.verdict
    assert "may be in the model's training data" in how_to_read(evaluation)
    assert "neither for fitting" not in how_to_read(evaluation)
    assert "unchanged" in selection(evaluation)[0]
    ridge, gain = evaluation.chosen["constants"]["ease"]
    assert f"EASE: ridge {ridge:g} and gain {gain:g}." in selection(evaluation)


def test_the_log_is_limited_to_the_actions_of_the_model() -> None:
    model = lpb.PreferenceModel([list(range(10)), list(range(10))[::-1]])
    evaluation = evaluate(PLANTED, model=model, policies=["lpbts"])
    assert "3,000 ratings" in evaluation.warnings[0]
    assert evaluation.rounds == 5


def test_policies_without_their_taste_are_left_out() -> None:
    fit = lpb.fit_states(PLANTED, lpb.TwoStage(), states=2, taste=False)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts", "taste"])
    assert "--no-taste" in evaluation.left_out["taste"]
    evaluation = evaluate(log_of(26, 12, states=2, seed=2), seed=0)  # too few people for a taste
    assert set(evaluation.left_out) == {"taste", "ceiling"}
    assert "20" in evaluation.left_out["taste"]
    assert "taste" not in evaluation.policies


def test_refit_uses_the_selected_settings(evaluation: lpb.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    model = evaluation.refit(PLANTED)
    assert model.evaluation == evaluation.note()
    assert model.n_states == evaluation.chosen["settings"]["states"]
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 2_000)  # several blocks, so that workers share them
    assert evaluation.refit(PLANTED, jobs=2) == evaluation.refit(PLANTED)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_beats_popularity_if_all_people_share_one_ordering(seed: int) -> None:
    evaluation = evaluate(log_of(150, 20, share=0.7, levels=5 * (seed % 2), seed=seed), seed=seed)
    assert evaluation.best == "popular"
    assert "no policy is clearly better than popularity" in evaluation.verdict


@pytest.mark.parametrize("seed", range(3))
def test_a_policy_beats_popularity_if_states_differ(seed: int) -> None:
    log = log_of(240, 24, states=3, noise=0.7, levels=5 * (seed % 2), seed=seed)
    evaluation = evaluate(log, seed=seed)
    assert evaluation.best == evaluation.candidate != "popular"
    assert (evaluation.policies[evaluation.best].vs_popularity.low or 0.0) > 0.02
    assert f"{lpb.policies.POLICIES[evaluation.best].title} gains" in evaluation.verdict


def test_evaluation_content(evaluation: lpb.Evaluation) -> None:
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


def test_a_small_log_is_split_several_times() -> None:
    log = log_of(60, 12, states=2, noise=0.5, seed=4)
    evaluation = evaluate(log, policies=["lpbts", "lpb-ids", "taste"], states=2)
    assert (evaluation.splits, evaluation.people) == (6, 60)
    assert sum(evaluation.selected.values()) == 6
    assert evaluation.candidate == max(evaluation.selected, key=evaluation.selected.__getitem__)
    assert "On 60 people (of 60), each held out in 2 of 6 splits" in evaluation.verdict
    assert evaluation.to_dict()["subject"] == evaluation.subject
    assert group_table(evaluation)[1][0][2] == f"{evaluation.groups[0].gain:+.3f}"
    one = evaluate(log, policies=["lpbts", "lpb-ids", "taste"], states=2, people=10)
    assert (one.splits, one.people) == (1, 10)
    assert "6 random splits" in " ".join([how_to_read(evaluation), *selection(evaluation)])
    assert evaluation.table["person"].to_list() == sorted(evaluation.table["person"].to_list())


def test_no_split_selects_with_its_report_people() -> None:
    log = log_of(60, 12, states=2, noise=0.5, seed=4)
    parts = splits(log, least=4, seed=0)[3]
    person, action, rating = rows_of(log)
    reported = np.isin(person, parts.report)
    rating[reported] = np.random.default_rng(5).permutation(rating[reported])
    chosen = []
    for one in (log, Ratings.from_arrays(person, action, rating)):
        replays = [Replay.of(one, people, rounds=5) for people in (parts.development, parts.report)]
        contest = Contest(["popular", "lpbts", "taste"], 0, Executor(threads=1))
        source = ModelSource(one)
        result = replay_split(contest, source, parts, replays, states=2, scale=None, watch=Stopwatch())
        chosen.append((result.choice.to_dict(), result.scores["popular"].tolist()))
    assert chosen[0][0] == chosen[1][0]
    assert chosen[0][1] != chosen[1][1]


def test_scores_of_several_splits_are_means_by_person() -> None:
    log = log_of(40, 12, share=0.7, states=2, seed=4)
    contest = Contest(["popular", "lpbts", "ts-top"], 0, Executor(threads=1))
    results = []
    for number, people in enumerate(([3, 1, 8], [2, 3, 5])):
        replay = Replay.of(log, np.array(people), rounds=4 + number)
        shape = (3, replay.max_rounds)
        scores = {name: np.full(shape, 1.0 + number) + replay.mask for name in ("popular", "lpbts", "ts-top")}
        development = {"popular": 0.0, "lpbts": 1.0, "ts-top": 2.0 * number}
        choice = Choice(FitConfig(lpb.TwoStage(), 2 + number), {}, development)
        results.append(Result(choice, None, replay, scores))  # type: ignore[arg-type] # no model is needed
    combined = Combined.of(results, contest)
    assert combined.person.tolist() == [1, 2, 3, 5, 8]
    np.testing.assert_allclose(mean_scores(combined.scores["lpbts"]), [1.0, 2.0, 1.5, 2.0, 1.0])
    np.testing.assert_allclose(combined.selected, [1.0, 2.0, 1.5, 2.0, 1.0])
    assert combined.candidates == {"lpbts": 1, "ts-top": 1}
    assert combined.promise == 1.5


def test_intervals_of_several_splits_cover_that_people_are_in_each_others_training_data() -> None:
    """Ratings are noise: a policy that plays the best action of the training data gains nothing over any action.

    In 800 logs, 95 % intervals contain 0 in at least 95 % minus 3 standard errors, which is 92.7 %. Intervals that are
    not widened do so in fewer.
    """
    rng, n, k, logs = np.random.default_rng(6), 60, 10, 800
    parts = splits(log_of(n, k), least=4, seed=0)
    replays = [Replay(one.report, np.zeros((len(one.report), k)), np.ones_like(one.report), once=True) for one in parts]
    contest = Contest(["popular", "lpbts"], 0, Executor(threads=1))
    choice = Choice(FitConfig(lpb.TwoStage(), 2), {}, {"popular": 0.0, "lpbts": 0.0})
    covered, narrow = 0, 0
    for _ in range(logs):
        rating, results = rng.normal(size=(n, k)), []
        for one, replay in zip(parts, replays, strict=True):
            best = int(rating[one.known].mean(axis=0).argmax())
            scores = {"popular": rating[one.report, one.report % k, None], "lpbts": rating[one.report, best, None]}
            results.append(Result(choice, None, replay, scores))  # type: ignore[arg-type] # no model is needed
        combined = Combined.of(results, contest)
        gaps = mean_scores(combined.scores["lpbts"]) - mean_scores(combined.scores["popular"])
        covered += Gain.of(gaps, widen=combined.widen).sign == 0
        narrow += Gain.of(gaps).sign == 0
    least = 0.95 - 3 * np.sqrt(0.05 * 0.95 / logs)
    assert narrow / logs < least <= covered / logs


@pytest.mark.parametrize("seed", range(3))
def test_repeats_of_one_person_are_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    week, song = np.divmod(np.arange(80 * 20), 20)
    steps = np.vstack([2 * rng.normal(size=20), 0.2 * rng.normal(size=(79, 20))]).cumsum(axis=0)
    places = steps.argsort(axis=1).argsort(axis=1)
    assert "repeats of one person" in repeated_people(Ratings.from_arrays(week, song, places.ravel()))[0]
    named = Ratings.from_arrays([f"week {n}" for n in week], song, places.ravel())  # "week 10" sorts before "week 2"
    assert repeated_people(named) == repeated_people(Ratings.from_arrays(week, song, places.ravel()))
    shuffled = Ratings.from_arrays(rng.permutation(80)[week], song, places.ravel())
    assert repeated_people(shuffled) == []
    states = np.repeat(np.arange(4), 20)  # people in groups, one after the other
    means = rng.normal(size=(4, 20))[states]
    grouped = Ratings.from_arrays(week, song, (means + 0.7 * rng.normal(size=(80, 20))).ravel())
    assert repeated_people(grouped) == []


def test_repeats_let_a_policy_return_to_the_best_action() -> None:
    once, again = (
        evaluate(PLANTED, policies=["lpbts", "best-possible", "ceiling"], states=3, repeats=repeats)
        for repeats in (False, True)
    )
    assert (once.once, again.once, again.rounds) == (True, False, 20)
    assert again.policies["best-possible"].curve[-1] > once.policies["best-possible"].curve[-1]
    assert ("ceiling" in once.policies, "ceiling" in again.policies) == (True, False)
    assert (list(once.left_out), list(again.left_out)) == ([], ["ceiling"])
    assert evaluate(log_of(50, 3), policies=["lpbts"], states=1, repeats=True).rounds == 20  # three ratings are enough


ALL_EQUAL = Ratings.from_arrays(*np.divmod(np.arange(200), 4), np.ones(200))
MODEL = lpb.PreferenceModel([[0]])


@pytest.mark.parametrize(
    ("log", "settings", "message"),
    [
        (log_of(50, 3), {}, "at least 4 ratings.*more than 3.*--repeats"),
        (log_of(50, 2), {}, "at least 4 ratings.*more than 2$"),
        (ALL_EQUAL, {}, "not all equal.*got 0"),
        (log_of(11, 8), {}, "at least 12 people.*got 11"),
        (PLANTED, {"model": MODEL, "states": 3}, "states and scale"),
        (PLANTED, {"model": MODEL, "scale": "raw"}, "states and scale"),
        (PLANTED, {"model": MODEL.replace(actions=["x"])}, "no action in common.*'x'"),
        (PLANTED, {"states": 1000}, "states must .*got 1000"),
        (PLANTED, {"states": "many"}, "states must .*got 'many'"),
        (PLANTED, {"policies": ["lpb-duel"]}, "lpb-duel"),
        (PLANTED, {"policies": ["no-such"]}, "no-such"),
    ],
)
def test_invalid_logs_and_settings_raise(log: Ratings, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        evaluate(log, **settings)


def test_an_automatic_number_of_states_is_stated() -> None:
    fit = lpb.fit_states(PLANTED, lpb.Mixture(restarts=2), states="auto", max_states=2, taste=False, heldout=0.0)
    evaluation = evaluate(PLANTED, model=fit.model, policies=["lpbts"])
    assert evaluation.chosen["settings"]["states"] == "auto"
    assert evaluation.chosen["states"] in (1, 2)
    assert any(f"States: {evaluation.chosen['states']} (auto), by mixture" in line for line in selection(evaluation))
