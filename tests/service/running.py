"""`Server`: `lpb serve` in a process of its own, which a test may kill, and `Caller`: one HTTP connection to it."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

LPB = (sys.executable, "-m", "lpbandits")
READY = 60.0
"""Seconds in which a server must be ready on a busy machine."""


class Server:
    """A server over a store on a free port of the loopback, which stays the same when it is started again.

    Parameters
    ----------
    store
        URL of the store.
    log
        File to which the server's stderr is appended.
    command
        The command that runs `lpb`.
    """

    def __init__(self, store: str, log: Path, command: tuple[str, ...] = LPB) -> None:
        self.store, self.log, self.port = store, log, 0
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process of the last start."""
        assert self._process is not None, "the server was never started"
        return self._process

    def start(self) -> Self:
        """Start the server and wait until it is ready."""
        command = [*self._command, "serve", "--store", self.store, "--port", str(self.port), "--dev"]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        timer = threading.Timer(READY, self.process.kill)
        timer.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        timer.cancel()
        if not line.startswith("ready http://"):
            self.kill()
            raise AssertionError(f"the server did not start: {line!r} {self.errors()}")
        self.port = int(line.rstrip().rpartition(":")[2])
        return self

    def kill(self) -> None:
        """Kill the server as a crash does, without a chance to clean up."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 30.0) -> tuple[int, float]:
        """Ask the server to stop; return its exit code and how many seconds it took."""
        began = time.monotonic()
        code = self._end(signal.SIGTERM, seconds)
        return code, time.monotonic() - began

    def _end(self, number: int, seconds: float = 30.0) -> int:
        process = self.process
        if process.poll() is None:
            os.kill(process.pid, number)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return -signal.SIGKILL
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def errors(self) -> list[str]:
        """Return the lines of the log that are not about requests."""
        return [line for line in self.log.read_text().splitlines() if not line.startswith('{"method"')]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.kill()


class Reply(NamedTuple):
    """The answer to a request; the status 0 is a connection that was refused or lost."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def repeated(self) -> bool:
        """Whether it is the stored answer of an earlier request."""
        return self.headers.get("idempotent-replayed") == "true"


class Caller:
    """A connection to a server that is opened again when it was lost."""

    def __init__(self, server: Server, timeout: float = 30.0) -> None:
        self._server, self._timeout = server, timeout
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, method: str, path: str, body: Any = None, key: str | None = None) -> Reply:
        """Return the answer to one request."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=self._timeout)
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Reply(0, repr(error), {})
        about = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, json.loads(content) if content else None, about)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
