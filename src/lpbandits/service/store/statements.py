"""Statements of the writer, built once: to build one takes longer than to run it.

Lists are expanding parameters.
"""

from sqlalchemy import BindParameter, and_, bindparam, func, select, tuple_

from lpbandits.service.store import schema

_project, _version = schema.projects, schema.configurations
_person, _snapshot, _request = schema.people, schema.snapshots, schema.requests

PROJECTS = (
    select(_project.c.id, _project.c.name, func.max(_version.c.version))
    .join(_version, _version.c.project_id == _project.c.id)
    .where(_project.c.name.in_(bindparam("names", expanding=True)))
    .group_by(_project.c.id, _project.c.name)
)
"""Projects and the latest versions of their configurations."""

SHARED_PROJECTS = (
    select(_project.c.id)
    .where(_project.c.name.in_(bindparam("names", expanding=True)))
    .order_by(_project.c.name)
    .with_for_update(read=True)
)
"""Ids of projects whose configurations no other replica may change until the end of the transaction."""

OWN_PROJECT = select(_project.c.id).where(_project.c.name == bindparam("name")).with_for_update()
"""Id of a project, locked for a change of its configuration."""

STORED = select(_request.c.key, _request.c.digest, _request.c.kind, _request.c.facts).where(
    _request.c.project_id == bindparam("project_id"), _request.c.key.in_(bindparam("keys", expanding=True))
)
"""Answered requests, by Idempotency-Key."""

_labelled = and_(
    _person.c.project_id == bindparam("project_id"), _person.c.label.in_(bindparam("labels", expanding=True))
)
_people = select(
    *(_person.c.id, _person.c.label, _person.c.holdout),
    *(_snapshot.c.n, _snapshot.c.asked, _snapshot.c.version, _snapshot.c.belief),
).outerjoin(_snapshot, _snapshot.c.person_id == _person.c.id)

PEOPLE = _people.where(_labelled)
"""People and their snapshots, by label."""

LOCKED = select(_person.c.id).where(_labelled).order_by(_person.c.id).with_for_update()
"""Ids of people, locked until the end of the transaction."""

LOCKED_PEOPLE = _people.where(_person.c.id.in_(bindparam("ids", expanding=True)))
"""People and their snapshots, by id."""

_places: BindParameter[list[tuple[int, int]]] = bindparam("places", expanding=True)
DECISIONS = select(schema.decisions).where(tuple_(schema.decisions.c.person_id, schema.decisions.c.asked).in_(_places))
"""Decisions, by person and number of earlier asks."""

REPORTED = select(schema.outcomes.c.person_id, schema.outcomes.c.asked).where(
    tuple_(schema.outcomes.c.person_id, schema.outcomes.c.asked).in_(_places)
)
"""Which decisions have outcomes."""

FACTS = {
    table: select(table)
    .where(table.c.person_id.in_(bindparam("ids", expanding=True)))
    .order_by(table.c.person_id, table.c.n)
    for table in schema.FACTS
}
"""Facts of people in order, by table."""
