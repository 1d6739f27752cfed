"""Choose a policy for a model: by name, or the one that suits it."""

import math
from typing import Any, NamedTuple

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.assumed import assumed_rewards, check_noise
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import POLICIES, Setting, entry_of, load_outside, make_policy
from lpbandits.rewards import Rewards

AUTO = "auto"
REFERENCES = ("item-knn", "ease", "ceiling", "best-possible")


class Chosen(NamedTuple):
    """A policy, its registered name, the reason for it, and the noise of the next reward (see `Engine`)."""

    policy: Policy
    name: str
    why: str
    noise: float | None


def policy(
    model: PreferenceModel,
    name: str = AUTO,
    *,
    rewards: str | Rewards | None = None,
    noise: float | None = None,
    noise_known: bool | None = None,
    rounds: int | None = None,
    first: str = "prior",
    explore: float = 0.0,
) -> Policy:
    """Return a registered policy over a model, as `lpb decide --policy` does; policies for duels, too.

    Parameters
    ----------
    model
        The model, such as `PreferenceModel.load("model.json")`.
    name
        A name from `lpb policies`. "auto" is the best policy of the model's evaluation; without an evaluation "taste"
        if the model has a taste model, else "lpbts".
    rewards
        "gaussian", "bernoulli" or "poisson"; or `Rewards(…)`, in place of `noise` and `noise_known`. By default the
        model's, else Gaussian. Policies for duels take neither rewards nor a noise.
    noise
        Standard deviation of Gaussian rewards. By default the model's noise is a first guess, which each person's
        rewards correct; without one, the noise is estimated from the person's rewards.
    noise_known
        False: a given `noise` is only a guess. True: the noise, by default the model's, is exact.
    rounds
        Planned number of rounds of a person, for policies that plan: `lpb-horizon` needs it, and `mucb` takes 200 by
        default.
    first
        First action of policies that sample a state: "prior" or "uniform".
    explore
        Minimum probability of every allowed action.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1], [1, 0]], noise=15.0)
    >>> policy(model)
    LpbTS(refit(noise≈15.0) × sample(first='prior') over 2 states, 2 actions)
    >>> policy(model, "lpb-horizon", rounds=10).rule
    KnowledgeGradient(rounds=10)
    """
    chosen = choose_policy(
        model,
        name,
        rewards=rewards,
        noise=noise,
        noise_known=noise_known,
        rounds=rounds,
        first=first,
        explore=explore,
        duels=True,
    )
    return chosen.policy


def choose_policy(
    model: PreferenceModel,
    name: str = AUTO,
    *,
    rewards: str | Rewards | None = None,
    noise: float | None = None,
    noise_known: bool | None = None,
    rounds: int | None = None,
    first: str = "prior",
    explore: float = 0.0,
    states: bool = False,
    duels: bool = False,
) -> Chosen:
    """Choose and build a policy that learns from rewards, or with `duels` also one for duels.

    The other arguments are those of `policy`. With `states`, "auto" chooses a policy that has a posterior over states,
    as priors of people need.

    >>> model = PreferenceModel([[0, 1], [1, 0]], evaluation={"best": "ts"})
    >>> choose_policy(model)[1:3]
    ('ts', "it is the best policy of the model's evaluation")
    """
    why = "requested"
    as_model(model)
    if name == AUTO:
        name, why = _best_for(model)
        if states and not make_policy(name, Setting(model, Rewards())).evidence.latent:
            name, why = "lpbts", f"priors of people need states, which {name} does not have"
    if name == "random":  # its name in evaluations
        name = "uniform"
    if name in REFERENCES:
        raise InvalidInput(
            f"policy is {name!r}, which exists only in evaluations (lpb evaluate); choose another: lpb policies"
        )
    if entry_of(name).feedback == "duels":
        if duels:
            return _for_duels(model, name, explore, rewards=rewards, noise=noise, noise_known=noise_known)
        raise InvalidInput(f"policy {name!r} learns from duels; choose one that learns from rewards, such as lpbts")
    if name == "lpb-horizon" and rounds is None:
        raise InvalidInput(
            "rounds must be the planned number of rounds per person for lpb-horizon, got None; give it (rounds=10, "
            "--rounds 10), or choose lpb-ids, which does not plan"
        )
    assumed = assumed_rewards(model, rewards, noise, noise_known)
    exact = assumed.noise_known if isinstance(rewards, Rewards) else noise_known
    chosen = make_policy(name, Setting(model, assumed, Setting.rounds if rounds is None else rounds, first, exact))
    check_noise(type(chosen.evidence), assumed.family, noise)
    told = noise is not None or isinstance(rewards, Rewards) or (model.noise and assumed.family == "gaussian")
    unknown = not told and chosen.rewards.noise_known and not chosen.evidence.predictive
    return Chosen(chosen.exploring(explore) if explore else chosen, name, why, math.nan if unknown else None)


def _for_duels(model: PreferenceModel, name: str, explore: float, **rewards: Any) -> Chosen:
    """Build a policy that learns from duels, for which there are no rewards to describe."""
    for option, value in rewards.items():
        if value is not None:
            raise validate.invalid(option, f"left out for {name}, which learns from duels", value)
    chosen = make_policy(name, Setting(model, Rewards()))
    return Chosen(chosen.exploring(explore) if explore else chosen, name, "requested", None)


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
