"""`Correct`: change an outcome in its place, or withdraw it, with a reason."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from lpbandits.errors import InvalidInput
from lpbandits.service.errors import Conflict, NotFound
from lpbandits.service.history import History, id_of_outcome
from lpbandits.service.requests.base import Added, FactWrite, time_text
from lpbandits.service.requests.shared import check_given, keep_belief
from lpbandits.service.store import schema
from lpbandits.service.unit import Project, Unit
from lpbandits.typing import Json, Label


@dataclass(frozen=True)
class Correct(FactWrite):
    """A correction of an outcome; without a reward it is withdrawn."""

    outcome: str
    reward: float | None
    reason: str
    given: Label | None = None

    def add(self, unit: Unit, project: Project) -> list[Added]:
        """Add the correction; the belief follows from all outcomes again."""
        person_id, n = self._place()
        table = schema.people
        where = (table.c.id == person_id, table.c.project_id == project.id)
        label = unit.sql.execute(select(table.c.label).where(*where)).scalar()
        person = None if label is None else unit.known_person(project, label)
        history = History.new() if person is None else unit.history(person)
        outcome = next((one for one in history.current() if one.n == n), None)
        if person is None or outcome is None:
            raise NotFound(f"outcome {self.outcome!r} does not exist in this project")
        setup = unit.setup(project.id, project.version)
        if self.reward is None:
            if outcome.withdrawn:
                raise Conflict(f"outcome {self.outcome!r} is already withdrawn")
            if self.given is not None:
                raise InvalidInput("given must be left out of a withdrawal, got an action")
        else:
            setup.policy_for(holdout=person.holdout).rewards.check(self.reward)
            check_given(unit, project, setup, outcome.action if self.given is None else self.given)
            if outcome.reward is None and any(
                other.n != n and other.asked == outcome.asked is not None for other in history.in_force()
            ):
                raise Conflict(
                    f"outcome {self.outcome!r} has no reward, but its decision has another outcome; correct that"
                )
        unit.add_fact(
            person,
            schema.corrections,
            outcome=n,
            action=None if self.given is None else json.dumps(self.given),
            reward=self.reward,
            reason=self.reason,
            key_id=self.by,
        )
        agent = unit.history(person).agent(setup, person.label, holdout=person.holdout, asked=person.asked)
        keep_belief(person, setup, agent)
        return [Added(person, person.added[-1][1])]

    def _place(self) -> tuple[int, int]:
        match = re.fullmatch(r"o([0-9]{1,18})-([0-9]{1,9})", self.outcome, re.ASCII)
        if match is None:
            raise NotFound(f"outcome {self.outcome!r} does not exist in this project")
        return int(match[1]), int(match[2])

    def render(self, unit: Unit, project: Project, added: Sequence[Added]) -> Json:
        """Return the correction."""
        ((person, row),) = added
        return {
            "outcome": id_of_outcome(person.id, row["outcome"]),
            "person": person.label,
            "correction": row["n"],
            "given": None if row["action"] is None else json.loads(row["action"]),
            "reward": row["reward"],
            "withdrawn": row["reward"] is None,
            "reason": row["reason"],
            "at": time_text(row["at"]),
        }
