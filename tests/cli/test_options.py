"""Options that messages name: each command's messages name only options that it has."""

import ast
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lpbandits as lpb
from lpbandits.cli.options import OPTION, REMARK
from tests.cli.invoke import error_of, output
from tests.fuzz.commands import GROUP, run

SRC = Path(lpb.__file__).parent


def options_of(command: Any) -> set[str]:
    """Return the options of a command, or of all commands of a group."""
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return own.union(*(options_of(inner) for inner in getattr(command, "commands", {}).values()))


OPTIONS = {name: options_of(command) for name, command in GROUP.commands.items()}
OF_COMMAND = re.compile(r"lpb (\w+)([^;`()]*)")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines, without docstrings; values in f-strings are braces."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in statements or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)  # type: ignore[misc] # strings
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def faults_of(text: str, known: set[str] | None) -> list[str]:
    """Return the options in a text that no command has, or that are outside brackets if the command is unknown."""
    faults = []
    for name, rest in OF_COMMAND.findall(text):
        faults += [option for option in OPTION.findall(rest) if option not in OPTIONS.get(name, set())]
    rest = OF_COMMAND.sub("", text)
    if known is not None:
        return faults + [option for option in OPTION.findall(rest) if option not in known]
    remarks = OPTION.findall(" ".join(REMARK.findall(rest)))
    faults += [option for option in remarks if not any(option in options for options in OPTIONS.values())]
    return faults + OPTION.findall(REMARK.sub("", rest))


MODULES = [
    path for path in sorted(SRC.rglob("*.py")) if path not in (SRC / "cli" / "__init__.py", SRC / "cli" / "options.py")
]


def test_messages_name_existing_options() -> None:
    """The library cannot know the command, so it names options in brackets, which commands without them leave out."""
    found = set()
    for path in MODULES:
        own = path.parent.name == "cli" and path.stem in OPTIONS
        known = OPTIONS[path.stem] | (OPTIONS["demo"] if path.stem == "simulate" else set()) if own else None
        found |= {
            f"{path.relative_to(SRC)}:{line}: {option}"
            for line, text in texts(path)
            if not re.fullmatch(r"--[a-z-]+", text) and "dask scheduler" not in text
            for option in faults_of(text, known)
        }
    assert not found


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("raise it (--max-memory)", []),
        ("raise --max-memory", ["--max-memory"]),
        ("raise it (--most-memory)", ["--most-memory"]),
        ("next: lpb fit --states 3", []),
        ("next: lpb fit --draws 3", ["--draws"]),
    ],
)
def test_faults_are_found(text: str, faults: list[str]) -> None:
    assert faults_of(text, None) == faults


ROWS = ["ann,tea,5", "ann,jam,3", "bo,tea,2", "bo,jam,4"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Hold a log with a repeated rating, and a table that unpacks to more than its limit."""
    (tmp_path / "large.csv.gz").write_bytes(gzip.compress(b"person,action,rating\n" + b"\n" * 2**26, 1))
    (tmp_path / "twice.csv").write_text("\n".join(["user,item,rating", *ROWS, "ann,tea,4"]) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", ["fit", "model"])
def test_an_error_names_the_option_where_the_command_has_it(files: Path, command: str) -> None:
    table = str(files / "large.csv.gz")
    words = ["fit", table] if command == "fit" else ["model", "new", "--from", table, "--out", str(files / "m.json")]
    code, _, error = run(words)
    assert code == 2
    assert "unpack_limit=" in error
    assert ("--unpack-limit" in error) == (command == "fit")


def test_library_messages_are_unchanged(files: Path) -> None:
    with pytest.raises(lpb.InvalidInput, match="--unpack-limit"):
        lpb.read_ratings(files / "large.csv.gz")
    message = str(error_of("model", "new", "--from", files / "large.csv.gz", "--out", files / "m.json"))
    assert "--unpack-limit" not in message
    with pytest.raises(lpb.InvalidInput, match="--unpack-limit"):
        lpb.read_ratings(files / "large.csv.gz")


@pytest.mark.parametrize("command", ["fit", "evaluate", "simulate"])
def test_commands_that_read_logs_name_their_options(files: Path, command: str) -> None:
    lpb.PreferenceModel([["tea", "jam"], ["jam", "tea"]]).save(files / "model.json")
    before = ["--model", str(files / "model.json"), "--log"] if command == "simulate" else []
    code, _, error = run([command, *before, str(files / "twice.csv")])
    assert code == 2
    assert "--duplicates last" in error


def test_notes_name_only_options_of_the_command(tmp_path: Path) -> None:
    report = {"warnings": ["state 1 has few raters; keep only actions with more ratings (--min-action)"]}
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1], [1, 0]], provenance={"report": report}).save(path)
    text = " ".join(output("inspect", path).split())
    assert "keep only actions with more ratings" in text
    assert "--min-action" not in text
