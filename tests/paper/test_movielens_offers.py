"""Offered movies: 300 distinct ones per round, drawn from the genres in turn."""

import itertools

import numpy as np

from lpbandits.kernels.random import OFFER
from lpbandits.model import PreferenceModel
from lpbandits.paper.movielens import MovieLensTask
from tests import naive as plain
from tests.movielens_log import GENRES, SHARES

SEED = 3


def task_of(genres: tuple[tuple[str, ...], ...]) -> MovieLensTask:
    """Return a task with one state and no people."""
    k, nobody = len(genres), np.empty(0, dtype=np.int64)
    return MovieLensTask(PreferenceModel([np.arange(k)]), np.zeros((1, k)), nobody, nobody, genres, SEED)


def naive_set(genres: tuple[tuple[str, ...], ...], size: int, person: int, round_: int) -> list[int]:
    """Take the genres in turn, in random order; each gives a random movie that is not chosen yet."""
    count = itertools.count()

    def pick(things: list[int]) -> int:
        return plain.pick(things, plain.uniform(SEED, person, round_, OFFER, next(count)))

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


def test_genres_give_equal_numbers_until_exhausted() -> None:
    sizes = {"Drama": 300, "Comedy": 200, "Horror": 60, "Western": 20}
    task = task_of(tuple((name,) for name, size in sizes.items() for _ in range(size)))
    edges = np.cumsum([0, *sizes.values()])
    first: set[int] = set()
    for movies in task.offered(20, 2).reshape(-1, 300):
        assert np.histogram(movies, bins=edges)[0].tolist() == [110, 110, 60, 20]
        first.add(int(movies[0]))
    assert len(first) > 2


def test_order_of_genres_is_uniform() -> None:
    sets = task_of(tuple((str(i),) for i in range(310))).offered(40, 5).reshape(-1, 300)
    missing = 1 - np.bincount(sets.ravel(), minlength=310) / len(sets)  # the last ten genres give no movie
    assert missing.max() < 10 / 310 + 5 * np.sqrt(10 / 310 / len(sets))  # 5 se
    assert missing.min() >= 0
