"""The prior of one agent: given, from covariates, or carried over to another model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy
from lpbandits.policies.base import require_latent
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.agent.agent import Agent


def from_covariates(policy: Policy, covariates: Mapping[str, Any], prior: Any) -> tuple[Any, Json | None]:
    """Return the prior that covariates give, and the covariates as plain values."""
    if prior is not None:
        raise InvalidInput("prior must be left out with covariates, which determine it")
    require_latent(policy, "covariates")
    prior, model = policy.model.prior_for(covariates), policy.model.covariates
    return prior, None if model is None else model.checked(covariates)


def carried_over(agent: "Agent", model: PreferenceModel, prior: Any) -> Json:
    """Return the arguments `prior` and `covariates` of an agent's successor over another model.

    Covariates that the new model lacks are dropped. A prior without covariates belongs to the states of its model.
    """
    old = agent.policy.model
    if prior is not None:
        return {"prior": prior}
    if agent.covariates is not None and model.covariates is not None:
        known = {name: value for name, value in agent.covariates.items() if name in model.covariates.columns}
        return {"covariates": known}
    if agent.belief.prior is None:
        return {}
    if not (np.array_equal(old.orderings, model.orderings) and old.tiers == model.tiers):
        raise InvalidInput(
            f"prior must be given for the {model.n_states} states of the new model, because this agent has one for "
            f"other states; use with_model(model, prior=[…]), or prior=model.prior to drop it"
        )
    return {"prior": agent.belief.prior}
