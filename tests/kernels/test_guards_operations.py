"""What decisions cost, counted and not timed: the same for any number of actions, in proportion to people and rounds.

An operation is a line that a kernel runs, or a number of a belief or a policy that it touches; see tests/guards.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lpbandits.policies import POLICIES, Setting, make_policy
from tests.conftest import REWARDS, model_for
from tests.guards.operations import FEW, MANY, MORE

EVERY_ACTION = {
    "lpb-utility": "the best expected action of a drawn state: of all actions that is asked",
    "lpb-ids": "loss and information of every action are weighed",
    "taste": "what is expected of every action is worked out anew: a taste has no states whose order is known",
    "popular": "a scan for the best place among the allowed; it is a yardstick",
    "lpb-duel": "the challenger may be any action",
    "double-ts": "every pair has a chance of its own",
}
"""Policies whose decisions cost more with more actions to choose from, and why."""

ADAPTS = {"lpbts-marginal": "panels of integrals get narrower as means get surer, up to `chain.PANELS`"}
"""Policies whose decisions may cost more when actions are told of again, and why."""


@pytest.fixture(scope="module")
def counted() -> Any:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.guards.operations"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_decision_costs_the_same_whatever_the_number_of_actions(counted: Any) -> None:
    costs = counted["actions"]
    grown = {name for name, by_k in costs.items() if len(set(by_k.values())) > 1}
    assert grown == set(EVERY_ACTION), {name: costs[name] for name in grown ^ set(EVERY_ACTION)}
    looked_far = {name for name, by_k in costs.items() if str(MANY[-1]) in by_k}
    assert looked_far >= set(costs) - set(EVERY_ACTION) - {"double-ts-top"}  # which keeps k×k numbers, for k ≤ 4,096


def test_a_policy_that_looks_at_every_action_looks_at_each_a_bounded_number_of_times(counted: Any) -> None:
    for name in EVERY_ACTION:
        few, more = (counted["actions"][name][str(k)] for k in (FEW, MORE))
        assert more < few * (MORE / FEW) ** (2 if name == "double-ts" else 1)


def test_another_round_costs_what_the_one_before_did(counted: Any) -> None:
    assert set(ADAPTS) <= set(POLICIES)
    for name, (_, second, *later) in counted["cycles"].items():
        assert max(later) <= (1.25 if name in ADAPTS else 1.01) * second, f"{name}: {second} and then {later}"


def test_people_cost_exactly_the_sum_of_what_each_costs(counted: Any) -> None:
    for name, beyond in counted["people"].items():
        assert len(set(beyond)) == 1, f"{name}: 2, 4 and 8 people cost {beyond} less than their halves alone"
        assert beyond[0] < 100


def test_deciding_for_a_person_costs_the_same_where_a_rule_follows_an_order(counted: Any) -> None:
    setting = Setting(model_for(REWARDS["gaussian"]), REWARDS["gaussian"])
    follows = {name for name in counted["decided"] if make_policy(name, setting).rule.sampled_state is not None}
    assert {name for name, by_k in counted["decided"].items() if len(set(by_k.values())) == 1} == follows
    assert "lpbts" in follows


def test_passes_over_the_counts_are_told_as_they_are(counted: Any) -> None:
    for told, whole, part in counted["passes"].values():
        assert (whole, part) == (told + 2, 0)  # and one each for the pieces of the graph and for the first guess
