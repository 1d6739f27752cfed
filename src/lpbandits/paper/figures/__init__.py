"""The figures, of the paper and beyond it. A new one is a file with FIGURES, named twice here, or one of SWEEPS."""

from lpbandits.paper.figures import (
    ladder,
    looseness,
    lower_bound,
    movielens,
    recovery,
    regret_curves,
    relative,
    simplex,
    sweeps,
)
from lpbandits.paper.spec import Figure

_FILES = (simplex, regret_curves, sweeps, lower_bound, relative, recovery, movielens, looseness, ladder)

FIGURES: dict[str, Figure] = {figure.name: figure for file in _FILES for figure in file.FIGURES}
"""Every figure by name, in the order of the report."""
