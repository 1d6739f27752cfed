"""The cost of decisions, counted without a clock: independent of the number of actions, linear in people and rounds.

An operation is a line run by a kernel, or an accessed number of a belief or a policy; see tests/guards/operations.py.
"""

from typing import Any

import pytest

from lpbandits.policies import POLICIES, Setting, make_policy
from tests.conftest import REWARDS, model_for
from tests.guards import printed_by
from tests.guards.operations import FEW, MANY, MORE

pytestmark = pytest.mark.slow

EVERY_ACTION = {
    "lpb-utility": "computes the expected reward of every action in a drawn state",
    "lpb-ids": "computes regret and information of every action",
    "lpb-horizon": "computes the expected reward of every action, and plans for the most promising ones",
    "taste": "computes the expected reward of every action, because a taste has no states with known orders",
    "popular": "scans the allowed actions for the best rank; it is a baseline",
    "lpb-duel": "the challenger may be any action",
    "double-ts": "every pair has its own win probability",
}
"""Policies whose decisions cost more with more actions, and why."""

ADAPTS = {
    "lpbts-marginal": "panels of integrals get narrower as means get more certain, up to `order_probability.PANELS`"
}
"""Policies whose decisions may cost more in later cycles, and why."""


@pytest.fixture(scope="module")
def counted() -> Any:
    return printed_by("operations", NUMBA_DISABLE_JIT="1")


def test_the_cost_of_a_decision_does_not_depend_on_the_number_of_actions(counted: Any) -> None:
    costs = counted["actions"]
    grown = {name for name, by_k in costs.items() if len(set(by_k.values())) > 1}
    assert grown == set(EVERY_ACTION), {name: costs[name] for name in grown ^ set(EVERY_ACTION)}
    with_many = {name for name, by_k in costs.items() if str(MANY) in by_k}
    assert with_many >= set(costs) - set(EVERY_ACTION) - {"double-ts-top"}  # it has k×k numbers, so k ≤ 4,096


def test_policies_that_scan_actions_have_a_bounded_cost_per_action(counted: Any) -> None:
    for name in EVERY_ACTION:
        few, more = (counted["actions"][name][str(k)] for k in (FEW, MORE))
        assert more < few * (MORE / FEW) ** (2 if name == "double-ts" else 1)


def test_later_rounds_cost_as_much_as_earlier_ones(counted: Any) -> None:
    assert set(ADAPTS) <= set(POLICIES)
    for name, (_, second, *later) in counted["cycles"].items():
        assert max(later) <= (1.25 if name in ADAPTS else 1.0) * second, f"{name}: {second} and then {later}"


def test_the_cost_of_people_is_additive(counted: Any) -> None:
    for name, beyond in counted["people"].items():
        assert len(set(beyond)) == 1, f"{name}: costs per call {beyond}"
        assert beyond[0] < 100


def test_the_cost_of_decide_is_independent_of_actions_for_rules_with_a_sampled_state(counted: Any) -> None:
    setting = Setting(model_for(REWARDS["gaussian"]), REWARDS["gaussian"])
    sampling = {name for name in counted["decided"] if make_policy(name, setting).rule.sampled_state is not None}
    assert {name for name, by_k in counted["decided"].items() if len(set(by_k.values())) == 1} == sampling
    assert "lpbts" in sampling


def test_reported_passes_over_the_counts_are_exact(counted: Any) -> None:
    for k, (reported, passes, remainder) in counted["passes"].items():
        # One pass for the first guess. The first action meets all others, so one row gives the graph's components.
        assert (passes, remainder) == (reported + 1, int(k) - 1)
