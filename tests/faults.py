"""System faults: `make faults` runs commands on a full disk and kills them (minutes; mounting a disk needs root).

Full disk: every command that writes runs once, then with another seed on a disk that is nearly full. It must exit with
code 2 and one line of error, and leave existing files unchanged. Kill: commands are killed at random times, with their
workers. No file may be incomplete under its final name, and a resumed reproduction must give the same numbers.
"""

import argparse
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

import lpbandits as lpb
from lpbandits.io.atomic import UNFINISHED

LPB = [sys.executable, "-m", "lpbandits"]
_ENDS = {".png": b"IEND\xaeB`\x82", ".html": b"</html>\n", ".svg": b"</svg>"}
FIGURES = ["regret-curves", "vary-states"]


def log(path: Path, people: int = 400, seed: int = 0) -> Path:
    """Write a small log of ratings."""
    rng = np.random.default_rng(seed)
    rows = [(n, a, int(rng.integers(1, 6))) for n in range(people) for a in rng.choice(40, 15, replace=False).tolist()]
    pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row").write_csv(path)
    return path


def run(arguments: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LPB, *arguments], capture_output=True, text=True, env={**os.environ, **settings}, check=False
    )


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "filler")
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def broken(folder: Path) -> list[str]:
    """Return the files below a folder that are incomplete or do not match their checksum."""
    wrong = []
    paths = [path for path in folder.rglob("*") if path.is_file() and not _unfinished(path, folder)]
    for path in paths:
        if path.name == "manifest.json":
            for name, wanted in json.loads(path.read_text())["files"].items():
                if hashlib.sha256((path.parent / name).read_bytes()).hexdigest() != wanted:
                    wrong.append(f"{path.parent / name} does not match its manifest")
        if path.parent.name == "cases" and path.suffix == ".json":
            data = path.with_suffix(".parquet").read_bytes()
            if hashlib.sha256(data).hexdigest() != json.loads(path.read_text())["sha256"]:
                wrong.append(f"{path} does not match its table")
        try:
            if path.name == "model.json":
                lpb.PreferenceModel.load(path)
            elif path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".parquet":
                pl.read_parquet(path)
            elif (end := _ENDS.get(path.suffix)) is not None and not path.read_bytes().endswith(end):
                wrong.append(f"{path} is cut off")
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


def fill(disk: Path, free: int) -> None:
    excess = shutil.disk_usage(disk).free - free
    (disk / "filler").write_bytes(b"\0" * max(excess, 0))


def try_full_disk() -> bool:
    """Run every command that writes on a disk that is nearly full, and print a row each."""
    with tempfile.TemporaryDirectory() as home:
        ratings = log(Path(home) / "log.csv")
        small = Path(home) / "ml"
        small.mkdir()
        log(small / "ratings.csv")
        (small / "movies.csv").write_text("movieId,title,genres\n" + "".join(f"{i},F{i},Drama\n" for i in range(40)))
        model = Path(home) / "model.json"
        run(["fit", str(ratings), "--states", "2", "--out", str(model)])
        commands: dict[str, Callable[[Path, str], list[str]]] = {
            "demo": lambda disk, seed: ["demo", "--out", f"{disk}/demo", "--draws", "2", "--seed", seed],
            "simulate": lambda disk, seed: ["simulate", "--people", "20", "--out", f"{disk}/out", "--seed", seed],
            "fit": lambda disk, seed: [
                "fit",
                str(ratings),
                "--states",
                "3",
                "--out",
                f"{disk}/model.json",
                "--seed",
                seed,
            ],
            "inspect": lambda disk, seed: ["inspect", str(model), "--top", seed + "1", "--out", f"{disk}/out"],
            "decide": lambda disk, seed: [
                *("decide", "--model", str(model), str(ratings), "--exclude-seen", "--json", "--seed", seed),
                *("--out", f"{disk}/decisions.parquet"),
            ],
            "bound": lambda disk, seed: ["bound", "--people", "2", "--out", f"{disk}/out", "--seed", seed],
            "reproduce": lambda disk, seed: ["reproduce", *FIGURES, "--quick", "--out", f"{disk}/out", "--seed", seed],
            "data": lambda disk, seed: ["data", "movielens", "latest-small", "--from", str(small)],  # noqa: ARG005
        }
        good = True
        print(f"{'full disk':12} {'exit':>4} {'lines':>5}  old files  left over  message")
        for name, command in commands.items():
            with small_disk("64m") as disk:
                environment = {"XDG_CACHE_HOME": f"{disk}/cache"} if name == "data" else {}
                first = run(command(disk, "0"), **environment)
                old = hashes(disk)
                fill(disk, 2048 if name == "fit" else 8192)
                again = run(command(disk, "1"), **environment)
                same = {name: sha for name, sha in hashes(disk).items() if name in old} == old
                more = [str(name) for name in hashes(disk) if name not in old]
                lines = again.stderr.strip().splitlines()
                ok = first.returncode == 0 and again.returncode == 2 and same and len(lines) == 1 and bool(old)
                good &= ok and not any(UNFINISHED in name for name in more)
                print(
                    f"{name:12} {again.returncode:4} {len(lines):5}  {'intact' if same else 'LOST':9}  {len(more):9}  "
                    f"{(lines or [first.stderr])[-1][:150]}"
                )
    return good


def killed(arguments: list[str], after: float) -> bool:
    """Start a command, and kill it with its workers after some seconds; return whether it was still running."""
    process = subprocess.Popen(
        [*LPB, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def try_kills(kills: int, rng: random.Random) -> bool:
    """Kill commands at random times, and print a row per command."""
    good = True
    print(f"\n{'killed':12} {'kills':>5} {'runs':>5} {'seconds':>8}  broken files  result")
    with tempfile.TemporaryDirectory() as home:
        ratings = log(Path(home) / "log.csv", 3000)
        commands: dict[str, Callable[[Path, int], list[str]]] = {
            "fit": lambda out, i: ["fit", str(ratings), "--states", str(2 + i % 2), "--out", f"{out}/model.json"],
            "simulate": lambda out, i: ["simulate", "--people", "200", "--seed", str(i % 2), "--out", f"{out}/out"],
        }
        for name, command in commands.items():
            out = Path(home) / name
            out.mkdir()
            began = time.monotonic()
            wanted = []
            for i in (0, 1):
                run(command(out, i))
                wanted.append(_numbers(out))
            duration = (time.monotonic() - began) / 2
            done = runs = 0
            wrong: list[str] = []
            while done < kills:
                runs += 1
                done += killed(command(out, runs), rng.uniform(0.2, 1.0) * duration)
                wrong += broken(out)
                if _is_finished(out) and _numbers(out) not in wanted:
                    wrong.append("numbers differ from every undisturbed run")
            run(command(out, 0))
            same = _numbers(out) == wanted[0]
            good &= same and not wrong
            result = "as undisturbed" if same else "OTHER NUMBERS"
            print(f"{name:12} {done:5} {runs:5} {duration:8.1f}  {len(wrong):12}  {result}")
            for line in wrong[:3]:
                print("   ", line)
        good &= _try_reproduce(kills, rng, Path(home))
    return good


def _is_finished(out: Path) -> bool:
    return (out / "model.json").exists() or (out / "out" / "manifest.json").exists()


def _numbers(out: Path) -> str:
    """Return a hash of the results of a command, without its timings."""
    if (out / "model.json").exists():
        return lpb.PreferenceModel.load(out / "model.json").sha256
    tables = sorted(out.rglob("*.parquet"))
    parts = [path.read_bytes() for path in tables if "cases" not in path.parts and not _unfinished(path, out)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _unfinished(path: Path, out: Path) -> bool:
    return any(part.startswith(UNFINISHED) for part in path.relative_to(out).parts)


def _try_reproduce(kills: int, rng: random.Random, home: Path) -> bool:
    began = time.monotonic()
    run(["reproduce", "--quick", "--out", str(home / "undisturbed")])
    duration = time.monotonic() - began
    done = runs = folders = 0
    wrong: list[str] = []
    while done < kills:
        out = home / f"killed-{folders}"
        folders += 1
        while done < kills:
            runs += 1
            was_killed = killed(
                ["reproduce", "--quick", "--resume", "--out", str(out)], rng.uniform(0.0, 0.4) * duration
            )
            done += was_killed
            wrong += broken(out) if out.exists() else []
            if not was_killed:
                break
        run(["reproduce", "--quick", "--resume", "--out", str(out)])
        if _numbers(out) != _numbers(home / "undisturbed"):
            wrong.append(f"{out.name}: numbers differ from the undisturbed run")
    result = "WRONG" if wrong else "as undisturbed"
    print(f"{'reproduce':12} {done:5} {runs:5} {duration:8.1f}  {len(wrong):12}  {result}")
    for line in wrong[:3]:
        print("   ", line)
    return not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="kills per command")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=["disk", "kill"])
    chosen = parser.parse_args()
    seed = secrets.randbelow(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}")
    good = True
    if chosen.only != "kill":
        good &= try_full_disk()
    if chosen.only != "disk":
        good &= try_kills(chosen.kills, random.Random(seed))  # noqa: S311 - not a secret
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
