"""Clients that write to a server while it is disturbed, and what must be true of its store afterwards."""

import itertools
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import lpbandits as lpb
from tests.service.running import Caller, Reply, Server

ACTIONS = ["rest", "walk", "swim", "row", "read"]
MODEL = lpb.PreferenceModel([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]], actions=ACTIONS)
SEED = 11
NOISE = 1.0
SETTINGS = {"policy": "lpbts", "seed": SEED, "settings": {"noise": NOISE}}
PROJECT = "/v1/projects/drill"
PATIENCE = 45.0
"""Seconds for which a client repeats a request that is not acknowledged."""


def prepare(server: Server) -> None:
    """Make the project of the clients, with its model."""
    call = Caller(server)
    for path, body in ((PROJECT, SETTINGS), (f"{PROJECT}/model", MODEL.to_dict())):
        reply = call("PUT", path, body)
        assert reply.status == 200, reply
    call.close()


class Acknowledged(NamedTuple):
    """A request with its acknowledged answer."""

    path: str
    body: Any
    key: str
    answer: Any

    @property
    def kind(self) -> str:
        """What it added: decisions, outcomes or corrections."""
        return self.path.rpartition("/")[2]


@dataclass
class Load:
    """Clients in threads; each sends one request after another, and repeats it until it is acknowledged.

    Attributes
    ----------
    servers
        Client i writes to server i modulo their number.
    acknowledged
        All requests with 200 or 201.
    statuses
        Number of answers by status; 0: connections that were lost or refused.
    recovered
        Acknowledged requests that had been written, but whose first answer was lost.
    wrong
        What must not happen.
    """

    servers: list[Server]
    n_clients: int = 8
    n_people: int = 12
    seed: int = 0
    corrects: bool = True
    acknowledged: list[Acknowledged] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    recovered: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # keys of which some attempt was not answered at all

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._threads = [threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(self.n_clients)]

    @property
    def known_person(self) -> str:
        """Path of a person of whom a fact was acknowledged."""
        return next(one.path.rpartition("/")[0] for one in self.acknowledged if one.kind != "corrections")

    def start(self) -> "Load":
        """Start the clients."""
        for thread in self._threads:
            thread.start()
        return self

    def stop_after(self, n: int) -> None:
        """Wait until n more requests are acknowledged, then let clients finish; only the first call counts."""
        if self._stopping.is_set():
            return
        self.wait_for(n)
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE + 30)
            if thread.is_alive():
                self.wrong.append("a client hangs")

    def wait_for(self, n: int, seconds: float = PATIENCE) -> None:
        """Wait until n more requests are acknowledged."""
        goal, end = len(self.acknowledged) + n, time.monotonic() + seconds
        while len(self.acknowledged) < goal and time.monotonic() < end:
            time.sleep(0.02)
        if len(self.acknowledged) < goal:
            self.wrong.append(f"fewer than {n} requests were acknowledged in {seconds:g} seconds")

    def wait_for_status(self, status: int, n: int = 20, seconds: float = PATIENCE) -> None:
        """Wait until n more answers have a status."""
        goal, end = self.statuses[status] + n, time.monotonic() + seconds
        while self.statuses[status] < goal and time.monotonic() < end:
            time.sleep(0.02)
        if self.statuses[status] < goal:
            self.wrong.append(f"fewer than {n} answers had the status {status} in {seconds:g} seconds")

    def _run(self, i: int) -> None:
        rng = random.Random(f"{self.seed} {i}")  # noqa: S311 - not a secret
        call = Caller(self.servers[i % len(self.servers)])
        try:
            while not self._stopping.is_set():
                self._one_round(rng, call, f"{PROJECT}/people/p{rng.randrange(self.n_people)}")
        except GivenUp:
            pass
        except Exception as error:
            self.wrong.append(f"a client failed: {error!r}")
        finally:
            call.close()

    def _one_round(self, rng: random.Random, call: Caller, person: str) -> None:
        """Ask and report, report without a decision, correct, or repeat an earlier request."""
        kind = rng.random()
        reward = next(self._numbers) / 1000  # unlike every other, so that a duplicate is seen
        if kind < 0.7:
            allowed = sorted(rng.sample(ACTIONS, 3), key=ACTIONS.index) if kind < 0.2 else None
            decision = self.send(call, f"{person}/decisions", {} if allowed is None else {"allowed": allowed})
            if rng.random() < 0.85:
                self.send(call, f"{person}/outcomes", {"decision": decision["decision"], "reward": reward})
        elif kind < 0.85 or not self.corrects:
            outcome = self.send(call, f"{person}/outcomes", {"action": rng.choice(ACTIONS), "reward": reward})
            if kind < 0.75 and self.corrects:
                body = {"reward": None if kind < 0.72 else reward + 500, "reason": "drill"}
                self.send(call, f"{PROJECT}/outcomes/{outcome['outcome']}/corrections", body)
        elif self.acknowledged:
            self.repeat(call, rng.choice(self.acknowledged))

    def send(self, call: Caller, path: str, body: Any) -> Any:
        """Send a request until it is acknowledged, and return its answer."""
        key = f"k{self.seed}-{next(self._numbers)}"
        reply, attempts = self._until_acknowledged(call, path, body, key)
        with self._lock:
            self.acknowledged.append(Acknowledged(path, body, key, reply.body))
            self.recovered += reply.repeated
        if reply.repeated and attempts == 1:
            self.wrong.append(f"{key}: the first answer is a repeated one")
        return reply.body

    def repeat(self, call: Caller, before: Acknowledged) -> None:
        """Send an acknowledged request again: the answer must be the same."""
        reply, _ = self._until_acknowledged(call, before.path, before.body, before.key)
        if reply.body != before.answer or not reply.repeated:
            self.wrong.append(f"{before.key}: the answer to a retry differs: {reply.body} {before.answer}")

    def _until_acknowledged(self, call: Caller, path: str, body: Any, key: str) -> tuple[Reply, int]:
        end, attempts = time.monotonic() + PATIENCE, 0
        while time.monotonic() < end:
            reply, attempts = call("POST", path, body, key), attempts + 1
            with self._lock:
                self.statuses[reply.status] += 1
            if reply.status in (200, 201):
                return reply, attempts
            if reply.status == 0:
                self.lost.add(key)
            elif reply.status == 503 and "retry-after" not in reply.headers:
                self.wrong.append(f"503 without Retry-After: {reply.body}")
            elif reply.status not in (503, 507):
                self.wrong.append(f"status {reply.status} of {path} {body}: {reply.body}")
                raise GivenUp
            time.sleep(0.05)
        self.wrong.append(f"{key} was not acknowledged in {PATIENCE:g} seconds; last answer: {reply}")
        raise GivenUp


class GivenUp(Exception):
    """A client stops because of a fault."""
