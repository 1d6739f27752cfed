"""From a log of ratings to a model in one call: `recover_two_stage` and `recover_em`."""

import os
from collections.abc import Mapping, Sequence

from lpbandits import validate
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.ratings import Ratings
from lpbandits.errors import translate_errors
from lpbandits.fit.clusters import Scale
from lpbandits.fit.em import Em
from lpbandits.fit.pipeline import States, fit_states
from lpbandits.fit.two_stage import TwoStage
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Workers
from lpbandits.progress import Progress


@translate_errors("fitting states")
def recover_two_stage(
    ratings: Ratings | ChunkedRatings,
    *,
    states: States = 5,
    max_states: int | None = None,
    scale: Scale = "cosine",
    prior_sd: float = 1.0,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    restarts: int | None = None,
    shrink: bool = True,
    taste: bool = True,
    names: Mapping[str, str] | None = None,
    seed: int = 0,
    threads: int | None = None,
    jobs: int | Workers | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> PreferenceModel:
    """Recover preference orderings by clustering people and fitting a Bradley-Terry model to each cluster.

    Parameters
    ----------
    states
        How many, or "auto": the fewest that predict unseen people about as well as the best number does.
    max_states
        The most that "auto" tries; by default 12.
    scale
        What KMeans sees: "cosine", which looks at taste alone, "raw" (the paper's), "centered" or "standardized"; see
        `cluster_people`.
    prior_sd
        Standard deviation of the Gaussian prior of each utility.
    pairs_per_person
        Use at most this many comparisons per person, weighted so that the expected counts stay the same.
    heldout
        Share of people on whom a second fit, made without them, is scored for the report; 0 for none. On a log of more
        than five million ratings it takes the clusters of the first fit, which so many people hardly move.
    restarts
        Starts of KMeans; by default 10, or 2 for a log of more than five million ratings.
    shrink
        Let states borrow from each other what their own people said too little of (see `shrinkage`); the paper's method
        does not.
    taste
        Also fit how tastes vary continuously (`model.taste`), which the policy `taste` needs; a log of very few people
        gives none, with a warning.
    names
        What to call actions before people, by label (as text), such as `read_names` gives; kept in `model.names`.
    threads
        Of a process; by default as many as there are cores for it. The result does not depend on it.
    jobs
        Worker processes, or `Workers(…)`; by default this process alone. The result does not depend on it.
    scratch
        Folder through which workers are given a log that is in memory; those on other machines must see it. By default
        that of temporary files.
    max_memory
        What this process and its workers on this machine keep below, such as "8GB", or a number of bytes; what cannot
        be done with that is refused. The result does not depend on it.

    The model has orderings, utilities in [0, 1] with errors clustered by person, cluster shares as prior, each state's
    mean ratings (`means`) and how far ratings lie from them (`noise`), and what everybody likes most (`popular`); its
    provenance records the hash of the data, the settings, the versions and how the fit went. `fit_states` also returns
    that report on its own, with times.

    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = recover_two_stage(Ratings.from_arrays(*zip(*rows)), states=2)
    >>> model.orderings.tolist(), model.prior.tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """
    estimator = TwoStage(scale=scale, prior_sd=prior_sd, restarts=restarts, seed=validate.as_seed(seed), shrink=shrink)
    return fit_states(
        ratings,
        estimator,
        states=states,
        max_states=max_states,
        pairs_per_person=pairs_per_person,
        heldout=heldout,
        taste=taste,
        names=names,
        threads=threads,
        jobs=jobs,
        scratch=scratch,
        max_memory=max_memory,
        progress=progress,
    ).model


@translate_errors("fitting states")
def recover_em(
    ratings: Ratings | ChunkedRatings,
    *,
    states: States = 5,
    max_states: int | None = None,
    scale: Scale = "cosine",
    prior_sd: float = 1.0,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    restarts: int = 3,
    tolerance: float = 1e-7,
    max_steps: int = 200,
    start: Sequence[int] | None = None,
    shrink: bool = True,
    taste: bool = True,
    names: Mapping[str, str] | None = None,
    seed: int = 0,
    threads: int | None = None,
    jobs: int | Workers | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> PreferenceModel:
    """Recover preference orderings as a mixture of Bradley-Terry models, by EM.

    Each step weighs every person's comparisons by the probability that they are in a state; the log-posterior never
    falls. The first start is the clustering that `recover_two_stage` would make on `scale`, the second the same on
    the cosine scale if that is another, the others assign people at random; the start that ends highest is kept.

    Parameters
    ----------
    restarts
        Starts of EM.
    tolerance
        Stop when a step gains less than this per comparison (nats).
    max_steps
        Stop after this many steps in any case, with a warning.
    start
        The state of each person to start from, instead of all other starts.

    The other settings, and the model, are those of `recover_two_stage`.

    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = recover_em(Ratings.from_arrays(*zip(*rows)), states=2)
    >>> model.orderings.tolist(), model.prior.round(2).tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """
    estimator = Em(
        scale=scale,
        prior_sd=prior_sd,
        restarts=restarts,
        tolerance=tolerance,
        max_steps=max_steps,
        seed=validate.as_seed(seed),
        shrink=shrink,
        start=None if start is None else tuple(validate.as_list(start, "start", "states, one per person")),
    )
    return fit_states(
        ratings,
        estimator,
        states=states,
        max_states=max_states,
        pairs_per_person=pairs_per_person,
        heldout=heldout,
        taste=taste,
        names=names,
        threads=threads,
        jobs=jobs,
        scratch=scratch,
        max_memory=max_memory,
        progress=progress,
    ).model
