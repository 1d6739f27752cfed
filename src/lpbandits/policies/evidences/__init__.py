"""Evidences: objects that compute how probable each state is (see `policies.base`).

To add one: a module here and two lines below; see CONTRIBUTING.md.
"""

from lpbandits.policies.base import Evidence
from lpbandits.policies.evidences.counts import Standing as Standing
from lpbandits.policies.evidences.counts import Tally as Tally
from lpbandits.policies.evidences.duels import Inversions as Inversions
from lpbandits.policies.evidences.duels import Paired as Paired
from lpbandits.policies.evidences.duels import Wins as Wins
from lpbandits.policies.evidences.known_means import Consistency as Consistency
from lpbandits.policies.evidences.known_means import KnownMeans as KnownMeans
from lpbandits.policies.evidences.marginal import Marginal as Marginal
from lpbandits.policies.evidences.order_bounds import OrderBounds as OrderBounds
from lpbandits.policies.evidences.refit import Incremental as Incremental
from lpbandits.policies.evidences.refit import Refit as Refit
from lpbandits.policies.evidences.taste import TasteEvidence as TasteEvidence
from lpbandits.policies.evidences.utility import Utility as Utility

_OF_REWARDS: tuple[type[Evidence], ...] = (
    Refit,
    Marginal,
    Incremental,
    KnownMeans,
    Utility,
    Consistency,
    OrderBounds,
    Paired,
)
_OF_DUELS: tuple[type[Evidence], ...] = (Inversions, Wins)
_WITHOUT_STATES: tuple[type[Evidence], ...] = (Tally, Standing, TasteEvidence)
EVIDENCES: dict[str, type[Evidence]] = {part.kind: part for part in (*_OF_REWARDS, *_OF_DUELS, *_WITHOUT_STATES)}
"""Evidences by their names in files; `lpbandits.register` adds others."""
