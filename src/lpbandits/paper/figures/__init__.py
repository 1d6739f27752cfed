"""Registry of figures. A new figure is a module with FIGURES, listed here twice, or an entry of SWEEPS."""

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
"""All figures by name, in the order of the report."""
