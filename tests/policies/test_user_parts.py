"""Worlds and policy builders of users, and their validation."""

import json
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from tests.conftest import with_taste

MODEL = with_taste(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
MEANS = [[3.0, 2.0, 1.0], [0.0, 1.0, 5.0]]


class OwnWorld:
    """A world as a user would write it, with two states of `sizes` people in each draw."""

    def __init__(self, sizes: tuple[int, ...] = (2, 2)) -> None:
        self.sizes = sizes

    def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
        del people, seed
        n = self.sizes[draw]
        return lpb.worlds.Population(MODEL, np.tile([0, 1], n), np.tile(MEANS, (n, 1)), lpb.Rewards())

    def to_dict(self) -> dict[str, Any]:
        return {"world": "own"}


def test_a_user_world_runs() -> None:
    results = lpb.simulate(OwnWorld(), ["lpbts", "uniform"], rounds=30, draws=2)
    assert results.settings["world"] == "own"
    assert len(results["lpbts"].people["regret"]) == 8
    assert len(repr(results)) < 100
    assert len(repr(results["lpbts"])) < 120


OTHER_SIZE = lpb.PreferenceModel([[0, 1, 2, 3]])
OTHER_LABELS = MODEL.replace(actions=[2, 1, 0])


@pytest.mark.parametrize(
    ("world", "policies", "match"),
    [
        (OwnWorld((2, 3)), ["ts"], "draws.*4 .*6 "),
        (OwnWorld, ["ts"], "world"),
        (object(), ["ts"], "world"),
        ("synthetic", ["ts"], "world.*'synthetic'"),
        (OwnWorld(), {"odd": lambda _: lpb.TS(OTHER_SIZE)}, "'odd' must.*got 4"),
        (OwnWorld(), {"odd": lambda _: lpb.LpbTS(OTHER_LABELS)}, "'odd' must.*labels"),
        (OwnWorld(), {"odd": lpb.LpbTS(MODEL)}, "'odd' must.*got a policy"),
    ],
    ids=["draws", "class", "object", "name", "other actions", "other labels", "no builder"],
)
def test_invalid_worlds_and_builders_are_errors(world: Any, policies: Any, match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        lpb.simulate(world, policies, rounds=2, draws=2)


@pytest.mark.parametrize("states", [1, 2, 5])
@pytest.mark.parametrize("policy", [lpb.LpbTS, lpb.LpbPaired, lpb.LpbDuel], ids=lambda policy: policy.__name__)
def test_a_policy_over_another_model_has_no_true_state(policy: Any, states: int) -> None:
    orderings = [[1, 0, 2], [2, 0, 1], [0, 1, 2], [2, 1, 0], [1, 2, 0]]
    other = lpb.PreferenceModel(orderings[:states])
    results = lpb.simulate(OwnWorld(), {"other": lambda s: policy(other)}, rounds=5)  # noqa: ARG005
    summary = results["other"].to_dict()
    assert summary["true_state"] is None
    assert summary["active"]["true"] is None
    assert (summary["active"]["all"] is not None) == (policy is lpb.LpbTS)


def test_world_settings_may_be_numpy_numbers() -> None:
    world = lpb.SyntheticWorld(states=np.int64(2), actions=np.int32(3), gap=np.float32(0.5))  # type: ignore[arg-type] # as sweeps do
    json.dumps(lpb.simulate(world, ["ts"], people=1, rounds=2).to_dict())
