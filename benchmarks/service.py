"""The decision service: durable decisions per second, their latency, batches, and stores of many people.

`python -m benchmarks service`; with LPB_BENCH_PEOPLE=1000000 a store of that many people with ten outcomes each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import lpbandits as lpb
from benchmarks.measure import Measured, Row, Table, Value, say
from benchmarks.service_load import ACTIONS

SECONDS, CONNECTIONS, FEW = 10, 16, 1_000
MANY = int(os.environ.get("LPB_BENCH_PEOPLE", "100000"))
OUTCOMES, BATCH = 10, 10_000


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the port and the process id of a server over a store in a folder."""
    command = [str(Path(sys.executable).parent / "lpb"), "serve", "--dev", "--port", "0", "--json"]
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(  # noqa: S603 - our own command
            [*command, "--store", f"sqlite:///{folder}/bench.db"], stdout=subprocess.PIPE, stderr=log, text=True
        ) as server,
    ):
        try:
            yield json.loads((server.stdout or sys.stdin).readline())["ready"], server.pid
        finally:
            server.terminate()


def send(address: str, path: str, content: Any, method: str = "POST") -> Any:
    """Return the answer to a request."""
    headers = {"Content-Type": "application/json"}
    body = json.dumps(content).encode()
    request = urllib.request.Request(f"{address}/v1/projects/bench{path}", body, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310 - our own server
        return json.load(answer)


def prepared(address: str) -> None:
    """Make the project with a model of 5 states and 10 actions."""
    rng = np.random.default_rng(0)
    orderings = [[f"a{i}" for i in rng.permutation(ACTIONS)] for _ in range(5)]
    send(address, "", {"policy": "lpbts", "seed": 1}, "PUT")
    send(address, "/model", lpb.PreferenceModel(orderings, noise=1.0).to_dict(), "PUT")


def loaded(address: str, process: int, kind: str, people: int) -> dict[str, Any]:
    """Return rate and latency of requests from several connections, and the server's CPU time of each."""
    port = address.rpartition(":")[2]
    arguments = [port, str(SECONDS), str(CONNECTIONS), kind, str(people)]
    before = _processor_seconds(process)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "benchmarks.service_load", *arguments], check=True, capture_output=True, text=True
    )
    out: dict[str, Any] = json.loads(done.stdout)
    if set(out.pop("statuses")) != {"201"}:
        raise RuntimeError(f"some requests were not answered with 201: {done.stdout}")
    out["cpu_us"] = (_processor_seconds(process) - before) / (out["per_second"] * SECONDS) * 1e6
    return out


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def batches(address: str, path: str, items: list[dict[str, Any]]) -> float:
    """Return the items per second of batches, the best of them."""
    best = 0.0
    for start in range(0, len(items), BATCH):
        some = items[start : start + BATCH]
        began = time.perf_counter()
        send(address, path, {"items": some})
        best = max(best, len(some) / (time.perf_counter() - began))
    return best


def outcomes_of(people: range, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return ten outcomes of each person."""
    actions, rewards = rng.integers(ACTIONS, size=(len(people), OUTCOMES)), rng.normal(size=(len(people), OUTCOMES))
    return [
        {"person": f"p{i}", "action": f"a{action}", "reward": round(reward, 3)}
        for i, row, values in zip(people, actions.tolist(), rewards.tolist(), strict=True)
        for action, reward in zip(row, values, strict=True)
    ]


def measured() -> Measured:
    """Measure everything in this file."""
    rng = np.random.default_rng(1)
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder) as (address, process):
            prepared(address)
            say(f"{FEW:,} people")
            batches(address, "/outcomes:batch", outcomes_of(range(FEW), rng))
            for kind in ("decision", "outcome"):
                records += [{"people": FEW, "kind": kind, **loaded(address, process, kind, FEW)}]
            say("batches")
            told = batches(address, "/outcomes:batch", outcomes_of(range(FEW, 5 * FEW), rng))
            asked = batches(address, "/decisions:batch", [{"person": f"p{i}"} for i in range(5 * FEW)] * 4)
            say(f"{MANY:,} people")
            store = folder / "bench.db"
            before, added = _bytes(store), 0
            for start in range(5 * FEW, MANY, BATCH):
                items = outcomes_of(range(start, min(start + BATCH, MANY)), rng)
                batches(address, "/outcomes:batch", items)
                added += len(items)
            size = (_bytes(store) - before) / max(added, 1)
            records.append({"people": MANY, "kind": "decision", **loaded(address, process, "decision", MANY)})
        say("verify")
        began = time.perf_counter()
        command = [str(Path(sys.executable).parent / "lpb"), "store", "verify", "--store", f"sqlite:///{store}"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
        verified = time.perf_counter() - began
    few, outcome, many = records
    rows = [
        Row(f"durable decisions/s, {CONNECTIONS} connections", few["per_second"], 2_000, unit="/s"),
        Row("… p99", few["p99_ms"], 50, at_most=True, unit=" ms"),
        Row(f"durable outcomes/s, {CONNECTIONS} connections", outcome["per_second"], 2_000, unit="/s"),
        Row("decisions/s in batches of 10,000", asked, 20_000, unit="/s"),
        Row("outcomes/s in batches of 10,000", told, 20_000, unit="/s"),
        Row(f"p99 of a decision, {MANY:,} over {FEW:,} people", many["p99_ms"] / few["p99_ms"], 2, at_most=True),
        Row(f"lpb store verify, {MANY:,} people with {OUTCOMES} outcomes", verified, 600 * MANY / 1e6, True, unit=" s"),
    ]
    sizes: list[dict[str, Value]] = [{"bytes per outcome": size, "people": MANY, "verify s": verified}]
    return Measured(rows, [Table("service-load", records), Table("service-store", sizes)])


def _bytes(store: Path) -> int:
    return sum(path.stat().st_size for path in store.parent.glob(f"{store.name}*"))
