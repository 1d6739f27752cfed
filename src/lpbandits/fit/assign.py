"""Assign people to their likeliest state."""

import numpy as np
import polars as pl
from scipy.special import logit

from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.comparisons import compare
from lpbandits.fit.estimator import log_likelihoods, mixture
from lpbandits.fit.pipeline import open_blocks
from lpbandits.model import EDGE, PreferenceModel, as_model
from lpbandits.parallel import Threads, Workers
from lpbandits.typing import FloatArray, IntArray
from lpbandits.validate import short_repr


@translate_errors("assigning people to states")
def states_of(
    model: PreferenceModel,
    ratings: Ratings | ChunkedRatings,
    *,
    threads: int | None = None,
    jobs: int | Workers | None = None,
) -> pl.DataFrame:
    """Return each person's likeliest state and its probability, also for people the model was not fitted to.

    Returns
    -------
    DataFrame
        One row per person: `person`, `state`, `probability` (of that state), `ratings` (number of ratings of the
        model's actions, matched by label) and `left_out` (number of other ratings).

    Notes
    -----
    The probability is that of the Bradley-Terry mixture with n ratings counting as n − 1 comparisons: the n(n − 1)/2
    comparisons share the noise of n ratings and would make it overconfident. A person with fewer than two ratings of
    the model's actions gets the prior.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1], [1, 0]], prior=[0.6, 0.4], utilities=[[0.9, 0.1], [0.1, 0.9]])
    >>> log = Ratings.from_arrays(["ann", "ann", "bo", "bo", "eve"], [0, 1, 0, 1, 1], [5, 1, 2, 3, 4])
    >>> for row in states_of(model, log).rows(): print(row)
    ('ann', 0, 0.991..., 2, 0)
    ('bo', 1, 0.981..., 2, 0)
    ('eve', 0, 0.6, 1, 0)
    """
    as_model(model)
    if not isinstance(ratings, ChunkedRatings):
        as_ratings(ratings)
    if model.utilities is None:
        raise InvalidInput("model must have utilities to assign states; fit it to a log")
    beta = np.asarray(logit(np.clip(model.utilities, EDGE, 1.0 - EDGE)))
    with open_blocks(ratings, jobs, threads) as log:
        parts = list(log.map(_assign_block, model.indices_of(ratings.actions), beta, model.prior))
    state, probability, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if not counts.any():
        raise InvalidInput(
            f"no action of the ratings is in the model: the model has actions such as {short_repr(model.actions[0])}, "
            f"the ratings such as {short_repr(ratings.actions[0])}"
        )
    people = labels_as_series("person", ratings.people)
    columns = {"state": state, "probability": probability, "ratings": counts, "left_out": ratings.counts - counts}
    return pl.DataFrame({"person": people, **columns})


def _assign_block(
    block: Ratings, threads: Threads, place: IntArray, beta: FloatArray, prior: FloatArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return each person's likeliest state, its probability, and the number of rated actions of the model."""
    action, owner = place[block.action], block.owner
    rows = np.flatnonzero(action >= 0)
    counts = np.bincount(owner[rows], minlength=len(block.people))
    offsets, actions = np.concatenate([[0], np.cumsum(counts)]), tuple(range(beta.shape[1]))
    known = Ratings.trusted(offsets, action[rows].astype(np.int32), block.rating[rows], block.people, actions)
    values = log_likelihoods(compare(known, threads=threads), beta, threads=threads)
    membership = mixture(values * (2 / np.maximum(counts, 2))[:, None], prior)[1]
    membership[counts < 2] = prior
    state = membership.argmax(axis=1)
    return state, membership[np.arange(len(state)), state], counts
