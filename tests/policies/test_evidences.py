"""Evidences: posteriors and expected rewards against the slow twins, and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import lpbandits as lpb
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray
from tests import naive
from tests.conftest import CASES, Case, Outcome, agent_after, models, outcomes_for

LATENT = [case for case in CASES if case.policy().evidence.latent]


def drawn(data: st.DataObject, case: Case, max_size: int = 20) -> tuple[PreferenceModel, list[Outcome]]:
    model: PreferenceModel = data.draw(models())
    return model, data.draw(outcomes_for(model, case.kind, max_size))


@pytest.mark.jitless
@pytest.mark.parametrize("case", LATENT, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_posterior_equals_its_twin(case: Case, data: st.DataObject) -> None:
    model, history = drawn(data, case)
    policy = case.policy(model, rounds=20)
    posterior = agent_after(policy, history).posterior
    np.testing.assert_allclose(posterior, naive.posterior_of(policy, case.kind, history), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(posterior[model.prior == 0], 0.0)


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_retracting_restores_the_exact_state(case: Case, data: st.DataObject) -> None:
    model, history = drawn(data, case)
    wrong: list[Outcome] = data.draw(outcomes_for(model, case.kind, 6))
    policy = case.policy(model)
    agent = agent_after(policy, list(data.draw(st.permutations([*history, *wrong]))))
    for action, reward in wrong:
        agent.retract(action, reward)
    clean = agent_after(policy, agent.outcomes)
    assert sorted(agent.outcomes) == sorted(history)
    assert agent.to_json() == clean.to_json()
    assert agent.belief.pack() == clean.belief.pack()


def test_incremental_evidence_depends_on_the_order_and_refit_does_not() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 0, 1]])
    history = [(0, 1.0), (1, 3.0), (2, 0.0), (0, -2.0)]
    for likelihood, depends in (("incremental", True), ("refit", False)):
        policy = lpb.LpbTS(model, likelihood=likelihood)
        one, other = (agent_after(policy, rewards).posterior for rewards in (history, history[::-1]))
        assert (np.abs(one - other).max() > 1e-3) == depends


@given(data=st.data(), factor=st.sampled_from([0.01, 8.0, 1000.0]))
def test_the_refit_posterior_ignores_the_unit_of_rewards_and_noise(data: st.DataObject, factor: float) -> None:
    model = data.draw(models())
    history: list[Outcome] = data.draw(outcomes_for(model, "gaussian"))
    scaled = [(a, r * factor) for a, r in history]
    for known in (True, False):
        one = agent_after(lpb.LpbTS(model, noise=0.5, noise_known=known), history)
        other = agent_after(lpb.LpbTS(model, noise=0.5 * factor, noise_known=known), scaled)
        np.testing.assert_allclose(one.posterior, other.posterior, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["lpbts", "mts"])
def test_unknown_noise_is_integrated_out(name: str) -> None:
    case = next(case for case in LATENT if (case.name, case.kind) == (name, "unknown-noise"))
    orderings = [[0, 1], [1, 0]]
    model = PreferenceModel(orderings, prior=[0.4, 0.6], means=[[2.0, 1.0], [0.5, 1.5]])
    history = [(0, 1.0), (1, 1.7), (0, 2.2), (1, 0.3), (1, 2.9)]
    guess, weight = case.rewards.sd, case.rewards.weight

    def evidence(mean_of: dict[int, float]) -> float:
        squares = sum((r - mean_of[a]) ** 2 for a, r in history)

        def integrand(log_variance: float) -> float:
            v = np.exp(log_variance)
            log_prior = -(weight / 2) * log_variance - weight * guess**2 / (2 * v)
            log_likelihood = -len(history) / 2 * log_variance - squares / (2 * v)
            return float(np.exp(log_prior + log_likelihood))

        return float(quad(integrand, -12, 12, epsabs=0, epsrel=1e-10, limit=200)[0])

    assert model.means is not None
    known = [dict(enumerate(row.tolist())) for row in model.means]
    fitted = [naive.fitted_means(order, history) for order in naive.orders_of(model)]
    weights = model.prior * [evidence(mean_of) for mean_of in (known if name == "mts" else fitted)]
    posterior: FloatArray = agent_after(case.policy(model), history).posterior
    np.testing.assert_allclose(posterior, weights / weights.sum(), rtol=1e-7)


@pytest.mark.parametrize("kind", ["gaussian", "unknown-noise"])
@pytest.mark.parametrize("reward", [1e100, -1e100, 1e-300])
def test_extreme_rewards_give_a_valid_posterior(kind: str, reward: float) -> None:
    model = PreferenceModel([[0, 1, 2], [2, 0, 1]], means=[[3.0, 2.0, 1.0], [2.0, 1.0, 3.0]])
    for case in (case for case in LATENT if case.kind == kind):
        agent = agent_after(case.policy(model), [(0, reward), (1, 0.0), (2, -reward), (0, reward)])
        np.testing.assert_allclose(agent.posterior.sum(), 1.0, rtol=1e-12)


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_expected_rewards_equal_their_twin(case: Case, data: st.DataObject) -> None:
    model, history = drawn(data, case, 8)
    policy = case.policy(model)
    agent = agent_after(policy, history)
    before = agent.to_json()
    got = lpb.expected(policy, agent.belief)
    assert got.shape == (model.n_states if policy.evidence.latent else 1, model.n_actions)
    for z, row in enumerate(got):
        np.testing.assert_allclose(row, naive.expected_of(policy, history, z), rtol=1e-9, atol=1e-9)
    assert agent.to_json() == before, "expected() must not change the belief"


@pytest.mark.jitless
@given(models(), st.data())
def test_expected_win_probabilities_of_duels(model: PreferenceModel, data: st.DataObject) -> None:
    actions = st.integers(0, model.n_actions - 1)
    duels = data.draw(st.lists(st.tuples(actions, actions), max_size=12))
    agents = [lpb.Agent(policy, seed=0) for policy in (lpb.LpbDuel(model), lpb.DoubleTS(model))]
    for agent in agents:
        for winner, loser in duels:
            agent.tell_duel(winner, loser)
    k = model.n_actions
    ordered, counted = (lpb.expected(agent.policy, agent.belief) for agent in agents)
    np.testing.assert_allclose(ordered, (k - 1 - model.ranks) / max(k - 1, 1))
    for one in range(k):
        shares = []
        for other in set(range(k)) - {one}:
            won, lost = duels.count((one, other)), duels.count((other, one))
            shares.append((won + 1) / (won + lost + 2))
        np.testing.assert_allclose(counted[0, one], np.mean(shares) if shares else 0.0)
