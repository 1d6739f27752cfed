"""`decide`: everybody's next action is what their agent would answer, with the chances, the runner-up and the outlook."""

import warnings
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.evaluation.decide import decide
from lpbandits.evaluation.histories import Histories
from lpbandits.policies import Policy
from tests.conftest import CASES, Case, model_for

SEED = 2**40 + 5
K = 6
LABELS: list[int | str] = [0, "bo", 2**32 - 1, -3, 2**40, "7", 7, "", *range(100, 120)]
"""People: numbers that are addresses, others, and names."""


def some_histories(case: Case, model: lpb.PreferenceModel, seed: int = 0) -> Histories:
    """Return histories of different lengths, with repeats; some people have none."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 9, len(LABELS))
    lengths[[0, 1]] = 0
    rows = int(lengths.sum())
    draws = {
        "bernoulli": rng.integers(0, 2, rows).astype(float),
        "poisson": rng.integers(0, 6, rows).astype(float),
    }.get(case.rewards.family, np.round(rng.normal(2.0, 1.0, rows), 1))
    person = [LABELS[n] for n in np.repeat(np.arange(len(LABELS)), lengths)]
    action = [model.actions[a] for a in rng.integers(0, model.n_actions, rows)]
    return Histories.from_arrays(person, action, draws, model, people=LABELS)


def agents_of(policy: Policy, past: Histories) -> list[Agent]:
    out = []
    for n, label in enumerate(past.people):
        mine = slice(past.offsets[n], past.offsets[n + 1])
        agent = Agent(policy, seed=SEED, person=label, asked=int(past.counts[n]))
        for action, reward in zip(past.action[mine].tolist(), past.reward[mine].tolist(), strict=True):
            agent.tell(policy.model.actions[action], reward)
        out.append(agent)
    return out


def asked(agent: Agent, allowed: list[Any] | None) -> Any:
    """Return an agent's answer, at the same address whenever it is asked."""
    before = agent.asked
    answer = agent.ask(allowed)
    agent.asked = before
    return answer


def may_have(agent: Agent, allowed: Any, not_again: bool) -> list[Any] | None:
    mine = allowed.get(agent.person, []) if isinstance(allowed, dict) else allowed
    if not not_again or not agent.rounds:
        return mine
    tried = {action for action, _ in agent.outcomes}
    return [a for a in (agent.policy.model.actions if mine is None else mine) if a not in tried]


def assert_as_agents(policy: Policy, past: Histories, allowed: Any, not_again: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.LocksIn)
        made = decide(policy, past, allowed=allowed, not_again=not_again, seed=SEED, threads=1)
    labels = policy.model.actions
    for n, agent in enumerate(agents_of(policy, past)):
        free = may_have(agent, allowed, not_again)
        if free == []:
            assert made.action[n] == -1
            assert made.runner_up[n] == -1
            assert np.isnan([made.probability[n], made.expected[n], made.low[n], made.high[n]]).all()
            continue
        action = asked(agent, free)
        assert labels[made.action[n]] == action
        others = [a for a in (labels if free is None else free) if a != action]
        assert (labels[made.runner_up[n]] if made.runner_up[n] >= 0 else None) == (
            asked(agent, others) if others else None
        )
        chance = agent.probabilities(free)[made.action[n]]
        np.testing.assert_allclose(made.probability[n], chance, rtol=1e-9, atol=1e-12)
        assert_outlook(agent, made, n)


def assert_outlook(agent: Agent, made: lpb.Decisions, n: int) -> None:
    """Compare what is expected of the action with what the belief says, by the functions for all actions."""
    policy, a = agent.policy, made.action[n]
    evidence, model = policy.evidence, policy.model
    weights = agent.posterior if evidence.latent else np.ones(1)
    values = policy.expected(agent.belief)[:, a]
    unknown = evidence.kind == "paired" or (not agent.rounds and (evidence.fitted or evidence.kind == "utility"))
    doubt = policy.doubts(agent.belief)[a]
    if unknown or np.isnan(values).any():
        assert model.means is not None
        weights, values, doubt = weights if evidence.latent else model.prior, model.means[:, a], 0.0
    mean = weights @ values
    np.testing.assert_allclose(made.expected[n], mean, rtol=1e-9, atol=1e-9)
    variance = weights @ (values - mean) ** 2 + doubt**2
    if not evidence.foresees:
        noise = _noise(agent)
        if noise is None:
            assert np.isnan(made.low[n])
            assert np.isnan(made.high[n])
            return
        variance += noise**2
    np.testing.assert_allclose(made.high[n] - made.low[n], 2 * 1.2815515655446 * variance**0.5, rtol=1e-9)
    np.testing.assert_allclose(made.high[n] + made.low[n], 2 * mean, rtol=1e-6, atol=1e-9)


def _noise(agent: Agent) -> float | None:
    """Return the noise of a person's rewards, slowly."""
    rewards = agent.policy.rewards
    if rewards.family != "gaussian" or rewards.noise is None:
        return None
    if rewards.noise_known:
        return rewards.noise
    by_action: dict[Any, list[float]] = {}
    for action, reward in agent.outcomes:
        by_action.setdefault(action, []).append(reward)
    squares = sum(len(own) * float(np.var(own)) for own in by_action.values())
    further = sum(len(own) - 1 for own in by_action.values())
    return float(((rewards.weight * rewards.noise**2 + squares) / (rewards.weight + further)) ** 0.5)


ALLOWED: dict[str, Any] = {
    "all": None,
    "some": [4, 1, 5, 1],
    "own": {label: [[5, 0, 2], [3], [], list(range(K))][n % 4] for n, label in enumerate(LABELS)},
}


@pytest.mark.jitless
@pytest.mark.parametrize("not_again", [False, True], ids=["again", "once"])
@pytest.mark.parametrize("allowed", ALLOWED)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_everybody_gets_what_their_agent_would_answer(case: Case, allowed: str, not_again: bool) -> None:
    model = model_for(case.rewards, m=4, k=K)
    for first in ("prior", "uniform"):
        policy = case.policy(model, first=first)
        assert_as_agents(policy, some_histories(case, model), ALLOWED[allowed], not_again)
        if policy.rule.kind != "sample":
            break


@pytest.mark.parametrize("not_again", [False, True], ids=["again", "once"])
@pytest.mark.parametrize("allowed", ALLOWED)
@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "gaussian"], ids=str)
def test_a_floor_is_kept(case: Case, allowed: str, not_again: bool) -> None:
    model = model_for(case.rewards, m=4, k=K)
    policy = case.policy(model).exploring(0.1)
    assert_as_agents(policy, some_histories(case, model), ALLOWED[allowed], not_again)
