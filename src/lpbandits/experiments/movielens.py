"""The paper's MovieLens task (its appendix "Details on the MovieLens experiments").

Real people are clustered, a Bradley-Terry model per cluster gives orderings and mean ratings in [1, 5], and bandit
people who were not clustered get the state whose centre is nearest to their real ratings.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.offers import diverse_sets
from lpbandits.model import PreferenceModel
from lpbandits.recovery import Ratings, match_orderings, read_ratings, recover_two_stage
from lpbandits.recovery.action_names import read_genres
from lpbandits.recovery.cluster import Scale, cluster_people, scaled
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.worlds import Population

STATES = 5
NOISE = float(np.sqrt(0.5))
"""The paper writes N(mean, variance): the variance is 0.5."""
NARROWEST = 1.5
"""The least width ζ of a person's own interval of ratings."""
OFFERED = 300


@dataclass(frozen=True, eq=False)
class MovieLensTask:
    """Everything the experiment needs, from one seed.

    Attributes
    ----------
    model
        The true orderings, with the state's means; the prior is uniform, as in the paper.
    means
        m×k: each state's mean ratings in [1, 5].
    bandit, offline
        The states of the people the bandits meet, and of those whose logs the recovered models are learned from.
    genres
        The genres of each action.
    """

    model: PreferenceModel
    means: FloatArray
    bandit: IntArray
    offline: IntArray
    genres: tuple[tuple[str, ...], ...]
    seed: int

    @classmethod
    def load(cls, folder: str | Path, *, seed: int = 0, least: int = 200) -> "MovieLensTask":
        """Read, filter and split MovieLens, and fit the true model to the training half."""
        ratings = read_ratings(folder, min_person=least, min_action=least)
        genres = read_genres(folder)
        return cls.of(ratings, tuple(genres.get(str(a), ("unknown",)) for a in ratings.actions), seed=seed)

    @classmethod
    def of(cls, ratings: Ratings, genres: tuple[tuple[str, ...], ...], *, seed: int = 0) -> "MovieLensTask":
        """Split people into halves: training, and test; the test half into bandit and offline people."""
        order = np.random.default_rng([seed, 1]).permutation(len(ratings.people))
        half = len(order) // 2
        quarter = half + (len(order) - half) // 2
        train, bandit, offline = (
            ratings.subset(np.sort(part)) for part in (order[:half], order[half:quarter], order[quarter:])
        )
        if len(train.people) < 10 * STATES:
            raise InvalidInput(f"{len(ratings.people)} people are too few to split and cluster; use a larger dataset")
        model = recover_two_stage(train, states=STATES, scale="raw", heldout=0, seed=seed)
        if model.n_states != STATES:
            raise InvalidInput(
                f"only {model.n_states} of {STATES} clusters have orderings of their own; use another seed"
            )
        clusters = cluster_people(train, STATES, scale="raw", seed=seed)
        means = rescaled(model)
        told = PreferenceModel(model.orderings, actions=model.actions, means=means)
        return cls(
            told,
            means,
            _nearest(train, clusters.labels, bandit),
            _nearest(train, clusters.labels, offline),
            genres,
            seed,
        )

    def population(self, scale: str, *, people: int = 100, rounds: int = 200) -> Population:
        """Return bandit people with their offered sets; mTS is told the state's expected means on either scale."""
        chosen = np.random.default_rng([self.seed, 2]).choice(
            len(self.bandit), people, replace=people > len(self.bandit)
        )
        truth = self.bandit[chosen]
        expected = self.means if scale == "same" else 2.25 + 2.125 * (self.means - 1.0) / 4.0
        model = PreferenceModel(self.model.orderings, actions=self.model.actions, means=expected)
        means = self._personal(truth, scale, np.random.default_rng([self.seed, 3]))
        size = min(OFFERED, self.model.n_actions)
        return Population(model, truth, means, Rewards("gaussian", NOISE), self._offered(people, rounds, size))

    def log(self, scale: str) -> Ratings:
        """Return the offline people's logs: 200 to 300 movies each, uniformly chosen, rated with noise."""
        rng = np.random.default_rng([self.seed, 4])
        means = self._personal(self.offline, scale, rng)
        k = self.model.n_actions
        low = min(200, k)
        lengths = rng.integers(low, min(300, k) + 1, size=len(self.offline))
        action = np.concatenate([rng.choice(k, size=n, replace=False) for n in lengths])
        person = np.repeat(np.arange(len(lengths)), lengths)
        rating = means[person, action] + NOISE * rng.standard_normal(len(action))
        people: tuple[Label, ...] = tuple(range(len(lengths)))
        return Ratings.from_codes(person, action, rating, people=people, actions=self.model.actions)

    def recovered(self, scale: str, *, clustering: Scale) -> tuple[PreferenceModel, float]:
        """Return the model learned from the logs, its states named as the true ones, and its error (1 − τ)."""
        fitted = recover_two_stage(self.log(scale), states=STATES, scale=clustering, heldout=0, seed=self.seed)
        matching = match_orderings(self.model, fitted)
        if fitted.n_states < STATES:
            return fitted, matching.error
        order = matching.assignment
        return PreferenceModel(fitted.orderings[order], actions=fitted.actions), matching.error

    def _personal(self, truth: IntArray, scale: str, rng: np.random.Generator) -> FloatArray:
        """Return each person's means: the state's, or the state's moved into the person's own interval."""
        means = self.means[truth]
        if scale == "same":
            return np.ascontiguousarray(means)
        low = rng.uniform(1.0, 5.0 - NARROWEST, size=len(truth))
        high = rng.uniform(low + NARROWEST, 5.0)
        return np.ascontiguousarray(low[:, None] + (high - low)[:, None] * (means - 1.0) / 4.0)

    def _offered(self, people: int, rounds: int, size: int) -> IntArray:
        names, starts, members, owner_starts, owners = self._genre_arrays
        out = np.empty((people, rounds, size), dtype=np.int64)
        stamp = np.zeros(self.model.n_actions, dtype=np.int64)
        left, turn = np.empty(len(names), dtype=np.int64), np.empty(len(names), dtype=np.int64)
        diverse_sets(starts, members, owner_starts, owners, self.seed, 0, out, stamp, left, turn)
        return out

    @cached_property
    def _genre_arrays(self) -> tuple[list[str], IntArray, IntArray, IntArray, IntArray]:
        names = sorted({genre for own in self.genres for genre in own})
        number = {genre: i for i, genre in enumerate(names)}
        owners = [[number[genre] for genre in own] for own in self.genres]
        members: list[list[int]] = [[] for _ in names]
        for action, own in enumerate(owners):
            for genre in own:
                members[genre].append(action)
        return names, *_flat(members), *_flat(owners)


def rescaled(model: PreferenceModel) -> FloatArray:
    """Return each state's utilities stretched to [1, 5]; actions last for want of comparisons count as the least."""
    if model.utilities is None:
        raise InvalidInput("the model has no utilities; fit it with lpb fit")
    along = np.minimum.accumulate(np.take_along_axis(model.utilities, model.orderings, axis=1), axis=1)
    low, high = along[:, -1:], along[:, :1]
    means = np.empty_like(along)
    np.put_along_axis(means, model.orderings, 1.0 + 4.0 * (along - low) / np.maximum(high - low, 1e-12), axis=1)
    return means


def _nearest(train: Ratings, labels: IntArray, others: Ratings) -> IntArray:
    """Return the cluster whose centre is nearest to each of the others' raw ratings, as KMeans would say."""
    features = scaled(train, "raw")
    sizes = np.bincount(labels)
    centres = np.stack([features[labels == z].sum(axis=0) / sizes[z] for z in range(len(sizes))])
    products = scaled(others, "raw") @ centres.T
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2.0 * products, axis=1), dtype=np.int64)


def _flat(lists: list[list[int]]) -> tuple[IntArray, IntArray]:
    starts = np.concatenate([[0], np.cumsum([len(own) for own in lists])]).astype(np.int64)
    return starts, np.array([x for own in lists for x in own], dtype=np.int64)
