"""Registry of policies by name, for runs, the command line and saved agents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, TypeVar, get_args

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.base import Feedback, set_frozen
from lpbandits.policies.belief import reading_saved
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.policy import Policy
from lpbandits.policies.rules import RULES
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import Json

GROUP = "lpbandits"
"""Entry-point group of plug-in packages: modules that call `register`."""


@dataclass(frozen=True)
class Setting:
    """What a policy is built from: model, rewards, number of rounds, first action, and whether the noise is exact.

    The `settings()` of an evidence or a rule are its own numbers, not a `Setting`.

    >>> Setting(PreferenceModel([[0, 1]]), Rewards(noise=2.0)).rewards.noise
    2.0
    """

    model: PreferenceModel
    rewards: Rewards
    rounds: int = 200
    first: str = "prior"
    noise_known: bool | None = None

    @property
    def guess(self) -> Rewards:
        """The rewards for a policy that learns the noise: a first guess, unless the noise is said to be exact."""
        return self.rewards if self.noise_known else self.rewards.as_guess

    def __post_init__(self) -> None:
        as_model(self.model)
        as_rewards(self.rewards)
        first = validate.as_choice(self.first, "first", ("prior", "uniform"))
        set_frozen(self, rounds=validate.as_count(self.rounds, "rounds"), first=first)


@dataclass(frozen=True)
class Entry:
    """A named policy: how it is built, its title, what it knows, and what it assumes or does.

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

    def __post_init__(self) -> None:
        texts = {name: validate.as_text(getattr(self, name), name) for name in ("name", "title", "knows", "assumes")}
        if not callable(self.build):
            raise validate.invalid("build", "a function", self.build, "give lambda s: LpbTS(s.model)")
        set_frozen(self, feedback=validate.as_choice(self.feedback, "feedback", get_args(Feedback)), **texts)

    @property
    def rung(self) -> int | None:
        """Amount of prior knowledge, from 1 (the possible means) to 5 (nothing); None if it is not comparable.

        >>> POLICIES["lpbts"].rung
        3
        """
        return LADDER.index(self.knows) + 1 if self.knows in LADDER else None

    @property
    def place(self) -> tuple[bool, int, str]:
        """Sort key: rewards before duels, then rung, then name."""
        return self.feedback != "rewards", self.rung or len(LADDER) + 1, self.name.replace("-", "~")


MEANS = "the possible mean rewards"
APPROXIMATE = "the approximate utilities"
ORDERINGS = "the possible orderings"
TOP = "which actions are best in some state"
NOTHING = "nothing"
TASTES = "how tastes vary, from a log"
LADDER = (MEANS, APPROXIMATE, ORDERINGS, TOP, NOTHING)
"""From knowing most to knowing nothing."""

POLICIES: dict[str, Entry] = {}
"""Every registered policy by name."""

_loaded: set[str] = set()


def load_outside() -> None:
    """Import the plug-ins of installed packages, once."""
    for point in entry_points(group=GROUP):
        if point.value not in _loaded:
            _loaded.add(point.value)
            point.load()


def make_policy(name: str, setting: Setting) -> Policy:
    """Return the registered policy `name` for a run.

    >>> make_policy("ts-top", Setting(PreferenceModel([[0, 1], [1, 0]]), Rewards()))
    TS(tally(noise=1.0) × thompson(prior_mean=0.0, prior_sd=100.0, top=True) over 2 states, 2 actions)
    """
    entry = entry_of(name)
    if not isinstance(setting, Setting):
        raise validate.invalid("setting", "a Setting", setting, "give Setting(model, rewards)")
    policy: object = entry.build(setting)
    if not isinstance(policy, Policy):
        raise InvalidInput(f"the builder of {name!r} must return a policy, got {validate.short_repr(policy)}")
    if policy.feedback != entry.feedback:
        raise InvalidInput(
            f"{name!r} is registered for {entry.feedback} but learns from {policy.feedback}; give its Entry "
            f"feedback={policy.feedback!r}"
        )
    return policy


def entry_of(name: str) -> Entry:
    """Return the entry of a name."""
    known: Any = name
    if isinstance(known, str) and known not in POLICIES:
        load_outside()
    return POLICIES[validate.as_choice(name, "policy", POLICIES)]


def title_of(name: str) -> str:
    """Return a policy's title, or the name itself if it is not registered.

    >>> title_of("ts-top")
    'TS, top actions'
    """
    return POLICIES[name].title if name in POLICIES else name


def policy_from_dict(content: Json, model: PreferenceModel) -> Policy:
    """Return the policy that `Policy.to_dict` wrote, over `model`."""
    with reading_saved("policy"):
        explore = content.get("explore", 0.0)
        return Policy(model, _part(EVIDENCES, content["evidence"]), _part(RULES, content["rule"]), explore)


P = TypeVar("P")


def _part(kinds: Mapping[str, Callable[..., P]], content: Json) -> P:
    settings = dict(content)
    kind = validate.as_text(settings.pop("kind"), "kind")
    if kind not in kinds:
        load_outside()  # it may register the kind
    if kind not in kinds:
        raise InvalidInput(f"unknown evidence or rule {validate.short_repr(kind)}; import the module that registers it")
    if "rewards" in settings:
        settings["rewards"] = Rewards(**settings["rewards"])
    return kinds[kind](**settings)
