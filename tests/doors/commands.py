"""The door of the command line: `lpb` with hostile options, in this process."""

import contextlib
import io
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Never

from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.cli import main
from tests.doors.deciding import MODEL
from tests.doors.runner import Door

LOG = "person,action,rating\n" + "".join(
    f"{n},{a},{(a if n < 4 else 5 - a) + n % 2}\n" for n in range(8) for a in range(4)
)

CROWD = "person,action,rating\n" + "".join(
    f"{n},{a},{(a if n % 2 else 5 - a) + (7 * n + 3 * a) % 5 / 10}\n" for n in range(24) for a in range(5)
)
HISTORY = "person,action,reward\nann,tea,1\nann,jam,0.5\nbo,7,2\nann,tea,1.5\n"

ODD = (
    *("", " ", "x", "-1", "0", "1", "2", "3", "1.5", "nan", "inf", "-inf", "1e400", "1e-320", "1e308", "1e3", "0x10"),
    *("1_000", "٣", "²", "--", "-", "=", "a=b", ",", ",,", "\x00", "\n", "\x1b[31m", "\ud800", "x" * 5000, "9" * 5000),
    *(str(2**31), str(2**63), str(10**30), "null", "true", "[1]", '{"a": 1}', "NaN", "/", ".", "..", "/dev/null"),
    *(
        "model.json",
        "log.csv",
        "missing",
        "auto",
        "lpbts",
        "ts,ts",
        "lpbts,,",
        "gaussian",
        "same",
        "rewards",
        "bradley-terry",
        "cliff",
        "student",
        "wide",
        "rankings",
        "last",
        "rating",
    ),
)

WORKERS = {
    "--jobs": (
        "",
        "x",
        "0",
        "-1",
        "1",
        "1.5",
        "nan",
        "1025",
        "100000",
        "1_000_000",
        str(10**30),
        "9" * 5000,
        "--",
        "\x00",
    ),
    "--backend": ("", "x", "spark", "Processes", "processes", "threads", "\x1b[31m", "\ud800", "x" * 5000),
    "--address": (
        "",
        "x",
        "tcp://",
        "tcp://h",
        "tcp://h:x",
        "tcp://h:99999999",
        "http://h:1",
        "tcp://[",
        "\x00",
        "\ud800",
    ),
}
"""Whoever works takes seconds to start: tests/parallel/test_workers.py does it."""

BASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "simulate": (
        [
            "--states",
            "2",
            "--actions",
            "3",
            "--people",
            "2",
            "--rounds",
            "3",
            "--policies",
            "lpbts,ts",
            "--threads",
            "1",
        ],
        {
            **dict.fromkeys(("--states", "--actions", "--scale", "--gap", "--noise", "--draws", "--policies"), "1"),
            **dict.fromkeys(("--feedback", "--comparison", "--seed", "--first", "--jitter", "--base", "--spread"), "1"),
            **dict.fromkeys(
                ("--world", "--model", "--log", "--least", "--rewards", "--threads", "--json", "--people"), "1"
            ),
            **dict.fromkeys(("--gaps", "--noise-family"), "steps"),
            **dict.fromkeys(("--swap", "--model-error", "--told-noise", "--explore"), "0.5"),
            "--set": "gap=1",
            "--rounds": "3",
        },
    ),
    "replay": (
        [
            *("--model", "model.json", "--log", "log.csv", "--rounds", "2", "--least", "2", "--people", "3"),
            "--threads",
            "1",
        ],
        {
            **dict.fromkeys(("--least", "--policies", "--people", "--rewards", "--noise", "--seed", "--draws"), "2"),
            "--set": "least=2",
        },
    ),
    "means": (
        ["--model", "model.json", "--people", "2", "--rounds", "3", "--policies", "ts", "--threads", "1"],
        {
            **dict.fromkeys(("--rewards", "--noise", "--told-noise", "--world", "--states", "--feedback"), "1"),
            "--set": "rewards=poisson",
        },
    ),
    "bound": (
        ["--states", "2", "--actions", "3", "--people", "1", "--threads", "1"],
        dict.fromkeys(
            (
                "--gap",
                "--noise",
                "--seed",
                "--policies",
                "--rounds",
                "--repeats",
                "--state",
                "--means",
                "--people",
                "--json",
            ),
            "1",
        ),
    ),
    "bound-model": (
        ["--model", "model.json", "--state", "0"],
        dict.fromkeys(("--state", "--means", "--noise", "--seed", "--model", "--json"), "1"),
    ),
    "fit": (
        ["log.csv", "--states", "2", "--restarts", "1", "--threads", "1"],
        dict.fromkeys(
            (
                *(
                    "--states",
                    "--person",
                    "--action",
                    "--rating",
                    "--rank",
                    "--layout",
                    "--duplicates",
                    "--decimal-comma",
                    "--method",
                    "--scale",
                    "--min-person",
                    "--min-action",
                    "--max-states",
                    "--names",
                    "--assignments",
                ),
                *("--prior-sd", "--pairs-per-person", "--restarts", "--unpack-limit", "--seed", "--out", "--json"),
                *("--max-memory", "--scratch"),
            ),
            "1",
        ),
    ),
    "evaluate": (
        ["crowd.csv", "--states", "2", "--scale", "cosine", "--policies", "lpbts", "--rounds", "2", "--threads", "1"],
        dict.fromkeys(
            (
                *(
                    "--states",
                    "--scale",
                    "--rounds",
                    "--policies",
                    "--people",
                    "--seed",
                    "--model",
                    "--repeats",
                    "--json",
                ),
                *("--layout", "--min-person", "--min-action", "--duplicates", "--person"),
            ),
            "2",
        ),
    ),
    "decide": (
        ["--model", "model.json", "history.csv", "--threads", "1"],
        {
            **dict.fromkeys(("--policy", "--allowed", "--people", "--unknown", "--rewards", "--noise"), "lpbts"),
            **dict.fromkeys(("--seed", "--threads", "--person", "--action", "--rating", "--out", "--model"), "1"),
            **dict.fromkeys(("--exclude-seen", "--json"), ""),
            "--explore": "0.1",
        },
    ),
    "inspect": (["model.json"], dict.fromkeys(("--top", "--names", "--json"), "1")),
    "policies": ([], dict.fromkeys(("--feedback", "--json"), "rewards")),
    "data": (["movielens", "1m", "--from", "missing"], {"--from": "log.csv", "--json": ""}),
    "example": (["example", "--out", "example"], {"--out": "here", "--json": "", "--from": "log.csv"}),
    "reproduce": (
        ["nothing-such"],
        dict.fromkeys(("--list", "--rounds", "--draws", "--people", "--threads", "--seed"), "1"),
    ),
    "demo": (["--draws", "0"], dict.fromkeys(("--seed", "--out"), "-1")),
}
SPREAD = ("simulate", "evaluate", "decide", "reproduce")
FLAGS = ("--json", "--list", "--decimal-comma", "--repeats", "--exclude-seen")


@st.composite
def command_lines(draw: st.DrawFn) -> str:
    """Draw a command that would work, with a few options more or other."""
    name = draw(st.sampled_from(sorted(BASES)))
    base, options = BASES[name]
    words = [
        {"replay": "simulate", "means": "simulate", "bound-model": "bound", "example": "data"}.get(name, name),
        *base,
    ]
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from(sorted({*options, *(WORKERS if words[0] in SPREAD else ())})))
        if option in FLAGS:
            words.append(option)
            continue
        value = options.get(option, "1") if draw(st.integers(0, 3)) == 0 else draw(st.sampled_from(ODD))
        if option in WORKERS:
            value = draw(st.sampled_from(WORKERS[option]))
        if option == "--set" and draw(st.booleans()):
            value = f"{draw(st.sampled_from(['model', 'log', 'states', 'gap', 'rewards', 'least', 'noise']))}={value}"
        if option in words and draw(st.booleans()):
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(ODD)))
    return repr(words)


def run(words: list[str]) -> tuple[int, str, str]:
    """Run a command as `lpb` does; return its exit code and what it printed."""
    before = sys.argv, sys.stdout, sys.stderr
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    out, err = io.StringIO(), io.StringIO()
    sys.argv, sys.stdout, sys.stderr = ["lpb", *words], out, err
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    else:
        code = 0
    finally:
        sys.argv, sys.stdout, sys.stderr = before
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code if isinstance(code, int) else 1, out.getvalue(), err.getvalue()


def _no_constant(token: str) -> Never:
    raise AssertionError(f"the JSON holds {token}")


def use_command(given: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        MODEL.save("model.json")
        Path("log.csv").write_text(LOG, encoding="utf-8")
        Path("crowd.csv").write_text(CROWD, encoding="utf-8")
        Path("history.csv").write_text(HISTORY, encoding="utf-8")
        code, out, err = run(given)
    assert "Traceback" not in out + err, err[-300:]
    assert code in (0, 2), f"exit code {code}: {err[-300:]}"
    if code == 2:
        assert err.strip(), "refused without a word"
        raise lpb.InvalidInput(err.strip().splitlines()[-1][:1000])
    if "--json" in given and out.strip().startswith("{"):
        json.loads(out, parse_constant=_no_constant)
    assert " nan" not in out, f"a table shows nan: {out[:300]}"
    return None


DOORS = [Door("command", command_lines(), use_command, budget=40, share=5.0)]
