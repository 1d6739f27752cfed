"""Evidences: how probable each state is. A new one is one file and two lines here."""

from lpbandits.policies.base import Evidence
from lpbandits.policies.evidences.consistency import Consistency as Consistency
from lpbandits.policies.evidences.incremental import Incremental as Incremental
from lpbandits.policies.evidences.inversions import Inversions as Inversions
from lpbandits.policies.evidences.inversions import Paired as Paired
from lpbandits.policies.evidences.known_means import KnownMeans as KnownMeans
from lpbandits.policies.evidences.marginal import Marginal as Marginal
from lpbandits.policies.evidences.refit import Refit as Refit
from lpbandits.policies.evidences.standing import Standing as Standing
from lpbandits.policies.evidences.tally import Tally as Tally
from lpbandits.policies.evidences.taste import TasteEvidence as TasteEvidence
from lpbandits.policies.evidences.utility import Utility as Utility
from lpbandits.policies.evidences.wins import Wins as Wins

_CLASSES: tuple[type[Evidence], ...] = (
    Refit,
    Marginal,
    Incremental,
    KnownMeans,
    Utility,
    Consistency,
    Tally,
    Standing,
    TasteEvidence,
    Inversions,
    Paired,
    Wins,
)

EVIDENCES: dict[str, type[Evidence]] = {evidence.kind: evidence for evidence in _CLASSES}
"""Evidences by their names in files; `lpbandits.register` adds others."""
