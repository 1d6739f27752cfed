"""Relative feedback: policies that let two actions meet and learn from who wins, and worlds that decide it.

agent = lpb.Agent(lpb.LpbDuel(model), seed=7)
first, second = agent.ask_pair()
agent.tell_duel(first, second)          # the first won
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lpbandits import validate
from lpbandits.duels.pairing import pair_up
from lpbandits.duels.parts import (
    EVIDENCES,
    RULES,
    DoubleThompson,
    DuelEvidence,
    Inversions,
    Paired,
    PairRule,
    TwoStates,
    Wins,
)
from lpbandits.duels.policies import DoubleTS, LpbDuel, LpbPaired
from lpbandits.duels.world import COMPARISONS, DuellingWorld
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy, Setting, policy_from_dict
from lpbandits.policies.evidence import EVIDENCES as SINGLE_EVIDENCES
from lpbandits.policies.rules import RULES as SINGLE_RULES
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, Json

__all__ = [
    "COMPARISONS",
    "DUEL_POLICIES",
    "DoubleTS",
    "DoubleThompson",
    "DuelEntry",
    "DuelEvidence",
    "DuellingWorld",
    "Hands",
    "Inversions",
    "LpbDuel",
    "LpbPaired",
    "PairRule",
    "Paired",
    "TwoStates",
    "Wins",
    "any_policy_from_dict",
    "hands_of",
    "make_duel_policy",
    "pair_up",
]


@dataclass(frozen=True)
class DuelEntry:
    """A registered policy for duels: how it is built for a run, what it knows, and what it assumes."""

    build: Callable[[Setting], Policy]
    title: str
    knows: str
    assumes: str


DUEL_POLICIES: dict[str, DuelEntry] = {
    "lpb-duel": DuelEntry(
        lambda s: LpbDuel(s.model),
        "lpb-duel",
        "the possible orderings",
        "the action that a person's state prefers wins more often than not",
    ),
    "double-ts": DuelEntry(
        lambda s: DoubleTS(s.model),
        "double TS",
        "nothing",
        "every pair of actions has its own chance; some action beats most others",
    ),
    "double-ts-top": DuelEntry(
        lambda s: DoubleTS(s.model, top=True),
        "double TS, top actions",
        "which actions are best in some state",
        "as double-ts, among those actions",
    ),
}
"""Every policy for duels by name."""


def make_duel_policy(name: str, setting: Setting) -> Policy:
    """Return the registered policy for duels `name` for a run.

    >>> make_duel_policy("lpb-duel", Setting(PreferenceModel([[0, 1], [1, 0]]), Rewards()))
    LpbDuel(inversions(margin=None) × two-states() over 2 states, 2 actions)
    """
    return DUEL_POLICIES[validate.as_choice(name, "policy", DUEL_POLICIES)].build(setting)


@dataclass(frozen=True)
class Hands:
    """What plays a policy for duels: its two kernels, its empty table of wins, and the room its belief needs."""

    choose: Callable[..., tuple[int, int]]
    tell: Callable[..., int]
    wins: FloatArray
    room: int


def hands_of(policy: Policy) -> Hands | None:
    """Return what plays a policy for duels, None for a policy that plays one action at a time.

    >>> hands_of(LpbDuel(PreferenceModel([[0, 1]]))).wins.shape, hands_of(LpbPaired(PreferenceModel([[0, 1]])))
    ((0, 0), None)
    """
    evidence, rule = policy.evidence, policy.rule
    if isinstance(evidence, DuelEvidence) and isinstance(rule, PairRule):
        wins = evidence.wins(policy.model)
        return Hands(rule.choose_pair, evidence.tell_duel, wins, max(8, len(wins)))
    if isinstance(evidence, DuelEvidence) or isinstance(rule, PairRule):
        raise InvalidInput(
            f"'{evidence.kind}' and '{rule.kind}' do not go together: one works with duels, the other with rewards; "
            "use LpbDuel(model) or LpbTS(model)"
        )
    return None


def any_policy_from_dict(content: Json, model: PreferenceModel) -> Policy:
    """Return the policy that `Policy.to_dict` wrote, over `model`, whether it duels or not."""
    try:
        known = content["evidence"]["kind"] in EVIDENCES
    except (KeyError, TypeError):
        known = False
    if not known:
        return policy_from_dict(content, model)
    try:
        return Policy(
            model,
            _part({**SINGLE_EVIDENCES, **EVIDENCES}, content["evidence"]),
            _part({**SINGLE_RULES, **RULES}, content["rule"]),
        )
    except InvalidInput as error:
        raise FileFormatError(f"the saved policy is not usable: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"the saved policy is not whole: {error}") from None


def _part(kinds: Mapping[str, Any], content: Json) -> Any:
    settings = dict(content)
    kind = settings.pop("kind")
    if "rewards" in settings:
        settings["rewards"] = Rewards(**settings["rewards"])
    return kinds[kind](**settings)
