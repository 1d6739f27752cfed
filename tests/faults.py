"""System faults: `make faults` runs commands on a full disk, kills and interrupts them (minutes; a disk needs root).

Full disk: every command that writes runs once, then with another seed on a disk that is nearly full. It must exit with
code 2 and one line of error, and leave existing files unchanged. Other faults happen at random times: a command is
killed with its workers, gets Ctrl-C, or loses a worker. After Ctrl-C it must end with one line and exit code 130, after
a worker's crash with the same numbers. No process may survive, no file may be incomplete under its final name, and the
next run (for `reproduce`, with --resume) must give the same numbers and remove the temporary folders of killed ones.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import polars as pl
import psutil  # type: ignore[import-untyped] # distributed brings it, without types

import lpbandits as lpb
from lpbandits.io.atomic import MANIFEST, sha256
from lpbandits.io.scratch import UNFINISHED
from tests.parallel.processes import until

LPB = [sys.executable, "-m", "lpbandits"]


def log(path: Path, people: int = 400, seed: int = 0) -> Path:
    """Write a small log of ratings."""
    rng = np.random.default_rng(seed)
    rows = [(n, a, int(rng.integers(1, 6))) for n in range(people) for a in rng.choice(40, 15, replace=False).tolist()]
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(path)
    return path


def run(command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command, whose words have no spaces."""
    environment = {**os.environ, **settings}
    return subprocess.run([*LPB, *command.split()], capture_output=True, text=True, env=environment, check=False)


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "filler")
    return {str(file.relative_to(folder)): sha256(file) for file in files}


def broken(folder: Path) -> list[str]:
    """Return the files below a folder that are incomplete or do not match their checksum."""
    wrong = []
    for path in [path for path in folder.rglob("*") if path.is_file() and not _unfinished(path, folder)]:
        try:
            content = json.loads(path.read_text()) if path.suffix == ".json" else {}
            files = content["files"] if path.name == MANIFEST else {}
            if path.match("cases/*.json"):
                files = {path.with_suffix(".parquet").name: content["sha256"]}
            for name, wanted in files.items():
                if sha256(path.parent / name) != wanted:
                    wrong.append(f"{path.parent / name} does not match its checksum in {path.name}")
            if path.name == "model.json":
                lpb.PreferenceModel.load(path)
            elif path.suffix == ".parquet":
                pl.read_parquet(path)
        except Exception as error:
            wrong.append(f"{path}: {error}")
    return wrong


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Mount a small disk in memory, and yield its path."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", place], check=True)


def try_full_disk() -> bool:
    """Run every command that writes on a disk that is nearly full, and print a row each."""
    with tempfile.TemporaryDirectory() as home:
        ratings = log(Path(home) / "log.csv")
        small = Path(home) / "ml"
        small.mkdir()
        log(small / "ratings.csv")
        (small / "movies.csv").write_text("movieId,title,genres\n" + "".join(f"{i},F{i},Drama\n" for i in range(40)))
        model = Path(home) / "model.json"
        run(f"fit {ratings} --states 2 --out {model}")
        commands = {
            "demo": "demo --draws 2 --out {disk}/demo --seed {seed}",
            "simulate": "simulate --people 20 --out {disk}/out --seed {seed}",
            "fit": f"fit {ratings} --states 3 --out {{disk}}/model.json --seed {{seed}}",
            "inspect": f"inspect {model} --top {{seed}}1 --out {{disk}}/out",
            "decide": f"decide --model {model} {ratings} --json --out {{disk}}/decisions.parquet --seed {{seed}}",
            "bound": "bound --people 2 --out {disk}/out --seed {seed}",
            "reproduce": "reproduce regret-curves vary-states --quick --out {disk}/out --seed {seed}",
            "data": f"data movielens latest-small --from {small}",
        }
        good = True
        print(f"{'full disk':12} {'exit':>4} {'lines':>5}  old files  left over  message")
        for name, command in commands.items():
            with small_disk("64m") as disk:
                environment = {"XDG_CACHE_HOME": f"{disk}/cache"} if name == "data" else {}
                first = run(command.format(disk=disk, seed=0), **environment)
                old = hashes(disk)
                free = 2048 if name == "fit" else 8192
                (disk / "filler").write_bytes(b"\0" * max(shutil.disk_usage(disk).free - free, 0))
                again = run(command.format(disk=disk, seed=1), **environment)
                same = {name: sha for name, sha in hashes(disk).items() if name in old} == old
                more = [str(name) for name in hashes(disk) if name not in old]
                lines = _without_notes(again.stderr).splitlines()
                ok = first.returncode == 0 and again.returncode == 2 and same and len(lines) == 1 and bool(old)
                good &= ok and not any(UNFINISHED in name for name in more)
                print(
                    f"{name:12} {again.returncode:4} {len(lines):5}  {'intact' if same else 'LOST':9}  {len(more):9}  "
                    f"{(lines or [first.stderr])[-1][:150]}"
                )
    return good


FAULTS: dict[str, tuple[int, str] | None] = {"kill": None, "interrupt": (130, "lpb: stopped\n"), "crash": (0, "")}
"""Faults, and the exit code and standard error that must follow."""


def cause(fault: str, process: psutil.Process) -> bool:
    """Kill or interrupt a command with its workers, or kill one of its workers; return whether there was one."""
    if fault != "crash":
        os.killpg(process.pid, signal.SIGKILL if fault == "kill" else signal.SIGINT)
        return True
    workers = [child for child in process.children() if "popen_loky" in " ".join(child.cmdline())]
    for worker in workers[:1]:
        worker.kill()
    return bool(workers)


def disturbed(command: str, fault: str, after: float) -> tuple[bool, list[str]]:
    """Start a command and cause a fault after some seconds; return whether it was still running, and what is wrong."""
    process = psutil.Popen(
        [*LPB, *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    happened = False
    try:
        _, error = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError, psutil.NoSuchProcess):  # it has just ended
            happened = cause(fault, process)
        _, error = process.communicate()
    wrong = []
    ended = process.returncode, _without_notes(error)
    if happened and FAULTS[fault] is not None and ended not in (FAULTS[fault], (0, "")):
        wrong.append(f"exit code {process.returncode}: {error[-300:]}")
    with suppress(AssertionError):
        until(lambda: not _group(process.pid), seconds=10)
    wrong += [f"still running: {' '.join(survivor.cmdline())}" for survivor in _group(process.pid)]
    return happened, wrong


def _without_notes(error: str) -> str:
    return "".join(line for line in error.splitlines(True) if not line.startswith("note: "))


def _group(leader: int) -> list[psutil.Process]:
    """Return the running processes of a process group."""
    members = []
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if process.info["status"] != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == leader:
                members.append(process)
    return members


def try_faults(faults: list[str], only: list[str] | None, times: int, rng: random.Random) -> bool:
    """Cause faults in commands at random times, and print a row per fault and command."""
    good = True
    print(f"\n{'fault':9} {'command':9} {'faults':>6} {'runs':>5} {'seconds':>8} {'wrong':>6}  result")
    with tempfile.TemporaryDirectory() as home:
        os.environ["TMPDIR"] = home  # of the commands
        ratings, model = log(Path(home) / "log.csv", 3000), f"{home}/model.json"
        Path(f"{ratings}.gz").write_bytes(gzip.compress(ratings.read_bytes()))
        run(f"fit {ratings} --states 2 --out {model}")
        commands = {
            "fit": f"fit {ratings} --states 2 --out {{out}}/model.json --seed {{seed}}",
            "simulate": "simulate --people 200 --jobs 2 --out {out}/out --seed {seed}",
            "evaluate": f"evaluate {ratings} --jobs 2 --out {{out}}/out --seed {{seed}}",
            "decide": f"decide {ratings}.gz --model {model} --jobs 2 --out {{out}}/decisions.parquet --seed {{seed}}",
            "reproduce": "reproduce --quick --resume --jobs 2 --out {out}/out",
        }
        for name in only or commands:
            command = commands[name]
            out = Path(home) / name
            out.mkdir()
            expected = []
            for seed in (0, 1):
                began = time.monotonic()  # the first run compiles
                run(command.format(out=out, seed=seed)).check_returncode()
                expected.append(_numbers(out))
                if name == "reproduce":
                    shutil.rmtree(out)
            duration = time.monotonic() - began
            for fault in faults:
                if fault == "crash" and name == "fit":
                    continue  # so small a log is fitted without workers
                n_faults, n_runs, wrong = _repeat(name, command, fault, times, out, expected, duration, rng)
                good &= not wrong
                result = "WRONG" if wrong else "as undisturbed"
                print(f"{fault:9} {name:9} {n_faults:6} {n_runs:5} {duration:8.1f} {len(wrong):6}  {result}")
                for line in sorted(set(wrong))[:9]:
                    print("   ", line)
    return good


def _repeat(
    name: str, command: str, fault: str, times: int, out: Path, expected: list[str], duration: float, rng: random.Random
) -> tuple[int, int, list[str]]:
    """Cause a fault `times` times; return the number of faults, the number of runs, and what is wrong."""
    n_faults = n_runs = 0
    wrong: list[str] = []
    while n_faults < times and n_runs < 5 * times:
        out.mkdir(exist_ok=True)
        n_runs += 1
        earliest = 0.05 if fault == "kill" else 0.3  # before that Python is still starting
        after = rng.uniform(earliest, 1.0) * duration
        happened, messages = disturbed(command.format(out=out, seed=n_runs % 2), fault, after)
        n_faults += happened
        wrong += messages + broken(out)
        if _is_finished(out) and _numbers(out) not in expected:
            wrong.append("numbers differ from every undisturbed run")
        if name == "reproduce" and _is_finished(out):  # nothing would be left to resume
            shutil.rmtree(out)
    run(command.format(out=out, seed=0))
    if _numbers(out) != expected[0]:
        wrong.append("numbers differ from the undisturbed run")
    if name == "reproduce":
        shutil.rmtree(out)
    wrong += [f"not removed: {path}" for path in [*out.parent.glob(f"{UNFINISHED}*"), *out.rglob(f"{UNFINISHED}*")]]
    return n_faults, n_runs, wrong


def _is_finished(out: Path) -> bool:
    return any((out / name).exists() for name in ("model.json", "decisions.parquet", "out/manifest.json"))


def _numbers(out: Path) -> str:
    """Return a hash of the results of a command, without its timings."""
    if (out / "model.json").exists():
        return lpb.PreferenceModel.load(out / "model.json").sha256
    tables = sorted(out.rglob("*.parquet"))
    parts = [path.read_bytes() for path in tables if "cases" not in path.parts and not _unfinished(path, out)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _unfinished(path: Path, out: Path) -> bool:
    return any(part.startswith(UNFINISHED) for part in path.relative_to(out).parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="faults of a kind per command")
    parser.add_argument("--command", nargs="+", help="only these commands, such as simulate")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", nargs="+", choices=["disk", *FAULTS], default=["disk", *FAULTS])
    chosen = parser.parse_args()
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    good = True
    if "disk" in chosen.only:
        good &= try_full_disk()
    if faults := [fault for fault in FAULTS if fault in chosen.only]:
        good &= try_faults(faults, chosen.command, chosen.times, random.Random(seed))  # noqa: S311 - not a secret
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
