"""`Store`: connections to the database of the service, SQLite or PostgreSQL.

SQLite has one writer. Versions before 3.51.3 may corrupt a file if two connections write or checkpoint at the same
time, so only the writer's connection does either: all others are read-only. A lock file keeps a second server away.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import platformdirs
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import QueuePool

from lpbandits.errors import InvalidInput, ResourceError, reason
from lpbandits.service.errors import ServiceError, StorageFull, Unavailable
from lpbandits.service.store import migrations

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: a second server is not detected
    fcntl = None

CONNECT, LOCK_WAIT, IDLE = 10, 30, 60
"""Seconds that PostgreSQL may take to connect, that a write waits for a lock, and that a replica which hangs in a write
keeps its locks.
"""

READERS = 8
"""Maximum number of connections that read."""

BUSY = 10_000
"""Milliseconds in which SQLite waits for another connection."""


class Store:
    """The database of the service.

    Parameters
    ----------
    url
        `sqlite:///lpb.db`, `postgresql://user@host/name`, or None for a file in the user's data folder.
    serving
        Open it for writing, for one server per SQLite file, and bring its tables up to date. Otherwise it is only read.
    """

    def __init__(self, url: str | None = None, *, serving: bool = False) -> None:
        self.url = parsed(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._lock: int | None = None
        self._engine: Engine | None = None
        self._was_full, self._must_erase = False, False
        if self.sqlite:
            path = Path(str(self.url.database)).resolve()  # SQLite names its log by what a link leads to, too
            self.path: Path | None = path
            if serving:
                _make_parent(path)
                self._lock = _locked(path)
                _make_private(path)
            elif not path.is_file():
                raise InvalidInput(f"store must be an existing file, got {path}; lpb serve --store makes one")
        else:
            self.path = None
        try:
            if serving:
                self._engine = _writing(self.url)
                with self.translated("opening the store"), self._engine.connect() as connection:
                    migrations.upgrade(connection)
            self._readers = _reading(self.url)
            with self.translated("opening the store"), self._readers.connect() as connection:
                migrations.check(connection)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections and release the lock."""
        for engine in (getattr(self, "_readers", None), self._engine):
            if engine is not None:
                engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield the connection of one writing transaction, which is committed to disk on exit."""
        if self._engine is None:
            raise ResourceError("the store is open for reading only")
        if self._was_full:
            self._copy_log(self._engine, "PASSIVE")
        try:
            with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            self._was_full = self.sqlite and isinstance(fault_of(error, ""), StorageFull)
            raise
        self._was_full = False
        if self._must_erase:
            self._must_erase = not self._copy_log(self._engine, "TRUNCATE")

    def erase_deleted(self) -> None:
        """Remove what was deleted from SQLite's log too, after this transaction or once no reader uses the log."""
        self._must_erase = self.sqlite

    def _copy_log(self, engine: Engine, mode: str) -> bool:
        """Copy SQLite's log to its file, so that the next write uses the log's space again; return whether all was.

        SQLite does this after some writes, but not after those that a full disk prevents. It does not wait for readers.
        """
        with suppress(DBAPIError, sqlite3.Error), closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA busy_timeout=0")
            try:
                return bool(cursor.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0] == 0)
            finally:
                cursor.execute(f"PRAGMA busy_timeout={BUSY}")
        return False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection whose statements all see the same moment."""
        with self.translated("reading the store"), self._readers.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def translated(self, doing: str) -> Iterator[None]:
        """Convert errors of the database to errors of the service."""
        try:
            yield
        except DBAPIError as error:
            raise fault_of(error, doing) from error
        except sqlite3.Error as error:
            raise ResourceError(f"{doing}: {reason(error)}") from error


def parsed(url: str | None) -> URL:
    """Return the URL of a store; None is a file in the user's data folder.

    >>> parsed("postgresql://ann@localhost/lpb").drivername
    'postgresql+psycopg'
    >>> parsed("lpb.db")
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: store must be a URL such as sqlite:///lpb.db or postgresql://…, got 'lpb.db'
    """
    if url is None:
        folder = platformdirs.user_data_path("lpbandits")
        return URL.create("sqlite", database=str(folder / "lpb.db"))
    try:
        out = make_url(url)
        backend = out.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        backend = ""
    if backend == "sqlite" and out.database and out.database != ":memory:":
        return out.set(drivername="sqlite")
    if backend == "postgresql":
        return out.set(drivername="postgresql+psycopg")
    shown = url if backend == "" else repr(out)  # repr hides the password
    raise InvalidInput(
        f"store must be a URL such as sqlite:///lpb.db or postgresql://…, got {shown.partition('@')[2] or shown!r}"
    )


def fault_of(error: DBAPIError, doing: str) -> ServiceError | ResourceError:
    """Return the error of the service for one of the database."""
    words = reason(error.orig) if error.orig is not None else reason(error)
    state = getattr(error.orig, "sqlstate", None)
    if "disk is full" in words or state == "53100":
        return StorageFull(f"{doing}: the disk of the store is full; free some space, and repeat the request")
    if isinstance(error, OperationalError) and (state is None or state[:2] in ("08", "53", "55", "57")):
        return Unavailable(f"{doing}: {words}; repeat the request with the same Idempotency-Key")
    return ResourceError(f"{doing}: {words}")


def _writing(url: URL) -> Engine:
    """Return the engine of the writer: one connection."""
    if url.get_backend_name() != "sqlite":
        options = f"-c lock_timeout={LOCK_WAIT}s -c idle_in_transaction_session_timeout={IDLE}s"
        return _postgres(url, options, isolation_level="READ COMMITTED", pool_size=1, max_overflow=0)
    engine = create_engine(url, poolclass=QueuePool, pool_size=1, max_overflow=0)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions are begun below
        pragmas = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "cache_size=-131072")
        for pragma in (*pragmas, f"busy_timeout={BUSY}"):
            connection.execute(f"PRAGMA {pragma}")

    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _reading(url: URL) -> Engine:
    """Return the engine of read-only connections, which never checkpoint."""
    if url.get_backend_name() != "sqlite":
        options = "-c default_transaction_read_only=on"
        return _postgres(url, options, isolation_level="REPEATABLE READ", pool_size=READERS)
    path = Path(str(url.database)).resolve()

    def connect() -> sqlite3.Connection:
        out = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False, isolation_level=None, timeout=10
        )
        for pragma in ("query_only=1", "wal_autocheckpoint=0", "cache_size=-65536"):
            out.execute(f"PRAGMA {pragma}")
        return out

    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _postgres(url: URL, options: str, **pool: Any) -> Engine:
    try:
        connect = {"connect_timeout": CONNECT, "options": options}
        return create_engine(url, pool_pre_ping=True, connect_args=connect, **pool)
    except ModuleNotFoundError:
        raise InvalidInput("a store in PostgreSQL needs psycopg: pip install 'lpbandits[postgres]'") from None


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InvalidInput(f"store {path}: its folder cannot be made: {reason(error)}") from None


def _make_private(path: Path) -> None:
    """Make the file of a new store, readable by its owner alone; SQLite gives its log the same permissions."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:  # it keeps the permissions that its owner gave it
        return
    except OSError as error:
        raise InvalidInput(f"store {path} cannot be written: {reason(error)}") from None


def _locked(path: Path) -> int | None:
    """Return the locked file beside a SQLite store; refuse a store that another server has locked."""
    if path.exists() and path.stat().st_nlink > 1:
        raise InvalidInput(
            f"store {path} must have one name, got {path.stat().st_nlink} hard links, each with a log of its own; "
            "remove the others"
        )
    try:
        handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InvalidInput(f"store {path} cannot be written: {reason(error)}") from None
    if fcntl is None:
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(handle, 20).decode("ascii", "replace").strip()
        os.close(handle)
        raise InvalidInput(
            f"store {path} is in use by another server (process {owner or 'unknown'}); SQLite has one writer: stop it, "
            "or serve several replicas from PostgreSQL"
        ) from None
    os.truncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle
