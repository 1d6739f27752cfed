"""`Write`: a request that adds facts, and whose answer is rendered from them, at first and when it is repeated."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import select

from lpbandits.service.errors import Conflict, NotFound
from lpbandits.service.history import Fact, histories
from lpbandits.service.store import schema
from lpbandits.service.unit import DELETED, Person, Project, Unit
from lpbandits.typing import Json

PERSON_DELETED = "the person of this request was deleted; use a new Idempotency-Key to enrol them again"


class Added(NamedTuple):
    """A fact of a person that a request added, or that an earlier request had."""

    person: Person
    fact: Fact


class Answer(NamedTuple):
    """The JSON object that a request is answered with."""

    body: Json
    repeated: bool = False


@dataclass(frozen=True)
class Write:
    """A write request.

    Attributes
    ----------
    project
        Name of the project.
    key
        Idempotency-Key; None if the caller gave none.
    digest
        Hash of the content; a key that comes again with another content is refused.
    by
        Id of the access key.
    kind
        What the answer looks like.
    """

    project: str
    key: str | None
    digest: bytes
    by: int | None
    kind: str

    @property
    def labels(self) -> Sequence[str]:
        """People of whom the request adds facts."""
        return ()

    @property
    def asked(self) -> Sequence[tuple[str, int]]:
        """Decisions that it needs: person, and number of earlier asks."""
        return ()

    def run(self, unit: Unit) -> Answer:
        """Return the answer; a repeated request adds nothing."""
        project = unit.project(self.project)
        stored = None if self.key is None else unit.stored(project, self.key)
        if stored is not None and stored.kind == DELETED:
            raise NotFound(PERSON_DELETED)
        if stored is not None:
            if stored.digest != self.digest:
                raise Conflict(
                    f"Idempotency-Key {self.key!r} was used for another request; use a new key for each request"
                )
            return Answer(self.recall(unit, project, stored.facts), repeated=True)
        body, facts, person_id = self.carry_out(unit, project)
        if self.key is not None:
            content = {"digest": self.digest, "kind": self.kind, "person_id": person_id, "facts": facts}
            unit.remember(project, self.key, **content)
        return Answer(body)

    def carry_out(self, unit: Unit, project: Project) -> tuple[Json, str, int | None]:
        """Return the answer, what `recall` needs to repeat it, and the id of the person, if it is about one."""
        raise NotImplementedError

    def recall(self, unit: Unit, project: Project, facts: str) -> Json:
        """Return the answer of a repeated request."""
        raise NotImplementedError


@dataclass(frozen=True)
class FactWrite(Write):
    """A request that adds facts of people, from which its answer is rendered."""

    def carry_out(self, unit: Unit, project: Project) -> tuple[Json, str, int | None]:
        """Add the facts and render the answer."""
        added = self.add(unit, project)
        only = {one.person.id for one in added}
        places = [[one.person.id, one.fact["n"]] for one in added]
        facts = json.dumps(places, separators=(",", ":"))
        return self.render(unit, project, added), facts, only.pop() if len(only) == 1 else None

    def recall(self, unit: Unit, project: Project, facts: str) -> Json:
        """Render the stored facts; those of people who were deleted since are only marked, in their places."""
        added = _read(unit, project, facts)
        body = self.render(unit, project, [one for one in added if one is not None])
        if None in added:  # several people, whose answers are in a list with the name of the kind
            rendered = iter(body[self.kind])
            body[self.kind] = [{"deleted": True} if one is None else next(rendered) for one in added]
        return body

    def add(self, unit: Unit, project: Project) -> list[Added]:
        """Add facts."""
        raise NotImplementedError

    def render(self, unit: Unit, project: Project, added: Sequence[Added]) -> Json:
        """Return the answer."""
        raise NotImplementedError


def _read(unit: Unit, project: Project, facts: str) -> list[Added | None]:
    """Return facts of the store by person and number, None for those of deleted people."""
    places = [tuple(place) for place in json.loads(facts)]
    ids = {person_id for person_id, _ in places}
    table = schema.people
    people = {
        row.id: Person(row.id, project.id, row.label, row.holdout)
        for row in unit.sql.execute(select(table).where(table.c.id.in_(ids)))
    }
    if len(ids) == 1 and not people:
        raise NotFound(PERSON_DELETED)
    by_number = {
        (person_id, fact["n"]): fact
        for person_id, history in histories(unit.sql, people).items()
        for facts_of in (history.starts, history.decisions, history.outcomes, history.corrections)
        for fact in facts_of
    }
    return [
        Added(people[person_id], by_number[person_id, n]) if person_id in people else None for person_id, n in places
    ]


def time_text(microseconds: int) -> str:
    """Return a time in ISO 8601, in UTC.

    >>> time_text(1_763_596_800_000_000)
    '2025-11-20T00:00:00.000000Z'
    """
    at = datetime.fromtimestamp(microseconds // 1_000_000, UTC).replace(microsecond=microseconds % 1_000_000)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
