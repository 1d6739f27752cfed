"""Registry of claims of the paper and beyond it. A new claim is a function and an entry of a module's CHECKS."""

from dataclasses import replace

import numpy as np

from lpbandits.paper.claims import beyond, curves, data, sweeps, theory
from lpbandits.paper.claims.check import Check, Claim, Tables

CHECKS: tuple[Check, ...] = (
    *curves.CHECKS,
    *sweeps.CHECKS,
    *theory.CHECKS,
    *data.CHECKS,
    *beyond.CHECKS,
)
"""All checks, in the order of the report."""


def check_claims(tables: Tables) -> list[Claim]:
    """Return every claim that can be checked on these tables.

    >>> check_claims({})
    []
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a ratio to a regret of 0 is not a number
        return [
            replace(check.run(tables), figures=check.needs, headline=check.headline)
            for check in CHECKS
            if all(name in tables for name in check.needs)
        ]
