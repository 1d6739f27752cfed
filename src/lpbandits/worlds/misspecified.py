"""Misspecified models: orderings that differ from those of the people by a given expected amount."""

import math

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.model import even_utilities
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds.kernels import mistakes

DRAWS_PER_STATE = 200
EXTRA_DRAWS = 50_000
"""Limit on draws, for worlds with nearly as many states as orderings."""


def expected_error(noise: float, actions: int) -> float:
    """Return the expected 1 − τ of an ordering by evenly spaced utilities with normal noise of this sd.

    1 − τ is twice the share of pairs ordered differently. A pair at distance d is reversed with probability
    Φ(−d / (noise √2)).

    >>> round(expected_error(1.0, 2), 6), round(expected_error(1e9, 10), 6)
    (0.157299, 1.0)
    """
    from scipy.special import ndtr  # noqa: PLC0415 - heavy, and only for misspecified worlds

    apart = np.arange(1, actions)
    distances = apart / math.sqrt((actions**2 - 1) / 12.0)
    pairs = actions * (actions - 1) / 2.0
    return float(2.0 * ((actions - apart) * ndtr(-distances / (noise * math.sqrt(2.0)))).sum() / pairs)


def noise_for(error: float, actions: int) -> float:
    """Return the noise for which the expected 1 − τ is `error`, in (0, 1): the inverse of `expected_error`.

    >>> round(noise_for(0.157299207, 2), 6)
    1.0
    """
    from scipy.optimize import bisect  # noqa: PLC0415 - as above

    step = math.sqrt(12.0 / (actions**2 - 1))
    low, high = math.log(step / 100.0), math.log(1e18)  # where the error rounds to 0 and to 1
    return math.exp(bisect(lambda log: expected_error(math.exp(log), actions) - error, low, high, xtol=1e-14))


def noisy_model(orderings: IntArray, error: float, *, seed: int, draw: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return distinct orderings whose expected 1 − τ to the true ones is `error`, with utilities and their errors.

    Noisy utilities x̂ of noise η are shrunk as by a fit that knows η: utilities x̂ / (1 + η²) with standard errors
    η / √(1 + η²), on the logit scale.

    >>> orderings, utilities, errors = noisy_model(np.array([[0, 1, 2], [2, 1, 0]]), 0.1, seed=0, draw=0)
    >>> orderings.tolist(), errors.shape
    ([[0, 1, 2], [2, 1, 0]], (2, 3))
    """
    from scipy.special import expit  # noqa: PLC0415 - as above

    m, k = orderings.shape
    noise = noise_for(error, k)
    true = np.empty((m, k))
    np.put_along_axis(true, orderings, np.tile(even_utilities(k), (m, 1)), axis=1)
    noisy = _with_distinct_orderings(true, noise, seed, draw)
    return (
        np.argsort(-noisy, axis=1, kind="stable").astype(np.int64),
        expit(noisy / (1.0 + noise**2)),
        np.full((m, k), noise / math.sqrt(1.0 + noise**2)),
    )


def _with_distinct_orderings(true: FloatArray, noise: float, seed: int, draw: int) -> FloatArray:
    """Add noise to each state's utilities, redrawn until its ordering differs from those of earlier states.

    With nearly as many states as orderings, the last states may find no free ordering: then all states start again.
    """
    m, k = true.shape
    max_draws = DRAWS_PER_STATE * m + EXTRA_DRAWS
    noisy, errors = np.empty((m, k)), np.empty(k)
    attempts = [0] * m
    seen: set[bytes] = set()
    state = tries = 0
    for _ in range(max_draws):
        mistakes(seed, draw, state, attempts[state], errors)
        attempts[state] += 1
        tries += 1
        noisy[state] = true[state] + noise * errors
        ordering = np.argsort(-noisy[state], kind="stable").tobytes()
        if ordering not in seen:
            seen.add(ordering)
            state, tries = state + 1, 0
            if state == m:
                return noisy
        elif tries == DRAWS_PER_STATE + 10 * m:
            seen.clear()
            state = tries = 0
    raise InvalidInput(
        f"states must be fewer than {m:,}: with {k:,} actions and this model_error no distinct orderings were found in "
        f"{max_draws:,} draws"
    )
