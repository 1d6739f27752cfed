"""Replay everyone of a store from their facts, and compare all that is stored bit for bit."""

import json
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, func, select, tuple_
from sqlalchemy.exc import NoResultFound

from lpbandits.errors import LockInWarning, LpbError
from lpbandits.parallel import Workers, executor_for
from lpbandits.progress import Progress
from lpbandits.service.configuration import Setup, Setups
from lpbandits.service.history import CHUNK, History, histories, id_of_outcome
from lpbandits.service.replay import Differs, Replay
from lpbandits.service.store import schema
from lpbandits.service.store.database import Store
from lpbandits.service.store.queries import IdRange, id_ranges, named_project
from lpbandits.typing import Json
from lpbandits.validate import CONVERSION_ERRORS, short_repr

MAX_DIFFERENCES = 100
"""Maximum number of differences that are described."""

KINDS = {
    **dict.fromkeys(("decision", "schedule", "decisions"), "decisions"),
    **dict.fromkeys(("outcome", "outcomes"), "outcomes"),
    "correction": "corrections",
    "person": "starts",
}
"""Tables of the facts of requests, by kind; the others store their answer."""

PAGE = 100
"""Number of batches that are read at a time."""


@dataclass
class Verified:
    """What was replayed, and what differs; everything is equal if there are no differences.

    Attributes
    ----------
    counts
        Number of people, decisions, outcomes, corrections, starts, requests, deleted people and configurations.
    n_differences, differences
        Number of people and requests that differ, and the first of them in words.
    """

    counts: Counter[str] = field(default_factory=Counter)
    n_differences: int = 0
    differences: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def differ(self, words: str) -> None:
        """Add a difference."""
        self.n_differences += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(words)

    def add(self, other: "Verified") -> None:
        """Add what another process replayed."""
        self.counts += other.counts
        self.n_differences += other.n_differences
        self.differences = (self.differences + other.differences)[:MAX_DIFFERENCES]

    def to_dict(self) -> Json:
        """Return a JSON object."""
        names = ("people", "decisions", "outcomes", "corrections", "starts", "requests", "deleted", "configurations")
        counts = {name: self.counts[name] for name in names}
        return counts | {
            "n_differences": self.n_differences,
            "differences": self.differences,
            "seconds": round(self.seconds, 3),
        }


class _Identity(NamedTuple):
    """A person, and the name of their project."""

    label: str
    project: str

    def __str__(self) -> str:
        return f"person {short_repr(self.label)} of project {self.project}"


def verify(
    store: Store, *, project: str | None = None, jobs: int | Workers | None = None, progress: Progress | None = None
) -> Verified:
    """Replay all people of a store, or of one project, a range of ids at a time; a server may write meanwhile.

    Each range is read in one transaction. People who are added later are not replayed.
    """
    started, out, done = time.perf_counter(), Verified(), 0
    with store.reading() as sql:
        project_id = None if project is None else named_project(sql, project)[0]
        _check_configurations(sql, project_id, out)
        ranges = id_ranges(sql, project_id)
    total = sum(n_people for _, n_people in ranges)
    url = store.url.render_as_string(hide_password=False)
    with executor_for(jobs, threads=1, max_jobs=len(ranges)) as executor:
        parts = executor.map(partial(verify_range, url), [(within,) for within, _ in ranges])
        for (_, n_people), part in zip(ranges, parts, strict=True):
            out.add(part)
            done += n_people
            if progress is not None:
                progress("replay", done, total)
    for page in _batches(store, project_id):
        out.add(page)
    out.seconds = time.perf_counter() - started
    return out


def verify_range(url: str, within: IdRange) -> Verified:
    """Replay the people of a range."""
    out = Verified()
    with warnings.catch_warnings(), Store(url) as store, store.reading() as sql:
        warnings.simplefilter("ignore", LockInWarning)
        names = {row.id: row.name for row in sql.execute(select(schema.projects))}
        people = sql.execute(select(schema.people).where(within.of(schema.people.c.id))).mappings().all()
        past = histories(sql, [row["id"] for row in people])
        snapshots = _by_person(sql, schema.snapshots, within)
        requests = _by_person(sql, schema.requests, within)
        setups = Setups()
        for row in people:
            who = _Identity(row["label"], names.get(row["project_id"], str(row["project_id"])))
            history = past[row["id"]]
            replay = Replay(
                row["label"], holdout=row["holdout"], setup_of=partial(_setup, setups, sql, row["project_id"])
            )
            try:
                replay.run(history)
                replay.check_snapshot(next(iter(snapshots.get(row["id"], ())), None))
                _check_requests(row["id"], history, requests.get(row["id"], ()))
            except Differs as error:
                out.differ(f"{who}: {error}")
            out.counts["people"] += 1
            for name in ("starts", "decisions", "outcomes", "corrections"):
                out.counts[name] += len(getattr(history, name))
        out.counts["requests"] += sum(map(len, requests.values()))
        if within.project_id is None:
            _check_strangers(sql, within, out)
    return out


def _setup(setups: Setups, sql: Connection, project_id: int, version: int) -> Setup:
    """Return a version of a project's setup."""
    try:
        return setups.get(sql, project_id, version)
    except NoResultFound:
        raise Differs(f"version {version} of the configuration, or its model, is missing") from None


def _by_person(sql: Connection, table: Any, within: IdRange) -> dict[int, list[RowMapping]]:
    """Return the rows of a range of people."""
    out = defaultdict(list)
    for row in sql.execute(select(table).where(within.of(table.c.person_id))).mappings():
        out[row["person_id"]].append(row)
    return out


def _check_requests(person_id: int, history: History, requests: Sequence[RowMapping]) -> None:
    """Raise unless the facts of a person's answered requests exist."""
    known = {name: {fact["n"] for fact in getattr(history, name)} for name in set(KINDS.values())} if requests else {}
    for row in requests:
        try:
            places = json.loads(row["facts"])
            lost = [n for owner, n in places if owner != person_id or n not in known[KINDS[row["kind"]]]]
        except CONVERSION_ERRORS as error:
            raise Differs(f"the request with the key {row['key']!r} is damaged: {error!r}") from None
        if lost:
            raise Differs(f"the request with the key {row['key']!r} was answered with fact {lost[0]}, which is missing")


def _check_strangers(sql: Connection, within: IdRange, out: Verified) -> None:
    """Compare the rows of a range that belong to no person: those of deleted people, and others."""
    known = select(schema.people.c.id).where(within.of(schema.people.c.id))
    deleted = select(schema.tombstones.c.person_id).where(within.of(schema.tombstones.c.person_id))
    gone = set(sql.execute(deleted).scalars())
    out.counts["deleted"] += len(gone)
    for person_id in sorted(gone.intersection(sql.execute(known).scalars())):
        out.differ(f"person {person_id} was deleted, but is among the people")
    for table in (*schema.PERSONAL, schema.requests):
        column = table.c.person_id
        query = select(column, func.count()).where(within.of(column), column.not_in(known)).group_by(column)
        for person_id, count in sql.execute(query):
            who = f"person {person_id}, who {'was deleted' if person_id in gone else 'does not exist'}"
            out.differ(f"{who}, has {count} rows in {table.name}")


def _check_configurations(sql: Connection, project_id: int | None, out: Verified) -> None:
    """Compare the versions of configurations and the hashes of models."""
    table, projects, setups = schema.configurations, schema.projects, Setups()
    query = select(table.c.project_id, table.c.version, table.c.model_sha256, projects.c.name)
    query = query.join(projects, projects.c.id == table.c.project_id).order_by(table.c.project_id, table.c.version)
    expected: Counter[int] = Counter()
    for row in sql.execute(query if project_id is None else query.where(table.c.project_id == project_id)):
        name = f"project {row.name}, version {row.version} of the configuration"
        expected[row.project_id] += 1
        if row.version != expected[row.project_id]:
            out.differ(f"{name}: version {expected[row.project_id]} is missing")
            expected[row.project_id] = row.version
        try:
            setup = _setup(setups, sql, row.project_id, row.version)
            if setup.configuration.model_sha256 != row.model_sha256:
                out.differ(f"{name}: its content has another model than its row")
            if row.model_sha256 is not None and setup.model.sha256 != row.model_sha256:
                out.differ(f"{name}: the model {row.model_sha256} has the hash {setup.model.sha256}")
        except (LpbError, Differs, *CONVERSION_ERRORS) as error:
            out.differ(f"{name}: {error}")
        out.counts["configurations"] += 1


def _batches(store: Store, project_id: int | None) -> Iterator[Verified]:
    """Yield what was compared of the requests about several people."""
    table, after = schema.requests, (0, "")
    place = tuple_(table.c.project_id, table.c.key)
    query = select(table).where(table.c.person_id.is_(None)).order_by(table.c.project_id, table.c.key).limit(PAGE)
    if project_id is not None:
        query = query.where(table.c.project_id == project_id)
    while True:
        out = Verified()
        with store.reading() as sql:
            rows = sql.execute(query.where(place > after)).mappings().all()
            for row in rows:
                if row["kind"] in KINDS:
                    _check_batch(sql, row, out)
        if not rows:
            return
        out.counts["requests"] += len(rows)
        after = (rows[-1]["project_id"], rows[-1]["key"])
        yield out


def _check_batch(sql: Connection, row: RowMapping, out: Verified) -> None:
    """Compare the facts of a request about several people; those of deleted people are gone."""
    table = getattr(schema, KINDS[row["kind"]])
    name = f"the request with the key {row['key']!r}"
    try:
        places = {(int(person_id), int(n)) for person_id, n in json.loads(row["facts"])}
    except CONVERSION_ERRORS as error:
        out.differ(f"{name} is damaged: {error!r}")
        return
    listed = sorted(places)
    for start in range(0, len(listed), CHUNK):
        some = listed[start : start + CHUNK]
        where = tuple_(table.c.person_id, table.c.n).in_(some)
        places.difference_update(map(tuple, sql.execute(select(table.c.person_id, table.c.n).where(where))))
    owners = {person_id for person_id, _ in places}
    gone = (
        set(
            sql.execute(
                select(schema.tombstones.c.person_id).where(schema.tombstones.c.person_id.in_(owners))
            ).scalars()
        )
        if owners
        else set()
    )
    lost = sorted(place for place in places if place[0] not in gone)
    if lost:
        out.differ(f"{name} was answered with {table.name} {id_of_outcome(*lost[0])[1:]}, which is missing")
