"""`Service`: a store, its writer and its keys: what the API works on."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection, func, select

from lpbandits.model import PreferenceModel
from lpbandits.service.access import Keys, NewKey
from lpbandits.service.configuration import Configuration, Setup, Setups
from lpbandits.service.errors import NotFound
from lpbandits.service.store import schema
from lpbandits.service.store.database import Store
from lpbandits.service.unit import Project
from lpbandits.service.writer import Writer


@dataclass(frozen=True)
class Limits:
    """Limits of requests.

    Attributes
    ----------
    body
        Bytes of a request.
    rate
        Requests per second and key.
    """

    body: int = 32 * 2**20
    rate: float = 20_000.0


class Service:
    """An open store with its writer.

    Parameters
    ----------
    store
        A store opened with `serving=True`; the service closes it.
    dev
        Work without keys.
    """

    def __init__(self, store: Store, *, dev: bool = False, limits: Limits | None = None) -> None:
        self.store, self.dev = store, dev
        self.limits = limits or Limits()
        self.setups = Setups()
        self.writer = Writer(store, self.setups)
        self.keys = Keys(store, rate=self.limits.rate)

    def first_key(self) -> str | None:
        """Make the first admin key and return it; None if the store has keys."""
        answer = self.writer.submit(NewKey("first", "admin", only_first=True)).result()
        key: str | None = answer.body.get("key")
        return key

    def warm_up(self) -> None:
        """Compile what the first decision of each project would wait for."""
        Setup(Configuration(policy="lpbts"), PreferenceModel([[0, 1], [1, 0]])).warm_up()
        with self.store.reading() as sql:
            for name in sql.execute(select(schema.projects.c.name)).scalars().all():
                setup = self.project(sql, name)[1]
                if setup.configuration.model_sha256 is not None:
                    setup.warm_up()

    def project(self, sql: Connection, name: str) -> tuple[Project, Setup]:
        """Return a project and its setup."""
        table, versions = schema.projects, schema.configurations
        query = select(table.c.id, func.max(versions.c.version)).join(versions, versions.c.project_id == table.c.id)
        row = sql.execute(query.where(table.c.name == name).group_by(table.c.id)).first()
        if row is None:
            raise NotFound(f"project {name!r} does not exist; make it: PUT /v1/projects/{name}")
        return Project(row[0], name, row[1]), self.setups.get(sql, row[0], row[1])

    def close(self) -> None:
        """Answer the waiting requests, and close the store."""
        self.writer.stop()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
