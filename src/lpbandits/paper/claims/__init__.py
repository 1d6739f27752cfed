"""Registry of claims. A new claim is a `yield` in the function of its figures, or a `regret_ratio`."""

import numpy as np

from lpbandits.paper.claims import beyond, curves, data, sweeps
from lpbandits.paper.claims.check import Check, Claim, Tables
from lpbandits.paper.figures import FIGURES

CHECKS: list[Check] = sorted(
    (*curves.CHECKS, *sweeps.CHECKS, *data.CHECKS, *beyond.CHECKS),
    key=lambda check: list(FIGURES).index(check.needs[0]),
)
"""All checks, in the order of the figures."""


def check_claims(tables: Tables) -> list[Claim]:
    """Return every claim that can be checked on these tables.

    >>> check_claims({})
    []
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # ratios to a regret of 0
        return [claim for check in CHECKS if set(check.needs) <= set(tables) for claim in check.run(tables)]
