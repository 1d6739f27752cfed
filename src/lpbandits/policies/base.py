"""What an evidence and a rule are: the seam at which new ideas come in, from the package or from outside.

An evidence says how probable each state is, given what a person showed; a rule says what to play, given that. Each is a
frozen dataclass of settings with compiled functions. All of them get `b`, the plain arrays of `kernels.layout.Arrays`,
and `n`, the number of tried actions:

    n = tell(b, n, action, reward)                        evidence: take an outcome in
    n = tell(b, n, winner, loser)                         … of a duel
    expected_rewards(b, n, state, out)                    evidence: write what it expects of every action
    predictive_sd(b, n, out)                              evidence: write how uncertain that is (0 by default)
    sway(b, n, action, out)                               evidence, if it can: write how far an outcome moves all that
    update_posterior(b, n)                                evidence, if it can: write scores and posterior anew
    reward = expected_reward(b, n, state, action)         evidence, if it can: what it expects of one action
    sd = predictive_sd_one(b, n, action)                  evidence, if it can: how uncertain that is
    action = choose(b, n, offered, seed, person, round_)  rule: `offered` rises, and is empty where all are allowed
    first, second = choose(…)                             … for duels
    p = probability(b, n, offered, play, action)          rule, if it can: how likely it plays an action
    state = sampled_state(b, n, seed, person, round_)     rule, if it does: whose order it follows

A `tell` records the outcome (`kernels.tally.record`) and leaves the normalised posterior in row POSTERIOR of
`b.states`; it may keep what it likes in `b.own`. What a saved belief says is not believed where it can be worked out:
`update_posterior` writes its scores and posterior anew from the slots and `b.own` (all of `b.own` too, if it is
`derived`), and `check_own` refuses what no outcomes lead to. A `choose` changes nothing but scratch, and takes its luck
from `kernels.random.uniform` by address. A rule with `needs_expectations = True` may call `expected_rewards`,
`predictive_sd` and `sway`, imported from here, and so work with any evidence. `expected_reward`, `predictive_sd_one`,
`probability` and `sampled_state` spare work where many people are decided for (`lpb.decide`). Functions decorated with
`lpbandits.kernel` run at full speed; plain Python works too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lpbandits.errors import NotSupported
from lpbandits.kernels.compiler import kernel
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from lpbandits.policies.belief import Belief
    from lpbandits.policies.policy import Policy


@kernel
def zero_sd(b: Any, n: int, out: FloatArray) -> None:
    """Write that nothing is uncertain, which an evidence says that does not tell how uncertain it is."""
    for action in range(len(out)):
        out[action] = 0.0


@kernel
def no_shift(b: Any, n: int, action: int, out: FloatArray) -> None:
    """Write that no outcome moves anything, for an evidence that does not tell what it would learn."""
    for other in range(len(out)):
        out[other] = 0.0


@kernel
def zero_sd_one(b: Any, n: int, action: int) -> float:
    """Return that nothing is uncertain about an action."""
    return 0.0


@kernel
def unknown_reward(b: Any, n: int, state: int, action: int) -> float:
    """Return that no reward is expected, for an evidence that knows places in an order and no rewards."""
    return np.nan


@kernel
def deterministic(b: Any, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the chance of an action where nothing is random: the play, which `choose` returned, is certain."""
    return 1.0 if action == play else 0.0


Feedback = Literal["rewards", "duels"]
"""What a policy learns from: the reward of an action, or which of two actions won."""


def set_frozen(part: Any, **settings: Any) -> None:
    """Put checked settings into a frozen part, in the form that the check gave them: it is saved as JSON."""
    for name, value in settings.items():
        object.__setattr__(part, name, value)


@dataclass(frozen=True)
class Evidence:
    """How probable each state is, given what a person showed. Subclasses are frozen dataclasses.

    One that cares what rewards look like has a field `rewards: Rewards`; kernels find it in `b.settings[REWARDS]`.

    >>> from lpbandits import Refit
    >>> issubclass(Refit, Evidence), Refit().kind, Refit().feedback
    (True, 'refit', 'rewards')
    """

    kind: ClassVar[str]
    """Its name in files."""
    feedback: ClassVar[Feedback] = "rewards"
    """What it learns from."""
    latent: ClassVar[bool] = True
    """Whether it weighs latent states at all."""
    probabilistic: ClassVar[bool] = True
    """Whether its weights are probabilities of the states, and not only marks of those still possible."""
    derived: ClassVar[bool] = False
    """Whether all of its own part follows from the slots: `update_posterior` works it out, and it is not saved."""
    predictive: ClassVar[bool] = False
    """Whether `predictive_sd` is the standard deviation of the next reward, so that an interval can be told."""
    fitted: ClassVar[bool] = False
    """Whether what it expects of tried actions keeps to the state's order, and so bounds the others between them."""
    ordered: ClassVar[bool] = True
    """Whether the tried actions are kept in the order of every state, as fits need; False spares the work."""
    batchable: ClassVar[bool] = False
    """Whether `tell` is exactly `record` then `update_posterior`, so that many outcomes need one update."""
    tell: ClassVar[Callable[..., int]]
    expected_rewards: ClassVar[Callable[..., None]]
    predictive_sd: ClassVar[Callable[..., None]] = staticmethod(zero_sd)
    """The standard deviation, in rewards, of each action's own departure from what is expected of it."""
    sway: ClassVar[Callable[..., None]] = staticmethod(no_shift)
    """How far, in rewards, what is expected of each action over all states moves if the next reward of this one is a
    standard deviation above what is expected."""
    update_posterior: ClassVar[Callable[..., None] | None] = None
    """None: the posterior of a saved belief is taken as it is, if it is a probability of each state."""
    expected_reward: ClassVar[Callable[..., float] | None] = None
    """`expected_rewards` of one action, NaN if unknown; None: `expected_rewards` is called."""
    predictive_sd_one: ClassVar[Callable[..., float] | None] = None
    """What `predictive_sd` writes for one action; None: `predictive_sd` is asked."""

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return what it knows beforehand, in a shape of its own; raise `InvalidInput` if the model lacks it."""
        return np.zeros((0, 0))

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return what its own part of a belief starts as, in a shape of its own (two-dimensional)."""
        return np.zeros((0, 0))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Refuse, with `InvalidInput`, an own part of a saved belief that so many outcomes cannot lead to."""

    def settings(self) -> tuple[float, ...]:
        """Return its numbers, which kernels find in row EVIDENCE of `b.settings`."""
        return ()

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return the shape of the scratch of `tell` and `update_posterior`, from row RULE_WORK of `b.work` on."""
        return (0, 0)


@dataclass(frozen=True)
class Rule:
    """Which action to play. Subclasses are frozen dataclasses.

    >>> from lpbandits import Sample
    >>> issubclass(Sample, Rule), Sample().kind, Sample().feedback
    (True, 'sample', 'rewards')
    """

    kind: ClassVar[str]
    """Its name in files."""
    feedback: ClassVar[Feedback] = "rewards"
    """Whether it chooses one action, for a reward, or two, for a duel."""
    latent: ClassVar[bool | None] = True
    """Whether it needs a posterior over states; None: it does with or without."""
    handles_repeats: ClassVar[bool] = True
    """Whether it goes on learning where actions repeat; a rule that locks in on one is for actions given once."""
    needs_expectations: ClassVar[bool] = False
    """Whether it calls `expected_rewards`, `predictive_sd` or `sway`."""
    choose: ClassVar[Callable[..., Any]]
    probability: ClassVar[Callable[..., float] | None] = None
    """The exact chance of an action, asked right after `choose` returned the play; None: `probabilities` is asked."""
    sampled_state: ClassVar[Callable[..., int] | None] = None
    """The state, drawn from the posterior, whose first allowed action is the play; -1: this time it is none's."""

    @property
    def top(self) -> bool:
        """Whether it is limited to the actions that are best in some state."""
        return False

    def settings(self) -> tuple[float, ...]:
        """Return its numbers, which kernels find in row RULE of `b.settings`."""
        return ()

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return rows and columns of the scratch it needs, which kernels find from row RULE_WORK of `b.work` on."""
        return (0, 0)

    def check(self, policy: "Policy") -> None:
        """Refuse an evidence whose table or own arrays it cannot read; called when the policy is built."""

    def probabilities(self, policy: "Policy", belief: "Belief", offered: IntArray) -> FloatArray:
        """Return the exact chance of each of the k actions at the next ask."""
        raise NotSupported(f"the rule '{self.kind}' does not say how likely it plays each action")


def expected_rewards(b: Any, n: int, state: int, out: FloatArray) -> None:
    """Stand for the evidence's `expected_rewards` in a rule with `needs_expectations = True`."""
    raise NotSupported("only a rule with needs_expectations = True may call expected_rewards")


def predictive_sd(b: Any, n: int, out: FloatArray) -> None:
    """Stand for the evidence's `predictive_sd` in a rule with `needs_expectations = True`."""
    raise NotSupported("only a rule with needs_expectations = True may call predictive_sd")


def sway(b: Any, n: int, action: int, out: FloatArray) -> None:
    """Stand for the evidence's `sway` in a rule with `needs_expectations = True`."""
    raise NotSupported("only a rule with needs_expectations = True may call sway")
