"""`Start`: what is known about a person before the first outcome: a prior over the states, or covariates."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from lpbandits.agent import Agent
from lpbandits.service.history import states_digest
from lpbandits.service.requests.base import Added, FactWrite, time_text
from lpbandits.service.requests.shared import enrolled, keep_belief
from lpbandits.service.store import schema
from lpbandits.service.unit import Project, Unit
from lpbandits.typing import Json


@dataclass(frozen=True)
class Start(FactWrite):
    """A prior or covariates of one person; the belief follows from it and all outcomes again."""

    person: str
    prior: Sequence[float] | dict[str, float] | None = None
    covariates: Json | None = None

    @property
    def labels(self) -> Sequence[str]:
        """The person."""
        return [self.person]

    def add(self, unit: Unit, project: Project) -> list[Added]:
        """Add the start."""
        setup = unit.setup(project.id, project.version)
        Agent(setup.policy, seed=setup.seed, prior=self.prior, covariates=self.covariates)  # refuses what is invalid
        person = unit.known_person(project, self.person) or enrolled(unit, project, setup, self.person)
        unit.add_fact(
            person,
            schema.starts,
            prior=None if self.prior is None else json.dumps(self.prior),
            states=states_digest(setup.model),
            covariates=None if self.covariates is None else json.dumps(self.covariates),
            key_id=self.by,
        )
        agent = unit.history(person).agent(setup, person.label, holdout=person.holdout, asked=person.asked)
        keep_belief(person, setup, agent)
        return [Added(person, person.added[-1][1])]

    def render(self, unit: Unit, project: Project, added: Sequence[Added]) -> Json:
        """Return the start."""
        ((person, row),) = added
        start = {name: None if row[name] is None else json.loads(row[name]) for name in ("prior", "covariates")}
        return {"person": person.label, **start, "at": time_text(row["at"])}
