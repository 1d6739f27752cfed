"""The policies. A new one is one file and one line in POLICIES; the contract tests then cover it.

A latent policy is an *evidence* (how probable is each state) and a *rule* (which action to play); see `base`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Belief, Evidence, Policy, Rule
from lpbandits.policies.evidence import EVIDENCES
from lpbandits.policies.lpbts import LpbTS
from lpbandits.policies.mts import MTS
from lpbandits.policies.mucb import MUCB
from lpbandits.policies.rules import RULES
from lpbandits.policies.ts import TS
from lpbandits.policies.ucb import UCB
from lpbandits.policies.uniform import Uniform
from lpbandits.rewards import Rewards
from lpbandits.typing import Json

__all__ = [
    "MTS",
    "MUCB",
    "POLICIES",
    "TS",
    "UCB",
    "Belief",
    "Entry",
    "Evidence",
    "LpbTS",
    "Policy",
    "Rule",
    "Setting",
    "Uniform",
    "make_policy",
    "policy_from_dict",
    "title_of",
]


@dataclass(frozen=True)
class Setting:
    """What a policy may be told before a run: the model, the rewards' family and noise, and the horizon.

    >>> Setting(PreferenceModel([[0, 1]]), Rewards(noise=2.0)).rewards.noise
    2.0
    """

    model: PreferenceModel
    rewards: Rewards
    rounds: int = 200
    first: str = "prior"


@dataclass(frozen=True)
class Entry:
    """A registered policy: how it is built for a run, what it knows, and what it assumes."""

    build: Callable[[Setting], Policy]
    title: str
    knows: str
    assumes: str


def _own(s: Setting) -> dict[str, object]:
    """Return the reward arguments of a policy that uses each family's own likelihood."""
    noise = s.rewards.noise if s.rewards.family == "gaussian" else None
    return {
        "rewards": s.rewards.family,
        "noise": noise,
        "noise_known": s.rewards.noise_known,
        "first": s.first,
    }


def _any(s: Setting) -> dict[str, object]:
    """Return the reward arguments of a policy that treats every reward as Gaussian."""
    return {"rewards": s.rewards.family, "noise": s.rewards.noise}


_ORDERINGS = "the possible orderings"
_MEANS = "the possible mean rewards"
_TOP = "which actions are best in some state"

POLICIES: dict[str, Entry] = {
    "lpbts": Entry(
        lambda s: LpbTS(s.model, **_own(s)),  # type: ignore[arg-type] # keyword arguments of one shape for all policies
        "lpbTS",
        _ORDERINGS,
        "a person's mean rewards follow one of the orderings, on any scale",
    ),
    "lpbts-incremental": Entry(
        lambda s: LpbTS(s.model, likelihood="incremental", **_own(s)),  # type: ignore[arg-type] # as above
        "lpbTS, incremental",
        _ORDERINGS,
        "as lpbts; each round adds only the newest reward's likelihood",
    ),
    "mts": Entry(
        lambda s: MTS(s.model, **_own(s)),  # type: ignore[arg-type] # as above
        "mTS",
        _MEANS,
        "people of one state share the same means exactly",
    ),
    "mucb": Entry(
        lambda s: MUCB(s.model, horizon=s.rounds, **_any(s)),  # type: ignore[arg-type] # as above
        "mUCB",
        _MEANS,
        "as mts; plays the optimist's action, nothing is random",
    ),
    "ts": Entry(
        lambda s: TS(s.model, **_any(s)),  # type: ignore[arg-type] # as above
        "TS",
        "nothing",
        "every action has its own mean, with a weak normal prior",
    ),
    "ts-top": Entry(
        lambda s: TS(s.model, top=True, **_any(s)),  # type: ignore[arg-type] # as above
        "TS, top actions",
        _TOP,
        "as ts, among those actions",
    ),
    "ucb": Entry(
        lambda s: UCB(s.model, **_any(s)),  # type: ignore[arg-type] # as above
        "UCB",
        "nothing",
        "every action has its own mean",
    ),
    "ucb-top": Entry(
        lambda s: UCB(s.model, top=True, **_any(s)),  # type: ignore[arg-type] # as above
        "UCB, top actions",
        _TOP,
        "as ucb, among those actions",
    ),
    "uniform": Entry(
        lambda s: Uniform(s.model, rewards=s.rewards.family),
        "uniform",
        "nothing",
        "nothing; plays at random",
    ),
}
"""Every registered policy by name."""


def make_policy(name: str, setting: Setting) -> Policy:
    """Return the registered policy `name` for a run.

    >>> make_policy("ts-top", Setting(PreferenceModel([[0, 1], [1, 0]]), Rewards()))
    TS(tally(noise=1.0) × thompson(prior_mean=0.0, prior_sd=100.0, top=True) over 2 states, 2 actions)
    """
    return POLICIES[validate.as_choice(name, "policy", POLICIES)].build(setting)


def title_of(name: str) -> str:
    """Return a policy's name for people; a name that is not registered stands for itself.

    >>> title_of("ts-top")
    'TS, top actions'
    """
    return POLICIES[name].title if name in POLICIES else name


def policy_from_dict(content: Json, model: PreferenceModel) -> Policy:
    """Return the policy that `Policy.to_dict` wrote, over `model`."""
    try:
        return Policy(model, _part(EVIDENCES, content["evidence"]), _part(RULES, content["rule"]))
    except InvalidInput as error:
        raise FileFormatError(f"the saved policy is not usable: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(f"the saved policy is not whole: {error}") from None


P = TypeVar("P")


def _part(kinds: Mapping[str, Callable[..., P]], content: Json) -> P:
    settings = dict(content)
    kind = settings.pop("kind")
    if "rewards" in settings:
        settings["rewards"] = Rewards(**settings["rewards"])
    return kinds[kind](**settings)
