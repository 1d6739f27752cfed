"""A client that loads the service: `python -m benchmarks.service_load PORT SECONDS CONNECTIONS KIND PEOPLE`.

Each connection sends one request after another, with a new Idempotency-Key each. Prints one JSON object.
"""

import json
import random
import selectors
import socket
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass

ACTIONS = 10


@dataclass
class Waiting:
    """A connection that waits for an answer."""

    sent: float = 0.0
    received: bytes = b""

    def complete(self) -> bool:
        head = self.received.find(b"\r\n\r\n")
        if head < 0:
            return False
        at = self.received.lower().index(b"content-length: ") + 16
        return len(self.received) >= head + 4 + int(self.received[at : self.received.index(b"\r\n", at)])


def request(kind: str, people: int, rng: random.Random) -> bytes:
    path, body = "decisions", b"{}"
    if kind == "outcome":
        path, body = "outcomes", b'{"action":"a%d","reward":%.3f}' % (rng.randrange(ACTIONS), rng.gauss(0, 1))
    head = (
        f"POST /v1/projects/bench/people/p{rng.randrange(people)}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nIdempotency-Key: {uuid.UUID(int=rng.getrandbits(128))}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def load(port: int, seconds: float, connections: int, kind: str, people: int) -> dict[str, object]:
    rng = random.Random(time.time_ns())  # noqa: S311 - not for secrets
    selector = selectors.DefaultSelector()
    end = time.perf_counter() + seconds
    times: list[float] = []
    statuses: Counter[str] = Counter()
    connection: socket.socket
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ, (connection, Waiting(time.perf_counter())))
        connection.sendall(request(kind, people, rng))
    while connections:
        for key, _ in selector.select(timeout=10):
            connection, waiting = key.data
            waiting.received += connection.recv(2**16)
            if waiting.complete():
                now = time.perf_counter()
                times.append(now - waiting.sent)
                statuses[waiting.received[9:12].decode()] += 1
                if now < end:
                    waiting.sent, waiting.received = now, b""
                    connection.sendall(request(kind, people, rng))
                else:
                    connections -= 1
                    selector.unregister(connection)
    times.sort()
    return {
        "per_second": len(times) / seconds,
        "p50_ms": times[len(times) // 2] * 1e3,
        "p99_ms": times[int(len(times) * 0.99)] * 1e3,
        "statuses": statuses,
    }


if __name__ == "__main__":
    port, seconds, connections, kind, people = sys.argv[1:]
    print(json.dumps(load(int(port), float(seconds), int(connections), kind, int(people))))
