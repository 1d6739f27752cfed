"""The command line: output, files, documentation, errors and exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import psutil  # type: ignore[import-untyped] # distributed brings it, without types
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


def test_simulate_json_equals_the_library() -> None:
    content = json_output("simulate", *SMALL, "--scale", "different", "--seed", "3")
    assert set(content) == {"settings", "policies", "seconds"}
    assert content["settings"]["seed"] == 3
    for result in content["policies"].values():
        assert set(result["regret"]) == {"mean", "sd", "se", "p05", "p50", "p95"}
        assert len(result["curve"]) == 10
        assert set(result["active"]) == {"all", "true", "other"}
        assert 0 <= result["best_share"] <= 1
    assert content["policies"]["ts"]["true_state"] is None
    world = lpb.SyntheticWorld(states=2, actions=3, scale="different")
    results = lpb.simulate(world, ["lpbts", "mts", "ts", "ts-top"], people=4, rounds=10, seed=3)
    assert content["policies"] == results.to_dict()["policies"]


def test_simulate_writes_tables_charts_and_a_report(tmp_path: Path) -> None:
    assert "lpbTS" in output("simulate", *SMALL, "--policies", "lpbts,ts", "--out", tmp_path)
    assert pl.read_parquet(tmp_path / "curves.parquet").height == 20
    assert pl.read_parquet(tmp_path / "people.parquet").height == 16
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["format"] == "lpbandits-simulation"
    assert manifest["versions"]["lpbandits"] == lpb.__version__
    for name in ("regret", "people", "state"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    report = (tmp_path / "report.html").read_text()
    assert "window.vegaEmbed=" in report
    assert not re.search(r'(src|href)="https?:', report), "the report must open without a network"


def test_simulate_people_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1], [1, 0]], means=[[0.9, 0.1], [0.2, 0.7]]).save(path)
    content = json_output("simulate", "--model", path, "--rewards", "bernoulli", "--people", "20")
    assert (content["settings"]["world"], content["settings"]["noise"]) == ("means", 0.5)
    assert content["policies"]["lpbts"]["regret"]["mean"] < 30


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


def test_policies_lists_all_policies() -> None:
    text, content = output("policies"), json_output("policies")
    assert list(content) == list(lpb.policies.POLICIES)
    for name, entry in content.items():
        assert name in text
        assert set(entry) == {"title", "feedback", "rung", "knows", "assumes"}
    assert list(json_output("policies", "--feedback", "duels")) == ON_DUELS
    rungs = [entry["rung"] for entry in content.values() if entry["feedback"] == "rewards"]
    known = [rung for rung in rungs if rung is not None]
    assert rungs == [*sorted(known), None], "the taste policy has no rung and is last"
    assert {rung: {e["knows"] for e in content.values() if e["rung"] == rung} for rung in known} == {
        rung: {knows} for rung, knows in enumerate(LADDER, start=1)
    }


def test_policies_are_printed_by_decreasing_knowledge() -> None:
    rewards, duels = output("policies").split("Learning from duels")
    places = [rewards.index(f"\n{knows} ") for knows in LADDER]
    assert places == sorted(places)
    assert all(rewards.count(f"\n{knows} ") == 1 for knows in LADDER)
    assert "lpb-duel" in duels
    assert "lpb-duel" not in rewards
    only_duels = output("policies", "--feedback", "duels")
    assert all(name in only_duels for name in ON_DUELS)
    assert "Learning from rewards" not in only_duels


def test_demo_writes_its_files(tmp_path: Path) -> None:
    assert "lpbTS − mTS" in output("demo", "--out", tmp_path, "--draws", "2")
    charts = ["regret", "people-same", "state-same", "people-different", "state-different"]
    files = {f"{name}.{ending}" for name in charts for ending in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == {"same", "different", "report.html", "manifest.json"} | files


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--states", "0"], ["states must", "got 0"]),
        (["--states", "7", "--actions", "3"], ["states must", "got 7"]),
        (["--policies", "lpbts,nope"], ["'nope'", "lpbts-incremental", "uniform"]),
        (["--policies", ""], ["policies must", "lpb policies"]),
        (["--policies", "ts,ts"], ["'ts'", "twice"]),
        (["--scale", "huge"], ["'huge'", "same, different"]),
        (["--noise", "-1"], ["noise must", "got -1"]),
        (["--people", "100000000", "--rounds", "10000"], ["GiB of memory", "fewer people"]),
        (["--model", "missing.json"], ["missing.json", "No such file"]),
        (["--rewards", "bernoulli"], ["--rewards is not a setting of the world 'synthetic'"]),
        (["--model", "m.json", "--gap", "0.3"], ["--gap is not a setting of the world 'means'"]),
        (["--model", "m.json", "--model-error", "0.3"], ["--model-error is not a setting of the world 'means'"]),
        (["--world", "replay", "--assumed-noise", "2"], ["--assumed-noise is not a setting of the world 'replay'"]),
        (["--feedback", "duels", "--assumed-noise", "2"], ["--assumed-noise has no effect for duels"]),
        (["--swap", "1.5"], ["swap must", "got 1.5"]),
        (["--gaps", "wide"], ["gaps must", "got 'wide'"]),
        (["--world", "means"], ["'means' needs a model", "--model model.json"]),
        (["--world", "moon"], ["world must", "got 'moon'"]),
        (["--comparison", "bradley-terry"], ["--comparison has no effect for rewards"]),
        (["--feedback", "duels", "--first", "uniform"], ["--first has no effect for duels"]),
        (["--feedback", "duels", "--policies", "ts"], ["policies must", "got 'ts' (rewards)"]),
        (["--feedback", "duel"], ["feedback must", "got 'duel'"]),
        (["--out", "pyproject.toml"], ["pyproject.toml", "not a folder"]),
    ],
)
def test_errors_are_one_line_with_exit_code_2(arguments: list[str], words: list[str]) -> None:
    code, out, error = run(["simulate", *arguments])
    assert (code, out, error.count("\n")) == (2, "", 1)
    for word in words:
        assert word in error


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


def test_readme_has_no_placeholders() -> None:
    assert not re.search("BENCH|TODO|FIXME|XXX", README)


def test_readme_example_runs() -> None:
    block = README.split("```python\n")[1].split("```")[0]
    code = block.replace("states=20, actions=20", "states=3, actions=4")
    names: dict[str, object] = {}
    exec(compile(code, "README", "exec"), names)  # noqa: S102 - the README is ours
    assert isinstance(names["results"], lpb.Results)


def test_version_option() -> None:
    assert output("--version").strip() == f"lpbandits {lpb.__version__}"


def command(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    code = settings.pop("code", "from lpbandits.cli import main; main()")
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, **settings
    )


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
    shown = command(error, "--debug", code=FAULTY)
    assert shown.returncode == code
    assert "Traceback" in shown.stderr
    assert shown.stderr.splitlines()[-1].startswith("lpb: ")


def test_full_or_closed_standard_output_is_handled() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lpbandits", "policies", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "lpb: cannot write to standard output: No space left on device\n"
    shell = f"{sys.executable} -m lpbandits policies >&- 2>&-"
    assert subprocess.run(shell, shell=True, check=False).returncode == 0  # noqa: S602 - our own words


@pytest.mark.skipif(sys.platform == "win32", reason="open files are counted as on POSIX")
def test_commands_leave_no_file_open() -> None:
    run(["fit", "nowhere.csv"])
    before = psutil.Process().num_fds()
    for _ in range(30):
        run(["fit", "nowhere.csv"])
    assert psutil.Process().num_fds() < before + 15  # a cluster of another test may open or close a few


def test_characters_outside_the_encoding_are_replaced() -> None:
    done = command("reproduce", "--list", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "?" in done.stdout
    assert done.stdout.isascii()
