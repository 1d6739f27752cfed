"""Isotonic regression for users: the fit at the heart of lpbTS as one function."""

from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.kernels.isotonic import isotonic as kernel
from lpbandits.typing import FloatArray


@translate_errors("fitting")
def isotonic(values: Any, *, weights: Any = None) -> FloatArray:
    """Return the non-increasing fit to `values` with the least weighted squared error (Proposition 2).

    `weights` are positive (all 1 by default): in a bandit, how often each action was tried. Leave an action that was
    never tried out: weight 0 moves no other mean.

    >>> isotonic([3.0, 4.0, 1.0], weights=[1, 2, 1]).round(3).tolist()
    [3.667, 3.667, 1.0]
    """
    clean = validate.as_floats(values, "values", shape=(None,))
    if weights is None:
        return kernel(clean, np.ones(len(clean)))
    heavy = validate.as_floats(weights, "weights", shape=(len(clean),))
    low = np.flatnonzero(heavy <= 0)
    if len(low):
        raise InvalidInput(f"weights[{low[0]}] is {heavy[low[0]]:g}; weights must be positive: leave such values out")
    return kernel(clean, heavy)
