"""Versions of the tables: `versions/` has one Alembic script for each change."""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from lpbandits.errors import FileFormatError

LOCK = 0x6C706264
"""Key of the advisory lock under which one replica changes the tables."""


def upgrade(connection: Connection) -> None:
    """Create the tables or bring them up to date, in one transaction."""
    with connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        _check_known(_current(connection))
        command.upgrade(_config(connection), "head")


def check(connection: Connection) -> None:
    """Raise `FileFormatError` unless the tables are those of this version of lpbandits."""
    current = _current(connection)
    if current is None:
        raise FileFormatError("the store has no tables of lpbandits; lpb serve --store makes them")
    _check_known(current)
    if current != _scripts().get_current_head():
        raise FileFormatError(
            f"the store has tables of an earlier lpbandits (revision {current}); start lpb serve once to update them"
        )


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _check_known(revision: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise FileFormatError(f"the store has tables of a newer lpbandits (revision {revision}); update lpbandits")


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", "lpbandits.service.store:migrations")
    config.attributes["connection"] = connection
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
