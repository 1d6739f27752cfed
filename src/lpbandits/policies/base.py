"""The two interfaces of a policy: `Evidence` (how probable is each state) and `Rule` (which action to play).

An *evidence* (the package's own term) is an object that computes, from a person's outcomes, how probable each state is
and the expected reward of each action. Evidences and rules are frozen dataclasses of settings with compiled functions.
All functions take `b`, the arrays of a belief, and `n`, the number of tried actions. `kernels.layout.Arrays` describes
these arrays; a *slot*, a column of `b.slots`, holds the count, sum and spread of the rewards of one tried action.

    n = tell(b, n, action, reward)                        evidence: add an outcome
    n = tell(b, n, winner, loser)                         the same for a duel
    expected_rewards(b, n, state, out)                    evidence: write the expected reward of every action
    predictive_sd(b, n, out)                              evidence: write a standard deviation per action (default 0)
    update_posterior(b, n)                                evidence, optional: recompute scores and posterior
    reward = expected_reward(b, n, state, action)         evidence, optional: expected reward of a single action
    sd = predictive_sd_one(b, n, action)                  evidence, optional: `predictive_sd` of one action
    action = choose(b, n, offered, seed, person, round_)  rule: `offered` is sorted, and empty if all are allowed
    first, second = choose(…)                             the same for a duel
    p = probability(b, n, offered, play, action)          rule, optional: probability of an action, after `choose`
    state = sampled_state(b, n, seed, person, round_)     rule, optional: the state it follows

`tell` records the outcome (`kernels.tally.record`) and writes the normalised posterior to row POSTERIOR of `b.states`;
it may keep further statistics in `b.own`. When a saved belief is restored, `update_posterior` recomputes scores and
posterior from the slots and `b.own` (and all of `b.own` if the evidence is `derived`). `choose` may change only
`b.work`, and draws random numbers with `kernels.random.uniform(seed, person, round_, …)`. A rule with
`needs_expectations = True` may call `expected_rewards` and `predictive_sd`, imported from this module, and so works
with any evidence. The optional functions make `lpb.decide` faster. Functions decorated with `lpbandits.kernel` run at
full speed; plain Python works too.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.kernels.choices import position
from lpbandits.kernels.compiler import kernel
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from lpbandits.policies.belief import Belief
    from lpbandits.policies.policy import Policy


@kernel
def zero_sd(b: Any, n: int, out: FloatArray) -> None:
    """Write 0: the default of an evidence without a predictive distribution."""
    for action in range(len(out)):
        out[action] = 0.0


@kernel
def zero_sd_one(b: Any, n: int, action: int) -> float:
    """Return 0 for one action."""
    return 0.0


@kernel
def unknown_reward(b: Any, n: int, state: int, action: int) -> float:
    """Return NaN: the evidence knows ranks, not rewards."""
    return np.nan


@kernel
def deterministic(b: Any, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return 1 for the action that `choose` returned, else 0."""
    return 1.0 if action == play else 0.0


@kernel
def equal_probability(b: Any, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the same probability for every allowed action, 0 for the others."""
    if position(offered, action) < 0:
        return 0.0
    return 1.0 / (b.ranks.shape[1] if len(offered) == 0 else len(offered))


Feedback = Literal["rewards", "duels"]
"""Outcomes that a policy learns from: rewards of actions, or winners of duels."""


def set_frozen(part: Any, **settings: Any) -> None:
    """Set validated fields of a frozen dataclass."""
    for name, value in settings.items():
        object.__setattr__(part, name, value)


def numbers_of(part: Any) -> tuple[float, ...]:
    """Return the fields of an evidence or a rule that are numbers, in order."""
    values = (getattr(part, field.name) for field in fields(part))
    return tuple(float(value) for value in values if isinstance(value, int | float))


@dataclass(frozen=True)
class Evidence:
    """How probable each state is, given a person's outcomes. Subclasses are frozen dataclasses.

    An evidence that depends on the family or noise of rewards has a field `rewards: Rewards`, which kernels find in
    `b.settings[REWARDS]`.

    Examples
    --------
    >>> from lpbandits.policies.evidences import Refit
    >>> issubclass(Refit, Evidence), Refit().kind, Refit().feedback
    (True, 'refit', 'rewards')
    """

    kind: ClassVar[str]
    """Its name in files."""
    feedback: ClassVar[Feedback] = "rewards"
    """Outcomes that it learns from."""
    latent: ClassVar[bool] = True
    """Whether it has a posterior over latent states."""
    probabilistic: ClassVar[bool] = True
    """Whether the posterior holds probabilities; False: it only marks the states still possible."""
    certainty: ClassVar[str] = "approximate"
    """What the probabilities of the posterior are, in one word: "exact", "optimistic" or "approximate"."""
    derived: ClassVar[bool] = False
    """Whether `update_posterior` recomputes `b.own` from the slots; it is then not saved."""
    predictive: ClassVar[bool] = False
    """Whether `predictive_sd` is the standard deviation of the next reward, noise included."""
    fitted: ClassVar[bool] = False
    """Whether expected rewards of tried actions follow the state's order; then they bound those of untried actions."""
    ordered: ClassVar[bool] = True
    """Whether `b.order` keeps the slots sorted by every state's order, as isotonic fits need."""
    batchable: ClassVar[bool] = False
    """Whether `tell` equals `record` followed by `update_posterior`; many outcomes then need a single update,
    and packed beliefs hold neither scores nor posterior."""
    gaussian_noise: ClassVar[bool] = False
    """Whether a noise can be given for Gaussian rewards only; False: the noise of rewards of any family."""
    own_rows: ClassVar[int] = 0
    """Number of rows of `b.own`, with a column per state."""
    tell: ClassVar[Callable[..., int]]
    expected_rewards: ClassVar[Callable[..., None]]
    predictive_sd: ClassVar[Callable[..., None]] = staticmethod(zero_sd)
    """Standard deviation of each action's mean reward around the expected one; if `predictive`, of its next reward."""
    update_posterior: ClassVar[Callable[..., None] | None] = None
    """None: the posterior of a saved belief is used as it is."""
    expected_reward: ClassVar[Callable[..., float] | None] = None
    """`expected_rewards` of one action, NaN if unknown; None: `expected_rewards` is called."""
    predictive_sd_one: ClassVar[Callable[..., float] | None] = None
    """`predictive_sd` of one action; None: `predictive_sd` is called."""

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the matrix of constants for `b.table`; raise `InvalidInput` if the model lacks them."""
        return np.zeros((0, 0))

    def ranks(self, model: PreferenceModel) -> IntArray:
        """Return `b.ranks`: those of the model, with tiers twice the mid-ranks.

        An evidence that knows the order of actions within tiers may return ranks without ties.
        """
        return model.ranks if model.tiers is None else (2.0 * model.mid_ranks).astype(np.int64)

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the initial matrix `b.own` of a belief, by default `own_rows` rows of 0."""
        return np.zeros((self.own_rows, model.n_states if self.own_rows else 0))

    def settings(self) -> tuple[float, ...]:
        """Return the numbers in row EVIDENCE of `b.settings`: by default the fields that are numbers."""
        return numbers_of(self)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return (rows, columns) of scratch for `tell` and `update_posterior` in `b.work`, from row RULE_WORK on."""
        return (0, 0)


@dataclass(frozen=True)
class Rule:
    """Which action to play. Subclasses are frozen dataclasses.

    Examples
    --------
    >>> from lpbandits.policies.rules import Sample
    >>> issubclass(Sample, Rule), Sample().kind, Sample().feedback
    (True, 'sample', 'rewards')
    """

    kind: ClassVar[str]
    """Its name in files."""
    feedback: ClassVar[Feedback] = "rewards"
    """Whether it chooses one action ("rewards") or two ("duels")."""
    latent: ClassVar[bool | None] = True
    """Whether it needs a posterior over states; None: it works with and without."""
    handles_repeats: ClassVar[bool] = True
    """False for a rule that may repeat one action for ever; it is meant for actions that a person gets only once."""
    needs_expectations: ClassVar[bool] = False
    """Whether it calls `expected_rewards` or `predictive_sd`."""
    plays_best: ClassVar[bool] = False
    """Whether it calls `posterior.play_best`, which draws an action within a tier."""
    work_rows: ClassVar[int] = 0
    """Number of rows of scratch, with a column per action."""
    choose: ClassVar[Callable[..., Any]]
    probability: ClassVar[Callable[..., float] | None] = None
    """Exact probability of an action, called right after `choose` returned `play`; None: `probabilities` is called.

    With `plays_best`, it is for models without tiers only.
    """
    sampled_state: ClassVar[Callable[..., int] | None] = None
    """The state that was drawn; -1 if the action is not that state's best allowed one."""

    @property
    def top(self) -> bool:
        """Whether it only plays actions that are best in some state."""
        return False

    def settings(self) -> tuple[float, ...]:
        """Return the numbers in row RULE of `b.settings`: by default the fields that are numbers."""
        return numbers_of(self)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return (rows, columns) of scratch for the rule in `b.work`, from row RULE_WORK on."""
        return (self.work_rows, model.n_actions if self.work_rows else 0)

    def check(self, policy: "Policy") -> None:
        """Raise `InvalidInput` for an incompatible evidence; called when a policy is built."""

    def probabilities(self, policy: "Policy", belief: "Belief", offered: IntArray) -> FloatArray:
        """Return the exact probability of each of the k actions at the next ask."""
        probability = policy.probability
        if probability is None:
            tiers = " in a model with tiers; use one without tiers" if policy.tiered and self.plays_best else ""
            raise NotSupported(f"the rule '{self.kind}' has no exact probabilities{tiers}")
        play = policy._call(policy.choose, belief, offered, 0, 0, 0)  # its results stay in `b.work`
        out = np.zeros(policy.model.n_actions)
        for action in [play] if self.probability is deterministic else policy.allowed(offered).tolist():
            out[action] = policy._call(probability, belief, offered, play, action)
        return out


def require(policy: "Policy", condition: bool, need: str, partners: str) -> None:
    """Raise `InvalidInput` unless the evidence of a policy has what its rule needs."""
    if not condition:
        raise InvalidInput(
            f"the rule '{policy.rule.kind}' needs {need}, which the evidence '{policy.evidence.kind}' does not have; "
            f"combine it with {partners}"
        )


def expected_rewards(b: Any, n: int, state: int, out: FloatArray) -> None:
    """Stand in for the evidence's function, which replaces it in a rule with `needs_expectations = True`."""
    raise NotSupported("only a rule with needs_expectations = True may call expected_rewards")


def predictive_sd(b: Any, n: int, out: FloatArray) -> None:
    """Stand in for the evidence's function, which replaces it in a rule with `needs_expectations = True`."""
    raise NotSupported("only a rule with needs_expectations = True may call predictive_sd")


def require_latent(policy: "Policy", name: str) -> None:
    """Raise `NotSupported` for an argument about states if the policy has none."""
    if not policy.evidence.latent:
        raise NotSupported(
            f"{name} is about latent states, and {type(policy).__name__} has none; leave it out, or use a policy with "
            "states such as LpbTS(model) (--policy lpbts)"
        )
