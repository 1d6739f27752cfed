"""`Unit`: one transaction of the writer. Requests read through it, and what they add is written together at its end."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, Dialect, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from lpbandits.model import PreferenceModel
from lpbandits.service.configuration import Setup, Setups
from lpbandits.service.errors import NotFound
from lpbandits.service.history import CHUNK, Fact, History, histories
from lpbandits.service.store import schema, statements

DELETED = "deleted"
"""Kind of a request about a person who was deleted."""

Values = dict[str, Any]
Asked = tuple[int, int]
"""Id of a person, and number of earlier asks of a decision."""


class Needs(Protocol):
    """What a request tells before the transaction, so that the needs of a group are read together."""

    @property
    def project(self) -> str:
        """Name of the project."""

    @property
    def key(self) -> str | None:
        """Idempotency-Key."""

    @property
    def labels(self) -> Sequence[str]:
        """People."""

    @property
    def asked(self) -> Sequence[tuple[str, int]]:
        """Decisions: person, and number of earlier asks."""


class Project(NamedTuple):
    """A project and the latest version of its configuration."""

    id: int
    name: str
    version: int


class Stored(NamedTuple):
    """An answered request: hash of its content, kind of its answer, and the facts that it added."""

    digest: bytes
    kind: str
    facts: str


@dataclass(eq=False, slots=True)
class Person:
    """A person of a project as this transaction leaves them, and the facts that it adds."""

    id: int
    project_id: int
    label: str
    holdout: bool
    n: int = 0
    asked: int = 0
    version: int = 0
    belief: bytes | None = None
    is_new: bool = False
    changed: bool = False
    added: list[tuple[Table, Values]] = field(default_factory=list)

    def state(self) -> tuple[Any, ...]:
        """Return what `restore` needs to undo a request."""
        return self.n, self.asked, self.version, self.belief, self.changed, len(self.added)

    def restore(self, state: tuple[Any, ...]) -> None:
        """Undo what was done since `state`."""
        self.n, self.asked, self.version, self.belief, self.changed, length = state
        del self.added[length:]


class Unit:
    """What one transaction of the writer reads and adds.

    Rows are added in memory and written by `flush`, so that a refused request leaves nothing behind.
    """

    def __init__(self, sql: Connection, setups: Setups, now: int) -> None:
        self.sql, self.now = sql, now
        self.erases = False  # whether what is deleted must leave the database's log too
        self._setups = setups
        self._locks = sql.dialect.name == "postgresql"
        self._projects: dict[str, Project | None] = {}
        self._own: set[str] = set()
        self._stored: dict[tuple[int, str], Stored] = {}
        self._people: dict[tuple[int, str], Person | None] = {}
        self._decisions: dict[Asked, Fact | None] = {}
        self._reported: set[Asked] = set()
        self._rows: list[tuple[Table, Values]] = []
        self._undo: list[tuple[Person, tuple[Any, ...]]] = []
        self._next_ids: list[int] = []

    def load(self, requests: Sequence[Needs]) -> None:
        """Read what requests need, together."""
        for name in sorted({request.project for request in requests if getattr(request, "configures", False)}):
            self.own_project(name)  # before anything else: two replicas that share it could not both go on
        self.load_projects(request.project for request in requests)
        for name, project in self._projects.items():
            if project is not None:
                own = [request for request in requests if request.project == name]
                self.load_people(project, [label for request in own for label in request.labels])
                self.load_stored(project, [request.key for request in own if request.key is not None])
                decisions = [(self._people[project.id, label], n) for request in own for label, n in request.asked]
                self.load_decisions((person.id, asked) for person, asked in decisions if person is not None)

    def project(self, name: str) -> Project:
        """Return a project."""
        if name not in self._projects:
            self.load_projects([name])
        project = self._projects[name]
        if project is None:
            raise NotFound(f"project {name!r} does not exist; make it: PUT /v1/projects/{name}")
        return project

    def load_projects(self, names: Iterable[str]) -> None:
        """Read projects and the latest versions of their configurations, which other replicas then cannot change."""
        missing = [name for name in sorted(set(names)) if name not in self._projects]
        if missing:
            if self._locks:  # a statement of its own: one that waits would read the versions of before
                self.sql.execute(statements.SHARED_PROJECTS, {"names": missing})
            rows = self.sql.execute(statements.PROJECTS, {"names": missing})
            self._projects |= dict.fromkeys(missing) | {row.name: Project(*row) for row in rows}

    def known_project(self, name: str) -> Project | None:
        """Return a project, None if it does not exist."""
        self.load_projects([name])
        return self._projects[name]

    def own_project(self, name: str) -> None:
        """Let no other replica use a project until this transaction ends, as for a change of its configuration."""
        if self._locks and name not in self._own:
            self.sql.execute(statements.OWN_PROJECT, {"name": name})
            self._own.add(name)

    def set_project(self, project: Project) -> None:
        """Use a new or changed project in the rest of this transaction."""
        self._projects[project.name] = project

    def setup(self, project_id: int, version: int) -> Setup:
        """Return a version of a project's setup."""
        return self._setups.get(self.sql, project_id, version)

    def model(self, sha256: str) -> PreferenceModel:
        """Return a stored model."""
        return self._setups.model(self.sql, sha256)

    def load_stored(self, project: Project, keys: Iterable[str]) -> None:
        """Read the answered requests with these keys."""
        for some in _chunks([text for key in keys for text in (key, _deleted_key(key))]):
            for row in self.sql.execute(statements.STORED, {"project_id": project.id, "keys": some}):
                self._stored[project.id, row.key] = Stored(row.digest, row.kind, row.facts)

    def stored(self, project: Project, key: str) -> Stored | None:
        """Return an answered request, or a deleted one; its key must have been loaded."""
        return self._stored.get((project.id, key)) or self._stored.get((project.id, _deleted_key(key)))

    def delete_requests(self, project: Project, person: Person) -> None:
        """Delete the answered requests about a person, but for hashes of their keys: a retry must add nothing."""
        where = schema.requests.c.person_id == person.id
        for key in self.sql.execute(select(schema.requests.c.key).where(where)).scalars().all():
            self._stored.pop((project.id, key), None)
            self.remember(project, _deleted_key(key), digest=b"", kind=DELETED, person_id=None, facts="[]")
            self._stored[project.id, _deleted_key(key)] = Stored(b"", DELETED, "[]")
        self.sql.execute(delete(schema.requests).where(where))

    def load_people(self, project: Project, labels: Iterable[str]) -> None:
        """Read people and their snapshots; other replicas wait until this transaction ends."""
        missing = sorted({label for label in labels if (project.id, label) not in self._people})
        for some in _chunks(missing):
            labelled = {"project_id": project.id, "labels": some}
            if self._locks:  # a statement of its own: one that waits would read the snapshots of before
                ids = self.sql.execute(statements.LOCKED, labelled).scalars().all()  # not people added meanwhile
                rows = self.sql.execute(statements.LOCKED_PEOPLE, {"ids": ids})
            else:
                rows = self.sql.execute(statements.PEOPLE, labelled)
            self._people |= {(project.id, label): None for label in some}
            for row in rows:
                self._people[project.id, row.label] = Person(
                    row.id, project.id, row.label, row.holdout, row.n or 0, row.asked or 0, row.version or 0, row.belief
                )

    def known_person(self, project: Project, label: str) -> Person | None:
        """Return a person, None if nothing is known of them."""
        if (project.id, label) not in self._people:
            self.load_people(project, [label])
        return self._people[project.id, label]

    def new_person(self, project: Project, label: str, *, holdout: bool) -> Person:
        """Add a person."""
        person = Person(self._new_id(), project.id, label, holdout, is_new=True)
        self._people[project.id, label] = person
        self._undo.append((person, ()))
        return person

    def load_decisions(self, asked: Iterable[Asked]) -> None:
        """Read decisions, and which of them have outcomes."""
        for some in _chunks(list(set(asked))):
            self._decisions |= dict.fromkeys(some)
            found = self.sql.execute(statements.DECISIONS, {"places": some}).mappings()
            self._decisions |= {(row["person_id"], row["asked"]): row for row in found}
            self._reported |= set(map(tuple, self.sql.execute(statements.REPORTED, {"places": some})))

    def decision(self, person: Person, asked: int) -> Fact | None:
        """Return a decision of a person."""
        if (person.id, asked) not in self._decisions and not person.is_new:
            self.load_decisions([(person.id, asked)])
        for table, row in person.added:
            if table is schema.decisions and row["asked"] == asked:
                return row
        return self._decisions.get((person.id, asked))

    def is_reported(self, person: Person, asked: int) -> bool:
        """Return whether outcomes of a decision are stored, or added here."""
        added = any(table is schema.outcomes and row["asked"] == asked for table, row in person.added)
        return added or (person.id, asked) in self._reported

    def history(self, person: Person) -> History:
        """Return all facts of a person, those added here included."""
        out = History.new() if person.is_new else histories(self.sql, [person.id])[person.id]
        for table, row in person.added:
            out.add(table, row)
        return out

    def add_fact(self, person: Person, table: Table, **values: Any) -> int:
        """Add a fact of a person, and return its number."""
        self.touch(person)
        person.n += 1
        person.added.append((table, {"person_id": person.id, "n": person.n, "at": self.now, **values}))
        return person.n

    def touch(self, person: Person) -> None:
        """Remember how a person was before this request changes them."""
        self._undo.append((person, person.state()))
        person.changed = True

    def remember(self, project: Project, key: str, **values: Any) -> None:
        """Keep an Idempotency-Key with the facts of its answer."""
        self.add(schema.requests, project_id=project.id, key=key, at=self.now, **values)

    def add(self, table: Table, **values: Any) -> None:
        """Add a row that is not a fact of a person."""
        self._rows.append((table, values))

    @contextmanager
    def one_request(self) -> Iterator[None]:
        """Undo what a request added if it raises."""
        self._undo.clear()
        length, projects = len(self._rows), dict(self._projects)
        try:
            yield
        except BaseException:
            del self._rows[length:]
            self._projects = projects
            for person, state in reversed(self._undo):
                if state:
                    person.restore(state)
                else:
                    self._people[person.project_id, person.label] = None
            raise

    def flush(self) -> None:
        """Write all added rows, then the snapshots."""
        rows: dict[Table, list[Values]] = defaultdict(list)
        for table, values in self._rows:
            rows[table].append(values)
        snapshots = []
        for person in self._people.values():
            if person is None or not person.changed:
                continue
            if person.is_new:
                fields = {"id": person.id, "project_id": person.project_id, "label": person.label}
                rows[schema.people].append(fields | {"holdout": person.holdout, "at": self.now})
            for table, values in person.added:
                rows[table].append(values)
                if table is schema.decisions:
                    self._decisions[person.id, values["asked"]] = values
                elif table is schema.outcomes and values["asked"] is not None:
                    self._reported.add((person.id, values["asked"]))
            snapshots.append(
                {"person_id": person.id, "n": person.n, "asked": person.asked, "version": person.version}
                | {"belief": person.belief}
            )
            person.is_new, person.changed = False, False
            person.added.clear()
        for table, added in rows.items():
            self._write(table, added)
        if snapshots:
            self._write(schema.snapshots, snapshots)
        self._rows.clear()

    def _write(self, table: Table, rows: list[Values]) -> None:
        """Write rows with all columns in one call of the driver, without SQLAlchemy's work for each."""
        sql, columns = _insert_text(table, self.sql.dialect)
        if self.sql.dialect.positional:
            self.sql.exec_driver_sql(sql, [tuple([row.get(name) for name in columns]) for row in rows])
        else:
            self.sql.exec_driver_sql(sql, [{name: row.get(name) for name in columns} for row in rows])

    def forget(self, person: Person) -> None:
        """Treat a person as unknown in the rest of this transaction."""
        self._people[person.project_id, person.label] = None

    def _new_id(self) -> int:
        """Return an id that no person had before."""
        if not self._next_ids:
            if self._locks:
                values = select(schema.person_ids.next_value()).select_from(func.generate_series(1, 64))
                self._next_ids = list(self.sql.execute(values).scalars())[::-1]
            else:
                last = max(
                    self.sql.execute(select(func.coalesce(func.max(column), 0))).scalar_one()
                    for column in (schema.people.c.id, schema.tombstones.c.person_id)
                )
                self._next_ids = [last + 1]
        out = self._next_ids.pop()
        if not self._locks and not self._next_ids:
            self._next_ids = [out + 1]
        return out


@lru_cache(64)
def _insert_text(table: Table, dialect: Dialect) -> tuple[str, list[str]]:
    """Return the INSERT of a table with all its columns, and their names in order; a snapshot replaces the former."""
    columns = list(table.c.keys())
    statement: Any = (postgresql if dialect.name == "postgresql" else sqlite).insert(table)
    if table is schema.snapshots:
        changed = {name: statement.excluded[name] for name in columns if name != "person_id"}
        statement = statement.on_conflict_do_update(index_elements=["person_id"], set_=changed)
    return str(statement.compile(dialect=dialect, column_keys=columns)), columns


def _deleted_key(key: str) -> str:
    """Return what is kept of the Idempotency-Key of a deleted request; no key of a caller has a space."""
    return f"{DELETED} {hashlib.sha256(key.encode()).hexdigest()}"


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
