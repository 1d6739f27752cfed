"""`decide`: everybody gets what their agent would answer, with its chance, the runner-up and the outlook."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.data.histories import Histories
from lpbandits.decisions.decide import decide
from lpbandits.kernels.tally import record
from lpbandits.policies import Policy
from lpbandits.policies.base import zero_sd
from lpbandits.rng import addresses_of, stream_id
from tests.conftest import CASES, Case, Outcome, model_for, models, outcomes_for

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


def may_have(agent: Agent, allowed: Any, exclude_seen: bool) -> list[Any] | None:
    mine: list[Any] | None = allowed.get(agent.person, []) if isinstance(allowed, dict) else allowed
    if not exclude_seen or not agent.rounds:
        return mine
    tried = {action for action, _ in agent.outcomes}
    return [a for a in (agent.policy.model.actions if mine is None else mine) if a not in tried]


def assert_as_agents(policy: Policy, past: Histories, allowed: Any, exclude_seen: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.LockInWarning)
        made = decide(policy, past, allowed=allowed, exclude_seen=exclude_seen, seed=SEED, threads=1)
    labels = policy.model.actions
    for n, agent in enumerate(agents_of(policy, past)):
        free = may_have(agent, allowed, exclude_seen)
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
    predictive_sd = policy.doubts(agent.belief)[a]
    if unknown or np.isnan(values).any():
        assert model.means is not None
        weights, values, predictive_sd = weights if evidence.latent else model.prior, model.means[:, a], 0.0
    mean = weights @ values
    np.testing.assert_allclose(made.expected[n], mean, rtol=1e-9, atol=1e-9)
    variance = weights @ (values - mean) ** 2 + predictive_sd**2
    if not evidence.predictive:
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


WAYS = [(allowed, exclude_seen) for allowed in ALLOWED.values() for exclude_seen in (False, True)]
GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_everybody_gets_what_their_agent_would_answer(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    for allowed, exclude_seen in WAYS:
        assert_as_agents(case.policy(model), some_histories(case, model), allowed, exclude_seen)


@pytest.mark.jitless
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_so_it_is_where_the_first_action_is_uniform_and_sets_are_personal(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    assert_as_agents(case.policy(model, first="uniform"), some_histories(case, model), *WAYS[-1])


@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_a_floor_is_kept(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    for allowed, exclude_seen in WAYS:
        assert_as_agents(case.policy(model).exploring(0.1), some_histories(case, model), allowed, exclude_seen)


def test_a_floor_that_somebody_cannot_have_is_refused() -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = some_histories(GAUSSIAN[0], model)
    with pytest.raises(lpb.InvalidInput, match=r"explore is 0\.2, but 6 actions are allowed"):
        decide(lpb.LpbTS(model, explore=0.2), past)
    decide(lpb.LpbTS(model, explore=0.2), past, allowed=[0, 1, 2, 3, 4])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_neither_threads_nor_pieces_nor_company_change_a_decision(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = some_histories(GAUSSIAN[0], model)
    whole = decide(lpb.LpbTS(model), past, seed=SEED).table()
    monkeypatch.setattr("lpbandits.decisions.engine.BLOCK", 1)
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 5)
    told: list[tuple[str, int, int]] = []
    again = decide(
        lpb.LpbTS(model),
        past,
        seed=SEED,
        threads=threads,
        progress=lambda what, done, all_: told.append((what, done, all_)),
    )
    assert again.table().equals(whole)
    assert [done for _, done, _ in told] == [5, 10, 15, 20, 25, 28]
    alone = lpb.Histories.from_arrays([], [], [], model, people=["bo"])
    assert decide(lpb.LpbTS(model), alone, seed=SEED).action[0] == again.action[LABELS.index("bo")]


def test_chances_that_take_long_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.decisions.engine.SLOW", 10)
    model = model_for(lpb.Rewards(), k=K)
    told: list[tuple[str, int, int]] = []
    decide(lpb.TS(model), some_histories(GAUSSIAN[0], model), progress=lambda *words: told.append(words))
    assert told == [("deciding", done, 28) for done in (10, 20, 28)]


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_expected_of_one_action_is_what_is_expected_of_all(case: Case, data: st.DataObject) -> None:
    model = data.draw(models())
    policy = case.policy(model)
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 8))
    agent = Agent(policy, seed=0)
    for action, reward in history:
        agent.tell(action, reward)
    b, n, evidence = policy.arrays(agent.belief), agent.belief.tried, policy.evidence
    assert evidence.expected_reward is not None
    exact = evidence.kind != "taste"  # whose sums over dimensions have another order
    for z, row in enumerate(policy.expected(agent.belief)):
        got = np.array([evidence.expected_reward(b, n, z, a) for a in range(model.n_actions)])
        if evidence.kind == "paired" or (n == 0 and (evidence.fitted or evidence.kind == "utility")):
            assert np.isnan(got).all()
        else:
            np.testing.assert_allclose(got, row, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-9)
    if evidence.predictive_sd_one is not None:
        got = np.array([evidence.predictive_sd_one(b, n, a) for a in range(model.n_actions)])
        np.testing.assert_array_equal(got, policy.doubts(agent.belief))
    else:
        assert evidence.predictive_sd is zero_sd


SETTLING = [case for case in CASES if case.policy().evidence.batchable]


@pytest.mark.jitless
@pytest.mark.parametrize("case", SETTLING, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_outcomes_recorded_and_weighed_once_leave_the_same_bits(case: Case, data: st.DataObject) -> None:
    model = data.draw(models())
    policy = case.policy(model)
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 12).filter(bool))
    one, other = policy.new_belief(16), policy.new_belief(16)
    told, recorded = 0, 0
    for action, reward in history:
        told = policy.tell(policy.arrays(one), told, action, reward)
        recorded, _ = record(policy.arrays(other), recorded, action, reward)
    assert policy.evidence.update_posterior is not None
    policy.evidence.update_posterior(policy.arrays(other), recorded)
    for name in ("slots", "states", "own", "order"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))


def test_which_evidences_settle() -> None:
    assert {case.policy().evidence.kind for case in SETTLING} == {"refit", "marginal", "utility"}


def test_luck_goes_on_as_a_history_grows() -> None:
    model = lpb.PreferenceModel([range(20)])
    short = lpb.Histories.from_arrays(np.arange(50), np.zeros(50, dtype=int), np.ones(50), model)
    long = lpb.Histories.from_arrays(np.arange(100) // 2, np.zeros(100, dtype=int), np.ones(100), model)
    one, other = (decide(lpb.Uniform(model), past).action for past in (short, long))
    # each pair is equal with chance 1/20: more than 10 of 50 has a chance below 10⁻⁴
    assert (one == other).sum() <= 10
    np.testing.assert_array_equal(decide(lpb.Uniform(model), short).action, one)


def test_an_array_of_people_has_the_same_addresses() -> None:
    people = [0, 7, 2**32 - 1, 2**32, -1, -(2**63), 2**63 - 1]
    np.testing.assert_array_equal(addresses_of(np.array(people)), [stream_id(person) for person in people])
    np.testing.assert_array_equal(addresses_of(["7", "ann"]), [stream_id("7"), stream_id("ann")])


def test_ratings_are_histories() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["tea", "jam", "milk"])
    log = lpb.Ratings.from_arrays(["bo", "ann", "ann"], ["tea", "milk", "tea"], [3, 1, 5])
    past = lpb.Histories.from_arrays(["ann", "ann", "bo"], ["milk", "tea", "tea"], [1, 5, 3], model)
    assert decide(lpb.LpbTS(model), log).table().equals(decide(lpb.LpbTS(model), past).table())
    odd = lpb.Ratings.from_arrays(["ann", "ann"], ["gin", "tea"], [5, 3])
    with pytest.raises(lpb.InvalidInput, match="action 'gin' is rated"):
        decide(lpb.LpbTS(model), odd)


def test_an_evidence_and_a_rule_from_outside_decide_too() -> None:
    @dataclass(frozen=True)
    class Plain(lpb.Evidence):
        """Refit, without anything that is only there for speed."""

        kind: ClassVar[str] = "plain-refit"
        tell = lpb.Refit.tell
        expected_rewards = lpb.Refit.expected_rewards

    @dataclass(frozen=True)
    class Quiet(lpb.Rule):
        """Sample, without a word on chances."""

        kind: ClassVar[str] = "quiet"
        choose = lpb.Sample.choose

    model = model_for(lpb.Rewards(), k=K)
    past = some_histories(GAUSSIAN[0], model)
    made = decide(lpb.Policy(model, Plain(), Quiet()), past, seed=SEED)
    wanted = decide(lpb.LpbTS(model), past, seed=SEED)
    np.testing.assert_array_equal(made.action, wanted.action)
    np.testing.assert_array_equal(made.runner_up, wanted.runner_up)
    assert np.isnan(made.probability).all()
    met = past.counts > 0
    np.testing.assert_array_equal(made.expected[met], wanted.expected[met])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"person": [1]}, "person has 1 entries for 2 rewards"),
        ({"action": ["tea", "gin"]}, r"action 'gin' is not among the 2 actions \(1 such row in all\)"),
        ({"reward": [1.0, float("nan")]}, "finite"),
        ({"people": [1]}, "person 2 is not among the 1 people"),
        ({"people": [1, 2, 2]}, "labels must differ"),
        ({"person": [1, 2.5]}, r"person\[1\] is 2.5"),
        ({"actions": ["tea", "tea"]}, "labels must differ"),
    ],
)
def test_bad_histories_are_refused(changes: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"person": [1, 2], "action": ["tea", "jam"], "reward": [1.0, 2.0], "actions": ["tea", "jam"]}
    lpb.Histories.from_arrays(**good)
    with pytest.raises(lpb.InvalidInput, match=message):
        lpb.Histories.from_arrays(**{**good, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": [0, 1]}, "do not fit together"),
        ({"offsets": [0, 2, 1]}, "offsets must rise"),
        ({"action": [0, 9]}, "numbers from 0 to 1"),
        ({"reward": [1.0]}, "do not fit together"),
    ],
)
def test_bad_arrays_are_refused(changes: dict[str, Any], message: str) -> None:
    good = {"offsets": [0, 1, 2], "action": [0, 1], "reward": [1.0, 2.0], "people": [1, 2], "actions": ["tea", "jam"]}
    lpb.Histories(**good)  # type: ignore[arg-type] # lists will do
    with pytest.raises(lpb.InvalidInput, match=message):
        lpb.Histories(**{**good, **changes})


def test_what_cannot_be_decided_is_refused() -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = some_histories(GAUSSIAN[0], model)
    with pytest.raises(lpb.NotSupported, match="learns from rewards"):
        decide(lpb.LpbDuel(model), past)
    with pytest.raises(lpb.InvalidInput, match="a Bernoulli reward must be 0 or 1"):
        decide(lpb.LpbTS(model, rewards="bernoulli"), past)
    with pytest.raises(lpb.InvalidInput, match="not in their order"):
        decide(lpb.LpbTS(model.relabelled(list("abcdef"))), past)
    with pytest.raises(lpb.InvalidInput, match="unknown action 9"):
        decide(lpb.LpbTS(model), past, allowed={"bo": [9]})
    with pytest.raises(lpb.InvalidInput, match="allowed is empty"):
        decide(lpb.LpbTS(model), past, allowed=[])


def test_a_rule_that_locks_in_warns_once() -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = some_histories(GAUSSIAN[0], model)
    with pytest.warns(lpb.LockInWarning, match="plays again what") as caught:
        decide(lpb.Taste(model), past)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decide(lpb.Taste(model), past, exclude_seen=True)
        decide(lpb.LpbTS(model), past)
