"""Errors and warnings of calls that a policy does not support, or not for long."""

from typing import Never

from lpbandits.errors import LockInWarning, NotSupported, warn_caller
from lpbandits.policies import Policy


def only_duels() -> Never:
    """Refuse a call for rewards."""
    raise NotSupported("this policy learns from duels; use ask_pair() and tell_duel(winner, loser)")


def only_rewards() -> Never:
    """Refuse a call for duels."""
    raise NotSupported(
        "this policy learns from rewards; use ask() and tell(action, reward), or a policy for duels such as "
        "LpbDuel(model)"
    )


def warn_of_lock_in(policy: Policy, action: object) -> None:
    """Warn that a rule plays an action again, which it may do for ever."""
    warn_caller(
        f"the rule '{policy.rule.kind}' plays {action!r} again and may never play another action; pass the actions not "
        "yet given: ask(allowed=…)",
        LockInWarning,
    )
