"""Two-stage estimator: cluster people, then fit one Bradley-Terry model per cluster."""

import functools
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.fit.bradley_terry import BradleyTerry, as_prior_sd, maximise
from lpbandits.fit.clusters import MAX_RESTARTS, Scale, cluster_people
from lpbandits.fit.comparisons import compared, count_states
from lpbandits.fit.estimator import Estimate, with_errors
from lpbandits.fit.uncertainty import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json


@dataclass(frozen=True)
class TwoStage:
    """KMeans clusters of people, and a Bradley-Terry model of each cluster.

    Parameters
    ----------
    scale
        Features of the clustering; see `cluster_people`.
    prior_sd
        Standard deviation of the Gaussian prior of a utility.
    restarts
        Number of KMeans runs, by default 10, or 2 for a log of more than five million ratings.
    seed
        Random seed.
    shrink
        Shrink utilities towards the other states, by their standard errors.

    Notes
    -----
    With `scale="raw"` and `shrink=False` it is the paper's method (appendix "Two-Stage Latent Preference Order
    Recovery").

    Examples
    --------
    >>> TwoStage().settings()["scale"]
    'cosine'
    """

    scale: Scale = "cosine"
    prior_sd: float = 1.0
    restarts: int | None = None
    seed: int = 0
    shrink: bool = True

    @property
    def method(self) -> str:
        """Name of the method."""
        return "two-stage"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.restarts is not None:
            object.__setattr__(self, "restarts", validate.as_count(self.restarts, "restarts", high=MAX_RESTARTS))

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return asdict(self)

    def among(self, people: IntArray) -> "TwoStage":
        """Return itself: there are no per-person settings."""
        del people
        return self

    def __call__(
        self,
        log: Blocks,
        states: int,
        *,
        pairs_per_person: int | None = None,
        holdout: IntArray | None = None,
        watch: Stopwatch,
    ) -> Estimate:
        """Cluster, then fit the states one after another, so that few k×k matrices are in memory.

        The fits without the held-out people reuse the clusters, the scatter and the utilities of all people: their
        counts are those of all people minus those of the held-out people.
        """
        with watch.part("cluster"):
            clusters = cluster_people(log, states, scale=self.scale, restarts=self.restarts, seed=self.seed)
        n_clusters, labels = len(clusters.shares), clusters.labels
        mask = None if holdout is None else np.isin(np.arange(len(labels)), holdout)
        fits, fewer = self._fit(log, labels, n_clusters, mask, pairs_per_person, watch)
        with watch.part("errors"):
            utilities = np.stack([fit.utilities for fit in fits])
            per_person = (np.arange(len(labels)), labels)
            parts = log.map(_scatter_block, utilities, pairs_per_person, self.seed, per_person=per_person)
            scatters = [Scatter.of(sums) for sums in functools.reduce(np.add, parts)]
        excluding = None
        if mask is not None:
            rest = labels[~mask]
            excluding = Estimate(tuple(fewer), np.bincount(rest, minlength=n_clusters) / len(rest), rest)
        estimate = Estimate(tuple(fits), clusters.shares, labels, clusters.warnings, excluding_holdout=excluding)
        return with_errors(estimate, scatters, prior_sd=self.prior_sd, shrink=self.shrink)

    def _fit(
        self,
        log: Blocks,
        labels: IntArray,
        states: int,
        holdout: BoolArray | None,
        pairs_per_person: int | None,
        watch: Stopwatch,
    ) -> tuple[list[BradleyTerry], list[BradleyTerry]]:
        """Return a fit of each state, and one without the held-out people."""
        fits: list[BradleyTerry] = []
        fewer: list[BradleyTerry] = []
        pairs = count_states(log, labels, states, holdout=holdout, pairs_per_person=pairs_per_person, seed=self.seed)
        for z in range(states):
            with watch.part("count pairs", z, states):
                counts, held = next(pairs)
            with watch.part("Bradley-Terry", z, states):
                fits.append(maximise(counts, prior_sd=self.prior_sd, errors=False, threads=log.pool))
            if held is not None:
                with watch.part("held-out", z, states):
                    fewer.append(
                        maximise(
                            counts.minus(held),
                            prior_sd=self.prior_sd,
                            tolerance=1e-3,  # moves a mean log-likelihood by a millionth
                            start=fits[z].utilities,
                            errors=False,
                            threads=log.pool,
                        )
                    )
            del counts, held  # free the memory before the next state
        return fits, fewer


def check_settings(estimator: Any) -> None:
    """Check the settings that `TwoStage` and `Em` share, and convert them to plain types."""
    clean: Json = {
        "scale": validate.as_choice(estimator.scale, "scale", get_args(Scale)),
        "prior_sd": as_prior_sd(estimator.prior_sd),
        "seed": validate.as_seed(estimator.seed),
        "shrink": validate.as_flag(estimator.shrink, "shrink"),
    }
    for name, value in clean.items():
        object.__setattr__(estimator, name, value)


def _scatter_block(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    pairs_per_person: int | None,
    seed: int,
    index: IntArray,
    labels: IntArray,
) -> FloatArray:
    """Return each state's sums over the people of a block."""
    comparisons = compared(block, pairs_per_person=pairs_per_person, seed=seed, first=int(index[0]), threads=threads)
    return np.stack(
        [
            scatter_sums(comparisons, (labels == z).astype(np.float64), row, threads=threads)
            for z, row in enumerate(utilities)
        ]
    )
