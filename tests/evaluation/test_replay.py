"""Split, replay and baselines of evaluations."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.evaluation.baselines import REFERENCES, in_order, item_knn, leave_one_out
from lpbandits.evaluation.contestants import Contest
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.splits import splits
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import informative
from lpbandits.parallel import Executor
from lpbandits.policies.choose import choose_policy
from lpbandits.progress import Stopwatch
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray
from tests.evaluation.planted import policy_scores, rows_of
from tests.logs import log_of


def moments_of(log: Ratings) -> Moments:
    return moments(log, people=informative(log))


@given(st.integers(12, 400), st.integers(0, 5))
def test_splits_are_partitions(people: int, seed: int) -> None:
    several = splits(log_of(people, 5, seed=seed), least=4, seed=seed)
    assert len(several) == (1 if round(0.35 * people) >= 100 else 6)
    for parts in several:
        everyone = np.concatenate([parts.fitted, parts.development, parts.report])
        assert sorted(everyone.tolist()) == list(range(people))
        assert parts.known.tolist() == sorted([*parts.fitted.tolist(), *parts.development.tolist()])
        assert min(len(parts.fitted), len(parts.development), len(parts.report)) > 0
    times = np.bincount(np.concatenate([parts.report for parts in several]), minlength=people)
    assert times.max() == 1 if len(several) == 1 else (times == 2).all()


def test_people_who_cannot_be_replayed_are_fitted() -> None:
    person, action, rating = rows_of(log_of(60, 8))
    rating[person == 3] = 2.0  # all alike
    kept = (person != 5) | (action < 3)  # too few
    log = Ratings.from_arrays(person[kept], action[kept], rating[kept])
    for seed in range(5):
        for parts in splits(log, least=4, seed=seed):
            assert {3, 5} <= set(parts.fitted.tolist())


def test_a_person_plays_at_most_half_of_the_rated_actions() -> None:
    log = log_of(40, 30, share=0.5, seed=2)
    replay = Replay.of(log, np.arange(40), rounds=6)
    assert replay.rounds.tolist() == sorted(min(n // 2, 6) for n in log.counts.tolist())
    scores = replay.scores(in_order(replay.recorded, replay))
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


def test_policies_that_plan_are_told_each_persons_number_of_rounds() -> None:
    log = log_of(80, 30, share=0.4, states=3, noise=0.5, seed=5)
    model = lpb.fit_states(log, lpb.TwoStage(), states=3, heldout=0, taste=False).model
    replay = Replay.of(log, np.arange(80), rounds=8)
    assert len(np.unique(replay.rounds)) > 2
    (got,) = Contest(["lpb-horizon"], 0, Executor(threads=1)).policy_scores(
        [("lpb-horizon", model)], replay, Stopwatch()
    )
    for told in np.unique(replay.rounds).tolist():
        want = policy_scores(replay, choose_policy(model, "lpb-horizon", rounds=told).policy, seed=0)
        np.testing.assert_array_equal(got[replay.rounds == told], want[replay.rounds == told])
    assert not np.array_equal(got, want, equal_nan=True)  # told the largest number


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

    for name, constants, twin in (("item-knn", (30.0, 0.3), knn), ("ease", (100.0, 2.0), steck)):
        rewards = REFERENCES[name].play(seen, constants, replay)
        np.testing.assert_array_equal(rewards + replay.mask, naive_play(twin, replay))


def test_a_reference_settles_on_one_action_if_actions_repeat() -> None:
    log = log_of(60, 8, seed=7)
    replay = Replay.of(log, np.arange(40, 60), rounds=30, once=False)
    rewards = item_knn(moments_of(log.subset(np.arange(40))), 10.0).play(replay)
    assert (rewards[:, -1] >= rewards[:, 0]).all()
    assert (rewards[:, -1] == rewards[:, -2]).all()


def test_tuned_constants_have_the_highest_score() -> None:
    log = log_of(120, 12, states=3, seed=8)
    seen, replay = moments_of(log.subset(np.arange(80))), Replay.of(log, np.arange(80, 120), rounds=5)
    constants = Contest(["ease"], 0, Executor()).tune(seen, replay, Stopwatch())["ease"]
    reference = REFERENCES["ease"]
    value = {
        (ridge, gain): mean_scores(replay.scores(reference.play(seen, (ridge, gain), replay))).mean()
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
    arrays = rng.normal(size=k), rng.normal(size=(k, factors)), rng.uniform(0.3, 1, k)
    taste = TasteModel(*arrays, offset=0.7, level=3.0, log_scale_sd=0.0)
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
