"""The paper's MovieLens task on a small log in MovieLens' files: every number of the protocol, recomputed plainly."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import TwoStage, cluster_people, fit_states
from lpbandits.fit.clusters import Scale
from lpbandits.model import PreferenceModel
from lpbandits.paper import movielens as module
from lpbandits.paper.movielens import ENVIRONMENTS, NOISE, MovieLensTask, expected, read_log, rescaled, split
from lpbandits.policies.baselines import TS
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds import Population
from tests import naive_recovery as naive
from tests.movielens_log import CLOSE_MOVIE, EDGE_MOVIE, KEEN, NO_GENRES, RARE, Log, movie_id, write_log

SEED = 3
SAME, DIFFERENT, NOISY = (ENVIRONMENTS[name] for name in ("same", "different", "different-noisy"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return write_log(tmp_path_factory.mktemp("ml"))


@pytest.fixture(scope="module")
def task(log: Log) -> MovieLensTask:
    return MovieLensTask.of(*read_log(log.folder), seed=SEED)


@pytest.fixture(scope="module")
def parts(log: Log) -> tuple[IntArray, IntArray, IntArray]:
    return split(len(log.kept_people), SEED)


@pytest.fixture(scope="module")
def train(log: Log, parts: tuple[IntArray, ...]) -> Ratings:
    """The training people's ratings, from the raw numbers."""
    some = log.kept[parts[0]]
    who, what = np.nonzero(some)
    movies = [movie_id(a) for a in log.kept_movies.tolist()]
    return Ratings.from_arrays(who, np.array(movies)[what], some[who, what], actions=movies)


def many(task: MovieLensTask, name: str, people: int = 3000) -> Population:
    """As many people as statistics need, with one small offered set for all."""
    return task.population(ENVIRONMENTS[name], np.tile(np.arange(5), (people, 1, 1)))


def test_the_constants_are_the_papers() -> None:
    assert (module.STATES, module.LEAST, module.OFFERED, module.LOGGED) == (5, 200, 300, (200, 300))
    assert (module.LOWEST, module.HIGHEST, module.NARROWEST) == (1.0, 5.0, 1.5)
    np.testing.assert_allclose(NOISE**2, 0.5)  # N(mean, variance)
    found = {name: (it.scale, it.noise) for name, it in ENVIRONMENTS.items()}
    assert found == {"same": ("same", NOISE), "different": ("different", 0.0), "different-noisy": ("different", NOISE)}


def test_the_filter_keeps_people_and_then_movies_with_200(log: Log, task: MovieLensTask) -> None:
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
def test_nobody_is_in_two_parts(people: int) -> None:
    train, bandit, offline = split(people, seed=7)
    assert len(train) == people // 2
    assert len(bandit) == (people - people // 2) // 2
    np.testing.assert_array_equal(np.sort(np.concatenate([train, bandit, offline])), np.arange(people))
    assert set(train.tolist()) != set(split(people, seed=8)[0].tolist())
    assert np.mean(train) == pytest.approx(people / 2, abs=4 * people / np.sqrt(12 * len(train)))  # at random, 4 se


def test_the_true_model_is_of_the_training_half_alone(train: Ratings, task: MovieLensTask) -> None:
    labels = cluster_people(train, 5, scale="raw", seed=SEED).labels
    ratings = train.matrix().toarray()
    z = 3  # one takes seconds
    beta, _ = naive.bradley_terry(_wins(ratings[labels == z]), 1.0)
    strength = 1 / (1 + np.exp(-beta))
    low, high = strength.min(), strength.max()
    np.testing.assert_allclose(task.means[z], 1 + 4 * (strength - low) / (high - low), atol=1e-4)
    same = fit_states(train, TwoStage(scale="raw", shrink=False, seed=SEED), states=5, heldout=0).model
    np.testing.assert_array_equal(task.model.orderings, same.orderings)
    assert task.model.means is not None
    np.testing.assert_array_equal(task.model.means, task.means)
    np.testing.assert_array_equal(task.model.prior, np.full(5, 0.2))
    np.testing.assert_array_equal(task.means.min(axis=1), 1.0)
    np.testing.assert_array_equal(task.means.max(axis=1), 5.0)
    assert np.all(np.diff(np.take_along_axis(task.means, task.model.orderings, axis=1)) <= 0)


def _wins(ratings: FloatArray) -> FloatArray:
    """Wins of each movie over each other, a tie being half of one, of people × movies with 0 where there is none."""
    total = np.zeros((ratings.shape[1],) * 2)
    for own in ratings:
        both = np.outer(own > 0, own > 0)
        total += both * ((own[:, None] > own) + 0.5 * (own[:, None] == own))
    np.fill_diagonal(total, 0.0)
    return total


def test_the_others_get_the_nearest_centre(
    log: Log, parts: tuple[IntArray, ...], train: Ratings, task: MovieLensTask
) -> None:
    labels = cluster_people(train, 5, scale="raw", seed=SEED).labels
    centres = np.stack([log.kept[parts[0]][labels == z].mean(axis=0) for z in range(5)])

    def nearest(people: IntArray) -> IntArray:
        gaps = log.kept[people][:, None, :] - centres
        return np.asarray((gaps**2).sum(axis=2).argmin(axis=1))

    np.testing.assert_array_equal(nearest(parts[0]), labels)  # KMeans has settled
    np.testing.assert_array_equal(task.bandit, nearest(parts[1]))
    np.testing.assert_array_equal(task.offline, nearest(parts[2]))
    tastes = log.taste[log.kept_people]
    pairs = set(zip(task.bandit.tolist(), tastes[parts[1]].tolist(), strict=True))
    assert len(pairs) == 5  # every state is one taste


def test_too_few_people_or_states_are_refused(train: Ratings) -> None:
    genres = tuple(("Drama",) for _ in train.actions)
    with pytest.raises(InvalidInput, match=r"people.*99"):
        MovieLensTask.of(train.subset(np.arange(99)), genres)


def test_a_persons_interval_is_uniform_and_at_least_1_5_wide(task: MovieLensTask) -> None:
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


def test_mts_is_told_what_people_are_like_on_average(task: MovieLensTask) -> None:
    people = many(task, "different", 6000)
    told = people.model.means
    assert told is not None
    for z in range(5):
        own = people.means[people.truth == z]
        error = own.std(axis=0) / np.sqrt(len(own))
        np.testing.assert_array_less(np.abs(own.mean(axis=0) - told[z]), 4 * error)
    np.testing.assert_allclose(expected(np.array([[1.0, 5.0]]), DIFFERENT), [[2.25, 4.375]])
    assert expected(task.means, SAME) is task.means
    np.testing.assert_array_equal(many(task, "same", 5).model.means, task.means)
    np.testing.assert_array_equal(people.model.orderings, task.model.orderings)


def test_every_bandit_person_is_met_once(task: MovieLensTask) -> None:
    count = len(task.bandit)
    everybody = many(task, "same", count).truth
    np.testing.assert_array_equal(np.sort(everybody), np.sort(task.bandit))
    assert not np.array_equal(np.sort(task.bandit), np.sort(task.offline[:count]))  # it would show
    shares = np.bincount(many(task, "same").truth) / 3000
    own = np.bincount(task.bandit) / count
    np.testing.assert_array_less(np.abs(shares - own), 4 * np.sqrt(own * (1 - own) / 3000))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_rewards_have_variance_a_half_or_no_noise(task: MovieLensTask, name: str) -> None:
    people = many(task, name, 100)
    assert people.rewards.sd == NOISE  # every policy is told so
    trace = rollout(TS(people.model, noise=NOISE), people, rounds=60, seed=1)
    played = np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    luck = trace.rewards - played
    if name == "different":
        np.testing.assert_array_equal(luck, 0.0)
    else:
        assert np.var(luck) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / luck.size))  # 4 se
        assert np.mean(luck) == pytest.approx(0.0, abs=4 * np.sqrt(0.5 / luck.size))


def test_logs_are_of_200_to_300_movies_each(task: MovieLensTask) -> None:
    log = task.log(SAME)
    assert len(log.people) == len(task.offline)
    assert log.actions == task.model.actions
    assert 200 <= log.counts.min() <= 205
    assert 295 <= log.counts.max() <= 300
    assert log.counts.mean() == pytest.approx(250, abs=4 * 29.2 / np.sqrt(len(log.people)))  # 4 se
    share = np.bincount(log.action, minlength=len(log.actions)) / len(log.people)
    chance = 250 / len(log.actions)
    assert np.abs(share - chance).max() < 5 * np.sqrt(chance * (1 - chance) / len(log.people))  # uniformly chosen
    luck = log.rating - task.means[task.offline[log.owner], log.action]
    assert np.var(luck) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / len(luck)))  # 4 se
    noisy = task.log(NOISY)
    change = noisy.rating - task.log(DIFFERENT).rating
    assert np.var(change) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / len(change)))  # 4 se


def test_logs_without_noise_follow_the_offline_peoples_orderings(task: MovieLensTask) -> None:
    log = task.log(DIFFERENT)
    for n, history in enumerate(naive.histories(log)):
        actions, ratings = (np.array(column) for column in zip(*history, strict=True))
        ranks = task.model.ranks[task.offline[n], actions]
        assert np.all(np.diff(ratings[np.argsort(ranks)]) <= 1e-12)
        scale = task.means[task.offline[n], actions]
        slope = (ratings.max() - ratings.min()) / (scale.max() - scale.min())
        assert 1.5 / 4 < slope < 1  # an interval of their own
    assert log.rating.min() > 1


@pytest.mark.parametrize("clustering", ["raw", "cosine"])
def test_the_recovered_model_is_learned_from_the_log_alone(task: MovieLensTask, clustering: Scale) -> None:
    log = task.log(NOISY)
    model, error = task.recovered(log, NOISY, clustering=clustering)
    fitted = fit_states(log, TwoStage(scale=clustering, shrink=False, seed=SEED), states=5, heldout=0).model
    loss = np.array([[naive.kendall_loss(y, z) for z in fitted.orderings] for y in task.model.orderings])
    order = min(itertools.permutations(range(5)), key=lambda way: loss[np.arange(5), list(way)].sum())
    np.testing.assert_array_equal(model.orderings, fitted.orderings[list(order)])
    np.testing.assert_allclose(error, loss[np.arange(5), list(order)].mean())
    assert fitted.utilities is not None
    assert model.means is not None
    strength = fitted.utilities[list(order)]
    low, high = strength.min(axis=1, keepdims=True), strength.max(axis=1, keepdims=True)
    np.testing.assert_allclose(model.means, 2.25 + 2.125 * (strength - low) / (high - low))
    np.testing.assert_array_equal(model.prior, np.full(5, 0.2))
    assert error > 0.05  # it is not the true model
    assert fitted.errors is not None
    np.testing.assert_array_equal(model.utilities, strength)
    np.testing.assert_array_equal(model.errors, fitted.errors[list(order)])
    shrunk, less = task.recovered(log, NOISY, clustering=clustering, shrink=True)
    assert shrunk.utilities is not None
    assert np.all(np.diff(np.take_along_axis(shrunk.utilities, shrunk.orderings, axis=1), axis=1) <= 0)
    assert less != error
    fewer, _ = task.recovered(log.subset(np.arange(60)), NOISY, clustering=clustering)
    assert not np.array_equal(fewer.orderings, model.orderings)
    blind = replace(task, model=PreferenceModel(task.model.orderings[:, ::-1], actions=log.actions))
    other, _ = blind.recovered(log, NOISY, clustering=clustering)
    assert {row.tobytes() for row in other.orderings} == {row.tobytes() for row in model.orderings}


def test_the_two_clusterings_of_recovery_differ_where_scales_do(task: MovieLensTask) -> None:
    log = task.log(DIFFERENT)
    raw, free = (task.recovered(log, DIFFERENT, clustering=scale)[1] for scale in ("raw", "cosine"))
    assert free < 0.01 < 0.1 < raw


def test_rescaling_puts_movies_that_nobody_compared_last() -> None:
    model = PreferenceModel([[2, 0, 1, 3]], utilities=[[0.5, 0.2, 0.8, 0.2]])
    np.testing.assert_allclose(rescaled(model), [[3.0, 1.0, 5.0, 1.0]])


def test_genres_are_those_of_the_files(log: Log, task: MovieLensTask) -> None:
    assert task.genres == tuple(log.genres[a] for a in log.kept_movies.tolist())
    assert task.genres[log.kept_movies.tolist().index(NO_GENRES)] == ("unknown",)


def test_another_seed_is_another_task(log: Log, task: MovieLensTask) -> None:
    other = MovieLensTask.of(*read_log(log.folder), seed=SEED + 1)
    assert not np.array_equal(other.offered(1, 1), task.offered(1, 1))
    assert not np.array_equal(other.log(SAME).rating[:50], task.log(SAME).rating[:50])
    assert not np.array_equal(other.model.orderings, task.model.orderings)
