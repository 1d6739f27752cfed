"""`OutcomeLog`: what an agent was told, in order, so that any of it can be taken back exactly."""

from collections.abc import Hashable, Sequence
from typing import Any

from lpbandits import validate
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.policies import Policy
from lpbandits.typing import Label

Row = tuple[int, float]
"""An action and its reward, or the winner and the loser of a duel."""


class OutcomeLog:
    """The outcomes that one agent's belief holds: two lists side by side, and those that have an id.

    `missing` outcomes are in the belief, but were not kept. See docs/adr/0012.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> told = OutcomeLog(LpbTS(PreferenceModel([[0, 1]], actions=["tea", "jam"])))
    >>> told.actions.append(0); told.outcomes.append(4.0); told.tag("visit 1")
    >>> told.is_repeat("visit 1", 0, 4.0), told.is_repeat("visit 2", 0, 4.0)
    (True, False)
    """

    def __init__(self, policy: Policy, missing: int = 0) -> None:
        self.actions: list[int] = []
        self.outcomes: list[float] = []
        self.ids: dict[Hashable, tuple[int, int, float]] = {}
        """The place of the outcome that came with an id (-1: it was not kept), and the outcome itself."""
        self.missing = missing
        self._policy = policy
        self._duels = policy.feedback == "duels"

    def rows(self) -> list[Row]:
        """Return what was told, in order."""
        return list(zip(self.actions, self.outcomes, strict=True))

    def named(self, row: Row) -> tuple[Label, Any]:
        """Return a row by the actions' labels."""
        labels = self._policy.model.actions
        return labels[row[0]], labels[int(row[1])] if self._duels else row[1]

    def checked(self, label: Any, outcome: Any) -> Row:
        """Return a row of what a user gave by label."""
        action = self._policy.index_of(label)
        return action, self._policy.index_of(outcome) if self._duels else self._policy.rewards.check(outcome)

    def is_repeat(self, id_: Hashable, action: int, outcome: float) -> bool:
        """Say whether this outcome was told with this id."""
        before = self.ids.get(_checked_id(id_))
        if before is None:
            return False
        if before[1:] != (action, outcome):
            raise InvalidInput(
                f"id {validate.short_repr(id_)} was told as {self._shown(before[1:])}, and now as "
                f"{self._shown((action, outcome))}; take the first back, or give the new one an id of its own"
            )
        return True

    def tag(self, id_: Hashable) -> None:
        """Give the latest outcome an id."""
        self.ids[_checked_id(id_)] = (len(self.actions) - 1, self.actions[-1], self.outcomes[-1])

    def refuse_if_missing(self, what: str) -> None:
        """Refuse what needs every outcome."""
        if self.missing:
            raise NotSupported(
                f"{self.missing} outcomes were taken in before this agent was restored without them, so {what}; save "
                "with to_json(outcomes=True)"
            )

    def without(self, row: Row, id_: Hashable = None) -> tuple[list[Row], dict[Hashable, tuple[int, int, float]]]:
        """Return all rows and ids but one: that of the id, or else the latest such row, one without an id first."""
        self.refuse_if_missing("none can be taken back exactly")
        rows = self.rows()
        tagged = {place: key for key, (place, *_) in self.ids.items()}
        places = [place for place, other in enumerate(rows) if other == row]
        if id_ is not None:
            places = [place for place in places if tagged.get(place) == _checked_id(id_)]
        if not places:
            mine = [self._shown(other) if self._duels else f"{other[1]:g}" for other in rows if other[0] == row[0]]
            got = f"it got {', '.join(mine[:5])}{' …' if len(mine) > 5 else ''}" if mine else "it got nothing"
            which = "" if id_ is None else f" with id {validate.short_repr(id_)}"
            raise InvalidInput(f"{self._shown(row)} was not told{which} ({got}); take back what was told")
        gone = max([place for place in places if place not in tagged] or places)
        kept = ((key, told) for key, told in self.ids.items() if told[0] != gone)
        ids = {key: (at - (at > gone), action, outcome) for key, (at, action, outcome) in kept}  # later ones move up
        return rows[:gone] + rows[gone + 1 :], ids

    def restore_ids(self, ids: Sequence[Any]) -> None:
        """Remember the ids that were saved, of outcomes by label."""
        places: set[int] = set()
        for key, place, label, outcome in ids:
            row = self.checked(label, outcome)
            at = -1 if self.missing else validate.as_count(place, "place", low=0, high=max(len(self.actions) - 1, 0))
            if _checked_id(key) in self.ids or at in places:
                raise InvalidInput(f"id {validate.short_repr(key)}, or the outcome at {at}, is named twice")
            places |= set() if self.missing else {at}
            if at >= len(self.actions):
                raise InvalidInput(f"id {validate.short_repr(key)} is of an outcome that is not there")
            if at >= 0 and (self.actions[at], self.outcomes[at]) != row:
                raise InvalidInput(f"id {key!r} is said to stand at {at}, where another outcome is")
            self.ids[_checked_id(key)] = (at, *row)

    def _shown(self, row: Row) -> str:
        label, outcome = self.named(row)
        return f"{label!r} beating {outcome!r}" if self._duels else f"{outcome:g} for action {label!r}"


def _checked_id(id_: Any) -> Hashable:
    if isinstance(id_, str):
        return validate.as_text(id_, "id")
    try:
        return validate.as_count(id_, "id", low=-(2**63), high=2**63 - 1)
    except InvalidInput:
        raise InvalidInput(f"id is {validate.short_repr(id_)}; give text or a whole number") from None
