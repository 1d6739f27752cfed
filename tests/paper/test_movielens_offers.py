"""The 300 movies of a round: distinct, and genre after genre."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lpbandits.kernels.random import OFFER
from lpbandits.model import PreferenceModel
from lpbandits.paper.movielens import MovieLensTask
from tests import naive as plain

SEED = 3
MOVIES = 349
NAMES = ("Action", "Comedy", "Crime", "Drama", "Horror", "Musical", "Sci-Fi", "Western")
COMMON = (0.2, 0.22, 0.1, 0.25, 0.08, 0.02, 0.12, 0.01)


@pytest.fixture(scope="module")
def task() -> MovieLensTask:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, size=MOVIES).tolist()
    genres = tuple(tuple(rng.choice(NAMES, size=n, replace=False, p=COMMON).tolist()) for n in sizes)
    model = PreferenceModel([np.arange(MOVIES)])
    nobody = np.empty(0, dtype=np.int64)
    return MovieLensTask(model, np.zeros((1, MOVIES)), nobody, nobody, genres, SEED)


def naive_set(genres: tuple[tuple[str, ...], ...], size: int, person: int, round_: int) -> list[int]:
    """Go round the genres in random order, each time one not-yet-chosen movie of that genre."""
    count = itertools.count()

    def pick(things: list[int]) -> int:
        return plain.pick(things, plain.uniform(SEED, person, round_, OFFER, next(count)))

    names = sorted({name for own in genres for name in own})
    for i in range(len(names) - 1, 0, -1):  # Fisher and Yates
        j = pick(list(range(i + 1)))
        names[i], names[j] = names[j], names[i]
    chosen: set[int] = set()
    for name in itertools.cycle(names):
        movies = [a for a, own in enumerate(genres) if name in own]
        if len(chosen) == size:
            break
        if not set(movies) <= chosen:
            picked = pick(movies)
            while picked in chosen:
                picked = pick(movies)
            chosen.add(picked)
    return sorted(chosen)


def test_300_movies_are_offered_genre_after_genre(task: MovieLensTask) -> None:
    offered = task.offered(3, 4)
    assert offered.shape == (3, 4, 300)
    assert np.all(np.diff(offered, axis=2) > 0)  # distinct, in rising order
    assert 0 <= offered.min() <= offered.max() < len(task.genres)
    assert len({one.tobytes() for person in offered for one in person}) == 12
    for person, round_ in ((0, 0), (1, 3), (2, 1)):
        assert offered[person, round_].tolist() == naive_set(task.genres, 300, person, round_)


def test_each_genre_gives_as_many_as_the_others_while_it_lasts(task: MovieLensTask) -> None:
    sizes = {"Drama": 300, "Comedy": 200, "Horror": 60, "Western": 20}
    genres = tuple((name,) for name, size in sizes.items() for _ in range(size))
    k = len(genres)
    wide = replace(task, model=PreferenceModel([np.arange(k)]), genres=genres)
    starts = np.cumsum([0, *sizes.values()])
    first: list[int] = []
    for one in wide.offered(20, 2).reshape(-1, 300):
        given = np.histogram(one, bins=starts)[0]
        assert given[2:].tolist() == [60, 20]
        assert sorted(given[:2].tolist()) == [110, 110]
        first.append(int(one[0]))
    assert len(set(first)) > 2
    few = replace(task, model=PreferenceModel([np.arange(310)]), genres=tuple((str(i),) for i in range(310)))
    sets = few.offered(40, 5).reshape(-1, 300)  # the order of turns decides who is left out
    left_out = 1 - np.bincount(sets.ravel(), minlength=310) / len(sets)
    assert left_out.max() < 10 / 310 + 5 * np.sqrt(10 / 310 / len(sets))
    assert left_out.min() >= 0
