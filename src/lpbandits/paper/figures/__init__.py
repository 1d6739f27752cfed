"""The paper's figures. A new one is a file with FIGURES and its name in the two lines here, or an entry of SWEEPS."""

from lpbandits.paper.figures import (
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

_FILES = (simplex, regret_curves, sweeps, looseness, lower_bound, relative, recovery, movielens)

FIGURES: dict[str, Figure] = {figure.name: figure for file in _FILES for figure in file.FIGURES}
"""Every figure by name, in the order of the report."""
