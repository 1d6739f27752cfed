"""Comparison of a rollout with agents."""

import numpy as np

from lpbandits.agent import Agent
from lpbandits.policies import Policy
from lpbandits.simulation import Trace, rollout
from lpbandits.worlds import Population

SEED, FIRST_PERSON = 2**40 + 5, 17


def allowed_at(population: Population, p: int, t: int) -> list[int]:
    """Return the actions that a person is offered in a round."""
    sets = population.offered
    offered = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1)]
    return [int(a) for a in offered if a >= 0] or list(range(population.model.n_actions))


def assert_equals_agents(policy: Policy, population: Population, rounds: int) -> Trace:
    """Compare a rollout with one agent per person, bit for bit."""
    trace = rollout(policy, population, rounds=rounds, seed=SEED, first_person=FIRST_PERSON)
    for p, state in enumerate(population.truth):
        prior = None if population.priors is None or not policy.evidence.latent else population.priors[p]
        agent = Agent(policy, seed=SEED, person=FIRST_PERSON + p, prior=prior)
        for t in range(rounds):
            played = trace.actions[p, :t] if population.without_replacement else ()
            allowed = [a for a in allowed_at(population, p, t) if a not in played]
            action = agent.ask(None if len(allowed) == population.model.n_actions else allowed)
            assert action == trace.actions[p, t]
            agent.tell(action, float(trace.rewards[p, t]))
            assert trace.regret[p, t] == population.means[p, allowed].max() - population.means[p, trace.actions[p, t]]
            if policy.evidence.probabilistic and state >= 0:
                assert agent.posterior[state] == trace.mass[p, t]
            else:
                assert np.isnan(trace.mass[p, t])
    return trace
