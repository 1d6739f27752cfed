"""Which policies there are, by name: for a run, for the command line, and for saved agents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TypeVar

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.parts import Feedback
from lpbandits.policies.policy import Policy
from lpbandits.policies.rules import RULES
from lpbandits.rewards import Rewards
from lpbandits.typing import Json

GROUP = "lpbandits"
"""The group of entry points by which other packages bring parts, policies and worlds: modules that call `register`."""


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
    """A policy by name: how it is built for a run, what it is called, what it knows, and what it assumes.

    >>> from lpbandits import LpbTS
    >>> Entry("mine", lambda s: LpbTS(s.model), "Mine", "the possible orderings", "as lpbts").feedback
    'rewards'
    """

    name: str
    build: Callable[[Setting], Policy]
    title: str
    knows: str
    assumes: str
    feedback: Feedback = "rewards"

    @property
    def place(self) -> tuple[bool, int, str]:
        """Where it stands among others: rewards before duels, by what is known, and a short name before longer ones."""
        known = _KNOWN.index(self.knows) if self.knows in _KNOWN else len(_KNOWN)
        return self.feedback != "rewards", known, self.name.replace("-", "~")


ORDERINGS = "the possible orderings"
MEANS = "the possible mean rewards"
TOP = "which actions are best in some state"
NOTHING = "nothing"
_KNOWN = (ORDERINGS, MEANS, TOP, NOTHING)

POLICIES: dict[str, Entry] = {}
"""Every registered policy by name."""

_loaded: set[str] = set()


def load_outside() -> None:
    """Import what other installed packages bring, once."""
    for point in entry_points(group=GROUP):
        if point.value not in _loaded:
            _loaded.add(point.value)
            point.load()


def make_policy(name: str, setting: Setting) -> Policy:
    """Return the registered policy `name` for a run.

    >>> make_policy("ts-top", Setting(PreferenceModel([[0, 1], [1, 0]]), Rewards()))
    TS(tally(noise=1.0) × thompson(prior_mean=0.0, prior_sd=100.0, top=True) over 2 states, 2 actions)
    """
    return entry_of(name).build(setting)


def entry_of(name: str) -> Entry:
    """Return what is registered under a name."""
    if name not in POLICIES:
        load_outside()
    return POLICIES[validate.as_choice(name, "policy", POLICIES)]


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
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FileFormatError(f"the saved policy is not whole: {error}") from None


P = TypeVar("P")


def _part(kinds: Mapping[str, Callable[..., P]], content: Json) -> P:
    settings = dict(content)
    kind = settings.pop("kind")
    if kind not in kinds:
        load_outside()
    if kind not in kinds:
        raise InvalidInput(
            f"it is made of {kind!r}, which is not known here; import what defines it and calls register"
        )
    if "rewards" in settings:
        settings["rewards"] = Rewards(**settings["rewards"])
    return kinds[kind](**settings)
