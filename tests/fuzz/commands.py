"""The command line with hostile options, run in this process and without workers."""

import contextlib
import io
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Never

import typer
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.cli import app, main
from tests.fuzz.shared import MODEL, target

VALUES = (
    *("", " ", "x", "-1", "0", "1", "2", "3", "1.5", "nan", "inf", "-inf", "1e400", "1e-320", "1e308", "1e3", "0x10"),
    *("1_000", "٣", "²", "--", "-", "=", "a=b", ",", ",,", "\x00", "\n", "\x1b[31m", "\ud800", "x" * 5000, "9" * 5000),
    *(str(2**31), str(2**63), str(10**30), "null", "true", "[1]", '{"a": 1}', "NaN", "/", ".", "..", "/dev/null"),
    *("model.json", "log.csv", "missing", "auto", "lpbts", "ts,ts", "lpbts,,", "gaussian", "same", "rewards", "cliff"),
    *("bradley-terry", "student", "wide", "rankings", "last", "rating", "states=3", "gap=x", "model=missing"),
    "least=2",
)
COMMANDS = (
    "simulate --people 2 --rounds 3 --threads 1 --states 2 --actions 3 --policies lpbts,ts",
    "simulate --people 2 --rounds 3 --threads 1 --model model.json --policies ts",
    "simulate --people 2 --threads 1 --model model.json --log log.csv --rounds 2 --least 2",
    "bound --states 2 --actions 3 --people 1 --threads 1",
    "bound --model model.json --state 0",
    "fit log.csv --states 2 --restarts 1 --threads 1",
    "evaluate crowd.csv --states 2 --policies lpbts --rounds 2 --threads 1",
    "decide --model model.json history.csv --threads 1",
    "inspect model.json",
    "policies",
    "data movielens 1m --from missing",
    "model new --from experts.csv --out new.json",
    "data example --out example",
    "reproduce no-such-figure",
    "demo --draws 0",
)
"""Commands that run in milliseconds, or are refused at once."""
EXCLUDED = {"--jobs", "--backend", "--address", "--help", "demo --draws", "reproduce --quick", "data --from"}
"""Options that are not varied: they start workers, long computations or downloads."""
GROUP: Any = typer.main.get_command(app)
OPTIONS: dict[str, list[Any]] = {
    name: [
        option
        for one in getattr(command, "commands", {"": command}).values()  # of a group, or the command itself
        for option in one.params
        if option.param_type_name == "option" and not {*option.opts, f"{name} {option.opts[-1]}"} & EXCLUDED
    ]
    for name, command in GROUP.commands.items()
}


@st.composite
def command_lines(draw: st.DrawFn) -> str:
    """Draw a valid command with up to three options added or replaced."""
    words = draw(st.sampled_from(COMMANDS)).split()
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from(OPTIONS[words[0]]))
        name, value = option.opts[-1], draw(st.sampled_from(VALUES))
        if option.is_flag:
            words.append(name)
        elif name in words and draw(st.booleans()):
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(1, len(words))), draw(st.sampled_from(VALUES)))
    return repr(words)


def run(words: list[str]) -> tuple[int, str, str]:
    """Run `lpb` with these arguments; return its exit code, standard output and standard error."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    argv, sys.argv = sys.argv, ["lpb", *words]
    code: Any = 0
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.argv = argv
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return code if isinstance(code, int) else 1, out.getvalue(), err.getvalue()


def output_of(words: list[str]) -> str:
    """Return the standard output of a command; raise InvalidInput where it refuses."""
    code, out, err = run(words)
    assert "Traceback" not in out + err, err[-300:]
    assert code in (0, 2), f"exit code {code}: {err[-300:]}"
    if code == 2:
        assert err.strip(), "refused without a message"
        raise lpb.InvalidInput(err.strip().splitlines()[-1][:1000])
    return out


def run_json(words: list[str]) -> Any:
    """Return what a command prints with --json."""
    return json.loads(output_of([*words, "--json"]), parse_constant=_refuse)


def _refuse(token: str) -> Never:
    raise AssertionError(f"the JSON contains {token}")


def _rows(n_people: int, n_actions: int) -> str:
    cells = [(n, a) for n in range(n_people) for a in range(n_actions)]
    rows = [f"{n},{a},{(a if n % 2 else 5 - a) + (7 * n + 3 * a) % 5 / 10}\n" for n, a in cells]
    return "person,action,rating\n" + "".join(rows)


FILES = {
    "log.csv": _rows(8, 4),
    "crowd.csv": _rows(24, 5),
    "experts.csv": "expert,share,ordering\nann,1,tea > jam = 7\nbo,0.5,jam > tea\n",
    "history.csv": "person,action,reward\nann,tea,1\nann,jam,0.5\nbo,7,2\nann,tea,1.5\n",
}


@target("command", command_lines(), 4)
def run_command(words: list[str]) -> None:
    """Run a command in a folder with a model and logs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        MODEL.save("model.json")
        for name, content in FILES.items():
            Path(name).write_text(content, encoding="utf-8")
        out = output_of(words)
    if "--json" in words and out.strip().startswith("{"):
        json.loads(out, parse_constant=_refuse)
    assert " nan" not in out or "nan" in words, f"a table contains nan: {out[:300]}"
