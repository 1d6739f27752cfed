"""What users bring of their own: worlds, builders, combinations and saved agents are checked at the door."""

import json
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from tests.conftest import with_taste

MODEL = with_taste(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
MEANS = [[3.0, 2.0, 1.0], [0.0, 1.0, 5.0]]


class OwnWorld:
    """A world as a user would write it."""

    def __init__(self, sizes: tuple[int, ...] = (2, 2)) -> None:
        self.sizes = sizes

    def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
        del people, seed
        n = self.sizes[draw]
        return lpb.worlds.Population(MODEL, np.tile([0, 1], n), np.tile(MEANS, (n, 1)), lpb.Rewards())

    def to_dict(self) -> dict[str, Any]:
        return {"world": "own"}


@pytest.mark.parametrize("evidence", EVIDENCES.values())
@pytest.mark.parametrize("rule", RULES.values())
def test_every_evidence_and_rule_combine_or_say_why_not(
    evidence: type[lpb.policies.Evidence], rule: type[lpb.policies.Rule]
) -> None:
    try:
        policy = lpb.Policy(MODEL, evidence(), rule())
    except lpb.InvalidInput as error:
        assert rule.kind in str(error)  # noqa: PT017 - either way is right
        return
    agent = lpb.Agent(policy, seed=1)
    if policy.feedback == "duels":
        for _ in range(3):
            agent.tell_duel(*agent.ask_pair())
    else:
        for reward in (1.0, 0.0, 1.0):
            agent.tell(agent.ask(), reward)
        np.testing.assert_allclose(agent.probabilities().sum(), 1.0)
    assert agent.rounds == 3
    assert lpb.expected(policy, agent.belief).shape == (2 if evidence.latent else 1, 3)
    assert len(agent.explain().tried) <= 3


def test_optimism_without_means_is_refused() -> None:
    with pytest.raises(lpb.InvalidInput, match="'optimism' plays known means, which the evidence 'refit' has not"):
        lpb.Policy(MODEL, lpb.evidences.Refit(), lpb.rules.Optimism())


def test_a_world_of_ones_own_runs() -> None:
    results = lpb.simulate(OwnWorld(), ["lpbts", "uniform"], rounds=30, draws=2)
    assert results.settings["world"] == "own"
    assert len(results["lpbts"].people["regret"]) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"truth": [0, 2]}, r"truth\[1\] must .*got 2"),
        ({"truth": [-2, 0]}, "or -1 for unknown"),
        ({"truth": [0]}, "truth has shape"),
        ({"means": [[1.0, 2.0]] * 2}, "means must .*shape any×3, got 2×2"),
        ({"means": [[1.0, 2.0, np.nan]] * 2}, "finite"),
        ({"offered": [[[2, 1]]]}, "rising order"),
        ({"offered": [[[0, 3]]]}, "from 0 to 2"),
        ({"offered": [[[-1, 1]]]}, "filled up with -1 at the end"),
        ({"offered": [[0, 1]]}, "people × rounds × actions"),
    ],
)
def test_bad_people_are_refused(changes: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"model": MODEL, "truth": [0, 1], "means": MEANS, "rewards": lpb.Rewards()}
    with pytest.raises(lpb.InvalidInput, match=message):
        lpb.worlds.Population(**{**good, **changes})


def test_draws_of_different_size_are_refused() -> None:
    with pytest.raises(lpb.InvalidInput, match="draw 1 has 6 people and draw 0 has 4"):
        lpb.simulate(OwnWorld((2, 3)), ["ts"], rounds=2, draws=2)


@pytest.mark.parametrize("world", [OwnWorld, object(), "synthetic"])
def test_what_is_no_world_is_refused(world: Any) -> None:
    with pytest.raises(lpb.InvalidInput, match="give a world with draw and to_dict"):
        lpb.simulate(world, ["ts"], rounds=2)


def test_a_policy_over_other_actions_is_refused() -> None:
    other = lpb.PreferenceModel([[0, 1, 2, 3]])
    with pytest.raises(lpb.InvalidInput, match="over 4 actions, but the world has 3"):
        lpb.simulate(OwnWorld(), {"odd": lambda s: lpb.TS(other)}, rounds=2)  # noqa: ARG005


def test_a_policy_over_actions_in_another_order_is_refused() -> None:
    other = MODEL.relabelled([2, 1, 0])
    with pytest.raises(lpb.InvalidInput, match="with other labels, or in another order"):
        lpb.simulate(OwnWorld(), {"odd": lambda s: lpb.LpbTS(other)}, rounds=2)  # noqa: ARG005


def test_a_policy_instead_of_a_builder_is_explained() -> None:
    with pytest.raises(lpb.InvalidInput, match=r"lambda s: LpbTS\(s.model\)"):
        lpb.simulate(OwnWorld(), {"mine": lpb.LpbTS(MODEL)}, rounds=2)  # type: ignore[dict-item] # that is the point


@pytest.mark.parametrize("states", [1, 2, 5])
@pytest.mark.parametrize("policy", [lpb.LpbTS, lpb.LpbPaired, lpb.LpbDuel], ids=lambda policy: policy.__name__)
def test_another_model_has_no_true_state(policy: Any, states: int) -> None:
    orderings = [[1, 0, 2], [2, 0, 1], [0, 1, 2], [2, 1, 0], [1, 2, 0]]
    other = lpb.PreferenceModel(orderings[:states])
    results = lpb.simulate(OwnWorld(), {"other": lambda s: policy(other)}, rounds=5)  # noqa: ARG005
    summary = results["other"].to_dict()
    assert summary["true_state"] is None
    assert summary["active"]["true"] is None
    assert (summary["active"]["all"] is not None) == (policy is lpb.LpbTS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("states", "posterior"), [5.0, -4.0]),
        (("states", "posterior"), [float("nan"), 1.0]),
        (("states", "score"), [0.0]),
        (("tried", 0, "count"), -3),
        (("tried", 0, "count"), 1.5),
        (("tried", 0, "spread"), -1.0),
        (("tried", 1, "action"), 0),
        (("own",), [[0, 0, 1.0]]),
        (("own",), 3),
    ],
)
def test_a_damaged_agent_is_refused(path: tuple[str | int, ...], value: object) -> None:
    agent = lpb.Agent(lpb.LpbTS(MODEL), seed=1)
    agent.tell(0, 1.0)
    agent.tell(1, 2.0)
    content = json.loads(agent.to_json())
    place: Any = content["belief"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(lpb.errors.FileFormatError):
        lpb.Agent.from_json(json.dumps(content))


def test_numbers_of_numpy_are_welcome() -> None:
    world = lpb.SyntheticWorld(states=np.int64(2), actions=np.int32(3), gap=np.float32(0.5))  # type: ignore[arg-type] # as sweeps do
    json.dumps(lpb.simulate(world, ["ts"], people=1, rounds=2).to_dict())


def test_a_model_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        MODEL.prior = np.array([1.0, 0.0])


def test_results_are_short_to_look_at() -> None:
    results = lpb.simulate(OwnWorld(), ["ts"], rounds=5)
    assert len(repr(results)) < 100
    assert len(repr(results["ts"])) < 120
