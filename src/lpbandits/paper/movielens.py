"""The paper's MovieLens task (appendix "Details on the MovieLens experiments").

Half of the people are clustered, and a Bradley-Terry model per cluster gives orderings and mean ratings in [1, 5]. The
others are assigned the state whose centre is nearest to their ratings. Half of them are used to simulate bandits
(bandit people), and simulated logs of the other half (offline people) are the data from which models are recovered.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from lpbandits.data import Ratings, read_ratings
from lpbandits.data.names import read_genres
from lpbandits.data.ratings import offsets_of
from lpbandits.errors import InvalidInput
from lpbandits.fit import TwoStage, fit_states, match_orderings
from lpbandits.fit.methods.clusters import Scale, cluster_people, scaled
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.worlds import Population
from lpbandits.worlds.kernels import diverse_sets

STATES = 5
NOISE = float(np.sqrt(0.5))
"""Standard deviation of rewards; the paper writes N(mean, variance) with variance 0.5."""
LOWEST, HIGHEST = 1.0, 5.0
"""Limits of the rating scale."""
MIN_WIDTH = 1.5
"""Minimum width ζ of a person's interval of ratings."""
MIN_RATINGS = 200
"""Minimum number of ratings of a person and of a movie."""
N_OFFERED = 300
"""Movies offered per round."""
LOG_LENGTHS = (200, 300)
"""Minimum and maximum number of movies in the log of an offline person."""


Genres: TypeAlias = tuple[tuple[str, ...], ...]
"""The genres of each action."""


@dataclass(frozen=True)
class Environment:
    """Scale of people's ratings, and standard deviation of their noise."""

    title: str
    scale: Literal["same", "different"]
    noise: float


ENVIRONMENTS = {
    "same": Environment("Same scale", "same", NOISE),
    "different": Environment("Different scales", "different", 0.0),
    "different-noisy": Environment("Different scales, noisy", "different", NOISE),
}
"""The paper has no noise on different scales: "only reward randomness due to the random rating perturbation"."""


@dataclass(frozen=True, eq=False)
class MovieLensTask:
    """The task of one seed.

    Attributes
    ----------
    model
        True orderings and means, with a uniform prior.
    means
        Mean ratings of each state in [1, 5], m×k.
    bandit, offline
        States of the bandit people, and of the people whose logs the models are recovered from.
    genres
        The genres of each action.
    """

    model: PreferenceModel
    means: FloatArray
    bandit: IntArray
    offline: IntArray
    genres: Genres
    seed: int

    @classmethod
    def of(cls, ratings: Ratings, genres: Genres, *, seed: int = 0, threads: int | None = None) -> "MovieLensTask":
        """Split the people and fit the true model to the training half."""
        train, bandit, offline = (ratings.subset(part) for part in split(len(ratings.people), seed))
        if len(train.people) < 10 * STATES:
            least = 20 * STATES
            raise InvalidInput(f"people must be at least {least}, got {len(ratings.people)}; use a larger dataset")
        model = _fit(train, TwoStage(scale="raw", shrink=False, seed=seed), threads)
        if model.n_states != STATES:
            raise InvalidInput(f"only {model.n_states} of {STATES} clusters have distinct orderings; use another seed")
        clusters = cluster_people(train, STATES, scale="raw", seed=seed, threads=threads)
        means = rescaled(model)
        true = PreferenceModel(model.orderings, actions=model.actions, means=means)
        bandit_states, offline_states = (_nearest(train, clusters.labels, people) for people in (bandit, offline))
        return cls(true, means, bandit_states, offline_states, genres, seed)

    def population(self, environment: Environment, offered: IntArray) -> Population:
        """Return one bandit person per row of `offered`; the model has the expected means of each state.

        All policies assume the same noise, even in environments without noise.
        """
        rng = np.random.default_rng([self.seed, 2])
        truth = rng.choice(self.bandit, len(offered), replace=len(offered) > len(self.bandit))
        model = self.model.replace(means=expected(self.means, environment))
        means = self._personal(truth, environment, np.random.default_rng([self.seed, 3]))
        return Population(model, truth, means, Rewards("gaussian", NOISE), offered, replayed=environment.noise == 0)

    def log(self, environment: Environment) -> Ratings:
        """Return simulated logs of the offline people: 200 to 300 ratings of uniformly chosen movies each."""
        rng = np.random.default_rng([self.seed, 4])
        means = self._personal(self.offline, environment, rng)
        k = self.model.n_actions
        low, high = (min(length, k) for length in LOG_LENGTHS)
        lengths = rng.integers(low, high + 1, size=len(self.offline))
        action = np.concatenate([rng.choice(k, size=n, replace=False) for n in lengths])
        person = np.repeat(np.arange(len(lengths)), lengths)
        rating = means[person, action] + environment.noise * rng.standard_normal(len(action))
        people: tuple[Label, ...] = tuple(range(len(lengths)))
        return Ratings.from_codes(person, action, rating, people=people, actions=self.model.actions)

    def recovered(
        self,
        log: Ratings,
        environment: Environment,
        *,
        clustering: Scale,
        shrink: bool = False,
        threads: int | None = None,
    ) -> tuple[PreferenceModel, float]:
        """Return the model fitted to a log, with states in the order of the true ones, and its error (1 − τ).

        Means are utilities rescaled to the rating scale, as for the true model. The paper does not `shrink`.
        """
        fitted = _fit(log, TwoStage(scale=clustering, shrink=shrink, seed=self.seed), threads)
        matching = match_orderings(self.model, fitted)
        means = expected(rescaled(fitted), environment)
        order = matching.assignment if fitted.n_states == STATES else np.arange(fitted.n_states)
        by_state = {name: getattr(fitted, name)[order] for name in ("orderings", "utilities", "errors")}
        return PreferenceModel(**by_state, actions=fitted.actions, means=means[order]), matching.error

    def offered(self, people: int, rounds: int) -> IntArray:
        """Return the offered movies, people × rounds × 300 in ascending order, drawn from the genres in turn."""
        k, genres_per_movie = self.model.n_actions, np.array([len(genres) for genres in self.genres])
        names, owners = np.unique(np.concatenate(self.genres), return_inverse=True)
        members = np.repeat(np.arange(k), genres_per_movie)[np.argsort(owners, kind="stable")]
        starts, owner_starts = offsets_of(np.bincount(owners)), offsets_of(genres_per_movie)
        out = np.empty((people, rounds, min(N_OFFERED, k)), dtype=np.int64)
        stamp, left, turn = (np.zeros(length, dtype=np.int64) for length in (k, len(names), len(names)))
        diverse_sets(starts, members, owner_starts, owners, self.seed, 0, out, stamp, left, turn)
        return out

    def _personal(self, truth: IntArray, environment: Environment, rng: np.random.Generator) -> FloatArray:
        """Return each person's means: the state's, or the state's rescaled to the person's interval [η, υ]."""
        means = self.means[truth]
        if environment.scale == "same":
            return np.ascontiguousarray(means)
        low = rng.uniform(LOWEST, HIGHEST - MIN_WIDTH, size=len(truth))
        high = rng.uniform(low + MIN_WIDTH, HIGHEST)
        return np.ascontiguousarray(low[:, None] + (high - low)[:, None] * (means - LOWEST) / (HIGHEST - LOWEST))


def read_log(folder: Path) -> tuple[Ratings, Genres]:
    """Return the ratings after the paper's filter, and the genres of the remaining movies."""
    ratings = read_ratings(folder, min_person=MIN_RATINGS, min_action=MIN_RATINGS)
    genres = read_genres(folder)
    return ratings, tuple(genres.get(str(a), ("unknown",)) for a in ratings.actions)


def split(people: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Split people into a training half, a bandit quarter and an offline quarter (indices)."""
    order = np.random.default_rng([seed, 1]).permutation(people)
    half = people // 2
    quarter = half + (people - half) // 2
    return np.sort(order[:half]), np.sort(order[half:quarter]), np.sort(order[quarter:])


def expected(means: FloatArray, environment: Environment) -> FloatArray:
    """Return the expected means of a state's people; on different scales E[η] = 2.25 and E[υ − η] = 2.125."""
    if environment.scale == "same":
        return means
    low = (LOWEST + HIGHEST - MIN_WIDTH) / 2.0
    width = (HIGHEST + MIN_WIDTH - low) / 2.0
    return low + width * (means - LOWEST) / (HIGHEST - LOWEST)


def rescaled(model: PreferenceModel) -> FloatArray:
    """Rescale each state's utilities to [1, 5]; actions without comparisons get the minimum."""
    if model.utilities is None:
        raise InvalidInput("the model has no utilities; fit it with `lpb fit`")
    along = np.minimum.accumulate(np.take_along_axis(model.utilities, model.orderings, axis=1), axis=1)
    low, high = along[:, -1:], along[:, :1]
    means = np.empty_like(along)
    stretched = LOWEST + (HIGHEST - LOWEST) * (along - low) / np.maximum(high - low, 1e-12)
    np.put_along_axis(means, model.orderings, stretched, axis=1)
    return means


def _fit(log: Ratings, estimator: TwoStage, threads: int | None) -> PreferenceModel:
    return fit_states(log, estimator, states=STATES, heldout=0, taste=False, threads=threads).model


def _nearest(train: Ratings, labels: IntArray, others: Ratings) -> IntArray:
    """Return the cluster with the nearest centre for each of the others, as k-means predicts it."""
    features = scaled(train, "raw")
    sizes = np.bincount(labels)
    centres = np.stack([features[labels == z].sum(axis=0) / sizes[z] for z in range(len(sizes))])
    products = scaled(others, "raw") @ centres.T
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2.0 * products, axis=1), dtype=np.int64)
