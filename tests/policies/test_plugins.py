"""Plug-ins: the example of docs/extending.md, own evidences, rules and worlds, and their validation."""

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.paper.figures import FIGURES
from lpbandits.policies.base import expected_rewards
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.registry import POLICIES, Setting, make_policy
from lpbandits.policies.rules import RULES
from lpbandits.simulation import rollout
from lpbandits.worlds import WORLDS
from tests.conftest import agent_after
from tests.simulation.agents import assert_equals_agents

refit_tell = lpb.evidences.Refit.tell
PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
WORLD = lpb.SyntheticWorld(states=4, actions=8, scale="different")
PEOPLE = WORLD.draw(people=1, seed=5)


def example() -> str:
    return PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


def load(source: str, folder: Path, name: str) -> ModuleType:
    """Import a module from its source, as a user's file."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def restored_registries() -> Iterator[None]:
    """Restore the registries on exit."""
    registries: list[dict[str, Any]] = [EVIDENCES, RULES, POLICIES, WORLDS, FIGURES]
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.fixture(autouse=True)
def _registries() -> Iterator[None]:
    with restored_registries():
        yield


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Yield the documented example, compiled once for all tests."""
    with restored_registries():
        yield load(example(), tmp_path_factory.mktemp("greedy"), "epsilon_greedy_example")


def test_the_documented_rule_works_in_simulations_and_agents(greedy: ModuleType) -> None:
    policy = make_policy("epsilon-greedy", Setting(PEOPLE.model, PEOPLE.rewards))
    assert policy.rule == greedy.EpsilonGreedy(0.1)
    assert_equals_agents(policy, PEOPLE, 25)
    results = lpb.simulate(WORLD, ["epsilon-greedy", "uniform"], people=20, rounds=100)
    gap, error = results.difference("epsilon-greedy", "uniform")
    assert gap < -5 * error
    agent = agent_after(policy, ((0, 1.0), (3, 2.0), (1, 0.5)), seed=1)
    frequency = np.bincount([agent.ask() for _ in range(4000)], minlength=8) / 4000
    probability = agent.probabilities()
    tolerance = 4 * np.sqrt(probability * (1 - probability) / 4000) + 1e-9  # 4 standard errors
    assert np.all(np.abs(frequency - probability) <= tolerance)
    restored = lpb.Agent.from_json(agent.to_json())
    assert restored.policy == policy
    assert [restored.ask() for _ in range(20)] == [agent.ask() for _ in range(20)]


def test_a_plain_python_rule_gives_the_same_decisions_with_a_warning(greedy: ModuleType, tmp_path: Path) -> None:
    source = example().replace("@lpb.kernel\n", "").replace('"epsilon-greedy"', '"plain"')
    plain = load(source, tmp_path, "plain_example")
    policies = [lpb.Policy(PEOPLE.model, lpb.evidences.Refit(), part.EpsilonGreedy()) for part in (greedy, plain)]
    with pytest.warns(lpb.errors.UncompiledWarning, match=r"'choose'.*lpbandits\.kernel"):
        slow = rollout(policies[1], PEOPLE, rounds=25, seed=5)
    np.testing.assert_array_equal(slow.plays, rollout(policies[0], PEOPLE, rounds=25, seed=5).plays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.UncompiledWarning)
        assert_equals_agents(policies[1], PEOPLE, 25)


def run_python(code: str, *arguments: str, **environment: str) -> Any:
    """Return the JSON that code prints in a new process."""
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return json.loads(run.stdout)


def test_an_edited_callee_takes_effect_in_the_next_process(tmp_path: Path) -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]);"
        "import lpbandits as lpb, edited;"
        "model = lpb.PreferenceModel([[0, 1, 2, 3], [3, 2, 1, 0]]);"
        "agent = lpb.Agent(lpb.Policy(model, lpb.evidences.Refit(), edited.EpsilonGreedy()), seed=1);"
        "print(json.dumps([agent.ask() for _ in range(30)]))"
    )
    condition = "uniform(seed, person, round_, STATE, 0) < "
    source = example().replace(f"{condition}b.settings[RULE, EPSILON]", f"{condition}helper.share()")
    (tmp_path / "edited.py").write_text(f"import helper\n{source}", encoding="utf-8")
    played = []
    for share in (0.0, 1.0):
        helper = f"import lpbandits as lpb\nSHARE = {share}\n@lpb.kernel\ndef share():\n    return SHARE\n"
        (tmp_path / "helper.py").write_text(helper, encoding="utf-8")
        played.append(set(run_python(code, str(tmp_path), PYTHONDONTWRITEBYTECODE="1")))
    assert played == [{0}, {0, 1, 2, 3}]


@lpb.kernel
def first_mean_tell(b: Any, n: int, action: int, reward: float) -> int:
    """Store the first reward in `b.own`, and update as `refit`."""
    if b.own[0, 0] == -1.0:
        b.own[0, 0] = reward
    return refit_tell(b, n, action, reward)


@lpb.kernel
def first_mean_expect(b: Any, n: int, state: int, out: Any) -> None:  # noqa: ARG001
    """Expect the first reward of the state's best action, and -1 of the others."""
    for action in range(len(out)):
        out[action] = b.own[0, 0] if b.ranks[state, action] == 0 else -1.0


@dataclass(frozen=True)
class FirstReward(lpb.policies.Evidence):
    """An evidence with an own array that does not start at 0."""

    kind = "first-reward"
    ordered = True
    tell = staticmethod(first_mean_tell)
    expected_rewards = staticmethod(first_mean_expect)

    def own(self, model: lpb.PreferenceModel) -> Any:  # noqa: ARG002
        """Return -1: no reward yet."""
        return np.full((1, 3), -1.0)


@lpb.kernel
def best_expected(b: Any, n: int, offered: Any, seed: int, person: int, round_: int) -> int:  # noqa: ARG001
    """Play the best expected action of state 0."""
    out = b.work[2, : b.ranks.shape[1]]
    expected_rewards(b, n, 0, out)
    best = 0
    for action in range(b.ranks.shape[1]):
        if out[action] > out[best]:
            best = action
    return best


@dataclass(frozen=True)
class BestExpected(lpb.policies.Rule):
    """A rule that needs expected rewards."""

    kind = "best-expected-of-0"
    needs_expectations = True
    work_rows = 1
    choose = staticmethod(best_expected)


def test_the_own_array_of_an_evidence_is_saved_and_restored() -> None:
    lpb.register(FirstReward)
    lpb.register(BestExpected)
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]])
    agent = lpb.Agent(lpb.Policy(model, FirstReward(), BestExpected()), seed=0)
    assert agent.belief.own.tolist() == [[-1.0] * 3]
    agent.tell(1, 7.5)
    agent.tell(0, 3.0)
    assert agent.ask() == 2
    assert lpb.expected(agent.policy, agent.belief).tolist() == [[-1.0, -1.0, 7.5], [7.5, -1.0, -1.0]]
    for restored in (
        lpb.Agent.from_json(agent.to_json()),
        lpb.Agent(agent.policy, seed=0, belief=lpb.Belief.unpack(agent.policy, agent.belief.pack())),
    ):
        assert restored.belief.own.tolist() == [[7.5, -1.0, -1.0]]
        assert restored.ask() == 2
    agent.retract(1, 7.5)
    assert agent.belief.own[0, 0] == 3.0


def test_a_rule_is_bound_to_the_expectations_of_its_evidence() -> None:
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]], means=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    # state 0 has its largest known mean at 2; its fit is equal for 2 and 1, where the first of equals is played
    for evidence, expected in ((lpb.evidences.KnownMeans(), 2), (lpb.evidences.Refit(), 1)):
        policy = lpb.Policy(model, evidence, BestExpected())
        assert agent_after(policy, [(1, 9.0), (2, 1.0), (0, 0.0)]).ask() == expected


def test_entry_points_of_installed_packages_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "installed.py").write_text(example().replace('"epsilon-greedy"', '"installed"'), encoding="utf-8")
    metadata = tmp_path / "installed-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[lpbandits]\ninstalled = installed\n", encoding="utf-8")
    code = (
        "import json, lpbandits as lpb;"
        "setting = lpb.policies.Setting(lpb.PreferenceModel([[0, 1]]), lpb.Rewards());"
        "print(json.dumps(lpb.policies.make_policy('installed', setting).to_dict()))"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert run_python(code, PYTHONPATH=path)["rule"] == {"kind": "installed", "epsilon": 0.1}


def part_of(kind: str, body: str, arguments: str = "", *, compiled: bool) -> Any:
    """Return an evidence or a rule whose function has this body."""
    base: Any = lpb.policies.Evidence if kind == "evidence" else lpb.policies.Rule
    name = "tell" if kind == "evidence" else "choose"
    usual = "b, n, action, reward" if kind == "evidence" else "b, n, offered, seed, person, round_"
    namespace: dict[str, Any] = {"np": np, "__name__": "plugin"}
    exec(f"def {name}({arguments or usual}):\n    {body}", namespace)  # noqa: S102 - source from the table below
    function = lpb.kernel(namespace[name]) if compiled else namespace[name]
    expected = staticmethod(lpb.evidences.Refit.expected_rewards)
    members = {"kind": "plugin", name: staticmethod(function), "expected_rewards": expected}
    part: Any = dataclass(frozen=True)(type("Plugin", (base,), members))
    return part()


@pytest.mark.filterwarnings("ignore::lpbandits.errors.UncompiledWarning")
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    ("kind", "body", "arguments", "match"),
    [
        ("rule", "return -1", "", "not allowed"),
        ("rule", "return 3", "", "not allowed"),
        ("rule", "return 0.5", "", "choose|not allowed"),
        ("rule", "return 0", "b, n", "choose of .* must be a function of"),
        ("evidence", "pass", "", "tell|cannot be compiled"),
        ("evidence", "return n - 1", "", "number of tried actions"),
        ("evidence", "b.states[:] = np.nan; return n + 1", "", "sum to 1"),
        ("evidence", "b.states[1, 0] = 2.0; b.states[1, 1] = -1.0; return n + 1", "", "sum to 1"),
    ],
)
def test_an_invalid_function_is_an_error(kind: str, body: str, arguments: str, match: str, compiled: bool) -> None:
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]], means=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    part = part_of(kind, body, arguments, compiled=compiled)
    parts = (part, lpb.rules.Sample()) if kind == "evidence" else (lpb.evidences.Refit(), part)
    with pytest.raises(lpb.InvalidInput, match=match):
        agent_after(lpb.Policy(model, *parts), [(0, 1.0)]).ask()
    with pytest.raises(lpb.InvalidInput, match=match):
        rollout(lpb.Policy(model, *parts), lpb.MeansWorld(model).draw(people=1, seed=0), rounds=2, seed=0)


@pytest.mark.filterwarnings("ignore::lpbandits.errors.UncompiledWarning")
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_exceptions_of_a_plug_in_pass_through(compiled: bool) -> None:
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]], means=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    rule = part_of("rule", "if n >= 0:\n        raise IndexError('my own')\n    return 0", compiled=compiled)
    policy = lpb.Policy(model, lpb.evidences.Refit(), rule)
    people = lpb.MeansWorld(model).draw(people=1, seed=0)
    history = lpb.Histories.from_arrays([7], [0], [1.0], model)
    for use in (
        lpb.Agent(policy, seed=0).ask,
        lambda: rollout(policy, people, rounds=2, seed=0),
        lambda: lpb.decide(policy, history),
    ):
        with pytest.raises(IndexError, match="my own"):
            use()


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ([np.nan, 0.0, 1.0], "nan"),
        ([-1.0, 1.0, 1.0], "-1"),
        ([1.0, 0.0, 1.0], "sum to 1, got 2"),
        ([0.5, 0.5], "got 2"),
        ([0.0, 1.0, 0.0], "not allowed"),
        (None, "got"),
    ],
)
def test_invalid_probabilities_of_a_rule_are_errors(values: Any, match: str) -> None:
    rule = part_of("rule", "return 0", compiled=True)
    type(rule).probabilities = lambda *_: values
    agent = lpb.Agent(lpb.Policy(lpb.PreferenceModel([[2, 1, 0]]), lpb.evidences.Refit(), rule), seed=0)
    with pytest.raises(lpb.InvalidInput, match=rf"probabilities\(\) of 'plugin'.*{match}"):
        agent.probabilities([0, 2])


@pytest.mark.parametrize("value", ["np.nan", "-1.0", "1.5"])
def test_an_invalid_probability_is_an_error(value: str) -> None:
    model = lpb.PreferenceModel([[2, 1, 0]])
    rule = part_of("rule", "return 0", compiled=True)
    namespace: dict[str, Any] = {"np": np, "__name__": "plugin"}
    exec(f"def probability(b, n, offered, play, action):\n    return {value}", namespace)  # noqa: S102
    type(rule).probability = staticmethod(lpb.kernel(namespace["probability"]))
    policy = lpb.Policy(model, lpb.evidences.Refit(), rule)
    history = lpb.Histories.from_arrays([7], [0], [1.0], model)
    for use in (lpb.Agent(policy, seed=0).probabilities, lambda: lpb.decide(policy, history)):
        with pytest.raises(lpb.InvalidInput, match="probability must"):
            use()


@pytest.mark.parametrize(
    ("member", "value", "match"),
    [
        ("settings", None, r"settings\(\) of 'plugin'"),
        ("settings", ["x"], r"settings\(\) of 'plugin'"),
        ("settings", 1.0, r"settings\(\) of 'plugin'"),
        ("work", None, r"work\(\) of 'plugin'"),
        ("work", (1,), r"work\(\) of 'plugin'.*\[1\]"),
        ("work", (1, -2), r"work\(\) of 'plugin'.*-2"),
        ("work", (1.5, 2), r"work\(\) of 'plugin'.*1.5"),
    ],
)
@pytest.mark.parametrize("kind", ["evidence", "rule"])
def test_invalid_settings_and_scratch_are_errors(kind: str, member: str, value: Any, match: str) -> None:
    part = part_of(kind, "return 0", compiled=True)
    setattr(type(part), member, lambda *_: value)
    parts = (part, lpb.rules.Sample()) if kind == "evidence" else (lpb.evidences.Refit(), part)
    with pytest.raises(lpb.InvalidInput, match=match):
        lpb.Policy(lpb.PreferenceModel([[0, 1], [1, 0]]), *parts)


@dataclass(frozen=True)
class WithoutChoose(lpb.policies.Rule):
    kind = "without-choose"


@dataclass(frozen=True)
class WrongShape(lpb.evidences.Wins):
    kind = "wrong-shape"

    def own(self, model: lpb.PreferenceModel) -> Any:  # noqa: ARG002
        return np.zeros((1, 1))


@pytest.mark.parametrize(
    ("evidence", "rule", "match"),
    [
        (lpb.evidences.Refit(), WithoutChoose(), "WithoutChoose.*choose"),
        (lpb.evidences.Refit(), part_of("rule", "return b.nothing", compiled=True), "'choose' cannot be compiled"),
        (WrongShape(), lpb.rules.DoubleThompson(), "'double-thompson'.*'wrong-shape'"),
    ],
)
def test_an_invalid_evidence_or_rule_is_an_error(evidence: Any, rule: Any, match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        lpb.Agent(lpb.Policy(lpb.PreferenceModel([[0, 1], [1, 0]]), evidence, rule), seed=0).ask()


def test_register_rejects_taken_names_and_other_objects() -> None:
    assert lpb.register(lpb.evidences.Refit) is lpb.evidences.Refit

    @dataclass(frozen=True)
    class Duplicate(lpb.policies.Rule):
        kind = "sample"

    with pytest.raises(lpb.InvalidInput, match="kind must be unique, got 'sample'"):
        lpb.register(Duplicate)
    with pytest.raises(lpb.InvalidInput, match=r"register takes .*got 3"):
        lpb.register(3)


def test_restoring_an_agent_with_an_unregistered_evidence_names_it() -> None:
    agent = lpb.Agent(lpb.Policy(lpb.PreferenceModel([[0, 1]]), FirstReward(), lpb.rules.Sample()), seed=0)
    with pytest.raises(lpb.errors.FileFormatError, match="'first-reward'"):
        lpb.Agent.from_json(agent.to_json())


def test_the_command_line_finds_a_registered_world() -> None:
    from typer.testing import CliRunner

    from lpbandits.cli import app

    @lpb.register
    class Flat:
        name = "flat"

        def __init__(self, states: int = 2, level: float = 1.0) -> None:
            self.states, self.level = states, level

        def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:  # noqa: ARG002
            model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]][: self.states])
            truth = np.repeat(np.arange(self.states), people)
            return lpb.worlds.Population(model, truth, np.full((len(truth), 3), self.level), lpb.Rewards())

        def to_dict(self) -> dict[str, Any]:
            return {"world": self.name, "level": self.level}

    run = CliRunner().invoke
    arguments = ["simulate", "--world", "flat", "--people", "2", "--rounds", "4", "--policies", "ts", "--json"]
    result = run(app, [*arguments, "--set", "level=2.5", "--states", "1"], catch_exceptions=False)
    content = json.loads(result.stdout)
    assert content["settings"]["level"] == 2.5
    assert content["policies"]["ts"]["regret"]["mean"] == 0.0
    for options, name in ((["--gap", "0.3"], "--gap"), (["--set", "depth=3"], "'depth=3'")):
        message = str(run(app, [*arguments, *options]).exception)
        assert name in message
        assert "'flat'" in message
