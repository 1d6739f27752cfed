"""The door for other people's ideas: the documented example, as it stands on the page, and what may be done with it."""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.kernels.compiler import name_of
from lpbandits.policies.base import expected_rewards
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.evidences.refit import tell as refit_tell
from lpbandits.policies.registry import POLICIES, Setting, make_policy
from lpbandits.policies.rules import RULES
from lpbandits.simulation import rollout
from lpbandits.worlds import WORLDS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
WORLD = lpb.SyntheticWorld(states=4, actions=8, scale="different")


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


@pytest.fixture(autouse=True)
def known_things() -> Iterator[None]:
    """Leave the registries as they were."""
    before = [dict(place) for place in (EVIDENCES, RULES, POLICIES, WORLDS)]
    yield
    for place, old in zip((EVIDENCES, RULES, POLICIES, WORLDS), before, strict=True):
        place.clear()  # type: ignore[attr-defined] # dicts of different things
        place.update(old)  # type: ignore[attr-defined] # as above


@pytest.fixture
def greedy(tmp_path: Path) -> ModuleType:
    return load(example(), tmp_path, "epsilon_greedy_example")


def replayed(policy: lpb.Policy) -> None:
    """Compare the simulator with an agent, action by action."""
    people = WORLD.draw(people=1, seed=5)
    trace = rollout(policy, people, rounds=25, seed=5)
    for p in range(len(people)):
        agent = lpb.Agent(policy, seed=5, person=p)
        for t in range(25):
            action = agent.ask()
            assert action == trace.actions[p, t]
            agent.tell(action, float(trace.rewards[p, t]))


def test_the_documented_rule_runs_everywhere(greedy: ModuleType) -> None:
    people = WORLD.draw(people=1, seed=5)
    policy = make_policy("epsilon-greedy", Setting(people.model, people.rewards))
    assert policy.rule == greedy.EpsilonGreedy(0.1)
    replayed(policy)
    results = lpb.simulate(WORLD, ["epsilon-greedy", "uniform"], people=20, rounds=100)
    gap, error = results.difference("epsilon-greedy", "uniform")
    assert gap < -5 * error
    agent = lpb.Agent(policy, seed=1)
    for action, reward in ((0, 1.0), (3, 2.0), (1, 0.5)):
        agent.tell(action, reward)
    asked = np.bincount([agent.ask() for _ in range(4000)], minlength=8) / 4000
    chance = agent.probabilities()
    assert np.all(np.abs(asked - chance) <= 4 * np.sqrt(chance * (1 - chance) / 4000) + 1e-9)  # 4 standard errors
    again = lpb.Agent.from_json(agent.to_json())
    assert again.policy == policy
    assert [again.ask() for _ in range(20)] == [agent.ask() for _ in range(20)]


def test_a_plain_python_rule_works_in_both_and_says_that_it_is_slow(tmp_path: Path) -> None:
    fast = load(example(), tmp_path, "fast_example")
    plain = load(
        example().replace("@lpb.kernel\n", "").replace('"epsilon-greedy"', '"plain"'), tmp_path, "plain_example"
    )
    people = WORLD.draw(people=1, seed=5)
    policies = [lpb.Policy(people.model, lpb.evidences.Refit(), part.EpsilonGreedy()) for part in (fast, plain)]
    with pytest.warns(
        lpb.errors.UncompiledWarning, match=r"'choose' is plain Python.*decorate it with lpbandits\.kernel"
    ):
        slow = rollout(policies[1], people, rounds=25, seed=5)
    np.testing.assert_array_equal(slow.plays, rollout(policies[0], people, rounds=25, seed=5).plays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.UncompiledWarning)
        replayed(policies[1])


def test_an_edited_rule_runs_its_new_code_in_the_next_process(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import json, sys
        sys.path.insert(0, sys.argv[1])
        import lpbandits as lpb, mine
        people = lpb.SyntheticWorld(states=4, actions=8, scale="different").draw(people=2, seed=5)
        policy = lpb.Policy(people.model, lpb.evidences.Refit(), mine.EpsilonGreedy())
        print(json.dumps(lpb.simulation.rollout(policy, people, rounds=30, seed=5).plays.ravel().tolist()))
        """
    )

    def run(helper: str) -> Any:
        (tmp_path / "helper.py").write_text(helper, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, env=None
        )
        return json.loads(done.stdout)

    source = example().replace(
        "if uniform(seed, person, round_, STATE, 0) < b.settings[RULE, EPSILON]:",
        "if uniform(seed, person, round_, STATE, 0) < helper.share(b.settings[RULE, EPSILON]):",
    )
    (tmp_path / "mine.py").write_text(f"import helper\n{source}", encoding="utf-8")
    unchanged = "import lpbandits as lpb\nFACTOR = 1.0\n@lpb.kernel\ndef share(x):\n    return FACTOR * x\n"
    first = run(unchanged)
    assert run(unchanged) == first
    always = run(unchanged.replace("FACTOR = 1.0", "FACTOR = 10.0"))  # a constant in another file
    assert always != first
    never = run(unchanged.replace("FACTOR * x", "0.0 * x"))  # a callee in another file
    assert never not in (first, always)
    assert run(unchanged) == first


@lpb.kernel
def first_mean_tell(b: Any, n: int, action: int, reward: float) -> int:
    """Keep the first reward of all in its own array, and otherwise what the tally keeps."""
    if b.own[0, 0] == -1.0:
        b.own[0, 0] = reward
    return refit_tell(b, n, action, reward)


@lpb.kernel
def first_mean_expect(b: Any, n: int, state: int, out: Any) -> None:  # noqa: ARG001
    """Expect the first reward of the state's best action, and nothing of the others."""
    for action in range(len(out)):
        out[action] = b.own[0, 0] if b.ranks[state, action] == 0 else -1.0


@dataclass(frozen=True)
class FirstReward(lpb.policies.Evidence):
    """An evidence with an array of its own that does not start at 0."""

    kind: ClassVar[str] = "first-reward"
    ordered: ClassVar[bool] = True
    tell = staticmethod(first_mean_tell)
    expected_rewards = staticmethod(first_mean_expect)

    def own(self, model: lpb.PreferenceModel) -> Any:  # noqa: ARG002
        """Return the mark of no reward."""
        return np.full((1, 3), -1.0)


@lpb.kernel
def best_expected(b: Any, n: int, offered: Any, seed: int, person: int, round_: int) -> int:  # noqa: ARG001
    """Play the best expected action of state 0."""
    out = b.work[2]
    expected_rewards(b, n, 0, out)
    best = 0
    for action in range(b.ranks.shape[1]):
        if out[action] > out[best]:
            best = action
    return best


@dataclass(frozen=True)
class BestExpected(lpb.policies.Rule):
    """A rule that asks what to expect."""

    kind: ClassVar[str] = "best-expected-of-0"
    needs_expectations: ClassVar[bool] = True
    choose = staticmethod(best_expected)

    def work(self, model: lpb.PreferenceModel) -> tuple[int, int]:
        """Return a row of every action."""
        return (1, model.n_actions)


def test_an_evidence_with_arrays_of_its_own_saves_itself() -> None:
    lpb.register(FirstReward)
    lpb.register(BestExpected)
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]])
    agent = lpb.Agent(lpb.Policy(model, FirstReward(), BestExpected()), seed=0)
    assert agent.belief.own.tolist() == [[-1.0] * 3]
    agent.tell(1, 7.5)
    agent.tell(0, 3.0)
    assert agent.ask() == 2
    assert lpb.expected(agent.policy, agent.belief).tolist() == [[-1.0, -1.0, 7.5], [7.5, -1.0, -1.0]]
    for again in (
        lpb.Agent.from_json(agent.to_json()),
        lpb.Agent(agent.policy, seed=0, belief=lpb.Belief.unpack(agent.policy, agent.belief.pack())),
    ):
        assert again.belief.own.tolist() == [[7.5, -1.0, -1.0]]
        assert again.ask() == 2
    agent.retract(1, 7.5)
    assert agent.belief.own[0, 0] == 3.0


def test_the_same_rule_asks_any_evidence() -> None:
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]], means=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    # the known means of state 0 favour 2; its fit is flat before 0, where the first of equals is played
    for evidence, wanted in ((lpb.evidences.KnownMeans(), 2), (lpb.evidences.Refit(), 1)):
        agent = lpb.Agent(lpb.Policy(model, evidence, BestExpected()), seed=0)
        agent.tell(1, 9.0)
        agent.tell(2, 1.0)
        agent.tell(0, 0.0)
        assert agent.ask() == wanted


def test_an_installed_package_brings_its_policies_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "brought.py").write_text(example().replace('"epsilon-greedy"', '"brought"'), encoding="utf-8")
    about = tmp_path / "brought-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[lpbandits]\nbrought = brought\n", encoding="utf-8")
    code = (
        "import json, lpbandits as lpb;"
        "from lpbandits.policies import make_policy;"
        "policy = make_policy('brought', lpb.policies.Setting(lpb.PreferenceModel([[0, 1]]), lpb.Rewards()));"
        "print(json.dumps(policy.to_dict()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert json.loads(done.stdout)["rule"] == {"kind": "brought", "epsilon": 0.1}


def test_reusing_our_own_functions_is_safe() -> None:
    @dataclass(frozen=True)
    class Same(lpb.policies.Evidence):
        kind: ClassVar[str] = "same"
        tell = staticmethod(lpb.evidences.Refit.tell)
        expected_rewards = staticmethod(lpb.evidences.Refit.expected_rewards)

    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]])
    agents = [
        lpb.Agent(lpb.Policy(model, evidence, lpb.rules.Sample()), seed=0)
        for evidence in (Same(), lpb.evidences.Refit())
    ]
    for agent in agents:
        for action, reward in ((0, 1.0), (2, 3.0), (1, 0.0), (2, 4.0)):
            agent.tell(action, reward)
    np.testing.assert_array_equal(agents[0].posterior, agents[1].posterior)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("wrong", [-1, 3, 99])
def test_an_impossible_choice_is_refused(wrong: int, compiled: bool) -> None:
    def choose(b: Any, n: int, offered: Any, seed: int, person: int, round_: int) -> int:  # noqa: ARG001
        return wrong

    @dataclass(frozen=True)
    class Wrong(lpb.policies.Rule):
        kind: ClassVar[str] = "wrong"

    Wrong.choose = staticmethod(lpb.kernel(choose) if compiled else choose)
    model = lpb.PreferenceModel([[2, 1, 0], [0, 1, 2]], means=[[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    policy = lpb.Policy(model, lpb.evidences.Refit(), Wrong())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.UncompiledWarning)
        with pytest.raises(lpb.InvalidInput, match="action that is not allowed"):
            lpb.Agent(policy, seed=0).ask()
        with pytest.raises(lpb.InvalidInput, match="action that is not allowed"):
            rollout(policy, lpb.MeansWorld(model).draw(people=1, seed=0), rounds=2, seed=0)


def test_parts_that_are_not_whole_or_cannot_be_compiled_are_refused() -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]])

    @dataclass(frozen=True)
    class Empty(lpb.policies.Rule):
        kind: ClassVar[str] = "empty"

    with pytest.raises(lpb.InvalidInput, match="the rule Empty has no choose"):
        lpb.Policy(model, lpb.evidences.Refit(), Empty())

    @lpb.kernel
    def words(b: Any, n: int, offered: Any, seed: int, person: int, round_: int) -> Any:  # noqa: ARG001
        return b.nothing

    @dataclass(frozen=True)
    class Broken(lpb.policies.Rule):
        kind: ClassVar[str] = "broken"
        choose = staticmethod(words)

    with pytest.raises(lpb.InvalidInput, match="'words' cannot be compiled"):
        lpb.Agent(lpb.Policy(model, lpb.evidences.Refit(), Broken()), seed=0).ask()

    @dataclass(frozen=True)
    class NoWins(lpb.evidences.Wins):
        kind: ClassVar[str] = "no-wins"

        def own(self, model: lpb.PreferenceModel) -> Any:  # noqa: ARG002
            return np.zeros((1, 1))

    with pytest.raises(lpb.InvalidInput, match="reads wins of every pair, which the evidence 'no-wins' has not"):
        lpb.Policy(model, NoWins(), lpb.rules.DoubleThompson())


def test_registering_is_checked() -> None:
    assert lpb.register(lpb.evidences.Refit) is lpb.evidences.Refit

    @dataclass(frozen=True)
    class Thief(lpb.policies.Rule):
        kind: ClassVar[str] = "sample"

    with pytest.raises(lpb.InvalidInput, match="the name 'sample' is taken"):
        lpb.register(Thief)
    with pytest.raises(lpb.InvalidInput, match="neither an Evidence or Rule class"):
        lpb.register(3)


def test_an_agent_of_unknown_parts_says_what_to_import() -> None:
    agent = lpb.Agent(lpb.Policy(lpb.PreferenceModel([[0, 1]]), FirstReward(), lpb.rules.Sample()), seed=0)
    with pytest.raises(lpb.errors.FileFormatError, match="'first-reward'"):
        lpb.Agent.from_json(agent.to_json())


def test_a_world_of_ones_own_is_found_by_the_command_line() -> None:
    from typer.testing import CliRunner

    from lpbandits.cli import app

    @lpb.register
    class Flat:
        name: ClassVar[str] = "flat"

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
    done = run(app, [*arguments, "--set", "level=2.5", "--states", "1"], catch_exceptions=False)
    content = json.loads(done.stdout)
    assert content["settings"]["level"] == 2.5
    assert content["policies"]["ts"]["regret"]["mean"] == 0.0
    for wrong, words in ((["--gap", "0.3"], "--gap is not a setting of the world 'flat'"),
                         (["--set", "depth=3"], "'depth=3' is not a setting of the world 'flat'")):  # fmt: skip
        assert words in str(run(app, [*arguments, *wrong]).exception)


def test_a_function_without_a_module_has_a_name() -> None:
    made: dict[str, Any] = {}
    exec("def tell(b, n, action, outcome): return n", {"__name__": None}, made)  # noqa: S102 - as a notebook may
    made["tell"].__module__ = None
    assert name_of("tell", made) == "tell__tell"
