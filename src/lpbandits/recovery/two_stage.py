"""Two-stage recovery: cluster people, then fit one Bradley-Terry model per cluster."""

from dataclasses import asdict, dataclass, replace
from typing import get_args

import numpy as np

from lpbandits import validate
from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import BradleyTerry, as_prior_sd, maximise
from lpbandits.recovery.cluster import Scale, cluster_people
from lpbandits.recovery.estimate import Estimate, shrunk_over_states
from lpbandits.recovery.pairs import Comparisons, count_state, take_away
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch
from lpbandits.recovery.scatter import Scatter, scatter
from lpbandits.typing import IntArray, Json


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
        ratings: Ratings,
        comparisons: Comparisons,
        states: int,
        *,
        aside: IntArray | None = None,
        watch: Stopwatch,
        threads: Threads,
    ) -> Estimate:
        """Cluster, and fit one cluster at a time, so that only one k×k matrix is in memory, or two with `aside`.

        Fits without the people aside have the clusters of all, and cost little: their counts are what is left when
        those of the people aside are taken away, and they start from the utilities of all. The scatter of all people is
        taken for theirs.
        """
        with watch.part("cluster"):
            clusters = cluster_people(
                ratings,
                states,
                scale=self.scale,
                restarts=self.restarts,
                seed=self.seed,
                threads=threads.count,
            )
        fits: list[BradleyTerry] = []
        fewer: list[BradleyTerry] = []
        scatters: list[Scatter] = []
        found = len(clusters.shares)
        for z in range(found):
            with watch.part("count pairs", z, found):
                members = (clusters.labels == z).astype(np.float64)
                counts = count_state(comparisons, members, threads=threads)
            with watch.part("Bradley-Terry", z, found):
                fit = maximise(counts, prior_sd=self.prior_sd, errors=False, threads=threads)
            with watch.part("errors", z, found):
                scatters.append(scatter(comparisons, members, fit.utilities, threads=threads))
                fits.append(replace(fit, standard_errors=scatters[z].errors(self.prior_sd)))
            if aside is not None:
                with watch.part("held-out", z, found):
                    members[np.setdiff1d(np.arange(len(members)), aside)] = 0
                    counts = take_away(counts, count_state(comparisons, members, threads=threads))
                    fewer.append(
                        maximise(
                            counts,
                            prior_sd=self.prior_sd,
                            tolerance=1e-3,  # moves a mean log-likelihood by a millionth
                            start=fits[z].utilities,
                            errors=False,
                            threads=threads,
                        )
                    )
            del counts  # before the next state's are made
        without = None
        if aside is not None:
            labels = np.delete(clusters.labels, aside)
            without = Estimate(tuple(fewer), np.bincount(labels, minlength=found) / len(labels), labels)
        whole = Estimate(tuple(fits), clusters.shares, clusters.labels, clusters.warnings, without=without)
        return shrunk_over_states(whole, scatters, prior_sd=self.prior_sd) if self.shrink else whole
