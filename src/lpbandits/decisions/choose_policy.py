"""Select the policy that decides: by name, or the one that suits the model."""

import math
from typing import Any, NamedTuple

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import POLICIES, Policy, Setting, entry_of, make_policy
from lpbandits.policies.registry import load_outside
from lpbandits.rewards import Rewards

AUTO = "auto"
REFERENCES = ("item-knn", "ease", "ceiling", "best-possible")


class Chosen(NamedTuple):
    """A policy, its registered name, the reason for it, and the noise of the next reward (see `Engine`)."""

    policy: Policy
    name: str
    why: str
    noise: float | None


def choose_policy(
    model: PreferenceModel,
    name: str = AUTO,
    *,
    rewards: str = "gaussian",
    noise: float | None = None,
    rounds: int = Setting.rounds,
    explore: float = 0.0,
) -> Chosen:
    """Build a registered policy that learns from rewards.

    "auto" is the best policy of the model's evaluation; without an evaluation "taste" if the model has a taste, else
    "lpbts". `rewards` is the family: "gaussian", "bernoulli" or "poisson". `noise` is the standard deviation of
    Gaussian rewards, by default the model's; policies that can estimate each person's noise take it as a prior guess.
    `rounds` is the planned number of rounds per person, for policies that plan (200 by default).
    `explore` is the minimum probability of every allowed action.

    >>> model = PreferenceModel([[0, 1], [1, 0]], evaluation={"best": "ts"})
    >>> choose_policy(model)[1:3]
    ('ts', "it is the best policy of the model's evaluation")
    """
    why = "requested"
    if name == AUTO:
        name, why = _best_for(model)
    if name == "random":  # its name in evaluations
        name = "uniform"
    if name in REFERENCES:
        raise InvalidInput(
            f"policy is {name!r}, which exists only in evaluations (lpb evaluate); choose another: lpb policies"
        )
    if entry_of(name).feedback != "rewards":
        raise InvalidInput(f"policy {name!r} learns from duels; choose one that learns from rewards, such as lpbts")
    if noise is None and rewards == "gaussian" and model.noise:
        noise = model.noise
    family = Rewards(rewards, noise)  # type: ignore[arg-type] # Rewards checks the family
    if family.family == "gaussian":
        family = Rewards(noise_known=False) if noise is None else family.as_guess
    policy = make_policy(name, Setting(model, family, rounds))
    assumed = noise is None and policy.rewards.noise_known and not policy.evidence.predictive
    return Chosen(policy.exploring(explore) if explore else policy, name, why, math.nan if assumed else None)


def _best_for(model: PreferenceModel) -> tuple[str, str]:
    """Return the name of the policy that suits a model, and the reason."""
    load_outside()
    evaluation = model.evaluation or {}
    best: Any = evaluation.get("best")
    if isinstance(best, str) and best in POLICIES and POLICIES[best].feedback == "rewards":
        once = ", with each action given once" if evaluation.get("repeats") is False else ""
        return best, f"it is the best policy of the model's evaluation{once}"
    name, content = ("taste", "a taste") if model.taste is not None else ("lpbts", "orderings but no taste")
    missing = "no evaluation (lpb evaluate adds one)"
    if model.evaluation is not None:
        missing = f"its evaluation names {validate.short_repr(best)}, which is not a policy for rewards"
    return name, f"the model has {content}, and {missing}"
