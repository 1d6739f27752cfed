"""From a log of ratings to a `PreferenceModel`.

`read_ratings` reads the log, `recover_two_stage` and `recover_em` fit it, `choose_states` helps to say how many states,
`match_orderings` compares a fit with the truth. Nothing heavy is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbandits.recovery.bradley_terry import BradleyTerry, fit_bradley_terry
    from lpbandits.recovery.cluster import Clusters, cluster_people
    from lpbandits.recovery.em import Em
    from lpbandits.recovery.fit import fit_states, recover_em, recover_two_stage
    from lpbandits.recovery.heldout_people import StateCurve, choose_states
    from lpbandits.recovery.match import Matching, match_orderings
    from lpbandits.recovery.ratings import Ratings
    from lpbandits.recovery.read import read_ratings
    from lpbandits.recovery.report import Fit, FitReport
    from lpbandits.recovery.two_stage import TwoStage

__all__ = [
    "BradleyTerry",
    "Clusters",
    "Em",
    "Fit",
    "FitReport",
    "Matching",
    "Ratings",
    "StateCurve",
    "TwoStage",
    "choose_states",
    "cluster_people",
    "fit_bradley_terry",
    "fit_states",
    "match_orderings",
    "read_ratings",
    "recover_em",
    "recover_two_stage",
]

_HOMES = {
    "bradley_terry": ("BradleyTerry", "fit_bradley_terry"),
    "cluster": ("Clusters", "cluster_people"),
    "em": ("Em",),
    "fit": ("fit_states", "recover_em", "recover_two_stage"),
    "ratings": ("Ratings",),
    "heldout_people": ("StateCurve", "choose_states"),
    "match": ("Matching", "match_orderings"),
    "read": ("read_ratings",),
    "report": ("Fit", "FitReport"),
    "two_stage": ("TwoStage",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
