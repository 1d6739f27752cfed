"""Match the states of two models and measure how well their orderings agree."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.kernels.kendall import inversions
from lpbandits.model import PreferenceModel, as_model
from lpbandits.typing import FloatArray, IntArray


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
    """Mean overlap of the ten best actions (or of all, if fewer)."""


@translate_errors("matching orderings")
def match_orderings(true_model: PreferenceModel, fitted_model: PreferenceModel, *, top: int = 10) -> Matching:
    """Match the states of two models over the same actions, minimizing the mean of 1 − Kendall's τ.

    This is the error of the paper's recovery figure. Actions are matched by label. `top` is the number of best actions
    in `top_overlap`.

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
    k, inverted = true_model.n_actions, np.empty((true_model.n_states, fitted_model.n_states))
    work = np.empty(k, dtype=np.int64)
    for y, ordering in enumerate(true_model.orderings):
        inverted[y] = [inversions(np.ascontiguousarray(rank[ordering]), work) for rank in places]
    loss = 2 * inverted / max(k * (k - 1) / 2, 1)  # 1 − τ
    assignment = loss.argmin(axis=1)
    rows, columns = linear_sum_assignment(loss)
    assignment[rows] = columns
    errors = loss[np.arange(len(loss)), assignment]
    best = min(validate.as_count(top, "top"), k)
    shared = (true_model.ranks < best) & (places[assignment] < best)
    return Matching(assignment, float(errors.mean()), errors, float(shared.sum(axis=1).mean() / best))
