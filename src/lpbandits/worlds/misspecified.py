"""Models as policies are told them, when they are told wrongly."""

import math
from typing import NamedTuple

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.model import even_utilities
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds.kernels import mistakes

DRAWS_A_STATE = 200
MORE_DRAWS = 50_000
"""So many times is noise drawn before a world with nearly as many states as orderings is given up."""


class Told(NamedTuple):
    """What policies are told: m×k orderings, utilities, and the utilities' errors."""

    orderings: IntArray
    utilities: FloatArray
    errors: FloatArray


def wrong_share(noise: float, actions: int) -> float:
    """Return the expected 1 − τ of an ordering by evenly spaced utilities with normal noise of this sd.

    1 − τ is twice the share of pairs ordered differently; a pair at distance d is with chance Φ(−d / (noise √2)).

    >>> round(wrong_share(1.0, 2), 6), round(wrong_share(1e9, 10), 6)
    (0.157299, 1.0)
    """
    from scipy.special import ndtr  # noqa: PLC0415 - only for worlds that are told wrongly

    apart = np.arange(1, actions)
    distances = apart / math.sqrt((actions**2 - 1) / 12.0)
    pairs = actions * (actions - 1) / 2.0
    return float(2.0 * ((actions - apart) * ndtr(-distances / (noise * math.sqrt(2.0)))).sum() / pairs)


def noise_for(error: float, actions: int) -> float:
    """Return the noise on evenly spaced utilities that makes the expected 1 − τ equal to `error`, in (0, 1).

    >>> round(noise_for(0.157299207, 2), 6)
    1.0
    """
    from scipy.optimize import bisect  # noqa: PLC0415 - as above

    step = math.sqrt(12.0 / (actions**2 - 1))
    low, high = math.log(step / 100.0), math.log(1e18)  # where the share rounds to 0 and to 1
    return math.exp(bisect(lambda log: wrong_share(math.exp(log), actions) - error, low, high, xtol=1e-14))


def mistold(orderings: IntArray, error: float, *, seed: int, draw: int) -> Told:
    """Return distinct orderings that differ from the given ones by an expected 1 − τ of `error`.

    Utilities are what a fit that knew the noise η would shrink the noisy ones to, x̂ / (1 + η²), and their errors are
    η / √(1 + η²), both on the scale of logits.

    >>> told = mistold(np.array([[0, 1, 2], [2, 1, 0]]), 0.1, seed=0, draw=0)
    >>> told.orderings.tolist(), told.errors.shape
    ([[0, 1, 2], [2, 1, 0]], (2, 3))
    """
    from scipy.special import expit  # noqa: PLC0415 - as above

    m, k = orderings.shape
    noise = noise_for(error, k)
    true = np.empty((m, k))
    np.put_along_axis(true, orderings, np.tile(even_utilities(k), (m, 1)), axis=1)
    noisy = _distinct(true, noise, seed, draw)
    return Told(
        orderings=np.argsort(-noisy, axis=1, kind="stable").astype(np.int64),
        utilities=expit(noisy / (1.0 + noise**2)),
        errors=np.full((m, k), noise / math.sqrt(1.0 + noise**2)),
    )


def _distinct(true: FloatArray, noise: float, seed: int, draw: int) -> FloatArray:
    """Add noise to each state's utilities, again until its ordering is another than those before it.

    With nearly as many states as orderings, the last ones may hardly find a free one: then all begin anew.
    """
    m, k = true.shape
    out, drawn = np.empty((m, k)), np.empty(k)
    left = DRAWS_A_STATE * m + MORE_DRAWS
    attempts = [0] * m
    seen: set[bytes] = set()
    state = tries = 0
    while state < m:
        if left == 0:
            raise InvalidInput(
                f"no {m:,} distinct orderings of {k:,} actions were found in {DRAWS_A_STATE * m + MORE_DRAWS:,} draws "
                "of model_error's noise; use fewer states"
            )
        mistakes(seed, draw, state, attempts[state], drawn)
        attempts[state] += 1
        left -= 1
        tries += 1
        out[state] = true[state] + noise * drawn
        ordering = np.argsort(-out[state], kind="stable").tobytes()
        if ordering not in seen:
            seen.add(ordering)
            state, tries = state + 1, 0
        elif tries == DRAWS_A_STATE + 10 * m:
            seen.clear()
            state = tries = 0
    return out
