"""What a policy is: an evidence and a rule over one model, and the plain arrays that the kernels run on.

A `Policy` never changes. What it knows of one person is a `Belief`, which is nothing but arrays; `Agent` holds one for
a user, and the simulator's rollout makes its own. Both call the same compiled functions.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.rules import favourites
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json, Label, SlotArray


class Evidence(Protocol):
    """How probable each state is, given what a person showed. See `lpbandits.policies.evidence` for those there are."""

    kind: ClassVar[str]
    """Its name in files."""
    latent: ClassVar[bool]
    """Whether it weighs latent states at all."""
    probabilistic: ClassVar[bool]
    """Whether its weights are probabilities of the states, and not only marks of those still possible."""
    ordered: ClassVar[bool]
    """Whether it keeps the tried actions in the order of every state."""
    why_no_retract: ClassVar[str]
    """Why an outcome cannot be taken back; empty where it can."""

    @property
    def rewards(self) -> Rewards:
        """The rewards it expects."""

    @property
    def tell(self) -> Callable[..., int]:
        """The kernel that takes an outcome in."""

    @property
    def retract(self) -> Callable[..., int] | None:
        """The kernel that takes an outcome back."""

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the known means, 0×0 where none are used; raise `InvalidInput` if the model lacks them."""

    def numbers(self, settings: FloatArray) -> None:
        """Write its own settings at their places."""


class Rule(Protocol):
    """Which action to play. See `lpbandits.policies.rules` for those there are."""

    kind: ClassVar[str]
    """Its name in files."""
    latent: ClassVar[bool]
    """Whether it needs a posterior over states."""
    needs_means: ClassVar[bool]
    """Whether it reads the states' known means."""

    @property
    def top(self) -> bool:
        """Whether it is limited to the actions that are best in some state."""

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""

    def numbers(self, settings: FloatArray) -> None:
        """Write its own settings at their places."""

    def probabilities(self, policy: "Policy", belief: "Belief", offered: IntArray) -> FloatArray:
        """Return the exact chance of each of the k actions at the next ask."""


@dataclass
class Belief:
    """What a policy knows of one person; `lpbandits.kernels.layout` says what the rows are."""

    numbers: FloatArray
    order: SlotArray
    tried: int = 0

    @property
    def room(self) -> int:
        """How many tried actions it can hold."""
        return int(self.numbers.shape[1])

    def grown(self) -> "Belief":
        """Return the same belief with twice the room."""
        more = ((0, 0), (0, self.room))
        return Belief(np.pad(self.numbers, more), np.pad(self.order, more), self.tried)

    @property
    def rounds(self) -> int:
        """How many outcomes it holds."""
        return int(self.numbers[layout.COUNT, : self.tried].sum())


@dataclass(frozen=True, eq=False)
class Policy:
    """An evidence and a rule over one model.

    The named policies (`LpbTS`, `MTS`, …) are this with their own settings; any evidence combines with any rule that
    can use it.

    >>> from lpbandits.policies.evidence import Refit
    >>> from lpbandits.policies.rules import Sample
    >>> Policy(PreferenceModel([[0, 1], [1, 0]]), Refit(), Sample())
    Policy(refit(noise=1.0) × sample(first='prior') over 2 states, 2 actions)
    """

    model: PreferenceModel
    evidence: Evidence
    rule: Rule

    def __post_init__(self) -> None:
        if not isinstance(self.model, PreferenceModel):
            raise InvalidInput(f"model is {self.model!r}; give a PreferenceModel")
        if self.rule.latent and not self.evidence.latent:
            raise InvalidInput(f"the rule '{self.rule.kind}' needs states, which '{self.evidence.kind}' does not weigh")
        if self.evidence.latent and not self.rule.latent:
            raise InvalidInput(
                f"the rule '{self.rule.kind}' uses no states, so '{self.evidence.kind}' would be wasted on it"
            )
        if self.evidence.table(self.model).size == 0 and self.rule.needs_means:
            raise InvalidInput(
                f"the rule '{self.rule.kind}' plays known means, which the evidence '{self.evidence.kind}' has not; "
                "combine it with 'known-means' or 'consistency'"
            )

    @cached_property
    def ranks(self) -> Int32Array:
        """The rank table for the kernels; without latent states, the actions' own order."""
        ranks = self.model.ranks if self.evidence.latent else np.arange(self.model.n_actions)[None, :]
        return np.array(ranks, dtype=np.int32, order="C")

    @cached_property
    def table(self) -> FloatArray:
        """The known means for the kernels."""
        return np.array(self.evidence.table(self.model), dtype=np.float64, order="C")

    @cached_property
    def settings(self) -> FloatArray:
        """The evidence's and the rule's numbers, as a belief carries them."""
        settings = np.zeros(layout.PLACES)
        self.evidence.numbers(settings)
        self.rule.numbers(settings)
        return settings

    @cached_property
    def start(self) -> FloatArray:
        """An untouched belief's numbers, one column per state (none without latent states)."""
        if not self.evidence.latent:
            return np.zeros((layout.ROWS, 0))
        numbers = np.zeros((layout.ROWS, self.model.n_states))
        with np.errstate(divide="ignore"):
            numbers[layout.LOG_PRIOR] = np.log(self.model.prior)
        numbers[layout.SCORE] = numbers[layout.LOG_PRIOR]
        possible = self.model.prior > 0
        numbers[layout.POSTERIOR] = self.model.prior if self.evidence.probabilistic else possible / possible.sum()
        numbers[layout.BEST] = self.model.orderings[:, 0]
        return numbers

    def new_belief(self, room: int = 8) -> Belief:
        """Return what the policy knows of a person it has not met."""
        ordered = self.model.n_states if self.evidence.ordered else 0
        if not self.evidence.latent:
            ordered = 1  # the actions' own order
        width = max(room, self.start.shape[1], layout.PLACES)
        numbers = np.zeros((layout.ROWS, width))
        numbers[layout.SETTINGS, : layout.PLACES] = self.settings
        states = slice(layout.SCORE, layout.SETTINGS)
        numbers[states, : self.start.shape[1]] = self.start[states]
        return Belief(numbers, np.zeros((1 + ordered, width), dtype=np.uint32))

    def offer(self, allowed: Sequence[Label] | None) -> IntArray:
        """Return the actions to choose from as indices in rising order; empty means all.

        `allowed` limits them, and a rule limited to top actions keeps those that some state prefers among the allowed.
        """
        if allowed is None:
            return np.unique(self.model.orderings[:, 0]) if self.rule.top else np.empty(0, dtype=np.int64)
        if isinstance(allowed, str | bytes) or not isinstance(allowed, Iterable):
            raise InvalidInput(f"allowed is {allowed!r}; give a list of actions")
        indices = sorted({self.index_of(label) for label in allowed})
        if not indices:
            raise InvalidInput("allowed is empty; allow at least one action, or leave it out to allow all")
        offered = np.array(indices, dtype=np.int64)
        if self.rule.top:
            return np.unique(offered[np.argmin(self.model.ranks[:, offered], axis=1)])
        return offered

    def offer_sets(self, offered: IntArray) -> IntArray:
        """Do for a world's offered sets (people × rounds × actions, 1×1×0 for all) what `offer` does for one."""
        if not self.rule.top:
            return offered
        if offered.shape[2] == 0:
            return np.unique(self.model.orderings[:, 0])[None, None, :]
        out = np.empty((*offered.shape[:2], min(self.model.n_states, offered.shape[2])), dtype=np.int64)
        favourites(np.array(self.model.ranks), offered, out)
        return out

    def index_of(self, label: Any) -> int:
        """Return the index of an action's label."""
        try:
            return self.model.index[label]
        except (KeyError, TypeError):
            names = ", ".join(map(repr, self.model.actions[:5])) + (", …" if self.model.n_actions > 5 else "")
            raise InvalidInput(f"unknown action {label!r}; the {self.model.n_actions} actions are {names}") from None

    def to_dict(self) -> Json:
        """Return the policy's settings, without the model, as a JSON object."""
        return {part: {"kind": value.kind, **_fields(value)} for part, value in self._parts().items()}

    def _parts(self) -> dict[str, Any]:
        return {"evidence": self.evidence, "rule": self.rule}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.to_dict() == other.to_dict() and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.evidence, self.rule, self.model))

    def __repr__(self) -> str:
        size = f"{self.model.n_states} states, {self.model.n_actions} actions"
        return f"{type(self).__name__}({_told(self.evidence)} × {_told(self.rule)} over {size})"


def rewards_of(rewards: str, noise: float | None, noise_known: bool = True, *, own: bool = True) -> Rewards:
    """Return the rewards that a policy's keyword arguments describe.

    `own` says that the policy uses each family's own likelihood, so that noise has a meaning for Gaussian ones alone.
    """
    if own and rewards != "gaussian" and noise is not None:
        raise InvalidInput(f"noise is {noise} but {rewards} rewards have no noise of their own; leave it out")
    return Rewards(rewards, noise, noise_known)  # type: ignore[arg-type] # Rewards checks the family


def known_means(model: PreferenceModel, rewards: Rewards, user: str) -> FloatArray:
    """Return the model's means if it has them and the rewards can have such means."""
    if model.means is None:
        raise InvalidInput(
            f"{user} needs to know the mean rewards; give the model `means`, or use lpbts, which does not"
        )
    low, high = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(rewards.family, (-math.inf, math.inf))
    bad = np.argwhere((model.means <= low) | (model.means >= high))
    if len(bad):
        z, a = (int(i) for i in bad[0])
        raise InvalidInput(
            f"means[{z}, {a}] is {model.means[z, a]:g}; a {rewards.family} mean lies in ({low:g}, {high:g})"
        )
    largest = float(np.abs(model.means).max())
    validate.as_number(largest, "the largest mean", high=validate.LARGEST)
    return model.means


def _fields(part: Any) -> Json:
    """Return a frozen dataclass's fields, its rewards flattened into them."""
    out: Json = {}
    for name in (own.name for own in fields(part)):
        value = getattr(part, name)
        if isinstance(value, Rewards):
            out["rewards"] = asdict(value)
        else:
            out[name] = value
    return out


def _told(part: Any) -> str:
    """Return a part for people: its kind and the settings that matter."""
    words: list[str] = []
    for name in (own.name for own in fields(part)):
        value = getattr(part, name)
        if isinstance(value, Rewards):
            if value.family != "gaussian":
                words.append(repr(value.family))
            words.append(f"noise={value.noise}" if value.noise_known else f"noise≈{value.noise}")
        else:
            words.append(f"{name}={value!r}")
    return f"{part.kind}({', '.join(words)})"
