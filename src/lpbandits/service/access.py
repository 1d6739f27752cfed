"""Access keys: who may do what. Only hashes are stored; a key is shown once, when it is made."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import Connection, insert, select

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.service.errors import Conflict, Forbidden, NotFound, TooMany, Unauthorized
from lpbandits.service.requests.base import Answer, time_text
from lpbandits.service.store import schema
from lpbandits.service.store.database import Store
from lpbandits.service.unit import Unit
from lpbandits.typing import Json

ROLES = ("reader", "recorder", "operator", "admin")
"""Each role may do all that the ones before it may: read; ask and tell; configure projects; manage keys and people."""

PREFIX = "lpb_"
REFRESH = 5.0
"""Seconds after which the keys are read again: a key that another replica revoked is valid for that long at most."""

SOON = 0.1
"""Seconds after which they are read again for an unknown key, which another replica may have made."""


@dataclass(frozen=True)
class Access:
    """A valid key: its id, role, and project (None: all)."""

    key_id: int | None
    role: str
    project: str | None = None
    expires_at: int | None = None

    def check(self, role: str, project: str | None) -> None:
        """Raise unless the key allows requests of a role in a project; None is a request about the whole service."""
        if self.project is not None and project != self.project:
            raise Forbidden("the key does not allow requests outside its project")
        if ROLES.index(self.role) < ROLES.index(role):
            raise Forbidden(f"the key has the role {self.role}, and this request needs the role {role}")


EVERYTHING = Access(None, "admin")
"""Access without keys, in development."""


class Keys:
    """The keys of the store, held in memory, and the rate of requests of each."""

    def __init__(self, store: Store, *, rate: float, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock, self._rate = store, clock, rate
        self._known: dict[bytes, Access] = {}
        self._read_at = -REFRESH
        self._changes = self._changes_read = 0  # by this process: those made, and those before the last reading
        self._buckets: dict[int | None, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def access(self, token: str | None) -> Access:
        """Return the access that a token gives."""
        if token is None:
            raise Unauthorized("a key is missing; send it as: Authorization: Bearer KEY")
        access = self._known.get(hashed_key(token))
        if access is None or (access.expires_at is not None and access.expires_at <= self._clock() * 1e6):
            raise Unauthorized("the key is unknown, revoked or expired; ask an admin for a new one")
        self._count(access)
        return access

    def must_refresh(self, token: str | None) -> bool:
        """Return whether the keys should be read again before a token is judged."""
        if self._changes_read != self._changes:
            return True
        since = time.monotonic() - self._read_at
        return since > REFRESH or (since > SOON and token is not None and hashed_key(token) not in self._known)

    def refresh(self) -> None:
        """Read the keys again."""
        with self._lock:
            changes = self._changes
            if changes == self._changes_read and time.monotonic() - self._read_at < SOON:  # another request did
                return
            with self._store.reading() as sql:
                self._known = read_keys(sql)
            self._changes_read, self._read_at = changes, time.monotonic()

    def forget(self) -> None:
        """Read the keys again at the next request, as after a change."""
        self._changes += 1

    def _count(self, access: Access) -> None:
        """Refuse a request beyond the rate: a token bucket that holds one second of requests."""
        now = time.monotonic()
        tokens, then = self._buckets.get(access.key_id, (self._rate, now))
        tokens = min(tokens + (now - then) * self._rate, self._rate)
        if tokens < 1:
            raise TooMany(f"the limit is {self._rate:g} requests per second and key; repeat the request later")
        self._buckets[access.key_id] = (tokens - 1, now)


def hashed_key(token: str) -> bytes:
    """Return the hash of a key; keys have 256 random bits, so that a fast hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read_keys(sql: Connection) -> dict[bytes, Access]:
    """Return all keys that are not revoked, by hash."""
    table, revoked = schema.keys, select(schema.revocations.c.key_id)
    rows = sql.execute(select(table).where(table.c.id.not_in(revoked)))
    return {bytes(row.hash): Access(row.id, row.role, row.project, row.expires_at) for row in rows}


class KeyWrite:
    """A write about keys: it needs nothing of a project, and its answer is not stored."""

    project: ClassVar[str] = ""
    key: ClassVar[None] = None
    labels: ClassVar[tuple[str, ...]] = ()
    asked: ClassVar[tuple[tuple[str, int], ...]] = ()


@dataclass(frozen=True)
class NewKey(KeyWrite):
    """A write that makes a key; the answer has the key, which is not stored."""

    name: str
    role: str
    scope: str | None = None
    expires_at: int | None = None
    by: int | None = None
    only_first: bool = False

    def run(self, unit: Unit) -> Answer:
        """Add the key; with `only_first` only if there is none."""
        validate.as_choice(self.role, "role", ROLES)
        if self.role == "admin" and self.scope is not None:
            raise InvalidInput(
                f"project must be left out for the role admin, got {self.scope!r}; admins manage all keys"
            )
        if self.expires_at is not None and self.expires_at <= unit.now:
            raise InvalidInput(f"expires_at must be in the future, got {time_text(self.expires_at)}")
        if self.only_first and unit.sql.execute(select(schema.keys.c.id).limit(1)).first():
            return Answer({})
        if self.scope is not None:
            unit.project(self.scope)
        token = PREFIX + secrets.token_urlsafe(32)
        fields = {"name": self.name, "role": self.role, "project": self.scope, "expires_at": self.expires_at}
        values = fields | {"hash": hashed_key(token), "created_by": self.by, "at": unit.now}
        (key_id,) = unit.sql.execute(insert(schema.keys).values(**values)).inserted_primary_key or (0,)
        return Answer({"id": key_id, "key": token, **key_json(fields | {"at": unit.now})})


@dataclass(frozen=True)
class RevokeKey(KeyWrite):
    """A write that revokes a key."""

    key_id: int
    by: int | None = None

    def run(self, unit: Unit) -> Answer:
        """Add the revocation; revoking a key again changes nothing."""
        keys, revoked = schema.keys, schema.revocations
        unit.sql.execute(select(keys.c.id).where(keys.c.role == "admin").with_for_update())  # other replicas wait
        if unit.sql.execute(select(keys.c.id).where(keys.c.id == self.key_id)).scalar() is None:
            raise NotFound(f"key {self.key_id} does not exist")
        if unit.sql.execute(select(revoked.c.at).where(revoked.c.key_id == self.key_id)).scalar() is None:
            if self._is_last_admin(unit):
                raise Conflict(f"key {self.key_id} is the last one of an admin; make another before you revoke it")
            unit.add(revoked, key_id=self.key_id, revoked_by=self.by, at=unit.now)
            unit.flush()  # a later request of this transaction counts it
        return Answer({"id": self.key_id, "revoked": True})

    def _is_last_admin(self, unit: Unit) -> bool:
        """Return whether no other key of an admin is valid."""
        admins = [one for one in read_keys(unit.sql).values() if one.role == "admin"]
        valid = {one.key_id for one in admins if one.expires_at is None or one.expires_at > unit.now}
        return self.key_id in valid and len(valid) == 1


def key_json(row: Json) -> Json:
    """Return a key without its secret, as the API shows it."""
    expires = row["expires_at"]
    return {
        "name": row["name"],
        "role": row["role"],
        "project": row["project"],
        "expires_at": None if expires is None else time_text(expires),
        "at": time_text(row["at"]),
    }
