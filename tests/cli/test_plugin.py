"""`--plugin`: the documented rule and world, decisions in workers, and errors with the plug-in's line."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.parallel.backends import pack
from lpbandits.register import load_plugin
from tests.cli.invoke import json_output, output
from tests.fuzz.commands import run
from tests.policies.test_plugins import PAGE, restored_registries

RULE, WORLD, FIGURE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CLASH = FIGURE.replace('"eight-actions"', '"regret-curves"')
SMALL = ["--people", "3", "--rounds", "5"]


@pytest.fixture(autouse=True)
def _registries() -> Iterator[None]:
    with restored_registries():
        yield


def written(folder: Path, source: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


def test_the_documented_world_runs(tmp_path: Path) -> None:
    plugin = ["--plugin", written(tmp_path, WORLD), "--world", "unequal-shares"]
    content = json_output(
        "simulate", *plugin, "--set", "share=0.9", "--states", 3, "--policies", "lpbts,popular", *SMALL
    )
    settings = content["settings"]
    assert (settings["world"], settings["share"], settings["states"]) == ("unequal-shares", 0.9, 3)
    assert set(content["policies"]) == {"lpbts", "popular"}
    world = lpb.worlds.WORLDS["unequal-shares"](states=4, share=0.8)
    people = world.draw(people=500, seed=3)
    assert abs((people.truth == 0).mean() - 0.8) < 4 * (0.8 * 0.2 / 2000) ** 0.5
    assert (people.means == world.draw(people=500, seed=3).means).all()
    assert len(lpb.simulate(world, ["lpbts"], people=2, rounds=3, draws=2)["lpbts"].people["draw"]) == 16


def test_a_policy_of_a_file_runs_in_every_command(tmp_path: Path) -> None:
    plugin = ["--plugin", str(written(tmp_path, RULE))]
    model = lpb.PreferenceModel([["tea", "jam"], ["jam", "tea"]])
    model.save(tmp_path / "model.json")
    history = written(tmp_path, "person,action,reward\nann,tea,1\nann,jam,2\n", "history.csv")
    assert "epsilon-greedy" in output("policies", *plugin)
    words = ["decide", "--model", tmp_path / "model.json", history, "--policy", "epsilon-greedy", *plugin]
    assert json_output(*words)["policy"] == "epsilon-greedy"
    content = json_output("simulate", *plugin, "--policies", "epsilon-greedy,ts", *SMALL)
    assert list(content["policies"]) == ["epsilon-greedy", "ts"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lpbandits.errors.UncompiledWarning")
def test_workers_need_not_have_the_file(tmp_path: Path) -> None:
    plugin = written(tmp_path, RULE.replace("@lpb.kernel\n", ""))  # not compiled, which would take longer than the run
    load_plugin(plugin)
    plugin.unlink()
    world = lpb.SyntheticWorld(states=2, actions=3)
    alone, two = (lpb.simulate(world, ["epsilon-greedy"], people=3, rounds=5, draws=2, jobs=jobs) for jobs in (None, 2))
    assert alone.to_dict()["policies"] == two.to_dict()["policies"]


def test_the_documented_figure_runs_in_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.paper.report.save_report", lambda folder, **_: Path(folder) / "report.html")
    plugin = ["--plugin", str(written(tmp_path, FIGURE))]
    assert "eight-actions" in {figure["name"] for figure in json_output("reproduce", "--list", *plugin)["figures"]}
    words = ["eight-actions", *plugin, "--people", 2, "--rounds", 5, "--draws", 2, "--out", tmp_path / "out"]
    content = json_output("reproduce", *words, "--jobs", 1)
    assert (content["claims"], content["skipped"]) == ([], {})
    cases = sorted((tmp_path / "out" / "cases").glob("*.parquet"))
    assert len(cases) == 3
    assert {tuple(pl.read_parquet(case)["policy"]) for case in cases} == {("lpbts", "ts-top")}
    code, _, error = run(["reproduce", *map(str, words), "--plugin", str(written(tmp_path, CLASH, "clash.py"))])
    assert code == 2
    assert "clash.py, line" in error
    assert "'regret-curves'" in error


def test_functions_that_use_the_package_can_be_sent_to_workers() -> None:
    """The package has a module type of its own, which pickle does not know."""

    def states() -> int:
        return lpb.PreferenceModel([[0, 1]]).n_states

    function, job = pickle.loads(pack(states, ()))  # noqa: S301 - our own
    assert function(*job) == 1


IMPORT = "import lpbandits as lpb\n"
TAKEN = 'lpb.register(lpb.policies.Entry("lpbts", lambda s: lpb.TS(s.model), "Mine", "nothing", "as ts"))\n'
FAULTS = {
    "raises": (IMPORT + "\nrate = 1 / 0\n", "mine.py, line 3: ZeroDivisionError: division by zero"),
    "raises below": (IMPORT + "def f():\n    raise KeyError\n\n\nf()\n", "mine.py, line 3: KeyError"),
    "syntax": ("def f(:\n    pass\n", "mine.py, line 1: SyntaxError"),
    "other module": ("\nimport json\njson.loads('{')\n", "mine.py, line 3: JSONDecodeError"),
    "taken": (IMPORT + TAKEN, "mine.py, line 2: name must be unique, got 'lpbts'"),
    "not a part": (IMPORT + "lpb.register(7)\n", "mine.py, line 2: register takes an Evidence"),
    "ends": ("raise SystemExit\n", "mine.py, line 1: SystemExit"),
    "nothing": (IMPORT, "mine.py registers nothing; call lpbandits.register"),
    "null byte": ("x = 1\0\n", "mine.py: SyntaxError"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_name_the_file_and_its_line(fault: str, tmp_path: Path) -> None:
    source, words = FAULTS[fault]
    for command in (["simulate"], ["policies"]):
        code, out, error = run([*command, "--plugin", str(written(tmp_path, source))])
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert words in error


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, _, error = run(["policies", "--plugin", str(tmp_path / "none.py")])
    assert code == 2
    assert "none.py: No such file" in error


def test_a_file_can_be_loaded_again_and_with_others(tmp_path: Path) -> None:
    one, other = written(tmp_path, WORLD), written(tmp_path, WORLD.replace("unequal-shares", "second"), "other.py")
    for path in (one, other, one):
        load_plugin(path)
    assert {"unequal-shares", "second"} <= set(lpb.worlds.WORLDS)
    with pytest.raises(lpb.InvalidInput, match=r"third\.py, line .*unique.*'second'"):
        load_plugin(written(tmp_path, WORLD.replace("unequal-shares", "second"), "third.py"))
