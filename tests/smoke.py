"""Smoke test of an installed wheel, which loads every library once: `make test-wheel` runs it outside the suite.

It is plain Python, because test tools are not installed. `python -I tests/smoke.py` does not see this checkout.
"""

import contextlib
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import files, version
from pathlib import Path

import lpbandits as lpb


def the_package_is_whole() -> None:
    installed = {str(file) for file in files("lpbandits") or []}
    assert Path(lpb.__file__).is_relative_to(sysconfig.get_path("purelib")), f"{lpb.__file__} is not the wheel's"
    assert {"lpbandits/py.typed", "lpbandits/__init__.pyi"} <= installed
    assert {file.split("/")[0] for file in installed if ".." not in file} == {
        "lpbandits",
        f"lpbandits-{version('lpbandits')}.dist-info",
    }
    assert lpb.__version__ == version("lpbandits")
    assert all(getattr(lpb, name) is not None for name in dir(lpb))


def one_person_is_decided_for() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7, person="alice")
    for _ in range(5):
        action = agent.ask()
        agent.tell(action, 3.0 if action == "drug B" else 1.0)
    agent.tell("rest", 0.5)
    agent.tell("drug B", 3.5)
    assert agent.posterior[1] > 0.5
    Path("agent.json").write_text(agent.to_json(), encoding="utf-8")
    again = lpb.Agent.from_json(Path("agent.json").read_text(encoding="utf-8"))
    assert [again.ask() for _ in range(5)] == [agent.ask() for _ in range(5)]
    assert str(agent.explain())


def policies_are_compared() -> None:
    world = lpb.SyntheticWorld(states=3, actions=5, scale="different")
    results = lpb.simulate(world, ["lpbts", "mts", "ts-top", "uniform"], people=50, rounds=40, seed=1)
    regret = {name: told["regret"]["mean"] for name, told in results.to_dict()["policies"].items()}
    assert regret["lpbts"] < regret["uniform"]
    results.save("results")
    assert Path("results", "manifest.json").is_file()


def orderings_come_from_a_log() -> None:
    rows = [f"{n},{a},{1 + (a if n < 6 else 2 - a)}\n" for n in range(10) for a in range(3)]
    Path("ratings.csv").write_text("user,item,rating\n" + "".join(rows), encoding="utf-8")
    fit = lpb.fit_states(lpb.read_ratings("ratings.csv"), lpb.TwoStage(seed=1), states=2)
    assert sorted(fit.model.orderings.tolist()) == [[0, 1, 2], [2, 1, 0]]
    fit.model.save("model.json")
    assert lpb.PreferenceModel.load("model.json").n_states == 2


def the_command_draws() -> None:
    command = Path(sysconfig.get_path("scripts")) / "lpb"
    subprocess.run([command, "demo", "--draws", "2", "--out", "demo"], check=True, stdout=subprocess.DEVNULL)
    assert "window.vegaEmbed=" in Path("demo", "report.html").read_text(encoding="utf-8")
    assert Path("demo", "regret.png").read_bytes().startswith(b"\x89PNG")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        the_package_is_whole()
        one_person_is_decided_for()
        policies_are_compared()
        orderings_come_from_a_log()
        the_command_draws()
    sys.stdout.write(f"lpbandits {lpb.__version__} works under Python {sys.version.split()[0]}\n")


if __name__ == "__main__":
    main()
