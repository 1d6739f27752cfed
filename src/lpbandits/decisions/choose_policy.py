"""Which policy decides: one by name, or what the model itself speaks for."""

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
    """A policy with its name, why it is this one, and the noise of a next reward (see `Batch`)."""

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
    explore: float = 0.0,
) -> Chosen:
    """Return a registered policy over a model; "auto" is what an evaluation found best, or else fits the model.

    Rewards are of the given family. A Gaussian noise, by default the model's, is a guess that each person's rewards
    correct, for policies that learn it.

    >>> model = PreferenceModel([[0, 1], [1, 0]], evaluation={"best": "ts"})
    >>> choose_policy(model)[1:3]
    ('ts', 'the evaluation in the model found it best')
    """
    why = "asked for"
    if name == AUTO:
        name, why = _best(model)
    if validate.is_exactly(name, "random"):  # what evaluations call it
        name = "uniform"
    if any(validate.is_exactly(name, other) for other in REFERENCES):
        raise InvalidInput(
            f"{name!r} is a reference of evaluations, which decides nothing; choose a policy: lpb policies"
        )
    entry = entry_of(name)
    if entry.feedback != "rewards":
        raise InvalidInput(f"policy {name!r} learns from duels; choose one that learns from rewards, such as lpbts")
    told = model.noise if noise is None and rewards == "gaussian" and model.noise else noise
    wanted = Rewards(rewards, told)  # type: ignore[arg-type] # Rewards checks the family
    if wanted.family == "gaussian":
        wanted = wanted.as_guess if told is not None else Rewards(noise_known=False)
    try:
        policy = make_policy(name, Setting(model, wanted))
    except InvalidInput:  # perhaps it cannot learn the noise; what else is wrong is wrong again
        policy = make_policy(name, Setting(model, wanted.as_known))
    guessed = told is None and policy.rewards.noise_known and not policy.evidence.predictive
    return Chosen(policy.exploring(explore) if explore else policy, name, why, math.nan if guessed else None)


def _best(model: PreferenceModel) -> tuple[str, str]:
    """Return the policy that a model speaks for, and why."""
    load_outside()
    best: Any = (model.evaluation or {}).get("best")
    if isinstance(best, str) and best in POLICIES and POLICIES[best].feedback == "rewards":
        once = validate.is_exactly((model.evaluation or {}).get("repeats"), False)
        return best, "the evaluation in the model found it best" + (", each action given once" * once)
    name, has = ("taste", "a taste") if model.taste is not None else ("lpbts", "orderings and no taste")
    lacks = "no evaluation, which lpb evaluate would add"
    if model.evaluation is not None:
        lacks = f"an evaluation whose best is {validate.short_repr(best)}, no policy for rewards that is known here"
    return name, f"the model has {has}, and {lacks}"
