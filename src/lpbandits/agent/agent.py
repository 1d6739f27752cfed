"""`Agent`: one person's decisions. Ask for an action, tell its reward."""

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Never

from lpbandits import validate
from lpbandits.agent.explain import Explanation, explain
from lpbandits.agent.outcomes import OutcomeLog
from lpbandits.agent.persistence import restored, written
from lpbandits.errors import InvalidInput, LockInWarning, NotSupported
from lpbandits.kernels import layout
from lpbandits.kernels.entry_points import door_to_choose, door_to_tell
from lpbandits.kernels.exploring import apply_exploration_floor, wander_pair
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief, Policy
from lpbandits.rng import as_person, stream_id
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.validate import CONVERSION_ERRORS, MAX_ABS_VALUE


class Agent:
    """A policy at work for one person.

    Parameters
    ----------
    policy
        Any policy, such as `LpbTS(model)`.
    seed
        Every decision is a function of (seed, person, number of the ask): the same inputs give the same actions.
    person
        Who it is, as text or a whole number, so that people who share a seed do not share their luck.
    asked
        How often the person was asked before: where their luck goes on.
    belief
        What is known of the person already, such as `Belief.unpack(policy, data)`; by default nothing. It
        is copied.

    The outcomes told are kept (about 40 bytes each), so that any of them can be taken back exactly.

    >>> from lpbandits import LpbTS
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7, person="alice")
    >>> action = agent.ask()
    >>> agent.tell(action, 3.2)
    >>> float(agent.posterior.sum())
    1.0
    >>> agent.tell("drug C", 1.0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: unknown action 'drug C'; the 3 actions are 'rest', 'drug A', 'drug B' (did you ...
    """

    def __init__(
        self, policy: Policy, *, seed: int, person: int | str = 0, asked: int = 0, belief: Belief | None = None
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {validate.short_repr(policy)}; give a policy such as LpbTS(model)")
        if belief is not None and not isinstance(belief, Belief):
            raise InvalidInput(
                f"belief is {validate.short_repr(belief)}; give a Belief, such as Belief.unpack(policy, data)"
            )
        self.policy = policy
        self.seed = validate.as_seed(seed)
        self.person = as_person(person)
        self._address = stream_id(self.person)
        self.asked = validate.as_count(asked, "asked", low=0, high=2**32 - 1)
        self._index = policy.model.index
        self._labels = policy.model.actions
        self._all: IntArray = policy.offer(None)
        self._explores = policy.explore > 0.0
        self._locks = not policy.rule.handles_repeats
        self._duels = policy.feedback == "duels"
        # a float within these needs no further look; nothing is within them where a reward cannot be any number
        self._high = MAX_ABS_VALUE if policy.rewards.family == "gaussian" and not self._duels else -math.inf
        self._low = -self._high
        self._start(policy.new_belief() if belief is None else Belief.copied(policy, belief))

    def _hold(self, belief: Belief) -> None:
        """Hold a belief, the doors to the kernels, and its arrays in the form that each door takes."""
        policy = self.policy
        self._belief = belief
        self._room = belief.room - 1 if self._duels else belief.room
        self._arrays = policy.arrays(belief)  # held here, because frames hold only addresses
        choose, framed = door_to_choose(policy.choose)
        self._choose: Callable[..., int] = _only_duels if self._duels else choose
        self._choose_pair: Callable[..., tuple[int, int]] = choose if self._duels else _only_rewards
        self._choose_frame = framed(self._arrays)
        self._take, framed_too = door_to_tell(policy.tell, duel=self._duels)
        self._take_frame = self._choose_frame if framed_too == framed else framed_too(self._arrays)

    def _start(self, belief: Belief) -> None:
        """Hold a belief whose outcomes were not kept, and keep those to come."""
        self._hold(belief)
        self.log = OutcomeLog(self.policy, belief.outcomes // (2 if self._duels else 1) if belief.tried else 0)
        self._keep_action, self._keep_outcome = self.log.actions.append, self.log.outcomes.append

    @property
    def belief(self) -> Belief:
        """What is known of the person: plain arrays, which can be packed and stored."""
        return self._belief

    def ask(self, allowed: Sequence[Label] | None = None) -> Label:
        """Return the next action, among the `allowed` ones if given.

        Asking again without telling is a new decision on the same belief.
        """
        offered = self._all if allowed is None else self.policy.offer(allowed)
        floor = self._floor(allowed) if self._explores else None
        try:
            index = self._choose(self._choose_frame, self._belief.tried, offered, self.seed, self._address, self.asked)
        except IndexError as error:
            raise InvalidInput(str(error)) from None
        if floor is not None:
            index = apply_exploration_floor(index, *floor)
        elif self._locks and index in self._belief.actions:
            warnings.warn(
                f"the rule '{self.policy.rule.kind}' plays {self._labels[index]!r} again, which it knows already, and "
                "may never leave it; name the actions not yet given: ask(allowed=…)",
                LockInWarning,
                stacklevel=2,
            )
        self.asked += 1
        return self._labels[index]

    def tell(self, action: Label, reward: float, *, id: Hashable = None) -> None:  # noqa: A002 - what users call it
        """Take in the reward of an action, whether asked for or not.

        An outcome with an `id` (text or a number) counts once, however often it is delivered; the same id with another
        action or reward is an error.

        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=7)
        >>> agent.tell(0, 1.0, id="visit 12"); agent.tell(0, 1.0, id="visit 12"); agent.rounds
        1
        """
        try:
            index = self._index[action]
        except CONVERSION_ERRORS:
            index = self.policy.index_of(action)
        if type(reward) is not float or not self._low <= reward <= self._high:
            reward = self._checked(reward)
        if id is not None and self.log.is_repeat(id, index, reward):
            return
        belief = self._belief
        tried = belief.tried
        if tried >= self._room:
            self._grow()
        try:
            belief.tried = self._take(self._take_frame, tried, index, reward)
        except IndexError as error:
            raise InvalidInput(str(error)) from None
        self._keep_action(index)
        self._keep_outcome(reward)
        if id is not None:
            self.log.tag(id)

    def ask_pair(self, allowed: Sequence[Label] | None = None) -> tuple[Label, Label]:
        """Return the two actions that meet next, among the `allowed` ones if given; they may be one and the same.

        >>> from lpbandits import LpbDuel
        >>> agent = Agent(LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=7)
        >>> agent.ask_pair()
        (2, 0)
        """
        offered = self._all if allowed is None else self.policy.offer(allowed)
        floor = self._floor(allowed) if self._explores else None
        frame, tried = self._choose_frame, self._belief.tried
        try:
            one, other = self._choose_pair(frame, tried, offered, self.seed, self._address, self.asked)
        except IndexError as error:
            raise InvalidInput(str(error)) from None
        if floor is not None:
            one, other = wander_pair((one, other), *floor)
        self.asked += 1
        return self._labels[one], self._labels[other]

    def _floor(self, allowed: Sequence[Label] | None) -> tuple[float, int, IntArray, int, int, int]:
        """Return the arguments of `apply_exploration_floor`; raise if the floor is above 1 / allowed actions."""
        policy, whole = self.policy, self.policy.indices(allowed)
        policy.check_floor(len(policy.allowed(whole)))
        return policy.explore, policy.model.n_actions, whole, self.seed, self._address, self.asked

    def tell_duel(self, winner: Label, loser: Label, *, id: Hashable = None) -> None:  # noqa: A002 - as for tell
        """Take in who won a duel, whether asked for or not; an action that met itself shows nothing.

        >>> from lpbandits import LpbDuel
        >>> agent = Agent(LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=7)
        >>> agent.tell_duel(0, 2); agent.posterior.round(3).tolist()
        [0.667, 0.333]
        """
        if not self._duels:
            _only_rewards()
        one, other = self.policy.index_of(winner), self.policy.index_of(loser)
        if id is None or not self.log.is_repeat(id, one, other):
            self._take_in(one, other)
            if id is not None:
                self.log.tag(id)

    def _take_in(self, action: int, outcome: float) -> None:
        """Take in and keep a checked outcome, a reward or the loser of a duel: what `tell` does without this call."""
        if self._belief.tried >= self._room:
            self._grow()
        try:
            self._belief.tried = self._take(self._take_frame, self._belief.tried, action, outcome)
        except IndexError as error:
            raise InvalidInput(str(error)) from None
        self._keep_action(action)
        self._keep_outcome(outcome)

    def _grow(self) -> None:
        self._belief._grow()
        self._hold(self._belief)

    def _checked(self, reward: Any) -> float:
        return _only_duels() if self._duels else self.policy.rewards.check(reward)

    def retract(self, action: Label, reward: float, *, id: Hashable = None) -> None:  # noqa: A002 - as for tell
        """Take back an outcome that was told wrongly: afterwards all is, to the last bit, as if it had not been told.

        What was told is looked up: a reward that this action did not get, or not with this `id`, is refused. The others
        are taken in again, in their order, so the cost grows with their number (about half a second for a million).

        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=7)
        >>> agent.tell(0, 1.0); agent.tell(1, 1e16); agent.retract(1, 1e16)
        >>> agent.posterior.tolist(), agent.rounds
        ([0.5, 0.5], 1)
        """
        if self._duels:
            _only_duels()
        self._take_back(self.log.checked(action, reward), id)

    def retract_duel(self, winner: Label, loser: Label, *, id: Hashable = None) -> None:  # noqa: A002 - as for tell
        """Take back a duel that was told wrongly, as `retract` does for a reward."""
        if not self._duels:
            _only_rewards()
        self._take_back(self.log.checked(winner, loser), id)

    def _take_back(self, row: tuple[int, float], id_: Hashable) -> None:
        rows, ids = self.log.without(row, id_)
        self._start(self.policy.new_belief(self._belief.room))
        for action, outcome in rows:
            self._take_in(action, outcome)
        self.log.ids = ids

    @property
    def outcomes(self) -> list[tuple[Label, Any]]:
        """What was told and is still held, in order: (action, reward), or (winner, loser) of duels."""
        return [self.log.named(row) for row in self.log.rows()]

    @property
    def posterior(self) -> FloatArray:
        """The probability of each state (an independent copy); mUCB only marks the states still possible, all alike."""
        if not self.policy.evidence.latent:
            raise NotSupported(f"{type(self.policy).__name__} has no latent states, so there is no posterior over them")
        posterior: FloatArray = self._belief.states[layout.POSTERIOR].copy()
        return posterior

    @property
    def rounds(self) -> int:
        """How many rewards, or duels, it was told and still holds."""
        return self._belief.outcomes // (2 if self._duels else 1)

    def probabilities(self, allowed: Sequence[Label] | None = None) -> FloatArray:
        """Return the exact chance of each action, in the model's order, at the next `ask(allowed)`."""
        if self._duels:
            _only_duels()
        return self.policy.probabilities(self._belief, self.policy.indices(allowed))

    def explain(self) -> Explanation:
        """Return what the belief says: per state its probability and what it expects of the actions."""
        return explain(self.policy, self._belief)

    def with_model(self, model: PreferenceModel) -> tuple["Agent", dict[Label, int]]:
        """Return an agent over another model that was told all this one was, and what the model has no place for.

        Outcomes of actions that the new model does not have (by label) are left out; the dict counts them by action.

        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]], actions=["tea", "jam"])), seed=7)
        >>> agent.tell("tea", 4.0); agent.tell("jam", 1.0)
        >>> newer, dropped = agent.with_model(PreferenceModel([[0, 1]], actions=["tea", "milk"]))
        >>> newer.rounds, dropped
        (1, {'jam': 1})
        """
        self.log.refuse_if_missing("they cannot be told to another model")
        fresh = Agent(self.policy.with_model(model), seed=self.seed, person=self.person, asked=self.asked)
        dropped: dict[Label, int] = {}
        for i, row in enumerate(self.outcomes):
            odd = {label for label in (row if self._duels else row[:1]) if label not in model.index}
            dropped |= {label: dropped.get(label, 0) + 1 for label in odd}
            if not odd:
                fresh._take_in(*fresh.log.checked(*row))
            for key in (key for key, (at, *_) in self.log.ids.items() if at == i and not odd):
                fresh.log.tag(key)
        return fresh, dropped

    def to_json(self, *, with_model: bool = True, outcomes: bool = True) -> str:
        """Return everything the agent knows as JSON; `Agent.from_json` then gives the same next actions.

        Without the model the text stays small; hand the same model to `from_json` then. Without the outcomes it does
        not grow with their number (but for ids), and a restored agent can take none of them back.
        """
        whole = validate.as_flag(with_model, "with_model")
        return written(self, with_model=whole, outcomes=validate.as_flag(outcomes, "outcomes"))

    @classmethod
    def from_json(cls, text: str, *, model: PreferenceModel | None = None) -> "Agent":
        """Return the agent that `to_json` wrote."""
        return restored(cls, text, model)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by what the agent knows: the addresses in its frames would be those of another's arrays."""
        address = {"seed": self.seed, "person": self.person, "asked": self.asked}
        return _rebuilt, (
            self.policy,
            address,
            self._belief,
            self.log.rows(),
            dict(self.log.ids),
            self.log.missing,
        )

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, seed={self.seed}, person={self.person!r}, rounds={self.rounds})"


def _rebuilt(
    policy: Policy, address: dict[str, Any], belief: Belief, rows: list[Any], ids: dict[Hashable, Any], missing: int
) -> Agent:
    agent = Agent(policy, **address, belief=belief)
    agent.log.actions[:] = [action for action, _ in rows]
    agent.log.outcomes[:] = [outcome for _, outcome in rows]
    agent.log.ids, agent.log.missing = dict(ids), missing
    return agent


def _only_duels(*_: object) -> Never:
    raise NotSupported(
        "this policy plays pairs of actions and learns from who wins; use ask_pair() and tell_duel(winner, loser)"
    )


def _only_rewards(*_: object) -> Never:
    raise NotSupported(
        "this policy plays one action at a time and learns from its reward; use ask() and tell(action, reward), or a "
        "policy for duels such as LpbDuel(model)"
    )
