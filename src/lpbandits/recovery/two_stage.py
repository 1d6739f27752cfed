"""Two-stage recovery: cluster people, then fit one Bradley-Terry model per cluster."""

from dataclasses import asdict, dataclass

import numpy as np

from lpbandits import validate
from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import maximise
from lpbandits.recovery.cluster import Scale, cluster_people, move_clusters
from lpbandits.recovery.estimate import Estimate
from lpbandits.recovery.pairs import Comparisons, count_state
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch
from lpbandits.typing import IntArray, Json


@dataclass(frozen=True)
class TwoStage:
    """The paper's recovery (appendix "Two-Stage Latent Preference Order Recovery"); see `recover_two_stage`."""

    scale: Scale = "raw"
    prior_sd: float = 1.0
    restarts: int | None = None
    seed: int = 0

    @property
    def method(self) -> str:
        """The name a user knows it by."""
        return "two-stage"

    def __post_init__(self) -> None:
        validate.as_number(self.prior_sd, "prior_sd", low=0, high=1e6, above=True)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return asdict(self)

    def among(self, people: IntArray) -> "TwoStage":
        """Return itself: nothing is set person by person."""
        del people
        return self

    def __call__(
        self, ratings: Ratings, comparisons: Comparisons, states: int, *, watch: Stopwatch, threads: Threads
    ) -> Estimate:
        """Cluster, and fit one cluster at a time, so that only one k×k matrix is in memory."""
        with watch.part("cluster"):
            clusters = cluster_people(
                ratings,
                states,
                scale=self.scale,
                restarts=self.restarts,
                seed=self.seed,
                threads=threads.count,
            )
        fits = []
        found = len(clusters.shares)
        for z in range(found):
            with watch.part("count pairs", z, found):
                members = (clusters.labels == z).astype(np.float64)
                counts = count_state(comparisons, members, threads=threads)
            with watch.part("Bradley-Terry", z, found):
                fits.append(maximise(counts, prior_sd=self.prior_sd, threads=threads))
        return Estimate(tuple(fits), clusters.shares, clusters.labels, clusters.warnings)

    def refit(self, ratings: Ratings, comparisons: Comparisons, start: Estimate, *, threads: Threads) -> Estimate:
        """Move the clusters of `start` to where they fit these people, and fit each from its utilities there."""
        states = len(start.fits)
        labels = move_clusters(ratings, start.labels, states, scale=self.scale)
        fits = []
        for z, known in enumerate(start.fits):
            counts = count_state(comparisons, (labels == z).astype(np.float64), threads=threads)
            rough = maximise(
                counts, prior_sd=self.prior_sd, tolerance=1e-3, start=known.utilities, errors=False, threads=threads
            )
            fits.append(rough)
        shares = np.bincount(labels, minlength=states) / len(labels)
        return Estimate(tuple(fits), shares, labels)
