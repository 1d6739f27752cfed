"""Stopping in simulations: a person stops learning when the best action is sure enough.

The round of the stop follows from the actions and rewards of the rounds before. It is found after the policy has played
all rounds, so that runs without stopping are not slower.
"""

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.io.json import finite_or_none
from lpbandits.kernels.outcomes import People
from lpbandits.policies import Policy
from lpbandits.policies.best import judge_of, starts_of, threshold_of
from lpbandits.simulation.kernels import Stops, Trace, stop_when_sure
from lpbandits.typing import FloatArray, Json
from lpbandits.worlds import COMPARISONS, Population


def check_stop(people: Population, feedback: str) -> None:
    """Raise `InvalidInput` unless rewards are observed and the same actions can be played in every round."""
    if feedback == "duels":
        raise InvalidInput("stop must be left out for duels: P(best) is computed from rewards")
    if people.without_replacement or people.offered.shape[1] > 1:
        raise InvalidInput(
            "stop must be left out where the allowed actions change from round to round: a person who stops receives "
            "the same action in all later rounds"
        )


def stop_people(policy: Policy, people: Population, trace: Trace, *, level: float, seed: int, person: int) -> Stops:
    """Stop each person when `Best.confidence` reaches `level`, and change the later rounds of the trace accordingly.

    All values are NaN for policies without P(best). `person` is the random stream of the first person.
    """
    stops = Stops(np.full(len(people), np.nan), np.full(len(people), np.nan))
    if has_best(policy):
        judge = judge_of(policy)
        k, rounds = policy.model.n_actions, trace.plays.shape[1]
        stop_when_sure(
            judge.arrays(judge.new_belief(min(rounds, k))),
            starts_of(policy, people.priors),
            People(people.means, people.truth, *people.reward_sampler, COMPARISONS[people.comparison]),
            people.offered,
            threshold_of(level),
            seed,
            person,
            trace,
            stops,
            np.empty(k),
        )
    return stops


def has_best(policy: Policy) -> bool:
    """Return whether P(best) is defined: the policy has latent states without tiers and learns from rewards.

    >>> from lpbandits import TS, LpbTS, PreferenceModel
    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> has_best(LpbTS(model)), has_best(TS(model))
    (True, False)
    """
    return policy.evidence.latent and policy.feedback == "rewards" and policy.model.tiers is None


def stop_summary(rounds: FloatArray, right: FloatArray) -> Json:
    """Return the share of people who stopped, and their mean number of rounds and share with the best action.

    >>> stop_summary(np.array([4.0, 8.0, 0.0, 0.0]), np.array([1.0, 0.0, np.nan, np.nan]))
    {'share': 0.5, 'rounds': 6.0, 'right': 0.5}
    """
    stopped = rounds > 0
    return {
        "share": finite_or_none(float(np.where(np.isnan(rounds), np.nan, stopped).mean())),
        "rounds": float(rounds[stopped].mean()) if stopped.any() else None,
        "right": float(right[stopped].mean()) if stopped.any() else None,
    }
