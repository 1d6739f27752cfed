"""Registry of figures. A new figure is a module with FIGURES, added here twice, or a call of `sweep` or `ladder`."""

from lpbandits.paper.figures import curves, ladder, looseness, lower_bound, movielens, recovery, simplex, sweeps
from lpbandits.paper.spec import Figure
from lpbandits.register import FIGURES as REGISTERED

_LISTS = (
    simplex.FIGURES,
    curves.REGRET_CURVES,
    sweeps.FIGURES,
    lower_bound.FIGURES,
    curves.RELATIVE_FEEDBACK,
    recovery.FIGURES,
    movielens.FIGURES,
    curves.FEW,
    looseness.FIGURES,
    ladder.FIGURES,
)

FIGURES: dict[str, Figure] = REGISTERED
"""All figures by name, in the order of the report; plug-ins follow."""

FIGURES.update({figure.name: figure for figures in _LISTS for figure in figures})
