"""A small log in MovieLens' format: people of five tastes, movies with genres, and some below the paper's filter."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lpbandits.typing import BoolArray, FloatArray, IntArray

TASTES = 5
ORDINARY, RARE = 348, 10
"""Number of movies with far more, and with far fewer, than 200 ratings."""
EDGE_MOVIE, CLOSE_MOVIE = ORDINARY + RARE, ORDINARY + RARE + 1
"""Movies rated by 200 of the remaining people, and by 199 of them and 30 others."""
MOVIES = ORDINARY + RARE + 2
KEEN, IDLE = 401, 40
"""Number of people with 200 to 280, and with 150 to 199, ratings."""
NO_GENRES = 7
"""A movie that is not in movies.dat."""
GENRES = ("Action", "Comedy", "Crime", "Drama", "Horror", "Musical", "Sci-Fi", "Western")
SHARES = (0.2, 0.22, 0.1, 0.25, 0.08, 0.02, 0.12, 0.01)
"""Genres and their relative frequencies."""


@dataclass(frozen=True)
class Log:
    """Written ratings (people × movies, 0 if missing), tastes of people and genres of movies."""

    folder: Path
    ratings: IntArray
    taste: IntArray
    genres: tuple[tuple[str, ...], ...]

    @property
    def kept_people(self) -> IntArray:
        """The paper's filter, people first."""
        return np.flatnonzero((self.ratings > 0).sum(axis=1) >= 200)

    @property
    def kept_movies(self) -> IntArray:
        """The paper's filter, movies second: only ratings of people who stayed count."""
        return np.flatnonzero((self.ratings[self.kept_people] > 0).sum(axis=0) >= 200)

    @property
    def kept(self) -> FloatArray:
        """The remaining ratings, missing ones 0."""
        return self.ratings[np.ix_(self.kept_people, self.kept_movies)].astype(np.float64)


def movie_id(movie: int) -> int:
    """Return the id of a movie in the files; as text, ids are not in the order of the movies."""
    return 3 * movie + 5


def write_log(folder: Path, seed: int = 0) -> Log:
    """Write ratings.dat and movies.dat."""
    rng = np.random.default_rng(seed)
    people = KEEN + IDLE
    taste = rng.permutation(np.arange(people) % TASTES)
    rated = _rated(rng, taste)
    utility = rng.normal(0.0, 0.9, (TASTES, MOVIES))
    level = 2.6 + 0.4 * taste + rng.normal(0.0, 0.3, people)  # centres of different length
    values = level[:, None] + utility[taste] + rng.normal(0.0, 0.8, (people, MOVIES))
    ratings = np.where(rated, np.clip(np.rint(values), 1, 5), 0).astype(np.int64)
    genres = tuple(
        ("unknown",)
        if movie == NO_GENRES
        else tuple(rng.choice(GENRES, size=int(rng.integers(1, 4)), replace=False, p=SHARES).tolist())
        for movie in range(MOVIES)
    )
    rows = rng.permutation(np.argwhere(ratings)).tolist()
    lines = [f"{n + 1}::{movie_id(a)}::{ratings[n, a]}::978300{a:03d}\n" for n, a in rows]
    (folder / "ratings.dat").write_text("".join(lines))
    named = [a for a in range(MOVIES) if a != NO_GENRES]
    titles = [f"{movie_id(a)}::Café {a}: a Tale (1999)::{'|'.join(genres[a])}\n" for a in named]
    (folder / "movies.dat").write_text("".join(titles), encoding="latin-1")
    return Log(folder, ratings, taste, genres)


def _rated(rng: np.random.Generator, taste: IntArray) -> BoolArray:
    """Return which movies people rated: preferred ones more often, so that clusters of raw ratings are tastes."""
    people = len(taste)
    counts = np.concatenate([[200], rng.integers(200, 281, KEEN - 1), [199], rng.integers(150, 200, IDLE - 1)])
    rated = np.zeros((people, MOVIES), dtype=np.bool_)
    rated[rng.choice(KEEN, 200, replace=False), EDGE_MOVIE] = True
    rated[rng.choice(KEEN, 199, replace=False), CLOSE_MOVIE] = True
    rated[KEEN : KEEN + 30, CLOSE_MOVIE] = True
    weights = np.ones((TASTES, ORDINARY + RARE))
    weights[np.arange(ORDINARY) % TASTES, np.arange(ORDINARY)] = 4.0
    weights[:, ORDINARY:] = 0.2
    for n in range(people):
        chance = weights[taste[n]] / weights[taste[n]].sum()
        more = int(counts[n]) - int(rated[n].sum())
        rated[n, rng.choice(ORDINARY + RARE, more, replace=False, p=chance)] = True
    return rated
