"""Assign people to their likeliest state, and match the states of two models."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment

from lpbandits import validate
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.ratings import Ratings, as_ratings, check_direction, offsets_of
from lpbandits.data.tables import labels_as_series
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.comparisons import compare
from lpbandits.fit.methods.estimator import discount, log_likelihoods, mixture
from lpbandits.fit.pipeline import open_blocks
from lpbandits.kernels.kendall import kendall_distances
from lpbandits.model import PreferenceModel, as_model
from lpbandits.parallel import Threads, Workers
from lpbandits.typing import FloatArray, IntArray


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
    The probability is that of the Bradley-Terry mixture with n ratings counting as n − 1 comparisons (see
    `discount`). A person with fewer than two ratings of the model's actions gets the prior.

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
    check_direction(ratings, model)
    if model.logits is None:
        raise InvalidInput("model must have utilities to assign states; fit it to a log")
    with open_blocks(ratings, jobs, threads) as log:
        parts = list(log.map(_assign_block, model.indices_of(ratings.actions), model.logits, model.prior))
    state, probability, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if not counts.any():
        in_model, in_ratings = (validate.short_repr(actions[0]) for actions in (model.actions, ratings.actions))
        raise InvalidInput(
            f"ratings must have actions of the model, such as {in_model}, got actions such as {in_ratings}"
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
    arrays = offsets_of(counts), action[rows].astype(np.int32), block.rating[rows]
    known = Ratings.trusted(*arrays, block.people, tuple(range(beta.shape[1])))
    values = log_likelihoods(compare(known, threads=threads), beta, threads=threads)
    membership = mixture(values * discount(counts), prior)[1]
    membership[counts < 2] = prior
    state = membership.argmax(axis=1)
    return state, membership[np.arange(len(state)), state], counts


@dataclass(frozen=True, eq=False)
class Matching:
    """The best matching of the true states with the fitted ones."""

    assignment: IntArray
    """Fitted state of each true state, used once; if there are fewer fitted states, the others get the nearest one."""
    error: float
    """Mean over true states of 1 − Kendall's τ: 0 for equal orderings, 1 for unrelated ones, 2 for reversed ones."""
    errors: FloatArray
    """The same for each true state."""
    top_overlap: float
    """Mean share of the `top` best actions that both orderings have in common."""


@translate_errors("matching orderings")
def match_orderings(true_model: PreferenceModel, fitted_model: PreferenceModel, *, top: int = 10) -> Matching:
    """Match the states of two models over the same actions, minimizing the mean of 1 − Kendall's τ.

    This is the error of the paper's recovery figure. Actions are matched by label. `top` is the number of best actions
    for `top_overlap`, or all if there are fewer.

    Examples
    --------
    >>> truth = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> matching = match_orderings(truth, PreferenceModel([[2, 1, 0], [1, 0, 2]]))
    >>> matching.assignment.tolist(), matching.errors.round(3).tolist()
    ([1, 0], [0.667, 0.0])
    """
    as_model(true_model, "true_model")
    as_model(fitted_model, "fitted_model")
    missing = [label for label in true_model.actions if label not in fitted_model.index]
    if missing or fitted_model.n_actions != true_model.n_actions:
        detail = f"action {missing[0]!r} is only in true_model" if missing else "fitted_model has additional actions"
        raise InvalidInput(f"both models must have the same actions: {detail}")
    places = fitted_model.ranks[:, [fitted_model.index[label] for label in true_model.actions]]
    k = true_model.n_actions
    twice = kendall_distances(np.array(true_model.ranks), np.ascontiguousarray(places), False)
    loss = twice / max(k * (k - 1) / 2, 1)  # 1 − τ
    assignment = loss.argmin(axis=1)
    rows, columns = linear_sum_assignment(loss)
    assignment[rows] = columns
    errors = loss[np.arange(len(loss)), assignment]
    best = min(validate.as_count(top, "top"), k)
    tops, others = true_model.ranks < best, places[assignment] < best
    shares = (tops & others).sum(axis=1) / np.maximum(tops.sum(axis=1), others.sum(axis=1))  # a tier may exceed `top`
    return Matching(assignment, float(errors.mean()), errors, float(shares.mean()))
