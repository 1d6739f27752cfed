"""Drills of the decision service: each disturbs servers under load, and returns what was counted and what is wrong."""

import itertools
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from tests.faults import small_disk
from tests.service.load import ACTIONS, PROJECT, Load, prepare
from tests.service.postgres import Postgres
from tests.service.replay import check
from tests.service.running import LPB, Caller, Reply, Server

FACTS = ("decisions", "outcomes", "corrections")


@dataclass
class Place:
    """Where a drill has its stores: a folder, and PostgreSQL unless it is about SQLite."""

    folder: Path
    postgres: Postgres | None
    rng: random.Random

    def store(self, folder: Path | None = None) -> str:
        """Return the URL of a new store."""
        if self.postgres is not None:
            return self.postgres.new_database()
        return f"sqlite:///{folder or self.folder}/lpb.db"

    def server(self, store: str | None = None, command: tuple[str, ...] = LPB) -> Server:
        """Return a server that is not started yet."""
        return Server(self.store() if store is None else store, self.folder / "log", command)


class Result(NamedTuple):
    """Number of faults, what was counted, what else is worth a word, and what is wrong."""

    faults: int
    counts: Counter[str]
    notes: str
    wrong: list[str]


def kills(place: Place, times: int = 20, n_clients: int = 8) -> Result:
    """Kill the server while clients write."""
    with place.server().start() as server:
        prepare(server)
        load = Load([server], n_clients, seed=place.rng.randrange(10**6)).start()
        for _ in range(times):
            load.wait_for(30)
            time.sleep(place.rng.uniform(0, 0.5))
            server.kill()
            server.start()
            check(load, server, complete=False)
        load.stop_after(30)
        server.kill()
        load.wrong += verified(server.store)  # of a store that nobody closed
        server.start()
        return _ended(load, server, times + 1, f"{load.recovered} answers lost and repeated")


def stops(place: Place, times: int = 5) -> Result:
    """Stop the server by SIGTERM while clients write, one with a request that never ends."""
    codes, slowest = set(), 0.0
    with place.server().start() as server:
        prepare(server)
        load = Load([server], seed=place.rng.randrange(10**6)).start()
        for i in range(times):
            load.wait_for(30)
            with socket.create_connection(("127.0.0.1", server.port)) as slow:
                if i == 0:
                    head = f"POST {PROJECT}/people/p1/decisions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{{"
                    slow.sendall(head.encode())
                    time.sleep(0.2)
                code, seconds = server.stop()
            codes.add(code)
            slowest = max(slowest, seconds)
            server.start()
            check(load, server, complete=False)
        if codes != {0} or slowest > 10:
            load.wrong.append(f"exit codes {codes}, the slowest stop took {slowest:.1f} seconds")
        if load.recovered:
            load.wrong.append(f"{load.recovered} writes were made and not answered")
        notes = f"exit codes {codes}, slowest stop {slowest:.1f} s, {load.statuses[503]} × 503"
        return _ended(load, server, times, notes)


def outages(place: Place, times: int = 4) -> Result:
    """Stop PostgreSQL while clients write, at once or in order, and start it again."""
    assert place.postgres is not None
    with place.server().start() as server:
        prepare(server)
        load, call = Load([server], seed=place.rng.randrange(10**6)).start(), Caller(server)
        pid, slowest = server.process.pid, 0.0
        for i in range(times):
            load.wait_for(50)
            place.postgres.stop(signal.SIGINT if i % 4 == 3 else signal.SIGQUIT)
            load.wait_for_status(503)
            for path, status in ((f"{PROJECT}/people", 503), ("/ready", 503), ("/health", 200)):
                _expect(load, call("GET", path), status)
            place.postgres.start()
            began = time.monotonic()
            load.wait_for(1)
            slowest = max(slowest, time.monotonic() - began)
            check(load, server, complete=False)
        if server.process.poll() is not None or server.process.pid != pid:
            load.wrong.append("the server ended")
        notes = f"{load.statuses[503]} × 503, writes again after {slowest:.1f} s, {load.recovered} answers lost"
        return _ended(load, server, times, notes)


def full_disk(place: Place) -> Result:
    """Fill the disk of the store while clients write, free it, and fill it again."""
    with small_disk("48m") as disk, ExitStack() as ending:
        server = ending.enter_context(place.server(_on_disk(place, disk, ending)).start())
        prepare(server)
        load, call = Load([server], seed=place.rng.randrange(10**6)).start(), Caller(server)
        for _ in range(3):
            load.wait_for(50)
            _fill(disk)
            load.wait_for_status(507)
            for path in ("/ready", load.known_person, f"{PROJECT}/people"):
                _expect(load, call("GET", path), 200)
            (disk / "filler").unlink()
            load.wait_for(50)
            check(load, server, complete=False)
        _fill(disk)
        load.wait_for_status(507)
        server.kill()
        (disk / "filler").unlink()
        server.start()
        return _ended(load, server, 4, f"{load.statuses[507]} × 507")


def long_log(place: Place) -> Result:
    """Let a reader keep SQLite's log from being reused until it fills the disk."""
    with small_disk("16m") as disk, place.server(place.store(disk)).start() as server:
        prepare(server)
        load, call = Load([server], seed=place.rng.randrange(10**6)).start(), Caller(server)
        load.wait_for(50)
        reader = sqlite3.connect(f"file:{disk}/lpb.db?mode=ro", uri=True, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM people").fetchone()
        _fill(disk, leave=2 * 2**20)
        load.wait_for_status(507)
        size = (disk / "lpb.db-wal").stat().st_size
        _expect(load, call("GET", load.known_person), 200)
        reader.close()
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - 2**20)  # for the file to grow
        load.wait_for(50)
        return _ended(load, server, 1, f"{load.statuses[507]} × 507, log of {size / 2**20:.1f} MiB")


def clock_set_back(place: Place) -> Result:
    """Set the clock of the writer back by an hour while clients write, and start again with the wrong clock."""
    ahead = place.folder / "ahead"
    ahead.write_text("0")
    with place.server(command=(sys.executable, "-m", "tests.service.shifted", str(ahead))).start() as server:
        prepare(server)
        load = Load([server], seed=place.rng.randrange(10**6)).start()
        for seconds in (-3600, 3600, -7200):
            load.wait_for(100)
            _replace(ahead, str(seconds))
        load.wait_for(100)
        server.kill()
        server.start()
        load.wait_for(100)
        history = Caller(server)("GET", f"{PROJECT}/people/p1").body["history"]
        back = sum(later["at"] < earlier["at"] for earlier, later in itertools.pairwise(history))
        if not back:
            load.wrong.append("the clock was not set back")
        return _ended(load, server, 3, f"{back} facts of p1 are earlier than the fact before")


def replicas(place: Place, times: int = 200) -> Result:
    """Send the same requests to two servers over one PostgreSQL at once."""
    store = place.store()
    with place.server(store).start() as first, place.server(store).start() as second:
        prepare(first)
        load = Load([first, second], 8, n_people=4, seed=place.rng.randrange(10**6))
        pair = Pair(first, second)
        together: Counter[int] = Counter()
        for i in range(times):
            person = f"{PROJECT}/people/both{i % 20}"
            asked = pair(f"{person}/decisions", {}, f"a{i}", f"a{i}")
            apart = pair(f"{person}/decisions", {}, f"b{i}", f"c{i}")
            outcomes = [{"decision": two[0].body.get("decision"), "reward": 1.5} for two in (asked, apart)]
            told = pair(f"{person}/outcomes", outcomes[0], f"d{i}", f"d{i}")
            again = pair(f"{person}/outcomes", outcomes[1], f"e{i}", f"f{i}")
            alone = pair(f"{person}/outcomes", {"action": ACTIONS[i % 5], "reward": 3.5}, f"g{i}", f"g{i}")
            for replies in (asked, apart, told, again, alone):
                together.update(reply.status for reply in replies)
                load.wrong += [f"pair {i}: {reply}" for reply in replies if reply.status != 201]
            for replies in (asked, told, again, alone):
                if replies[0].body != replies[1].body:
                    load.wrong.append(f"pair {i}: different answers {replies}")
            if apart[0].body.get("decision") == apart[1].body.get("decision"):
                load.wrong.append(f"pair {i}: one decision for two requests")
        _expect_facts(load, first, 6 * times)
        load.start()
        load.stop_after(600)
        for server in (first, second):
            counts = check(load, server, only="p")
        counts["pairs"] = 5 * times
        failed = {status: n for status, n in load.statuses.items() if status >= 500}
        if failed:
            load.wrong.append(f"server errors: {failed}")
        load.wrong += verified(store) + _tracebacks(first)
        return Result(5 * times, counts, f"pairs answered {dict(together)}", load.wrong)


def second_server(place: Place) -> Result:
    """Start a second server on the same file, and one after the first was killed."""
    with place.server().start() as server:
        prepare(server)
        load = Load([server], 4, seed=place.rng.randrange(10**6)).start()
        load.wait_for(20)
        second = run_lpb("serve", "--store", server.store, "--port", "0", "--dev")
        reason = second.stderr.strip()
        if second.returncode != 2 or f"process {server.process.pid}" not in reason or "\n" in reason:
            load.wrong.append(f"the second server ended with {second.returncode}: {reason}")
        if load.statuses.keys() - {201}:
            load.wrong.append(f"the first server was disturbed: {load.statuses}")
        load.wait_for(20)
        server.kill()
        server.start()
        return _ended(load, server, 2, f"exit code {second.returncode}")


def backups(place: Place, times: int = 4) -> Result:
    """Copy the store while clients write."""
    with place.server().start() as server:
        prepare(server)
        load = Load([server], seed=place.rng.randrange(10**6)).start()
        facts = []
        for i in range(times):
            load.wait_for(50)
            n_before = len(load.acknowledged)
            copy = place.folder / f"copy{i}.db"
            done = run_lpb("store", "backup", "--store", server.store, "--out", str(copy))
            if done.returncode:
                load.wrong.append(f"the backup failed: {done.stderr}")
                continue
            load.wrong += verified(f"sqlite:///{copy}")
            with sqlite3.connect(copy) as sql:
                facts.append(sum(sql.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in FACTS))  # noqa: S608 - constants
            if facts[-1] < n_before:
                load.wrong.append(f"copy {i} has {facts[-1]} facts, but {n_before} were acknowledged before")
        return _ended(load, server, times, f"copies of {facts} facts")


class Pair:
    """Sends a request to two servers at the same moment."""

    def __init__(self, *servers: Server) -> None:
        self._calls = [Caller(server) for server in servers]

    def __call__(self, path: str, body: Any, *keys: str) -> list[Reply]:
        """Return both answers."""
        replies: list[Any] = [None, None]
        barrier = threading.Barrier(2)

        def send(i: int) -> None:
            barrier.wait()
            replies[i] = self._calls[i]("POST", path, body, keys[i])

        threads = [threading.Thread(target=send, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return replies


def _expect_facts(load: Load, server: Server, number: int) -> None:
    """Check the number of facts of the people of pairs."""
    call = Caller(server)
    people = call("GET", f"{PROJECT}/people").body["people"]
    facts = sum(len(call("GET", f"{PROJECT}/people/{person}").body["history"]) for person in people)
    if facts != number:
        load.wrong.append(f"pairs left {facts} facts, not {number}")


def run_lpb(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends."""
    return subprocess.run([*LPB, *words], capture_output=True, text=True, timeout=120, check=False)


def verified(store: str) -> list[str]:
    """Return what `lpb store verify` finds wrong."""
    done = run_lpb("store", "verify", "--store", store)
    return [f"verify ended with {done.returncode}: {done.stdout} {done.stderr}"] if done.returncode else []


def _ended(load: Load, server: Server, faults: int, notes: str) -> Result:
    """Stop the clients, check the store and the server's log, and return the result."""
    load.stop_after(30)
    counts = check(load, server)
    code, _ = server.stop()
    if code:
        load.wrong.append(f"the server ended with {code}")
    return Result(faults, counts, notes, load.wrong + verified(server.store) + _tracebacks(server))


def _tracebacks(server: Server) -> list[str]:
    return [f"log: {line}" for line in server.errors() if line.startswith("Traceback") or '"event": "bug"' in line]


def _expect(load: Load, reply: Reply, status: int) -> None:
    if reply.status != status or (status == 503 and "retry-after" not in reply.headers):
        load.wrong.append(f"expected {status}, got {reply}")


def _fill(disk: Path, leave: int = 0) -> None:
    """Fill a disk, but for some bytes, while others write to it."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while (free := shutil.disk_usage(disk).free - leave) > 0:
                file.write(b"\0" * min(free, 2**20))
        except OSError:
            pass


def _replace(path: Path, text: str) -> None:
    """Write a file that others read at any time."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def _on_disk(place: Place, disk: Path, ending: ExitStack) -> str:
    """Return the URL of a new store on a disk; PostgreSQL has its tables there, and its log elsewhere."""
    if place.postgres is None:
        return place.store(disk)
    store = place.store()
    _, _, name = store.partition("?")[0].rpartition("/")
    folder = disk / "tables"
    folder.mkdir()
    shutil.chown(folder, place.postgres.folder.owner())
    sql = ending.enter_context(psycopg.connect(store.replace(f"/{name}?", "/postgres?"), autocommit=True))
    commands: list[Any] = [
        f"CREATE TABLESPACE small LOCATION '{folder}'",
        f"ALTER DATABASE {name} SET TABLESPACE small",
        f"DROP DATABASE {name} WITH (FORCE)",
        "DROP TABLESPACE small",
    ]
    for command in commands[:2]:
        sql.execute(command)
    for command in commands[:1:-1]:
        ending.callback(sql.execute, command)
    return store


SQLITE: dict[str, Callable[[Place], Result]] = {
    "kills": kills,
    "stops": stops,
    "full-disk": full_disk,
    "long-log": long_log,
    "clock": clock_set_back,
    "second-server": second_server,
    "backups": backups,
}
POSTGRES: dict[str, Callable[[Place], Result]] = {
    "kills": kills,
    "stops": stops,
    "outages": outages,
    "full-disk": full_disk,
    "clock": clock_set_back,
    "replicas": replicas,
}
