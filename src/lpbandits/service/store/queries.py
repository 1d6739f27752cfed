"""Queries that several operations on a store share."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, case, exists, func, select

from lpbandits.errors import InvalidInput
from lpbandits.service.errors import NotFound
from lpbandits.service.store import schema

MAX_ROWS, MAX_PEOPLE = 50_000, 5_000
"""Limits of the facts and the people of one range; a person's facts are never split."""


class IdRange(NamedTuple):
    """Ids of people from `first` to `last`, within a project if it is given."""

    first: int
    last: int
    project_id: int | None = None

    def of(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return the condition that a column with ids of people is in the range."""
        inside = column.between(self.first, self.last)
        if self.project_id is None:
            return inside
        people = schema.people
        own = select(people.c.id).where(people.c.id.between(self.first, self.last))
        return inside & column.in_(own.where(people.c.project_id == self.project_id))


def id_ranges(sql: Connection, project_id: int | None = None) -> list[tuple[IdRange, int]]:
    """Return ranges that cover all ids of people in order, each with its number of people.

    Without a project they also cover ids that facts have and `people` lacks.
    """
    people, snapshots = schema.people, schema.snapshots
    query = select(people.c.id, func.coalesce(snapshots.c.n, 0)).outerjoin(
        snapshots, snapshots.c.person_id == people.c.id
    )
    columns = [people.c.id]
    if project_id is None:
        columns += [table.c.person_id for table in (*schema.PERSONAL, schema.tombstones, schema.requests)]
    else:
        query = query.where(people.c.project_id == project_id)
    highest = max(sql.execute(select(func.coalesce(func.max(column), 0))).scalar_one() for column in columns)
    out, first, n_people, n_rows = [], 0, 0, 0
    for person_id, n in sql.execute(query.order_by(people.c.id), execution_options={"yield_per": 10_000}):
        if n_people == MAX_PEOPLE or (n_people and n_rows + n > MAX_ROWS):
            out.append((IdRange(first, person_id - 1, project_id), n_people))
            first, n_people, n_rows = person_id, 0, 0
        n_people += 1
        n_rows += max(n, 0)
    return [*out, (IdRange(first, highest, project_id), n_people)]


class Standing(NamedTuple):
    """Outcomes as they stand after all corrections: a joined table, and columns of it."""

    table: FromClause
    action: ColumnElement[Any]
    reward: ColumnElement[Any]
    withdrawn: ColumnElement[bool]


def standing(within: IdRange | None = None) -> Standing:
    """Return the query of outcomes as they stand; SQL's form of `History.current`."""
    outcomes, corrections = schema.outcomes, schema.corrections
    latest = select(
        *(corrections.c.person_id, corrections.c.outcome, func.max(corrections.c.n).label("n")),
        func.max(case((corrections.c.action.is_not(None), corrections.c.n))).label("n_action"),
    ).group_by(corrections.c.person_id, corrections.c.outcome)
    newest = (latest if within is None else latest.where(within.of(corrections.c.person_id))).subquery()
    last, given = corrections.alias(), corrections.alias()
    table = (
        outcomes.outerjoin(newest, (newest.c.person_id == outcomes.c.person_id) & (newest.c.outcome == outcomes.c.n))
        .outerjoin(last, (last.c.person_id == outcomes.c.person_id) & (last.c.n == newest.c.n))
        .outerjoin(given, (given.c.person_id == outcomes.c.person_id) & (given.c.n == newest.c.n_action))
    )
    corrected = newest.c.n.is_not(None)
    return Standing(
        table,
        func.coalesce(given.c.action, outcomes.c.action),
        case((corrected, last.c.reward), else_=outcomes.c.reward),
        corrected & last.c.reward.is_(None),
    )


def is_repeated(stands: Standing) -> ColumnElement[bool]:
    """Return the condition that an outcome only says what was given, and a later one of its decision has its reward.

    Both are in force: the first was reported before the reward was known.
    """
    outcomes, other = schema.outcomes, schema.outcomes.alias()
    last, any_ = schema.corrections.alias(), schema.corrections.alias()
    latest = select(func.max(any_.c.n)).where(any_.c.person_id == other.c.person_id, any_.c.outcome == other.c.n)
    withdrawn = exists().where(
        last.c.person_id == other.c.person_id, last.c.n == latest.scalar_subquery(), last.c.reward.is_(None)
    )
    later = (other.c.person_id == outcomes.c.person_id) & (other.c.asked == outcomes.c.asked)
    later &= other.c.n > outcomes.c.n
    return stands.reward.is_(None) & ~stands.withdrawn & exists().where(later, ~withdrawn)


def named_project(sql: Connection, name: str | None) -> tuple[int, str]:
    """Return the id and the name of a project; None is the only one of the store."""
    table = schema.projects
    known: dict[str, int] = {row.name: row.id for row in sql.execute(select(table).order_by(table.c.name))}
    if name is None:
        if len(known) != 1:
            names = ", ".join(known) or "none"
            raise InvalidInput(f"project must be named, as the store has {len(known)} ({names}); name one (--project)")
        (name,) = known
    if name not in known:
        raise NotFound(f"project {name!r} does not exist in the store; its projects are {', '.join(known) or 'none'}")
    return known[name], name
