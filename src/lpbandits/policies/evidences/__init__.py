"""The evidences: how probable is each state? A new one is one file, and one line here."""

from lpbandits.policies.evidences.consistency import Consistency
from lpbandits.policies.evidences.incremental import Incremental
from lpbandits.policies.evidences.inversions import Inversions, Paired
from lpbandits.policies.evidences.known_means import KnownMeans
from lpbandits.policies.evidences.refit import Refit
from lpbandits.policies.evidences.tally import Tally
from lpbandits.policies.evidences.wins import Wins
from lpbandits.policies.parts import Evidence

__all__ = ["EVIDENCES", "Consistency", "Incremental", "Inversions", "KnownMeans", "Paired", "Refit", "Tally", "Wins"]

EVIDENCES: dict[str, type[Evidence]] = {
    part.kind: part for part in (Refit, Incremental, KnownMeans, Consistency, Tally, Inversions, Paired, Wins)
}
"""Every evidence by its name in files; `lpbandits.register` adds others."""
