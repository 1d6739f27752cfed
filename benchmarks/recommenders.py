"""Recommenders of `implicit` and `surprise`, applied to people outside the training set.

Each is fitted to the same ratings, and scores every action for a person from the rewards of the actions played so far:
the same information as that of policies and of the references of `evaluate`. A new person is added with the package's
own method if it has one; otherwise its formula is reimplemented here. `folds` says which.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from benchmarks.peers import peer
from lpbandits.data import Ratings
from lpbandits.typing import FloatArray

Score: TypeAlias = Callable[[FloatArray], FloatArray]
"""From rewards (people × actions, NaN if not yet observed) to scores of the same shape."""
Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Recommender:
    """A fit in two steps, of which the second is timed, and the settings to select from."""

    form: Callable[[Ratings, Settings], Any]
    """Convert the log to the input format of the package."""
    fit: Callable[[Any, Settings], Score]
    grid: Mapping[str, tuple[Any, ...]]
    folds: str

    def settings(self) -> list[Settings]:
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


@dataclass(frozen=True, eq=False)
class Weights:
    """Ratings as weights of implicit feedback: the ratings themselves, or 1 for ratings above the log's mean."""

    matrix: Any
    middle: float
    liked: bool

    @classmethod
    def of(cls, log: Ratings, settings: Settings) -> "Weights":
        liked, middle = settings["weights"] == "liked", float(log.rating.mean())
        kept = log.rating > middle if liked else np.ones(len(log.rating), dtype=np.bool_)
        values = np.ones(int(kept.sum())) if liked else log.rating[kept]
        places = (log.owner[kept], log.action[kept])
        shape = (len(log.people), len(log.actions))
        return cls(sparse.csr_matrix((values.astype(np.float32), places), shape=shape), middle, liked)

    def observed(self, rewards: FloatArray) -> Any:
        """Return observed rewards in the same form."""
        values = np.nan_to_num(rewards)
        return sparse.csr_matrix((values > self.middle).astype(np.float32) if self.liked else values.astype(np.float32))


def implicit_items(kind: str) -> Callable[[Weights, Settings], Score]:
    def fit(given: Weights, settings: Settings) -> Score:
        model = getattr(peer("implicit.nearest_neighbours"), kind)(K=settings["K"], num_threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a matrix format that it creates itself
            model.fit(given.matrix, show_progress=False)
        return lambda rewards: np.asarray((given.observed(rewards) @ model.similarity).todense(), dtype=np.float64)

    return fit


def implicit_als(given: Weights, settings: Settings) -> Score:
    model = peer("implicit.cpu.als").AlternatingLeastSquares(
        factors=settings["factors"], regularization=settings["regularization"], num_threads=1, random_state=0
    )
    model.fit(given.matrix, show_progress=False)

    def score(rewards: FloatArray) -> FloatArray:
        people = model.recalculate_user(np.arange(len(rewards)), given.observed(rewards))
        return np.asarray(people @ model.item_factors.T, dtype=np.float64)

    return score


def trainset(log: Ratings, settings: Settings) -> Any:  # noqa: ARG001 - all conversions have the same arguments
    """Return the log as a `surprise.Trainset` with the same indices of actions."""
    surprise = peer("surprise")
    rows = zip(log.owner.tolist(), log.action.tolist(), log.rating.tolist(), strict=True)
    people: dict[int, list[tuple[int, float]]] = {}
    actions: dict[int, list[tuple[int, float]]] = {action: [] for action in range(len(log.actions))}
    for person, action, rating in rows:
        people.setdefault(person, []).append((action, rating))
        actions[action].append((person, rating))
    numbers = {action: action for action in actions}
    scale = (float(log.rating.min()), float(log.rating.max()))
    owners = {person: person for person in people}
    return surprise.Trainset(people, actions, len(people), len(actions), len(log.rating), scale, owners, numbers)


def surprise_knn(given: Any, settings: Settings) -> Score:
    options = {"name": settings["name"], "user_based": False, "shrinkage": settings.get("shrinkage", 100)}
    model = peer("surprise").KNNBaseline(k=settings["k"], sim_options=options, verbose=False)
    model.fit(given)
    # it ignores neighbours without positive similarity; its limit of k neighbours is never reached
    near = np.maximum(model.sim, 0.0)
    np.fill_diagonal(near, 0.0)
    base = given.global_mean + model.bi

    def score(rewards: FloatArray) -> FloatArray:
        observed = ~np.isnan(rewards)
        away = np.where(observed, rewards - base, 0.0)
        own = away.sum(axis=1) / (15 + observed.sum(axis=1))  # its least-squares baseline of a person
        away = np.where(observed, away - own[:, None], 0.0)
        size = observed @ near
        return np.asarray(base + own[:, None] + np.divide(away @ near, size, out=np.zeros_like(size), where=size > 0))

    return score


def surprise_svd(given: Any, settings: Settings) -> Score:
    model = peer("surprise").SVD(n_factors=settings["n_factors"], reg_all=settings["reg_all"], random_state=0)
    model.fit(given)
    base = given.global_mean + model.bi
    factors = np.column_stack([np.ones(len(model.bi)), model.qi])

    def score(rewards: FloatArray) -> FloatArray:
        out = np.empty(rewards.shape)
        for row, own in enumerate(rewards):
            observed = np.flatnonzero(~np.isnan(own))
            seen = factors[observed]
            ridge = settings["reg_all"] * max(len(observed), 1) * np.eye(factors.shape[1])
            out[row] = base + factors @ np.linalg.solve(
                seen.T @ seen + ridge, seen.T @ (own[observed] - base[observed])
            )
        return out

    return score


ITEMS = {"weights": ("ratings", "liked"), "K": (20, 100, 1000)}
OWN, WRITTEN = "its own", "written out"
RECOMMENDERS = {
    "implicit CosineRecommender": Recommender(Weights.of, implicit_items("CosineRecommender"), ITEMS, OWN),
    "implicit BM25Recommender": Recommender(Weights.of, implicit_items("BM25Recommender"), ITEMS, OWN),
    "implicit ALS": Recommender(
        Weights.of,
        implicit_als,
        {"weights": ("ratings", "liked"), "factors": (8, 32), "regularization": (0.01, 1.0, 10.0, 100.0)},
        OWN,
    ),
    "surprise KNNBaseline": Recommender(
        trainset,
        surprise_knn,
        {"name": ("pearson_baseline",), "shrinkage": (10, 100, 1000), "k": (40,)},
        WRITTEN,
    ),
    "surprise SVD": Recommender(trainset, surprise_svd, {"n_factors": (20, 100), "reg_all": (0.02, 0.1, 0.3)}, WRITTEN),
}
