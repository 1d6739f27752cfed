"""The command line: output, files, documentation, errors and exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.policies.registry import LADDER
from tests.cli.invoke import error_of, json_output, output
from tests.conftest import ON_DUELS
from tests.fuzz.commands import run

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS: dict[str, object] = get_command(app).commands  # type: ignore[attr-defined] # the app is a group of commands
SMALL = ["--states", "2", "--actions", "3", "--people", "4", "--rounds", "10"]


@pytest.mark.parametrize("feedback", ["rewards", "duels"])
def test_simulate_json_equals_the_library(feedback: str) -> None:
    content = json_output("simulate", *SMALL, "--feedback", feedback, "--scale", "different", "--seed", "3")
    names = ["lpb-duel", "double-ts"] if feedback == "duels" else ["lpbts", "mts", "ts", "ts-top"]
    world = lpb.SyntheticWorld(states=2, actions=3, scale="different")
    results = lpb.simulate(world, names, people=4, rounds=10, seed=3)
    assert content["policies"] == results.to_dict()["policies"]
    assert content["settings"].items() >= results.settings.items()
    for result in content["policies"].values() if feedback == "duels" else ():
        assert set(result["weak_regret"]) == set(result["regret"])
        assert result["weak_regret"]["mean"] <= result["regret"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policies", "lpbts,ts"], "lpbTS"),
        (["--feedback", "duels", "--comparison", "bradley-terry"], "weak regret"),
    ],
)
def test_simulate_writes_tables_charts_and_a_report(arguments: list[str], words: str, tmp_path: Path) -> None:
    assert words in output("simulate", *SMALL, *arguments, "--out", tmp_path)
    assert pl.read_parquet(tmp_path / "curves.parquet").height == 20
    people = pl.read_parquet(tmp_path / "people.parquet")
    assert people.height == 16
    assert ("weak_regret" in people.columns) == ("duels" in arguments)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["format"] == "lpbandits-simulation"
    assert manifest["settings"].get("comparison") == ("bradley-terry" if "duels" in arguments else None)
    assert manifest["versions"]["lpbandits"] == lpb.__version__
    for name in ("regret", "people", "state"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    report = (tmp_path / "report.html").read_text()
    assert words in report
    assert "window.vegaEmbed=" in report
    assert not re.search(r'(src|href)="https?:', report), "the report must open without a network"


def test_simulate_replays_people_of_a_log(tmp_path: Path) -> None:
    model, log = tmp_path / "model.json", tmp_path / "log.csv"
    lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["tea", "jam", "milk"]).save(model)
    rows = [(n, a, 1 + (n + i) % 5) for n in range(8) for i, a in enumerate(["tea", "jam", "milk", "salt"])]
    log.write_text("user,item,rating\n" + "".join(f"{n},{a},{r}\n" for n, a, r in rows))
    arguments = ["simulate", "--world", "replay", "--model", model, "--log", log, "--least", "3", "--policies", "lpbts"]
    content = json_output(*arguments, "--rounds", "3")
    assert content["settings"]["world"] == "replay"
    assert content["policies"]["lpbts"]["true_state"] is None
    assert re.search("rounds.*3", str(error_of(*arguments, "--rounds", "4")))


def test_policies_lists_all_policies_by_decreasing_knowledge() -> None:
    text, content = output("policies"), json_output("policies")
    assert list(content) == list(lpb.policies.POLICIES)
    for name, entry in content.items():
        assert name in text
        assert set(entry) == {"title", "feedback", "rung", "knows", "assumes"}
    rungs = [entry["rung"] for entry in content.values() if entry["feedback"] == "rewards"]
    known = [rung for rung in rungs if rung is not None]
    assert rungs == [*sorted(known), None], "the taste policy has no rung and is last"
    for rung, knows in enumerate(LADDER, start=1):
        assert {entry["knows"] for entry in content.values() if entry["rung"] == rung} == {knows}
    rewards, duels = text.split("Learning from duels")
    places = [rewards.index(f"\n{knows} ") for knows in LADDER]
    assert places == sorted(places)
    assert all(rewards.count(f"\n{knows} ") == 1 for knows in LADDER)
    assert all(name in duels and name not in rewards for name in ON_DUELS)
    assert list(json_output("policies", "--feedback", "duels")) == ON_DUELS
    assert "Learning from rewards" not in output("policies", "--feedback", "duels")


def test_policies_recommends_one_for_a_number_of_rounds() -> None:
    text = output("policies", "--rounds", "7")
    assert "For 7 rounds: lpb-horizon. Mean regret relative to lpb-ids, measured with 5 rounds" in " ".join(
        text.split()
    )
    assert "popular can be better" in text
    more = output("policies", "--rounds", "1000")
    assert "For 1,000 rounds: lpb-ids, because the 99 % quantile" in more
    assert "popular can be better" not in more
    content = json_output("policies", "--rounds", "25")
    measured = {name for name, entry in content.items() if entry["regret"]}
    assert measured == {"lpb-horizon", "lpb-ids", "popular", "lpbts"}
    assert content["lpb-ids"]["regret"] == [1.0, 1.0]
    assert re.search("rounds.*0", str(error_of("policies", "--rounds", "0")))


def test_demo_writes_its_files(tmp_path: Path) -> None:
    assert "lpbTS − mTS" in output("demo", "--out", tmp_path, "--draws", "2")
    charts = ["regret", "people-same", "state-same", "people-different", "state-different"]
    files = {f"{name}.{ending}" for name in charts for ending in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == {"same", "different", "report.html", "manifest.json"} | files


def test_progress_is_not_shown_without_a_terminal() -> None:
    code, _, error = run(["simulate", *SMALL, "--json"])
    assert (code, error) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_an_example_and_are_in_the_readme(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert f"lpb {name}" in done.stdout.split("Example:")[1]
    assert f"lpb {name}" in README


def test_readme_lists_all_policies() -> None:
    for name in lpb.policies.POLICIES:
        assert f"| `{name}` |" in README, f"add a row that begins with | `{name}` | to README's table of policies"


def test_readme_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a page
    block = README.split("```python\n")[1].split("```")[0]
    code = block.replace("states=20, actions=20", "states=3, actions=4")
    names: dict[str, object] = {}
    exec(compile(code, "README", "exec"), names)  # noqa: S102 - the README is ours
    assert isinstance(names["results"], lpb.Results)


def test_version_option() -> None:
    assert output("--version").strip() == f"lpbandits {lpb.__version__}"


def command(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    code = settings.pop("code", "from lpbandits.cli import main; main()")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.run([sys.executable, "-c", code, *arguments], text=True, check=False, **pipes)


FAULTY = """
import sys
import lpbandits.cli as cli

def fail():
    raise eval(sys.argv.pop(1))

cli.app = fail
cli.main()
"""


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("KeyError('x')", 70, ["unexpected error: KeyError: 'x'", f"lpbandits {lpb.__version__}"]),
        ("RecursionError('deep')", 70, ["unexpected error"]),
        ("MemoryError()", 2, ["not enough memory"]),
        ("OSError(5, 'Input/output error', 'a.csv')", 2, ["Input/output error: a.csv"]),
        ("OSError(28, 'No space left on device')", 2, ["cannot write to standard output: No space left on device"]),
        ("OSError(12, 'Cannot allocate memory')", 2, ["not enough memory"]),
        ("OSError('libllvmlite.so cannot be loaded')", 2, ["libllvmlite.so"]),
        ("__import__('polars').exceptions.PanicException('boom')", 2, ["boom"]),
        ("__import__('lpbandits').InvalidInput('two\\nlines \\x1b[31m')", 2, [r"lpb: two\nlines \x1b[31m"]),
    ],
)
def test_every_error_is_one_line_with_an_exit_code(error: str, code: int, words: list[str]) -> None:
    done = command(error, code=FAULTY)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert ("standard output" in done.stderr) == ("OSError(28" in error)
    shown = command(error, "--debug", code=FAULTY)
    assert shown.returncode == code
    assert "Traceback" in shown.stderr
    assert shown.stderr.splitlines()[-1].startswith("lpb: ")


def test_full_or_closed_standard_output_is_handled() -> None:
    with Path("/dev/full").open("w") as full:
        done = command("policies", "--json", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "lpb: cannot write to standard output: No space left on device\n"
    shell = f"{sys.executable} -m lpbandits policies >&- 2>&-"
    assert subprocess.run(shell, shell=True, check=False).returncode == 0  # noqa: S602 - our own words


@pytest.mark.parametrize(
    "printing", ["typer.echo('a')", "sys.stdout.write('a')"]
)  # fails at once, or when it is flushed
def test_a_pipe_without_a_reader_has_exit_code_1(printing: str) -> None:
    code = "import sys, typer, lpbandits.cli as cli; cli.app = typer.Typer(); "
    code += f"cli.app.command()(lambda: {printing}); cli.main()"
    reading, writing = os.pipe()
    os.close(reading)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = command(code=code, stdout=writing, env=buffered)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_characters_outside_the_encoding_are_replaced() -> None:
    done = command("simulate", "--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "?" in done.stdout
    assert done.stdout.isascii()
