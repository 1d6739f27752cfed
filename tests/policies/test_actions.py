"""Pinned decisions of every registered policy: a change of a single action fails here.

`python -m tests.policies.test_actions` adds new policies to the fixture. With `--anew` it rewrites the fixture, in a
commit of its own, if decisions are meant to change.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from lpbandits.errors import LockInWarning
from lpbandits.policies import POLICIES, Setting, make_policy
from lpbandits.simulation import rollout
from lpbandits.typing import IntArray
from lpbandits.worlds import Population, SyntheticWorld
from tests.conftest import FROM_A_LOG, with_taste

FIXTURE = Path(__file__).parents[1] / "fixtures" / "actions.json"
SEEDS = (0, 1, 2**31 + 7, 2**62 + 3)
OFFERS = ("all", "some")
SHAPES = {"same": (4, 7), "different": (6, 12)}
ROUNDS = 60


def some_offers(shape: tuple[int, int, int], k: int, seed: int) -> IntArray:
    """Return people × rounds ascending sets of allowed actions, padded with -1."""
    rng = np.random.default_rng(seed % 1000)
    offered = np.full(shape, -1, dtype=np.int64)
    for p, t in np.ndindex(shape[:2]):
        size = int(rng.integers(1, shape[2] + 1))
        offered[p, t, :size] = np.sort(rng.choice(k, size=size, replace=False))
    return offered


def digest(name: str, offers: str, seed: int) -> str:
    """Return the hash of a policy's plays, for people on both scales."""
    plays_hash = hashlib.sha256()
    for scale, (states, actions) in SHAPES.items():
        people = SyntheticWorld(states=states, actions=actions, scale=scale, noise=0.7).draw(people=3, seed=seed)
        if offers == "some":
            offered = some_offers((len(people), ROUNDS, 5), actions, seed)
            people = Population(people.model, people.truth, people.means, people.rewards, offered)
        model = with_taste(people.model) if name in FROM_A_LOG else people.model
        setting = Setting(model, people.rewards, ROUNDS)
        plays = rollout(make_policy(name, setting), people, rounds=ROUNDS, seed=seed).plays
        plays_hash.update(np.ascontiguousarray(plays[:, :, :2], dtype="<i4").tobytes())
    return plays_hash.hexdigest()[:24]


def digests(name: str, offers: str) -> dict[str, str]:
    return {str(seed): digest(name, offers, seed) for seed in SEEDS}


PINNED: dict[str, dict[str, dict[str, str]]] = json.loads(FIXTURE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("offers", OFFERS)
@pytest.mark.parametrize("name", PINNED)
def test_actions_equal_the_fixture(name: str, offers: str) -> None:
    assert digests(name, offers) == PINNED[name][offers]


def test_every_policy_is_pinned() -> None:
    assert set(PINNED) == set(POLICIES), "run `python -m tests.policies.test_actions`, which adds new policies"


if __name__ == "__main__":
    warnings.simplefilter("ignore", LockInWarning)
    kept = {} if "--anew" in sys.argv else PINNED
    pinned = {name: kept.get(name) or {offers: digests(name, offers) for offers in OFFERS} for name in POLICIES}
    FIXTURE.write_text(json.dumps(pinned, indent=1) + "\n", encoding="utf-8")
