"""`OutcomeQueue`: outcomes on disk that could not be sent, in order, one JSON object per line.

Two locks order its users, in one process or several: one is held while the file is read or changed, the other by the
one who sends. What was sent is removed afterwards, so that a killed process sends it again, with the same
Idempotency-Keys and thus without a second effect.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lpbandits.client.exchange import Call
from lpbandits.errors import translate_errors
from lpbandits.io.atomic import check_writable, write_bytes
from lpbandits.io.paths import as_path

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: one process per queue
    fcntl = None


class Entry(NamedTuple):
    """A line of the queue, and its request; None if it cannot be read, as after a crash while it was written."""

    line: bytes
    call: Call | None


class OutcomeQueue:
    """A queue of requests in a file; those refused are kept beside it, in `*.rejected.jsonl`."""

    def __init__(self, path: str | Path) -> None:
        self.path = as_path(path).absolute()
        check_writable(self.path)
        self.rejected_path = self.path.with_name(f"{self.path.stem}.rejected{self.path.suffix}")

    @property
    @translate_errors("reading the queue of outcomes")
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self.path.exists() or self.path.stat().st_size == 0

    @property
    @translate_errors("reading the queue of outcomes")
    def waiting(self) -> int:
        """Number of requests that wait."""
        return len(self._lines())

    @translate_errors("adding an outcome to the queue")
    def append(self, call: Call) -> None:
        """Add a request; it is on disk when this returns."""
        with self._locked():
            _append(self.path, _line({"key": call.key, "path": call.path, "body": call.body}))

    @translate_errors("reading the queue of outcomes")
    def first(self, count: int) -> list[Entry]:
        """Return the first requests."""
        with self._locked():
            return [Entry(line, _call(line)) for line in self._lines()[:count]]

    @translate_errors("removing sent outcomes from the queue")
    def settle(self, done: Sequence[Entry], refused: Sequence[tuple[Entry, str]]) -> None:
        """Keep what was refused with the reason, then remove the first requests, which were sent or refused."""
        if not done:
            return
        with self._locked():
            if refused:
                _append(self.rejected_path, b"".join(_line(_rejected(*one)) for one in refused))
            remaining = self._lines()[len(done) :]
            write_bytes(self.path, b"".join(line + b"\n" for line in remaining))

    @translate_errors("locking the queue of outcomes")
    def start_sending(self) -> int | None:
        """Return a lock that `os.close` releases; None if another process or thread is sending."""
        handle = _opened(self.path.with_name(self.path.name + ".sending"))
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if isinstance(error, BlockingIOError):
                return None
            raise
        return handle

    def _lines(self) -> list[bytes]:
        """Return the lines; the last one may lack its end after a crash."""
        content = self.path.read_bytes() if self.path.exists() else b""
        return [line for line in content.split(b"\n") if line]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        handle = _opened(self.path.with_name(self.path.name + ".lock"))
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _append(path: Path, lines: bytes) -> None:
    """Append lines durably, or not at all."""
    handle = _opened(path)
    try:
        size = os.lseek(handle, 0, os.SEEK_END)
        if size:
            os.lseek(handle, size - 1, os.SEEK_SET)
            lines = lines if os.read(handle, 1) == b"\n" else b"\n" + lines
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        except OSError:
            os.truncate(handle, size)
            raise
    finally:
        os.close(handle)
    if not size and os.name == "posix":  # the file may be new: its name must be on disk too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _line(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _call(line: bytes) -> Call | None:
    try:
        row = json.loads(line)
        return Call("POST", row["path"], row["body"], row["key"])
    except (ValueError, LookupError, TypeError):
        return None


def _rejected(entry: Entry, why: str) -> dict[str, Any]:
    if entry.call is None:
        return {"line": entry.line.decode("utf-8", "backslashreplace"), "reason": why}
    return {"key": entry.call.key, "path": entry.call.path, "body": entry.call.body, "reason": why}
