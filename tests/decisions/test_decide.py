"""`decide`: each decision equals that of an agent, with its probability, the runner-up and the forecast."""

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
from tests.conftest import CASES, Case, Outcome, agent_after, model_for, models, outcomes_for, personal_priors

SEED = 2**40 + 5
K = 6
LABELS: list[int | str] = [0, "bo", 2**32 - 1, -3, 2**40, "7", 8, "é", *range(100, 120)]
"""People: numbers that are stream ids, other numbers, and names."""


def sample_histories(case: Case, model: lpb.PreferenceModel, seed: int = 0) -> Histories:
    """Return histories of different lengths, with repeated actions; some are empty."""
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


Priors = dict[Any, Any]


def agents_of(policy: Policy, past: Histories, priors: Priors | None = None) -> list[Agent]:
    out = []
    for n, label in enumerate(past.people):
        rows = slice(past.offsets[n], past.offsets[n + 1])
        agent = Agent(policy, seed=SEED, person=label, asked=int(past.counts[n]), prior=(priors or {}).get(label))
        for action, reward in zip(past.action[rows].tolist(), past.reward[rows].tolist(), strict=True):
            agent.tell(policy.model.actions[action], reward)
        out.append(agent)
    return out


def answer_of(agent: Agent, allowed: list[Any] | None) -> Any:
    """Return an agent's answer with the same random draw at every call."""
    before = agent.asked
    answer = agent.ask(allowed)
    agent.asked = before
    return answer


def allowed_for(agent: Agent, allowed: Any, exclude_seen: bool) -> list[Any] | None:
    labels: list[Any] | None = allowed.get(agent.person, []) if isinstance(allowed, dict) else allowed
    if not exclude_seen or not agent.rounds:
        return labels
    tried = {action for action, _ in agent.outcomes}
    return [a for a in (agent.policy.model.actions if labels is None else labels) if a not in tried]


def assert_equals_agents(
    policy: Policy, past: Histories, allowed: Any, exclude_seen: bool, priors: Priors | None = None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.LockInWarning)
        decisions = decide(policy, past, allowed=allowed, exclude_seen=exclude_seen, prior=priors, seed=SEED, threads=1)
    labels = policy.model.actions
    for n, agent in enumerate(agents_of(policy, past, priors)):
        free = allowed_for(agent, allowed, exclude_seen)
        if free == []:
            assert decisions.action[n] == -1
            assert decisions.runner_up[n] == -1
            assert all(np.isnan(getattr(decisions, name)[n]) for name in ("probability", "expected", "low", "high"))
            continue
        action = answer_of(agent, free)
        assert labels[decisions.action[n]] == action
        others = [a for a in (labels if free is None else free) if a != action]
        assert (labels[decisions.runner_up[n]] if decisions.runner_up[n] >= 0 else None) == (
            answer_of(agent, others) if others else None
        )
        chance = agent.probabilities(free)[decisions.action[n]]
        np.testing.assert_allclose(decisions.probability[n], chance, rtol=1e-9, atol=1e-12)
        assert_forecast(agent, decisions, n)


def assert_forecast(agent: Agent, decisions: lpb.Decisions, n: int) -> None:
    """Compare the forecast of the action with the functions for all actions."""
    policy, a = agent.policy, decisions.action[n]
    evidence, model = policy.evidence, policy.model
    weights = agent.posterior if evidence.latent else np.ones(1)
    values = policy.expected(agent.belief)[:, a]
    unknown = evidence.kind == "paired" or (not agent.rounds and (evidence.fitted or evidence.kind == "utility"))
    predictive_sd = policy.predictive_sd(agent.belief)[a]
    if unknown or np.isnan(values).any():
        assert model.means is not None
        weights, values, predictive_sd = weights if evidence.latent else model.prior, model.means[:, a], 0.0
    mean = weights @ values
    np.testing.assert_allclose(decisions.expected[n], mean, rtol=1e-9, atol=1e-9)
    variance = weights @ (values - mean) ** 2 + predictive_sd**2
    if not evidence.predictive:
        noise = _noise(agent)
        if noise is None:
            assert np.isnan(decisions.low[n])
            assert np.isnan(decisions.high[n])
            return
        variance += noise**2
    np.testing.assert_allclose(decisions.high[n] - decisions.low[n], 2 * 1.2815515655446 * variance**0.5, rtol=1e-9)
    np.testing.assert_allclose(decisions.high[n] + decisions.low[n], 2 * mean, rtol=1e-6, atol=1e-9)


def _noise(agent: Agent) -> float | None:
    """The slow twin of a person's noise estimate."""
    rewards = agent.policy.rewards
    if rewards.family != "gaussian" or rewards.noise is None:
        return None
    if rewards.noise_known:
        return rewards.noise
    by_action: dict[Any, list[float]] = {}
    for action, reward in agent.outcomes:
        by_action.setdefault(action, []).append(reward)
    squares = sum(len(values) * float(np.var(values)) for values in by_action.values())
    further = sum(len(values) - 1 for values in by_action.values())
    return float(((rewards.weight * rewards.noise**2 + squares) / (rewards.weight + further)) ** 0.5)


ALLOWED: dict[str, Any] = {
    "all": None,
    "common": [4, 1, 5, 1],
    "personal": {label: [[5, 0, 2], [3], [], list(range(K))][n % 4] for n, label in enumerate(LABELS)},
}


CONFIGURATIONS = [(allowed, exclude_seen) for allowed in ALLOWED.values() for exclude_seen in (False, True)]
GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]


@pytest.mark.parametrize(
    ("case", "explore"), [*((case, 0.0) for case in CASES), *((case, 0.1) for case in GAUSSIAN)], ids=str
)
def test_decisions_equal_those_of_agents(case: Case, explore: float) -> None:
    model = model_for(case.rewards, m=4, k=K)
    policy = case.policy(model).exploring(explore) if explore else case.policy(model)
    for allowed, exclude_seen in CONFIGURATIONS:
        assert_equals_agents(policy, sample_histories(case, model), allowed, exclude_seen)


@pytest.mark.jitless
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_decisions_equal_those_of_agents_with_a_uniform_first_action_and_personal_sets(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    assert_equals_agents(case.policy(model, first="uniform"), sample_histories(case, model), *CONFIGURATIONS[-1])


@pytest.mark.jitless
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_decisions_with_priors_equal_those_of_agents(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    policy, past = case.policy(model), sample_histories(case, model)
    rows = personal_priors(len(LABELS), 4)
    priors = {label: rows[n] for n, label in enumerate(LABELS) if n % 3}
    if not policy.evidence.latent:
        with pytest.raises(lpb.NotSupported, match="priors"):
            decide(policy, past, prior=priors)
        return
    assert_equals_agents(policy, past, None, False, priors)


def test_decisions_with_priors_do_not_depend_on_pieces_threads_or_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_for(lpb.Rewards(), m=4, k=K)
    policy, past = lpb.LpbTS(model, noise=1.0), sample_histories(GAUSSIAN[0], model)
    rows = personal_priors(len(LABELS), 4)
    priors = dict(zip(LABELS, rows, strict=True))
    expected = decide(policy, past, prior=priors, seed=SEED).table()
    assert not expected.equals(decide(policy, past, seed=SEED).table())
    monkeypatch.setattr("lpbandits.decisions.engine.PRIOR_CELLS", 20)
    monkeypatch.setattr("lpbandits.decisions.engine.THREAD_PEOPLE", 1)
    for settings_ in ({"threads": 3}, {"jobs": 2}):
        assert decide(policy, past, prior=priors, seed=SEED, **settings_).table().equals(expected)  # type: ignore[arg-type]


def test_an_impossible_exploration_floor_raises() -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = sample_histories(GAUSSIAN[0], model)
    with pytest.raises(lpb.InvalidInput, match=r"explore.*0\.2"):
        decide(lpb.LpbTS(model, explore=0.2), past)
    decide(lpb.LpbTS(model, explore=0.2), past, allowed=[0, 1, 2, 3, 4])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_decisions_do_not_depend_on_threads_pieces_or_other_people(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = sample_histories(GAUSSIAN[0], model)
    policy = lpb.LpbTS(model, noise=1.0)
    expected = decide(policy, past, seed=SEED).table()
    monkeypatch.setattr("lpbandits.decisions.engine.THREAD_PEOPLE", 1)
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 5)
    monkeypatch.setattr("lpbandits.decisions.engine.SLOW_PIECE", 10)
    calls: list[tuple[str, int, int]] = []
    again = decide(policy, past, seed=SEED, threads=threads, progress=lambda *call: calls.append(call))
    assert again.table().equals(expected)
    assert calls == [("deciding", done, 28) for done in (5, 10, 15, 20, 25, 28)]
    alone = lpb.Histories.from_arrays([], [], [], model, people=["bo"])
    assert decide(policy, alone, seed=SEED).action[0] == again.action[LABELS.index("bo")]
    calls.clear()
    decide(lpb.TS(model), past, progress=lambda *call: calls.append(call))  # a rule without compiled probabilities
    assert calls == [("deciding", done, 28) for done in (10, 20, 28)]


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_forecasts_of_one_action_equal_those_of_all(case: Case, data: st.DataObject) -> None:
    model = data.draw(models())
    policy = case.policy(model)
    agent = agent_after(policy, data.draw(outcomes_for(model, case.kind, 8)))
    b, n, evidence = policy.arrays(agent.belief), agent.belief.tried, policy.evidence
    assert evidence.expected_reward is not None
    exact = evidence.kind != "taste"  # its sums over dimensions have another order
    for z, row in enumerate(policy.expected(agent.belief)):
        got = np.array([evidence.expected_reward(b, n, z, a) for a in range(model.n_actions)])
        if evidence.kind == "paired" or (n == 0 and (evidence.fitted or evidence.kind == "utility")):
            assert np.isnan(got).all()
        else:
            np.testing.assert_allclose(got, row, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-9)
    if evidence.predictive_sd_one is not None:
        got = np.array([evidence.predictive_sd_one(b, n, a) for a in range(model.n_actions)])
        np.testing.assert_array_equal(got, policy.predictive_sd(agent.belief))
    else:
        assert evidence.predictive_sd is zero_sd


BATCHABLE = [case for case in CASES if case.policy().evidence.batchable]


@pytest.mark.jitless
@pytest.mark.parametrize("case", BATCHABLE, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_one_posterior_update_after_all_outcomes_leaves_the_same_bits(case: Case, data: st.DataObject) -> None:
    model = data.draw(models())
    policy = case.policy(model)
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 12).filter(bool))
    one, other = policy.new_belief(16), policy.new_belief(16)
    updated, recorded = 0, 0
    for action, reward in history:
        updated = policy.tell(policy.arrays(one), updated, action, reward)
        recorded, _ = record(policy.arrays(other), recorded, action, reward)
    assert policy.evidence.update_posterior is not None
    policy.evidence.update_posterior(policy.arrays(other), recorded)
    for name in ("slots", "states", "own", "order"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))


def test_stream_ids_of_arrays_equal_those_of_labels() -> None:
    people = [0, 7, 2**32 - 1, 2**32, -1, -(2**63), 2**63 - 1]
    np.testing.assert_array_equal(addresses_of(np.array(people)), [stream_id(person) for person in people])
    np.testing.assert_array_equal(addresses_of(["7", "ann"]), [stream_id("7"), stream_id("ann")])


def test_ratings_are_accepted_as_histories() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["tea", "jam", "milk"])
    log = lpb.Ratings.from_arrays(["bo", "ann", "ann"], ["tea", "milk", "tea"], [3, 1, 5])
    past = lpb.Histories.from_arrays(["ann", "ann", "bo"], ["milk", "tea", "tea"], [1, 5, 3], model)
    assert decide(lpb.LpbTS(model), log).table().equals(decide(lpb.LpbTS(model), past).table())
    odd = lpb.Ratings.from_arrays(["ann", "ann"], ["gin", "tea"], [5, 3])
    with pytest.raises(lpb.InvalidInput, match="gin"):
        decide(lpb.LpbTS(model), odd)


def test_plugins_can_decide() -> None:
    @dataclass(frozen=True)
    class Plain(lpb.policies.Evidence):
        """Refit without its optional functions."""

        kind: ClassVar[str] = "plain-refit"
        tell = lpb.evidences.Refit.tell
        expected_rewards = lpb.evidences.Refit.expected_rewards

    @dataclass(frozen=True)
    class Quiet(lpb.policies.Rule):
        """Sample without probabilities."""

        kind: ClassVar[str] = "quiet"
        choose = lpb.rules.Sample.choose

    model = model_for(lpb.Rewards(), k=K)
    past = sample_histories(GAUSSIAN[0], model)
    decisions = decide(lpb.Policy(model, Plain(), Quiet()), past, seed=SEED)
    expected = decide(lpb.LpbTS(model, noise=1.0), past, seed=SEED)
    np.testing.assert_array_equal(decisions.action, expected.action)
    np.testing.assert_array_equal(decisions.runner_up, expected.runner_up)
    assert np.isnan(decisions.probability).all()
    met = past.counts > 0
    np.testing.assert_array_equal(decisions.expected[met], expected.expected[met])


LABELLED: dict[str, Any] = {"actions": ["tea", "jam"], "reward": [1.0, 2.0]}
VALID_ROWS = {**LABELLED, "person": [1, 2], "action": ["tea", "jam"]}
VALID_ARRAYS = {**LABELLED, "offsets": [0, 1, 2], "action": [0, 1], "people": [1, 2]}


@pytest.mark.parametrize(
    ("build", "valid", "changes", "message"),
    [
        (lpb.Histories.from_arrays, VALID_ROWS, {"person": [1]}, "person.*1"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"action": ["tea", "gin"]}, "action 'gin'.*1 such row"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"reward": [1.0, float("inf")]}, "finite"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"people": [1]}, "person 2"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"people": [1, 2, 2]}, "differ"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"person": [1, 2.5]}, r"person\[1\].*2\.5"),
        (lpb.Histories.from_arrays, VALID_ROWS, {"actions": ["tea", "tea"]}, "differ"),
        (lpb.Histories, VALID_ARRAYS, {"offsets": [0, 1]}, "offsets"),
        (lpb.Histories, VALID_ARRAYS, {"offsets": [0, 2, 1]}, "offsets"),
        (lpb.Histories, VALID_ARRAYS, {"action": [0, 9]}, "action"),
        (lpb.Histories, VALID_ARRAYS, {"reward": [1.0]}, "1 rewards"),
    ],
)
def test_invalid_histories_raise(build: Any, valid: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    build(**valid)
    with pytest.raises(lpb.InvalidInput, match=message):
        build(**{**valid, **changes})


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        (lpb.LpbDuel, {}, "duels"),
        (lambda model: lpb.LpbTS(model, rewards="bernoulli"), {}, "reward must.*such rewards"),
        (lambda model: lpb.LpbTS(model.replace(actions=list("abcdef"))), {}, "actions.*order"),
        (lpb.LpbTS, {"allowed": {"bo": [9]}}, "action 9"),
        (lpb.LpbTS, {"allowed": []}, "allowed"),
        (lambda _: "lpbts", {}, "policy.*'lpbts'"),
    ],
)
def test_invalid_arguments_raise(policy: Any, settings: dict[str, Any], message: str) -> None:
    model = model_for(lpb.Rewards(), k=K)
    with pytest.raises(lpb.LpbError, match=message):
        decide(policy(model), sample_histories(GAUSSIAN[0], model), **settings)


def test_a_rule_that_locks_in_warns_once() -> None:
    model = model_for(lpb.Rewards(), k=K)
    past = sample_histories(GAUSSIAN[0], model)
    with pytest.warns(lpb.errors.LockInWarning, match="greedy") as caught:
        decide(lpb.Taste(model), past)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decide(lpb.Taste(model), past, exclude_seen=True)
        decide(lpb.LpbTS(model), past)


RANGED = [case for case in GAUSSIAN if case.name in ("lpbts", "mts", "ts", "taste")]


@pytest.mark.jitless
@pytest.mark.filterwarnings("ignore::lpbandits.errors.ScaleWarning")
@pytest.mark.parametrize("case", RANGED, ids=str)
def test_forecasts_stay_within_the_range_of_rewards(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=K)
    past = sample_histories(case, model)
    free = decide(case.policy(model), past, exclude_seen=True, seed=SEED, threads=1)
    ranged = decide(case.policy(model.replace(reward_range=(1.5, 2.5))), past, exclude_seen=True, seed=SEED, threads=1)
    assert ranged.action.tolist() == free.action.tolist()
    outside = 0
    for n in range(len(past)):
        rows = slice(past.offsets[n], past.offsets[n + 1])
        means = [past.reward[rows][past.action[rows] == a].mean() for a in np.unique(past.action[rows])]
        low, high = min([1.5, *means]), max([2.5, *means])  # a person's own rewards are possible
        outside += low < 1.5
        for name in ("expected", "low", "high"):
            wanted = np.clip(getattr(free, name)[n], low, high)
            np.testing.assert_allclose(getattr(ranged, name)[n], wanted, rtol=1e-12)
    assert outside
    wide = decide(case.policy(model.replace(reward_range=(-1e9, 1e9))), past, exclude_seen=True, seed=SEED, threads=1)
    assert wide.table().equals(free.table())


@pytest.mark.filterwarnings("ignore::lpbandits.errors.ScaleWarning")
def test_explained_forecasts_equal_those_of_decisions() -> None:
    case = next(case for case in RANGED if case.policy().evidence.predictive)
    model = model_for(case.rewards, k=K).replace(reward_range=(1.5, 2.5))
    past = sample_histories(case, model)
    decisions = decide(case.policy(model), past, exclude_seen=True, seed=SEED, threads=1)
    for n, agent in enumerate(agents_of(case.policy(model), past)):
        forecast = agent.explain().forecasts[model.actions[decisions.action[n]]]
        got = [decisions.expected[n], decisions.low[n], decisions.high[n]]
        np.testing.assert_allclose(got, [forecast.mean, forecast.low, forecast.high], rtol=1e-9)
        assert forecast.low <= forecast.mean <= forecast.high
