"""Two-stage recovery: cluster people, then fit one Bradley-Terry model per cluster."""

import functools
from dataclasses import asdict, dataclass, replace
from typing import get_args

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.fit.bradley_terry import BradleyTerry, as_prior_sd, maximise
from lpbandits.fit.clusters import Scale, cluster_people
from lpbandits.fit.comparisons import compared
from lpbandits.fit.counting import count_states, without
from lpbandits.fit.estimator import Estimate, shrunk_over_states
from lpbandits.fit.scatter import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json


@dataclass(frozen=True)
class TwoStage:
    """Clusters, and a Bradley-Terry model of each; see `recover_two_stage`.

    With `scale="raw"` and `shrink=False` it is the paper's (appendix "Two-Stage Latent Preference Order Recovery").

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
        """The name a user knows it by."""
        return "two-stage"

    def __post_init__(self) -> None:
        clean: Json = {"scale": validate.as_choice(self.scale, "scale", get_args(Scale))}
        clean |= {"prior_sd": as_prior_sd(self.prior_sd), "seed": validate.as_seed(self.seed)}
        clean["shrink"] = validate.as_flag(self.shrink, "shrink")
        clean["restarts"] = None if self.restarts is None else validate.as_count(self.restarts, "restarts")
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return asdict(self)

    def among(self, people: IntArray) -> "TwoStage":
        """Return itself: nothing is set person by person."""
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
        """Cluster, and fit the states one after the other, so that few k×k matrices are in memory.

        Fits without the people aside have the clusters of all, and cost little: their counts are what is left when
        those of the people aside are taken away, and they start from the utilities of all. The scatter of all people is
        taken for theirs.
        """
        with watch.part("cluster"):
            clusters = cluster_people(log, states, scale=self.scale, restarts=self.restarts, seed=self.seed)
        found, labels = len(clusters.shares), clusters.labels
        apart = None if holdout is None else np.isin(np.arange(len(labels)), holdout)
        fits, fewer = self._fitted(log, labels, found, apart, pairs_per_person, watch)
        with watch.part("errors"):
            utilities = np.stack([fit.utilities for fit in fits])
            own = (np.arange(len(labels)), labels)
            parts = log.map(_scattered, utilities, pairs_per_person, self.seed, per_person=own)
            scatters = [Scatter.of(one) for one in functools.reduce(np.add, parts)]
            fits = [
                replace(fit, standard_errors=some.errors(self.prior_sd))
                for fit, some in zip(fits, scatters, strict=True)
            ]
        others = None
        if apart is not None:
            left = labels[~apart]
            others = Estimate(tuple(fewer), np.bincount(left, minlength=found) / len(left), left)
        whole = Estimate(tuple(fits), clusters.shares, labels, clusters.warnings, excluding_holdout=others)
        return shrunk_over_states(whole, scatters, prior_sd=self.prior_sd) if self.shrink else whole

    def _fitted(
        self,
        log: Blocks,
        labels: IntArray,
        states: int,
        holdout: BoolArray | None,
        pairs_per_person: int | None,
        watch: Stopwatch,
    ) -> tuple[list[BradleyTerry], list[BradleyTerry]]:
        """Return a fit of every state, and one without the people aside."""
        fits: list[BradleyTerry] = []
        fewer: list[BradleyTerry] = []
        counted = count_states(log, labels, states, holdout=holdout, pairs_per_person=pairs_per_person, seed=self.seed)
        for z in range(states):
            with watch.part("count pairs", z, states):
                counts, some = next(counted)
            with watch.part("Bradley-Terry", z, states):
                fits.append(maximise(counts, prior_sd=self.prior_sd, errors=False, threads=log.pool))
            if some is not None:
                with watch.part("held-out", z, states):
                    fewer.append(
                        maximise(
                            without(counts, some),
                            prior_sd=self.prior_sd,
                            tolerance=1e-3,  # moves a mean log-likelihood by a millionth
                            start=fits[z].utilities,
                            errors=False,
                            threads=log.pool,
                        )
                    )
            del counts, some  # before the next ones are made
        return fits, fewer


def _scattered(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    pairs_per_person: int | None,
    seed: int,
    index: IntArray,
    labels: IntArray,
) -> FloatArray:
    """Return every state's sums over a block's people."""
    comparisons = compared(block, pairs_per_person=pairs_per_person, seed=seed, first=int(index[0]), threads=threads)
    return np.stack(
        [
            scatter_sums(comparisons, (labels == z).astype(np.float64), row, threads=threads)
            for z, row in enumerate(utilities)
        ]
    )
