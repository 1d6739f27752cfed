"""Convert absolute rewards to duels."""

from typing import Any

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.typing import Label


@translate_errors("pairing up")
def pair_up(actions: Any, rewards: Any) -> list[tuple[Label, Label]]:
    """Return (winner, loser) of consecutive pairs of plays: first and second, third and fourth, and so on.

    No play is in two pairs, so the duels are independent (the paper's appendix on absolute to relative feedback). Pairs
    of equal rewards and a last unpaired play are dropped.

    >>> pair_up(["a", "b", "c", "a", "b"], [1.0, 2.0, 5.0, 3.0, 9.0])
    [('b', 'a'), ('c', 'a')]
    """
    values = validate.as_floats(rewards, "rewards", shape=(None,))
    items = validate.as_list(actions, "actions", "actions", max_length=len(values) + 1)
    labels = [validate.as_label(label, f"actions[{i}]") for i, label in enumerate(items)]
    if len(labels) != len(values):
        raise InvalidInput(f"rewards must have one value per action ({len(labels)}), got {len(values)}")
    plays = zip(values.tolist(), labels, strict=True)
    duels = [((r, a), (s, b)) for (r, a), (s, b) in zip(plays, plays, strict=False) if r != s]
    return [(a, b) if r > s else (b, a) for (r, a), (s, b) in duels]
