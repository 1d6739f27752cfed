"""Rules: which action, or which pair, to play. A new one is one file and two lines here."""

from lpbandits.policies.base import Rule
from lpbandits.policies.rules.any_action import AnyAction as AnyAction
from lpbandits.policies.rules.best_expected import BestExpected as BestExpected
from lpbandits.policies.rules.double_thompson import DoubleThompson as DoubleThompson
from lpbandits.policies.rules.greedy import Greedy as Greedy
from lpbandits.policies.rules.ids import InformationDirected as InformationDirected
from lpbandits.policies.rules.optimism import Optimism as Optimism
from lpbandits.policies.rules.popular import Popularity as Popularity
from lpbandits.policies.rules.sample import Sample as Sample
from lpbandits.policies.rules.thompson import Thompson as Thompson
from lpbandits.policies.rules.two_states import TwoStates as TwoStates
from lpbandits.policies.rules.upper_bound import UpperBound as UpperBound

_CLASSES: tuple[type[Rule], ...] = (
    Sample,
    BestExpected,
    InformationDirected,
    Greedy,
    Popularity,
    Optimism,
    Thompson,
    UpperBound,
    AnyAction,
    TwoStates,
    DoubleThompson,
)

RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in _CLASSES}
"""Rules by their names in files; `lpbandits.register` adds others."""
