"""The paper's sentences as checks, by family. A new claim is a function and its line in one family's CHECKS."""

from dataclasses import replace

from lpbandits.paper.claims import data, synthetic, theory
from lpbandits.paper.claims.check import Check, Claim, Tables

CHECKS: tuple[Check, ...] = (*synthetic.CHECKS, *theory.CHECKS, *data.CHECKS)
"""Every check, in the order of the report."""


def check_claims(tables: Tables) -> list[Claim]:
    """Return every claim that can be checked on these tables.

    >>> check_claims({})
    []
    """
    return [
        replace(check.run(tables), figures=check.needs)
        for check in CHECKS
        if all(name in tables for name in check.needs)
    ]
