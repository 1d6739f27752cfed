"""`Ask`: decisions for one person or many, now or for the next few times."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from lpbandits import __version__
from lpbandits.errors import InvalidInput
from lpbandits.service.configuration import Setup
from lpbandits.service.errors import Conflict
from lpbandits.service.history import Fact, id_of_decision, returned_action
from lpbandits.service.requests.base import Added, FactWrite, time_text
from lpbandits.service.requests.shared import agent_of, enrolled, item_of, keep_belief
from lpbandits.service.store import schema
from lpbandits.service.unit import Person, Project, Unit
from lpbandits.typing import Json, Label


@dataclass(frozen=True)
class AskItem:
    """One person to decide for.

    Attributes
    ----------
    person
        Label of the person.
    allowed
        Actions that are available now; None: all.
    exclude_seen
        Exclude the actions that the person was given or recommended.
    action
        The caller's own action, which shadow mode needs.
    count
        Number of decisions; all are made with today's belief.
    """

    person: str
    allowed: tuple[Label, ...] | None = None
    exclude_seen: bool = False
    action: Label | None = None
    count: int = 1


@dataclass(frozen=True)
class Ask(FactWrite):
    """A request for a "decision", a "schedule" of several for one person, or "decisions" for many people."""

    items: tuple[AskItem, ...]

    @property
    def labels(self) -> Sequence[str]:
        """All people."""
        return [item.person for item in self.items]

    def add(self, unit: Unit, project: Project) -> list[Added]:
        """Add the decisions of all items."""
        setup = unit.setup(project.id, project.version)
        _ = setup.model
        added = []
        for position, item in enumerate(self.items):
            with item_of(self.kind, position, item.person):
                added += self._decide(unit, project, setup, item)
        return added

    def _decide(self, unit: Unit, project: Project, setup: Setup, item: AskItem) -> list[Added]:
        person = unit.known_person(project, item.person) or enrolled(unit, project, setup, item.person)
        agent = agent_of(unit, setup, person)
        allowed = _allowed(unit, setup, person, item)
        _check_own_action(setup, item, allowed)
        unit.touch(person)
        if person.version != setup.version:
            keep_belief(person, setup, agent)
        added = []
        for position in range(item.count):
            if allowed == []:
                raise Conflict(f"person {item.person!r} has no action left: all allowed ones were given or recommended")
            decision = agent.decide(allowed)
            unit.add_fact(
                person,
                schema.decisions,
                asked=decision.asked,
                version=setup.version,
                allowed=None if allowed is None else json.dumps(allowed),
                action=json.dumps(decision.action),
                returned=None if item.action is None else json.dumps(item.action),
                positive=None if decision.positive is None else json.dumps(decision.positive),
                schedule=position if self.kind == "schedule" else None,
                library=__version__,
                key_id=self.by,
            )
            added.append(Added(person, person.added[-1][1]))
            if item.exclude_seen and allowed is not None:
                allowed = [label for label in allowed if label != decision.action]
        person.asked = agent.asked
        return added

    def render(self, unit: Unit, project: Project, added: Sequence[Added]) -> Json:
        """Return the decision, or the list of decisions."""
        rendered = [decision_json(unit.setup(project.id, one.fact["version"]), *one) for one in added]
        return rendered[0] if self.kind == "decision" else {"decisions": rendered}


def decision_json(setup: Setup, person: Person, row: Fact) -> Json:
    """Return a decision as the API shows it."""
    allowed = setup.model.actions if row["allowed"] is None else json.loads(row["allowed"])
    positive = None if row["positive"] is None else dict(json.loads(row["positive"]))
    action = json.loads(row["action"])
    return {
        "decision": id_of_decision(person.id, row["asked"]),
        "person": person.label,
        "action": returned_action(row),
        "recommended": action,
        "probability": None if positive is None else positive.get(action, 0.0),
        "probabilities": None if positive is None else {str(label): positive.get(label, 0.0) for label in allowed},
        "model": setup.model.sha256,
        "holdout": person.holdout,
        "at": time_text(row["at"]),
    }


def _allowed(unit: Unit, setup: Setup, person: Person, item: AskItem) -> list[Label] | None:
    """Return the allowed actions in the model's order; None: all."""
    model = setup.model
    if item.allowed is None and not item.exclude_seen:
        return None
    policy = setup.policy_for(holdout=person.holdout)
    indices = policy.indices(item.allowed).tolist() or range(model.n_actions)
    labels = [model.actions[i] for i in indices]
    if item.exclude_seen:
        seen = unit.history(person).seen()
        labels = [label for label in labels if label not in seen]
    return labels


def _check_own_action(setup: Setup, item: AskItem, allowed: list[Label] | None) -> None:
    """Refuse an action of the caller outside shadow mode, a missing one in it, and one that is not allowed."""
    if setup.configuration.mode != "shadow":
        if item.action is not None:
            raise InvalidInput("action must be left out, except in shadow mode, where it is the caller's own choice")
        return
    if item.count > 1:
        raise Conflict("a project in shadow mode has no schedules: the caller chooses each action")
    if item.action is None:
        raise InvalidInput("action must be the caller's own choice in shadow mode, got none")
    setup.policy.index_of(item.action)
    if allowed is not None and item.action not in allowed:
        raise InvalidInput(f"action must be one of the allowed actions, got {item.action!r}")
