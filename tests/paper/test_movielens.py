"""The paper's MovieLens task on a small log, compared with plain recomputations of the protocol."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import TwoStage, cluster_people, fit_states
from lpbandits.fit.methods.clusters import Scale
from lpbandits.kernels.random import OFFER
from lpbandits.model import PreferenceModel
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, MovieLensTask, expected, rescaled, split
from lpbandits.policies.baselines import TS
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds import Population
from tests import naive as plain
from tests import naive_recovery as naive
from tests.movielens_log import CLOSE_MOVIE, EDGE_MOVIE, GENRES, KEEN, NO_GENRES, RARE, SHARES, Log, movie_id

SAME, DIFFERENT, NOISY = (ENVIRONMENTS[name] for name in ("same", "different", "different-noisy"))


@pytest.fixture(scope="module")
def parts(log: Log, task: MovieLensTask) -> tuple[IntArray, IntArray, IntArray]:
    return split(len(log.kept_people), task.seed)


@pytest.fixture(scope="module")
def train(log: Log, parts: tuple[IntArray, ...]) -> Ratings:
    """Return the ratings of the training people, from the written matrix."""
    ratings = log.kept[parts[0]]
    person, action = np.nonzero(ratings)
    movies = [movie_id(a) for a in log.kept_movies.tolist()]
    return Ratings.from_arrays(person, np.array(movies)[action], ratings[person, action], actions=movies)


@pytest.fixture(scope="module")
def labels(train: Ratings, task: MovieLensTask) -> IntArray:
    return cluster_people(train, 5, scale="raw", seed=task.seed).labels


def many(task: MovieLensTask, name: str, people: int = 3000) -> Population:
    """Return bandit people who are offered the same five movies in every round."""
    return task.population(ENVIRONMENTS[name], np.tile(np.arange(5), (people, 1, 1)))


def test_filter_keeps_people_and_then_movies_with_200_ratings(log: Log, task: MovieLensTask) -> None:
    counts = (log.ratings > 0).sum(axis=1)
    assert {199, 200} <= set(counts.tolist())
    np.testing.assert_array_equal(log.kept_people, np.arange(KEEN))
    by_kept = (log.ratings[:KEEN] > 0).sum(axis=0)
    assert (by_kept[EDGE_MOVIE], by_kept[CLOSE_MOVIE]) == (200, 199)
    assert (log.ratings[:, CLOSE_MOVIE] > 0).sum() == 229  # movies first would keep it
    assert len(log.kept_movies) == log.ratings.shape[1] - RARE - 1
    assert task.model.actions == tuple(movie_id(a) for a in log.kept_movies.tolist())
    assert len(task.bandit) + len(task.offline) == KEEN - KEEN // 2


@pytest.mark.parametrize("people", [401, 402, 403, 1589])
def test_split_is_a_random_partition(people: int) -> None:
    train, bandit, offline = split(people, seed=7)
    assert len(train) == people // 2
    assert len(bandit) == (people - people // 2) // 2
    np.testing.assert_array_equal(np.sort(np.concatenate([train, bandit, offline])), np.arange(people))
    assert set(train.tolist()) != set(split(people, seed=8)[0].tolist())
    assert np.mean(train) == pytest.approx(people / 2, abs=4 * people / np.sqrt(12 * len(train)))  # at random, 4 se


def test_true_model_is_fitted_to_the_training_half(train: Ratings, labels: IntArray, task: MovieLensTask) -> None:
    estimator = TwoStage(scale="raw", shrink=False, seed=task.seed)
    fitted = fit_states(train, estimator, states=5, heldout=0, taste=False).model
    np.testing.assert_array_equal(task.model.orderings, fitted.orderings)
    assert fitted.utilities is not None
    ratings = train.matrix().toarray()
    for z, strength in enumerate(fitted.utilities):
        assert np.abs(newton_step(np.log(strength / (1 - strength)), _wins(ratings[labels == z]))).max() < 1e-4
        low, high = strength.min(), strength.max()
        np.testing.assert_allclose(task.means[z], 1 + 4 * (strength - low) / (high - low))
    assert task.model.means is not None
    np.testing.assert_array_equal(task.model.means, task.means)
    np.testing.assert_array_equal(task.model.prior, np.full(5, 0.2))
    np.testing.assert_array_equal(task.means.min(axis=1), 1.0)
    np.testing.assert_array_equal(task.means.max(axis=1), 5.0)
    assert np.all(np.diff(np.take_along_axis(task.means, task.model.orderings, axis=1)) <= 0)


def newton_step(beta: FloatArray, wins: FloatArray) -> FloatArray:
    """Return the distance of utilities to the Bradley-Terry optimum with a standard normal prior."""
    meetings, chance = wins + wins.T, 1 / (1 + np.exp(beta[None, :] - beta[:, None]))
    gradient = wins.sum(axis=1) - (meetings * chance).sum(axis=1) - beta
    curvature = meetings * chance * chance.T
    return np.asarray(np.linalg.solve(np.diag(curvature.sum(axis=1) + 1) - curvature, gradient))


def _wins(ratings: FloatArray) -> FloatArray:
    """Return the wins of each movie over each other, ties as halves; `ratings` is people × movies, 0 if missing."""
    total = np.zeros((ratings.shape[1],) * 2)
    for row in ratings:
        both = np.outer(row > 0, row > 0)
        total += both * ((row[:, None] > row) + 0.5 * (row[:, None] == row))
    np.fill_diagonal(total, 0.0)
    return total


def test_other_people_get_the_state_of_the_nearest_centre(
    log: Log, parts: tuple[IntArray, ...], labels: IntArray, task: MovieLensTask
) -> None:
    centres = np.stack([log.kept[parts[0]][labels == z].mean(axis=0) for z in range(5)])

    def nearest(people: IntArray) -> IntArray:
        gaps = log.kept[people][:, None, :] - centres
        return np.asarray((gaps**2).sum(axis=2).argmin(axis=1))

    np.testing.assert_array_equal(nearest(parts[0]), labels)  # k-means has converged
    np.testing.assert_array_equal(task.bandit, nearest(parts[1]))
    np.testing.assert_array_equal(task.offline, nearest(parts[2]))
    tastes = log.taste[log.kept_people]
    pairs = set(zip(task.bandit.tolist(), tastes[parts[1]].tolist(), strict=True))
    assert len(pairs) == 5  # each state is one taste


def test_too_few_people_raise(train: Ratings) -> None:
    genres = tuple(("Drama",) for _ in train.actions)
    with pytest.raises(InvalidInput, match=r"people.*99"):
        MovieLensTask.of(train.subset(np.arange(99)), genres)


def test_intervals_of_people_are_uniform_and_at_least_1_5_wide(task: MovieLensTask) -> None:
    people = many(task, "different")
    low, high = people.means.min(axis=1), people.means.max(axis=1)  # a state's means reach 1 and 5
    assert low.min() > 1.0
    assert high.max() < 5.0
    assert (high - low).min() > 1.5
    assert stats.kstest((low - 1) / 2.5, "uniform").pvalue > 0.001
    assert stats.kstest((high - low - 1.5) / (3.5 - low), "uniform").pvalue > 0.001
    shape = low[:, None] + (high - low)[:, None] * (task.means[people.truth] - 1) / 4
    np.testing.assert_allclose(people.means, shape, atol=1e-12)
    np.testing.assert_array_equal(many(task, "different-noisy", 50).means, many(task, "different", 50).means)
    np.testing.assert_array_equal(many(task, "same", 50).means, task.means[many(task, "same", 50).truth])


def test_model_has_the_expected_means_of_each_state(task: MovieLensTask) -> None:
    people = many(task, "different", 6000)
    model_means = people.model.means
    assert model_means is not None
    for z in range(5):
        means = people.means[people.truth == z]
        error = means.std(axis=0) / np.sqrt(len(means))
        np.testing.assert_array_less(np.abs(means.mean(axis=0) - model_means[z]), 4 * error)
    np.testing.assert_allclose(expected(np.array([[1.0, 5.0]]), DIFFERENT), [[2.25, 4.375]])
    assert expected(task.means, SAME) is task.means
    np.testing.assert_array_equal(many(task, "same", 5).model.means, task.means)
    np.testing.assert_array_equal(people.model.orderings, task.model.orderings)


def test_bandit_people_are_drawn_without_replacement(task: MovieLensTask) -> None:
    count = len(task.bandit)
    np.testing.assert_array_equal(np.sort(many(task, "same", count).truth), np.sort(task.bandit))
    assert not np.array_equal(np.sort(task.bandit), np.sort(task.offline[:count]))
    shares = np.bincount(many(task, "same").truth) / 3000
    expected_shares = np.bincount(task.bandit) / count
    error = np.sqrt(expected_shares * (1 - expected_shares) / 3000)
    np.testing.assert_array_less(np.abs(shares - expected_shares), 4 * error)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_noise_of_rewards_has_variance_one_half_or_zero(task: MovieLensTask, name: str) -> None:
    people = many(task, name, 100)
    assert people.rewards.sd == NOISE  # all policies assume it
    trace = rollout(TS(people.model, noise=NOISE), people, rounds=60, seed=1)
    played = np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    noise = trace.rewards - played
    if name == "different":
        np.testing.assert_array_equal(noise, 0.0)
    else:
        assert np.var(noise) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / noise.size))  # 4 se
        assert np.mean(noise) == pytest.approx(0.0, abs=4 * np.sqrt(0.5 / noise.size))


def test_logs_have_200_to_300_movies_per_person(task: MovieLensTask) -> None:
    log = task.log(SAME)
    assert len(log.people) == len(task.offline)
    assert log.actions == task.model.actions
    assert 200 <= log.counts.min() <= 205
    assert 295 <= log.counts.max() <= 300
    assert log.counts.mean() == pytest.approx(250, abs=4 * 29.2 / np.sqrt(len(log.people)))  # 4 se
    share = np.bincount(log.action, minlength=len(log.actions)) / len(log.people)
    chance = 250 / len(log.actions)
    assert np.abs(share - chance).max() < 5 * np.sqrt(chance * (1 - chance) / len(log.people))  # uniformly chosen
    noise = log.rating - task.means[task.offline[log.owner], log.action]
    assert np.var(noise) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / len(noise)))  # 4 se
    noisy = task.log(NOISY)
    change = noisy.rating - task.log(DIFFERENT).rating
    assert np.var(change) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / len(change)))  # 4 se


def test_logs_without_noise_follow_the_orderings_of_offline_people(task: MovieLensTask) -> None:
    log = task.log(DIFFERENT)
    for n, history in enumerate(naive.histories(log)):
        actions, ratings = (np.array(column) for column in zip(*history, strict=True))
        ranks = task.model.ranks[task.offline[n], actions]
        assert np.all(np.diff(ratings[np.argsort(ranks)]) <= 1e-12)
        scale = task.means[task.offline[n], actions]
        slope = (ratings.max() - ratings.min()) / (scale.max() - scale.min())
        assert 1.5 / 4 < slope < 1  # an interval per person
    assert log.rating.min() > 1


@pytest.mark.parametrize("clustering", ["raw", "cosine"])
def test_recovered_model_is_fitted_to_the_log(task: MovieLensTask, clustering: Scale) -> None:
    log = task.log(NOISY)
    model, error = task.recovered(log, NOISY, clustering=clustering)
    estimator = TwoStage(scale=clustering, shrink=False, seed=task.seed)
    fitted = fit_states(log, estimator, states=5, heldout=0, taste=False).model
    loss = np.array([[naive.kendall_loss(y, z) for z in fitted.orderings] for y in task.model.orderings])
    order = list(min(itertools.permutations(range(5)), key=lambda way: loss[np.arange(5), list(way)].sum()))
    np.testing.assert_array_equal(model.orderings, fitted.orderings[order])
    np.testing.assert_allclose(error, loss[np.arange(5), order].mean())
    assert fitted.utilities is not None
    assert fitted.errors is not None
    assert model.means is not None
    strength = fitted.utilities[order]
    low, high = strength.min(axis=1, keepdims=True), strength.max(axis=1, keepdims=True)
    np.testing.assert_allclose(model.means, 2.25 + 2.125 * (strength - low) / (high - low))
    np.testing.assert_array_equal(model.prior, np.full(5, 0.2))
    assert error > 0.05  # not the true model
    np.testing.assert_array_equal(model.utilities, strength)
    np.testing.assert_array_equal(model.errors, fitted.errors[order])
    shrunk, shrunk_error = task.recovered(log, NOISY, clustering=clustering, shrink=True)
    assert shrunk.utilities is not None
    assert np.all(np.diff(np.take_along_axis(shrunk.utilities, shrunk.orderings, axis=1), axis=1) <= 0)
    assert shrunk_error != error


def test_scale_free_clustering_recovers_better_on_different_scales(task: MovieLensTask) -> None:
    log = task.log(DIFFERENT)
    raw, free = (task.recovered(log, DIFFERENT, clustering=scale)[1] for scale in ("raw", "cosine"))
    assert free < 0.01 < 0.1 < raw


def test_rescaling_gives_uncompared_movies_the_minimum() -> None:
    model = PreferenceModel([[2, 0, 1, 3]], utilities=[[0.5, 0.2, 0.8, 0.2]])
    np.testing.assert_allclose(rescaled(model), [[3.0, 1.0, 5.0, 1.0]])


def test_genres_are_read_from_the_files(log: Log, task: MovieLensTask) -> None:
    assert task.genres == tuple(log.genres[a] for a in log.kept_movies.tolist())
    assert task.genres[log.kept_movies.tolist().index(NO_GENRES)] == ("unknown",)


def test_seed_changes_offers_and_logs(task: MovieLensTask) -> None:
    other = replace(task, seed=task.seed + 1)
    assert not np.array_equal(other.offered(1, 1), task.offered(1, 1))
    assert not np.array_equal(other.log(SAME).rating[:50], task.log(SAME).rating[:50])


OFFER_SEED = 3


def task_of(genres: tuple[tuple[str, ...], ...]) -> MovieLensTask:
    """Return a task with one state and no people."""
    k, nobody = len(genres), np.empty(0, dtype=np.int64)
    return MovieLensTask(PreferenceModel([np.arange(k)]), np.zeros((1, k)), nobody, nobody, genres, OFFER_SEED)


def naive_set(genres: tuple[tuple[str, ...], ...], size: int, person: int, round_: int) -> list[int]:
    """Take the genres in turn, in random order; each gives a random movie that is not chosen yet."""
    count = itertools.count()

    def pick(things: list[int]) -> int:
        return plain.pick(things, plain.uniform(OFFER_SEED, person, round_, OFFER, next(count)))

    names = sorted({name for movie in genres for name in movie})
    for i in range(len(names) - 1, 0, -1):  # Fisher and Yates
        j = pick(list(range(i + 1)))
        names[i], names[j] = names[j], names[i]
    chosen: set[int] = set()
    for name in itertools.cycle(names):
        movies = [a for a, of_movie in enumerate(genres) if name in of_movie]
        if len(chosen) == size:
            break
        if not set(movies) <= chosen:
            picked = pick(movies)
            while picked in chosen:
                picked = pick(movies)
            chosen.add(picked)
    return sorted(chosen)


def test_offers_equal_the_naive_twin() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, size=349).tolist()
    genres = tuple(tuple(rng.choice(GENRES, size=n, replace=False, p=SHARES).tolist()) for n in sizes)
    offered = task_of(genres).offered(3, 4)
    assert offered.shape == (3, 4, 300)
    assert np.all(np.diff(offered, axis=2) > 0)  # distinct, in ascending order
    assert 0 <= offered.min() <= offered.max() < len(genres)
    assert len({movies.tobytes() for person in offered for movies in person}) == 12
    for person, round_ in ((0, 0), (1, 3), (2, 1)):
        assert offered[person, round_].tolist() == naive_set(genres, 300, person, round_)
