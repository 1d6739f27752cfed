"""The rules: which action, or which pair, to play? A new one is one file, and one line here."""

from lpbandits.policies.parts import Rule
from lpbandits.policies.rules.any_action import AnyAction
from lpbandits.policies.rules.double_thompson import DoubleThompson
from lpbandits.policies.rules.optimism import Optimism
from lpbandits.policies.rules.sample import Sample
from lpbandits.policies.rules.thompson import Thompson
from lpbandits.policies.rules.two_states import TwoStates
from lpbandits.policies.rules.upper_bound import UpperBound

__all__ = ["RULES", "AnyAction", "DoubleThompson", "Optimism", "Sample", "Thompson", "TwoStates", "UpperBound"]

RULES: dict[str, type[Rule]] = {
    part.kind: part for part in (Sample, Optimism, Thompson, UpperBound, AnyAction, TwoStates, DoubleThompson)
}
"""Every rule by its name in files; `lpbandits.register` adds others."""
