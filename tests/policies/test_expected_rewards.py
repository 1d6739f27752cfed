"""`expected_rewards` of every evidence against a slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.model import PreferenceModel
from tests import naive
from tests.conftest import CASES, Case, Outcome, agent_after, models, outcomes_for


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_expected_rewards_equal_their_twin(case: Case, data: st.DataObject) -> None:
    model: PreferenceModel = data.draw(models())
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 8))
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
