"""The paper's figures, one small file each. A new one is a file with FIGURES and a line here."""

from lpbandits.paper.figures import (
    lower_bound,
    movielens,
    recovery,
    regret_curves,
    relative,
    simplex,
    vary_actions,
    vary_both,
    vary_gap,
    vary_noise,
    vary_states,
)
from lpbandits.paper.spec import Figure

_FILES = (
    simplex,
    regret_curves,
    vary_both,
    vary_states,
    vary_gap,
    vary_actions,
    vary_noise,
    lower_bound,
    relative,
    recovery,
    movielens,
)

FIGURES: dict[str, Figure] = {figure.name: figure for file in _FILES for figure in file.FIGURES}
"""Every figure by name, in the order of the report."""
