"""A copy of a store in SQLite, made while a server writes."""

import sqlite3
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from lpbandits.errors import FileFormatError, InvalidInput, NotSupported, ResourceError, reason
from lpbandits.io.atomic import atomic_file, check_writable
from lpbandits.progress import Progress
from lpbandits.service.store.database import Store
from lpbandits.typing import Json

PAGES = 4_096
"""Pages that are copied between two reports of progress."""


@dataclass(frozen=True)
class Backup:
    """A finished backup."""

    out: str
    bytes: int
    seconds: float

    def to_dict(self) -> Json:
        """Return a JSON object."""
        return asdict(self)


def backup(store: Store, out: Path, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
    """Copy a store in SQLite to a new file, as it is at one moment; a server may write meanwhile.

    The copy is checked before it gets its name. It is one file, which `lpb serve --store` takes as it is.
    """
    started = time.perf_counter()
    if not store.sqlite:
        raise NotSupported(
            "backup is for stores in SQLite; PostgreSQL has its own, which is as consistent: pg_dump -Fc "
            f"-f {out} {store.url.set(drivername='postgresql', password=None).render_as_string()}"
        )
    if out.exists() and not overwrite:
        raise InvalidInput(f"{out} exists; choose a new name, or replace it (--overwrite)")
    if store.path is not None and out.exists() and out.samefile(store.path):
        raise InvalidInput(f"{out} is the store itself; choose a new name")
    check_writable(out)
    with atomic_file(out) as part:
        if not part.exists():  # a device does
            part.touch(0o600)
        try:
            _copy(store, part, progress)
        except sqlite3.Error as error:
            raise ResourceError(f"the backup to {out} failed: {reason(error)}") from None
        with Store(f"sqlite:///{part}"):  # raises unless its tables are those of this version
            pass
        for suffix in ("-wal", "-shm"):
            part.with_name(part.name + suffix).unlink(missing_ok=True)
    return Backup(str(out), out.stat().st_size, round(time.perf_counter() - started, 3))


def _copy(store: Store, part: Path, progress: Progress | None) -> None:
    """Copy all pages within one read transaction, and check the copy."""
    target = sqlite3.connect(part)
    try:
        with store.reading() as sql:
            source = sql.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)  # noqa: S101 - of a store in SQLite
            source.execute("SELECT 1 FROM projects LIMIT 1").fetchall()  # the moment that is copied

            def report(_: int, remaining: int, total: int) -> None:
                if progress is not None:
                    progress("copy", total - remaining, total)

            source.backup(target, pages=PAGES, progress=report)
        target.execute("PRAGMA journal_mode=DELETE")
        (answer,) = target.execute("PRAGMA integrity_check(1)").fetchone()
        if answer != "ok":
            raise FileFormatError(f"the store is damaged: {answer}; restore an earlier backup")
    finally:
        target.close()
