"""`Delete`: remove all that is stored of a person, but for a row that says so."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete

from lpbandits.service.errors import NotFound
from lpbandits.service.requests.base import Write, time_text
from lpbandits.service.store import schema
from lpbandits.service.unit import Project, Unit
from lpbandits.typing import Json


@dataclass(frozen=True)
class Delete(Write):
    """The deletion of a person."""

    person: str
    reason: str | None = None

    @property
    def labels(self) -> Sequence[str]:
        """The person."""
        return [self.person]

    def carry_out(self, unit: Unit, project: Project) -> tuple[Json, str, int | None]:
        """Delete the person's rows and their answered requests but for hashed keys, and add a tombstone."""
        person = unit.known_person(project, self.person)
        if person is None:
            raise NotFound(f"person {self.person!r} does not exist in this project")
        unit.flush()
        counts = {}
        for table in schema.PERSONAL:
            counts[table.name] = unit.sql.execute(delete(table).where(table.c.person_id == person.id)).rowcount
        unit.delete_requests(project, person)
        unit.sql.execute(delete(schema.people).where(schema.people.c.id == person.id))
        unit.forget(person)
        unit.erases = True
        unit.add(
            schema.tombstones,
            person_id=person.id,
            project_id=project.id,
            decisions=counts["decisions"],
            outcomes=counts["outcomes"],
            reason=self.reason,
            key_id=self.by,
            at=unit.now,
        )
        unit.flush()  # the id of the person must not be given again
        body: Json = {"deleted": True, "decisions": counts["decisions"], "outcomes": counts["outcomes"]}
        body |= {"at": time_text(unit.now)}
        return body, json.dumps(body), None

    def recall(self, unit: Unit, project: Project, facts: str) -> Json:
        """Return the stored answer."""
        answer: Json = json.loads(facts)
        return answer
