"""`Tell`: outcomes of decisions, or of actions that were given without one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from lpbandits.errors import InvalidInput
from lpbandits.service.configuration import Setup
from lpbandits.service.errors import Conflict, NotFound
from lpbandits.service.history import Fact, Outcome, id_of_decision, id_of_outcome, returned_action
from lpbandits.service.requests.base import Added, FactWrite, time_text
from lpbandits.service.requests.shared import agent_of, check_given, enrolled, item_of, keep_belief
from lpbandits.service.store import schema
from lpbandits.service.unit import Person, Project, Unit
from lpbandits.typing import Json, Label


@dataclass(frozen=True)
class TellItem:
    """One outcome.

    Attributes
    ----------
    person
        Label of the person.
    decision
        Id of the decision; None for an action that was given without one.
    given
        The action that was given; None: the one that the decision returned.
    reward
        Its reward; None: not known yet.
    at
        When it occurred, in microseconds since 1970.
    """

    person: str
    decision: str | None = None
    given: Label | None = None
    reward: float | None = None
    at: int | None = None

    @property
    def asked(self) -> int | None:
        """Number of earlier asks of the decision, which its id ends with."""
        number = (self.decision or "").rpartition("-")[2]
        return int(number) if number.isascii() and number.isdigit() and len(number) <= 10 else None


@dataclass(frozen=True)
class Tell(FactWrite):
    """An "outcome", or several "outcomes"."""

    items: tuple[TellItem, ...]

    @property
    def labels(self) -> Sequence[str]:
        """All people."""
        return [item.person for item in self.items]

    @property
    def asked(self) -> Sequence[tuple[str, int]]:
        """The decisions of the outcomes."""
        return [(item.person, item.asked) for item in self.items if item.asked is not None]

    def add(self, unit: Unit, project: Project) -> list[Added]:
        """Add the outcomes of all items."""
        setup = unit.setup(project.id, project.version)
        added = []
        for position, item in enumerate(self.items):
            with item_of(self.kind, position, item.person):
                added.append(self._tell(unit, project, setup, item))
        return added

    def _tell(self, unit: Unit, project: Project, setup: Setup, item: TellItem) -> Added:
        person = unit.known_person(project, item.person)
        decision = None if item.decision is None else _decision(unit, person, item)
        if person is None:
            person = enrolled(unit, project, setup, item.person)
        given, asked = item.given, None
        if decision is not None:
            asked = decision["asked"]
            before, withdrawn = _reported(unit, person, asked)
            given = given if given is not None else (before[-1].action if before else returned_action(decision))
            for outcome in before:
                if outcome.reward == item.reward and outcome.action == given:
                    return _fact(unit, person, outcome)
            _check_first(person, item, given, before, withdrawn)
        if given is None:
            raise InvalidInput("action must be the action that was given if there is no decision, got none")
        is_evidence = check_given(unit, project, setup, given) and item.reward is not None
        if item.reward is not None:
            setup.policy_for(holdout=person.holdout).rewards.check(item.reward)
        if is_evidence or person.version != setup.version:  # an earlier model may have had the action
            agent = agent_of(unit, setup, person)
            if is_evidence:
                agent.tell(given, item.reward)
            unit.touch(person)
            keep_belief(person, setup, agent)
        unit.add_fact(
            person,
            schema.outcomes,
            asked=asked,
            action=json.dumps(given),
            reward=item.reward,
            occurred_at=item.at,
            key_id=self.by,
        )
        return Added(person, person.added[-1][1])

    def render(self, unit: Unit, project: Project, added: Sequence[Added]) -> Json:
        """Return the outcome, or the list of outcomes."""
        rendered = [outcome_json(*one) for one in added]
        return rendered[0] if self.kind == "outcome" else {"outcomes": rendered}


def outcome_json(person: Person, row: Fact) -> Json:
    """Return an outcome, as it was reported, as the API shows it."""
    return {
        "outcome": id_of_outcome(person.id, row["n"]),
        "person": person.label,
        "decision": None if row["asked"] is None else id_of_decision(person.id, row["asked"]),
        "given": json.loads(row["action"]),
        "reward": row["reward"],
        "at": time_text(row["at"] if row["occurred_at"] is None else row["occurred_at"]),
    }


def _decision(unit: Unit, person: Person | None, item: TellItem) -> Fact:
    """Return the decision that an outcome belongs to."""
    if person is not None and item.asked is not None and item.decision == id_of_decision(person.id, item.asked):
        row = unit.decision(person, item.asked)
        if row is not None:
            return row
    raise NotFound(
        f"decision {item.decision!r} of person {item.person!r} does not exist; without its id, give the action instead"
    )


def _reported(unit: Unit, person: Person, asked: int) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of a decision that are in force, and those that were withdrawn."""
    if not unit.is_reported(person, asked):
        return [], []
    outcomes = [outcome for outcome in unit.history(person).current() if outcome.asked == asked]
    return [one for one in outcomes if not one.withdrawn], [one for one in outcomes if one.withdrawn]


def _check_first(
    person: Person, item: TellItem, given: Label, before: Sequence[Outcome], withdrawn: Sequence[Outcome]
) -> None:
    """Refuse a second reward of a decision, another action than was reported, and what may be a late repetition."""
    for outcome in before:
        if outcome.reward is not None or outcome.action != given:
            known = f"{outcome.action!r} with the reward {outcome.reward}"
            raise Conflict(
                f"decision {item.decision!r} already has an outcome, {known}; to change it, correct the outcome "
                f"{id_of_outcome(person.id, outcome.n)}"
            )
    if withdrawn:
        raise Conflict(
            f"an outcome of decision {item.decision!r} was withdrawn; to report it again, correct the outcome "
            f"{id_of_outcome(person.id, (before or withdrawn)[-1].n)}, which reinstates it"
        )


def _fact(unit: Unit, person: Person, outcome: Outcome) -> Added:
    """Return the stored row of an outcome."""
    row = next(row for row in unit.history(person).outcomes if row["n"] == outcome.n)
    return Added(person, row)
