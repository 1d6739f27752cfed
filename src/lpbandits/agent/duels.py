"""Absolute rewards turned into duels."""

from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.typing import Label


@translate_errors("pairing up")
def pair_up(actions: Any, rewards: Any) -> list[tuple[Label, Label]]:
    """Return (winner, loser) of consecutive pairs of plays: the first with the second, the third with the fourth.

    No play is in two pairs, so the duels are independent (the paper's appendix on absolute to relative feedback). Pairs
    of equal rewards are left out, and so is a last play without a partner.

    >>> pair_up(["a", "b", "c", "a", "b"], [1.0, 2.0, 5.0, 3.0, 9.0])
    [('b', 'a'), ('c', 'a')]
    """
    values = validate.as_floats(rewards, "rewards", shape=(None,))
    given = validate.as_list(actions, "actions", "actions", max_length=len(values) + 1)
    names = [validate.as_label(label, f"actions[{i}]") for i, label in enumerate(given)]
    if len(names) != len(values):
        raise InvalidInput(f"there are {len(names)} actions and {len(values)} rewards; give one reward per action")
    out = []
    for i in np.arange(0, len(values) - 1, 2):
        if values[i] != values[i + 1]:
            ahead = i if values[i] > values[i + 1] else i + 1
            out.append((names[ahead], names[2 * i + 1 - ahead]))
    return out
