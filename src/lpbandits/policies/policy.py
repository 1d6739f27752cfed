"""`Policy`: an evidence and a rule over one model, and the constant arrays that its kernels use.

A `Policy` is immutable. Its knowledge about one person is a `Belief`. `Agent` and the simulator call the same compiled
functions.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.io.json import digest
from lpbandits.kernels import layout
from lpbandits.kernels.choices import (
    favourite_sets,
    validated_action,
    validated_pair,
    validated_probability,
    validated_tell,
)
from lpbandits.kernels.compiler import plugins_of, with_plugin_errors
from lpbandits.kernels.layout import Arrays
from lpbandits.model import PreferenceModel, as_model
from lpbandits.model_fields import as_lower_is_better, as_personal_prior
from lpbandits.policies.assumed import warn_of_noise
from lpbandits.policies.base import Evidence, Feedback, Rule, require, require_latent
from lpbandits.policies.belief import ROOM, Belief, initial_states
from lpbandits.policies.calls import Calls, calls_of
from lpbandits.policies.plugins import (
    bind_expectations,
    bind_tiers,
    check_part,
    check_probabilities,
    checked,
    described,
    scratch_of,
    settings_of,
)
from lpbandits.policies.posterior import best_columns
from lpbandits.policies.tiers import draw_by_rewards, draw_by_wins
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json, Label
from lpbandits.validate import short_repr


@dataclass(frozen=True, eq=False)
class Policy:
    """An evidence and a rule over one model.

    The named policies (`LpbTS`, `MTS`, …) are combinations with their settings. Any evidence combines with any rule
    that can use it; incompatible ones raise `InvalidInput`.

    Parameters
    ----------
    model
        Actions and the states' orderings.
    evidence, rule
        How probable each state is, and which action to play.
    explore
        Minimum probability of each allowed action, so that a randomised trial can be analysed: each of N allowed
        actions is played with probability `explore`, and the rule decides with probability 1 − N · explore. It also
        holds for policies limited to top actions, and for both actions of a duel. At most 1/N.

    Examples
    --------
    >>> from lpbandits.policies.evidences import Refit
    >>> from lpbandits.policies.rules import Sample, TwoStates
    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> Policy(model, Refit(), Sample())
    Policy(refit(noise=1.0) × sample(first='prior') over 2 states, 2 actions)
    >>> Policy(model, Refit(), TwoStates())
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: the rule 'two-states' plays duels, but the evidence 'refit' learns from rewards; ...
    """

    model: PreferenceModel
    evidence: Evidence
    rule: Rule
    explore: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "explore", validate.as_number(self.explore, "explore", low=0, high=1))
        as_model(self.model)
        evidence, rule = self.evidence, self.rule
        check_part(evidence, "evidence")
        check_part(rule, "rule")
        if evidence.feedback != rule.feedback:
            other = {"rewards": "'refit'", "duels": "'inversions'" if rule.latent else "'wins'"}[rule.feedback]
            raise InvalidInput(
                f"the rule '{rule.kind}' plays {rule.feedback}, but the evidence '{evidence.kind}' learns from "
                f"{evidence.feedback}; combine it with {other}"
            )
        require(self, evidence.latent or not rule.latent, "a posterior over states", "one such as 'refit'")
        if evidence.latent and rule.latent is False:
            raise InvalidInput(
                f"the rule '{rule.kind}' does not use the states of the evidence '{evidence.kind}'; combine it with "
                "'tally'"
            )
        as_lower_is_better(self.model.lower_is_better and self.feedback == "rewards", self.rewards.family)
        _ = self.rewards, self.ranks, self.table, self.start_own, self.settings, self.scratch  # raise now if invalid
        rule.check(self)
        if isinstance(getattr(evidence, "rewards", None), Rewards):
            warn_of_noise(self.rewards, self.model)

    @property
    def feedback(self) -> Feedback:
        """Kind of outcomes it learns from: "rewards" or "duels"."""
        return self.evidence.feedback

    @cached_property
    def rewards(self) -> Rewards:
        """Family and noise of the rewards."""
        return as_rewards(getattr(self.evidence, "rewards", Rewards()))

    @cached_property
    def ranks(self) -> Int32Array:
        """Ranks of the actions for the kernels, m×k; without latent states one row, 0 to k − 1."""
        m, k = self.model.orderings.shape
        if not self.evidence.latent:
            return np.arange(k, dtype=np.int32)[None, :]
        name = f"ranks() of '{self.evidence.kind}'"
        return validate.as_floats(self.evidence.ranks(self.model), name, shape=(m, k), max_abs=2.0 * k).astype(np.int32)

    @cached_property
    def tiered(self) -> bool:
        """Whether some actions share a rank: the model has tiers, and the evidence knows no order within them."""
        return self.model.tiers is not None and not np.diff(np.sort(self.ranks, axis=1), axis=1).all()

    @cached_property
    def table(self) -> FloatArray:
        """The evidence's constants for the kernels."""
        name = f"table() of '{self.evidence.kind}'"
        return validate.as_floats(self.evidence.table(self.model), name, shape=(None, None))

    @cached_property
    def settings(self) -> FloatArray:
        """The settings of rewards, evidence and rule for the kernels."""
        rewards = self.rewards
        family = rewards.code if rewards.noise_known else layout.GAUSSIAN_UNKNOWN
        noise = 0.0 if rewards.noise is None else rewards.noise
        parts: tuple[Evidence | Rule, ...] = (self.evidence, self.rule)
        own = [validate.as_floats(part.settings(), f"settings() of '{part.kind}'", shape=(None,)) for part in parts]
        rows = [np.array([family, noise, rewards.weight, self.tiered]), *own]
        out = np.zeros((len(rows), max(map(len, rows))))
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return out

    @cached_property
    def scratch(self) -> tuple[int, int]:
        """Rows and columns of scratch of the rule and the evidence."""
        shapes = [scratch_of(part, self.model) for part in (self.rule, self.evidence)]
        return max(rows for rows, _ in shapes), max(columns for _, columns in shapes)

    @cached_property
    def start_states(self) -> FloatArray:
        """The initial `states` of a belief with the model's prior (no columns without latent states)."""
        states: FloatArray = initial_states(self, self.model.prior[None])[0]
        return states

    def starts(self, priors: FloatArray | None) -> FloatArray:
        """Return the initial `states` of people with these priors (people×m): people×4×m; 1×4×m without priors."""
        return self.start_states[None] if priors is None else initial_states(self, priors)

    @cached_property
    def start_own(self) -> FloatArray:
        """The initial `own` of a belief."""
        name = f"own() of '{self.evidence.kind}'"
        return validate.as_floats(self.evidence.own(self.model), name, shape=(None, None))

    @cached_property
    def id(self) -> bytes:
        """Eight bytes that identify evidence, rule and model."""
        return _hashed(self._parts(), self.model.sha256)

    @cached_property
    def belief_id(self) -> bytes:
        """Eight bytes that identify the evidence and the model without display names, all that a belief depends on."""
        return _hashed(self._parts()["evidence"], self.model.numbers_sha256)

    @cached_property
    def former_belief_id(self) -> bytes:
        """The `belief_id` in bytes that were packed when it covered the whole model."""
        return _hashed(self._parts()["evidence"], self.model.sha256)

    @cached_property
    def sha256(self) -> str:
        """Hash of all settings, without the model; equal settings have equal hashes."""
        return digest(json.loads(json.dumps(self.to_dict()), parse_int=float))

    @property
    def choose(self) -> Callable[..., Any]:
        """The rule's function, bound to the evidence's expectations and to tiers, and checked if it is a plug-in's."""
        template = validated_pair if self.feedback == "duels" else validated_action
        return checked(self._bound(self.rule.choose), template)

    @property
    def probability(self) -> Callable[..., float] | None:
        """The rule's function, bound and checked as `choose`; None if it has none for this model."""
        probability = self.rule.probability
        if probability is None or (self.tiered and self.rule.plays_best):
            return None
        return checked(self._bound(probability), validated_probability)

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if self.rule.needs_expectations:
            function = bind_expectations(function, self.evidence.expected_rewards, self.evidence.predictive_sd)
        if self.rule.plays_best and self.tiered:
            function = bind_tiers(function, draw_by_wins if self.feedback == "duels" else draw_by_rewards)
        return function

    @property
    def tell(self) -> Callable[..., int]:
        """The evidence's function, checked if it is a plug-in's."""
        return checked(self.evidence.tell, validated_tell)

    @cached_property
    def calls(self) -> Calls:
        """What an `Agent` needs for every call, computed once."""
        return calls_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the compiled functions."""
        return {name: value for name, value in self.__dict__.items() if name != "calls"}

    def new_belief(self, room: int = ROOM, prior: Any = None) -> Belief:
        """Return the belief about a new person, with room for `room` tried actions.

        `prior` is the probability of each state for this person, by default the model's.
        """
        if prior is None and room is ROOM:  # the default: to copy takes half the time
            return self._empty.copy()
        if prior is not None:
            require_latent(self, "prior")
            prior = as_personal_prior(prior, self.model.states_by_name, self.model.n_states)
        return Belief.new(self, validate.as_count(room, "room"), prior)

    @cached_property
    def _empty(self) -> Belief:
        return Belief.new(self, ROOM)

    def arrays(self, belief: Belief) -> Arrays:
        """Return the arrays of the kernels: the policy's constants and a belief, which must be one of this policy."""
        b = Belief.checked(self, belief)
        return Arrays(self.ranks, self.table, self.settings, b.slots, b.states, b.own, b.order, b.work)

    def offer(self, allowed: Sequence[Label] | None) -> IntArray:
        """Return ascending indices of the allowed actions, only top ones if the rule plays only these; empty: all."""
        return self.limited(self.indices(allowed))

    def indices(self, allowed: Sequence[Label] | None) -> IntArray:
        """Return the allowed actions as ascending indices; empty means all."""
        if allowed is None:
            return np.empty(0, dtype=np.int64)
        indices = sorted({self.index_of(label) for label in validate.as_list(allowed, "allowed", "actions")})
        if not indices:
            raise InvalidInput("allowed is empty; allow at least one action, or leave it out to allow all")
        return np.array(indices, dtype=np.int64)

    def limited(self, offered: IntArray) -> IntArray:
        """Return the best allowed actions of all states if the rule is limited to top actions, else `offered`.

        All actions of a state's best tier are its best.
        """
        if not self.rule.top:
            return offered
        actions = self.allowed(offered)
        return np.asarray(actions[best_columns(self.model.ranks[:, actions]).any(axis=0)], dtype=np.int64)

    def check_floor(self, actions: int) -> None:
        """Raise `InvalidInput` if `explore` exceeds 1 / (number of allowed actions)."""
        if self.explore * actions > 1.0 + 1e-9:
            raise InvalidInput(
                f"explore must be at most {1.0 / actions:.3g} for {actions:,} allowed actions, got {self.explore:g}; "
                "lower it, or allow fewer actions"
            )

    def _probabilities(self, belief: Belief, allowed: IntArray) -> FloatArray:
        """Return the exact probability of each of the k actions at the next ask; empty `allowed` means all."""
        offered = self.limited(allowed)
        out = self.rule.probabilities(self, belief, offered)
        if plugins_of(type(self.rule)):
            out = check_probabilities(out, self.rule, self.allowed(offered), self.model.n_actions)
        if self.explore:
            actions = self.allowed(allowed)
            self.check_floor(len(actions))
            out = out * max(1.0 - self.explore * len(actions), 0.0)
            out[actions] += self.explore
        return out

    def _offer_sets(self, offered: IntArray) -> IntArray:
        """Apply `limited` to a world's offered sets (people × rounds × actions; 1×1×0: all)."""
        if not self.rule.top:
            return offered
        if offered.shape[2] == 0:
            return self.limited(offered[0, 0])[None, None, :]
        most = offered.shape[2] if self.model.tiers else min(self.model.n_states, offered.shape[2])
        out = np.empty((*offered.shape[:2], most), dtype=np.int64)
        favourite_sets(self.model.ranks.astype(np.int32), offered, out)
        return out

    def allowed(self, offered: IntArray) -> IntArray:
        """Return the allowed actions, spelled out if `offered` is empty."""
        return offered if len(offered) else np.arange(self.model.n_actions)

    def favourites(self, offered: IntArray) -> IntArray:
        """Return each state's best allowed action; of a tier the first."""
        if not len(offered):
            return self._favourites
        return np.asarray(offered[np.argmin(self.ranks[:, offered], axis=1)], dtype=np.int64)

    @cached_property
    def _favourites(self) -> IntArray:
        return np.asarray(np.argmin(self.ranks, axis=1), dtype=np.int64)

    def equally(self, actions: IntArray) -> FloatArray:
        """Return equal probabilities for the given actions, and 0 for the others."""
        out = np.zeros(self.model.n_actions)
        out[actions] = 1.0 / len(actions)
        return out

    def expected(self, belief: Belief) -> FloatArray:
        """Return m×k: the expected reward of each action under each state; 1×k without latent states."""
        out = np.empty((max(self.start_states.shape[1], 1), self.model.n_actions))
        for z in range(len(out)):
            self._call(self.evidence.expected_rewards, belief, z, out[z])
        return out

    def predictive_sd(self, belief: Belief) -> FloatArray:
        """Return the standard deviation of each action that `Evidence.predictive_sd` defines."""
        out = np.empty(self.model.n_actions)
        self._call(self.evidence.predictive_sd, belief, out)
        return out

    def _call(self, function: Callable[..., Any], belief: Belief, *arguments: Any) -> Any:
        """Call a function of the evidence or the rule on a belief."""
        return with_plugin_errors(function)(self.arrays(belief), belief.tried, *arguments)

    def index_of(self, label: Any) -> int:
        """Return the index of an action's label."""
        try:
            if type(label) not in (str, int):  # as a key, True equals 1
                label = validate.as_label(label, "action")
            return self.model.index[label]
        except validate.CONVERSION_ERRORS:
            names = ", ".join(map(short_repr, self.model.actions[:5])) + (", …" if self.model.n_actions > 5 else "")
            raise InvalidInput(
                f"unknown action {short_repr(label)}; the {pluralize(self.model.n_actions, 'action')} "
                f"{'is' if self.model.n_actions == 1 else 'are'} {names}"
                + validate.did_you_mean(label, self.model.actions)
            ) from None

    def with_model(self, model: PreferenceModel) -> "Policy":
        """Return the same evidence and rule over another model."""
        return Policy(model, self.evidence, self.rule, self.explore)

    def exploring(self, explore: float) -> "Policy":
        """Return this policy with another minimum probability of allowed actions.

        Examples
        --------
        >>> from lpbandits import Agent, Popular
        >>> model = PreferenceModel([[0, 1, 2]])
        >>> Agent(Popular(model).exploring(0.05), seed=7).probabilities().round(2).tolist()
        [0.9, 0.05, 0.05]
        """
        return Policy(self.model, self.evidence, self.rule, explore)

    def to_dict(self) -> Json:
        """Return the policy's settings, without the model, as a JSON object."""
        return self._parts() | ({"explore": self.explore} if self.explore else {})

    def _parts(self) -> Json:
        parts: dict[str, Evidence | Rule] = {"evidence": self.evidence, "rule": self.rule}
        return {name: {"kind": part.kind, **settings_of(part)} for name, part in parts.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.to_dict() == other.to_dict() and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.evidence, self.rule, self.model, self.explore))

    def __repr__(self) -> str:
        size = f"{pluralize(self.model.n_states, 'state')}, {pluralize(self.model.n_actions, 'action')}"
        floor = f", explore={self.explore:g}" if self.explore else ""
        return f"{type(self).__name__}({described(self.evidence)} × {described(self.rule)} over {size}{floor})"


def _hashed(settings: Json, model: str) -> bytes:
    settings = json.loads(json.dumps(settings), parse_int=float)  # equal settings give equal hashes
    return hashlib.sha256(json.dumps([settings, model], sort_keys=True).encode()).digest()[:8]
