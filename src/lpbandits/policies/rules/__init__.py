"""Rules: which action, or which pair, to play. To add one: a module here and two lines below; see CONTRIBUTING.md."""

from lpbandits.policies.base import Rule
from lpbandits.policies.rules.classical import AnyAction as AnyAction
from lpbandits.policies.rules.classical import Thompson as Thompson
from lpbandits.policies.rules.classical import UpperBound as UpperBound
from lpbandits.policies.rules.double_thompson import DoubleThompson as DoubleThompson
from lpbandits.policies.rules.greedy import Greedy as Greedy
from lpbandits.policies.rules.greedy import Optimism as Optimism
from lpbandits.policies.rules.greedy import Popularity as Popularity
from lpbandits.policies.rules.ids import InformationDirected as InformationDirected
from lpbandits.policies.rules.knowledge_gradient import KnowledgeGradient as KnowledgeGradient
from lpbandits.policies.rules.order_optimism import OrderOptimism as OrderOptimism
from lpbandits.policies.rules.sample import BestExpected as BestExpected
from lpbandits.policies.rules.sample import Sample as Sample
from lpbandits.policies.rules.sample import TwoStates as TwoStates

_WITH_STATES: tuple[type[Rule], ...] = (
    Sample,
    BestExpected,
    InformationDirected,
    KnowledgeGradient,
    Greedy,
    Optimism,
    OrderOptimism,
    TwoStates,
)
_WITHOUT_STATES: tuple[type[Rule], ...] = (Popularity, Thompson, UpperBound, AnyAction, DoubleThompson)
RULES: dict[str, type[Rule]] = {rule.kind: rule for rule in (*_WITH_STATES, *_WITHOUT_STATES)}
"""Rules by their names in files; `lpbandits.register` adds others."""
