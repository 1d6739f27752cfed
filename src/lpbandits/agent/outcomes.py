"""`OutcomeLog`: an agent's outcomes in order, so that any can be retracted. `pair_up`: turn rewards into duels."""

from collections.abc import Hashable, Sequence
from typing import Any

from lpbandits import validate
from lpbandits.errors import InvalidInput, NotSupported, translate_errors
from lpbandits.policies import Policy
from lpbandits.policies.calls import warn_of_scale
from lpbandits.typing import Label

Row = tuple[int, float]
"""An action and its reward, or the winner and the loser of a duel."""


class OutcomeLog:
    """The outcomes of one agent's belief, and the ids of those that have one (docs/adr/0012).

    `missing` is the number of outcomes that are in the belief but not in the log.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> log = OutcomeLog(LpbTS(PreferenceModel([[0, 1]], actions=["tea", "jam"])))
    >>> log.add(0, 4.0, "visit 1")
    >>> log.is_repeat("visit 1", 0, 4.0), log.is_repeat("visit 2", 0, 4.0)
    (True, False)
    """

    def __init__(self, policy: Policy, missing: int = 0) -> None:
        self.actions: list[int] = []
        self.outcomes: list[float] = []
        self.ids: dict[Hashable, tuple[int, int, float]] = {}
        """Position in the log (-1: missing), action and outcome by id."""
        self.missing = missing
        self._policy = policy
        self._duels = policy.feedback == "duels"

    def add(self, action: int, outcome: float, id_: Hashable = None) -> None:
        """Append an outcome."""
        self.actions.append(action)
        self.outcomes.append(outcome)
        if id_ is not None:
            self.ids[_checked_id(id_)] = (len(self.actions) - 1, action, outcome)

    def copy(self) -> "OutcomeLog":
        """Return an independent copy."""
        out = OutcomeLog(self._policy, self.missing)
        out.actions, out.outcomes, out.ids = self.actions.copy(), self.outcomes.copy(), self.ids.copy()
        return out

    def rows(self) -> list[Row]:
        """Return the outcomes in order."""
        return list(zip(self.actions, self.outcomes, strict=True))

    def named(self, row: Row) -> tuple[Label, Any]:
        """Return a row with the label of the action, and the user's number or the label of the loser."""
        model = self._policy.model
        return model.actions[row[0]], model.actions[int(row[1])] if self._duels else model.oriented(row[1])

    def checked(self, label: Any, outcome: Any) -> Row:
        """Return a validated row of an outcome given by labels."""
        action = self._policy.index_of(label)
        return action, self._policy.index_of(outcome) if self._duels else reward_of(self._policy, outcome)

    def is_repeat(self, id_: Hashable, action: int, outcome: float) -> bool:
        """Return whether this outcome was added with this id; raise if another outcome was."""
        before = self.ids.get(_checked_id(id_))
        if before is None:
            return False
        if before[1:] != (action, outcome):
            raise InvalidInput(
                f"id {validate.short_repr(id_)} already belongs to {self._described(before[1:])}, got "
                f"{self._described((action, outcome))}; retract the first with retract(id={validate.short_repr(id_)}), "
                "or use a new id"
            )
        return True

    def row_of(self, id_: Hashable) -> Row:
        """Return the row of the outcome with this id."""
        entry = self.ids.get(_checked_id(id_))
        if entry is None:
            raise InvalidInput(
                f"id must be that of a reported outcome, got {validate.short_repr(id_)}; it was not reported, or is "
                "already retracted"
            )
        return entry[1:]

    def require_all(self, consequence: str) -> None:
        """Raise `NotSupported` if outcomes are missing."""
        if self.missing:
            raise NotSupported(
                f"{self.missing} outcomes were not saved with this agent, so {consequence}; save with "
                "to_json(outcomes=True)"
            )

    def without(self, row: Row, id_: Hashable = None) -> tuple[list[Row], dict[Hashable, tuple[int, int, float]]]:
        """Return all rows and ids without one outcome.

        It is the one with this id; without an id, the latest equal row, preferably one that has no id.
        """
        self.require_all("none can be retracted exactly")
        rows = self.rows()
        tagged = {place: key for key, (place, *_) in self.ids.items()}
        places = [place for place, other in enumerate(rows) if other == row]
        if id_ is not None:
            places = [place for place in places if tagged.get(place) == _checked_id(id_)]
        if not places:
            recorded = [self._described(other) for other in rows if other[0] == row[0]]
            text = (", ".join(recorded[:5]) + (" …" if len(recorded) > 5 else "")) or "none"
            which = "" if id_ is None else f" with id {validate.short_repr(id_)}"
            recorded_of = f"the recorded {'wins' if self._duels else 'rewards'} of {self.named(row)[0]!r}"
            raise InvalidInput(f"cannot retract {self._described(row)}{which}: {recorded_of} are {text}")
        removed = max([place for place in places if place not in tagged] or places)
        ids = {
            key: (place - (place > removed), action, outcome)  # later ones move up
            for key, (place, action, outcome) in self.ids.items()
            if place != removed
        }
        return rows[:removed] + rows[removed + 1 :], ids

    def restore_ids(self, ids: Sequence[Any]) -> None:
        """Restore saved ids of outcomes given by labels."""
        for key, place, label, outcome in ids:
            row = self.checked(label, outcome)
            at = -1 if self.missing else validate.as_count(place, "place", low=0, high=len(self.actions) - 1)
            if at >= 0 and (self.actions[at], self.outcomes[at]) != row:
                raise InvalidInput(f"id {key!r} points to outcome {at}, which is a different outcome")
            self.ids[_checked_id(key)] = (at, *row)

    def _described(self, row: Row) -> str:
        label, outcome = self.named(row)
        return f"{label!r} beating {outcome!r}" if self._duels else f"reward {outcome:g} for {label!r}"


def reward_of(policy: Policy, number: Any) -> float:
    """Return the reward of a user's number, its negative if lower is better; raise if the family forbids it."""
    return float(policy.model.oriented(policy.rewards.check(number)))


def told_reward(policy: Policy, number: Any, action: int) -> float:
    """Return the reward of a number that a user tells, and warn if it is on another scale than the model's log."""
    reward = reward_of(policy, number)
    low, high = policy.calls.usual
    if not low <= reward <= high:
        warn_of_scale(policy.model, reward, action, stacklevel=3)
    return reward


def _checked_id(id_: Any) -> Hashable:
    if isinstance(id_, str):
        return validate.as_text(id_, "id")
    try:
        return validate.as_count(id_, "id", low=-(2**63), high=2**63 - 1)
    except InvalidInput:
        raise validate.invalid("id", "text or a whole number", id_) from None


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
