"""`Agent`: decides for one person. Ask for an action, tell its reward."""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any

from lpbandits import validate
from lpbandits.agent.explain import Explanation, explain
from lpbandits.agent.outcomes import OutcomeLog, told_reward
from lpbandits.agent.persistence import agent_from_json, agent_to_json
from lpbandits.agent.prior import from_covariates
from lpbandits.agent.record import Decision, DecisionRecord, decided, own_decision, records_of
from lpbandits.agent.refit import over_model
from lpbandits.agent.refusals import only_duels, only_rewards, warn_of_lock_in
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.kernels import layout
from lpbandits.kernels.choices import apply_exploration_floor, apply_exploration_floor_to_pair
from lpbandits.model import PreferenceModel, as_model
from lpbandits.notebook import Reported
from lpbandits.policies import Belief, Policy
from lpbandits.policies.best import Best, best_of
from lpbandits.rng import stream_id
from lpbandits.typing import FloatArray, Json, Label


class Agent(Reported):
    """A policy applied to one person.

    Parameters
    ----------
    policy
        Any policy, such as `LpbTS(model)`.
    seed
        Random seed. Every decision is a function of (seed, person, number of earlier asks) and the belief.
    person
        Label of the person, text or a whole number; people who share a seed have different random streams.
    asked
        Number of earlier asks, from which the random stream continues.
    belief
        Initial belief, such as `Belief.unpack(policy, data)`; it is copied. By default that of a new person.
    prior
        Probability of each state for this person before the first outcome: a list in the model's order, or a dict by
        state (index or name). By default the model's prior. A `belief` has its own.
    covariates
        What is known about the person, by column of the table that the model was fitted with, such as
        `{"age": 40, "sex": "f"}`: the prior is then `model.prior_for(covariates)`.

    Notes
    -----
    The outcomes are kept (about 40 bytes each), so that any of them can be retracted exactly. Several threads may use
    one agent: each call takes effect as a whole, before or after any other.

    Examples
    --------
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

    covariates: Json | None = None
    """What is known about the person, by column; None if it was not given."""

    def __init__(
        self,
        policy: Policy,
        *,
        seed: int,
        person: int | str = 0,
        asked: int = 0,
        belief: Belief | None = None,
        prior: Sequence[float] | FloatArray | Mapping[Any, float] | None = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise validate.invalid("policy", "a Policy", policy, "give one such as LpbTS(model)")
        self.policy = policy
        self.seed = validate.as_seed(seed)
        self.person = validate.as_label(person, "person")
        self.asked = validate.as_count(asked, "asked", low=0, high=2**32 - 1)
        self._stream = stream_id(self.person)
        self._index, self._labels = policy.model.index, policy.model.actions
        calls = policy.calls
        self._kernels, self._all_actions = calls[:2], calls.everything
        self._duels, self._explores = calls.duels, calls.explores
        self._locks_in, self._any_float, (self._low, self._high) = calls.locks_in, calls.any_float, calls.usual
        self._lock = RLock()  # reentrant, as a signal handler may use the agent
        self._decisions: dict[str, Decision] = {}
        if covariates is not None:
            prior, self.covariates = from_covariates(policy, covariates, prior)
        if prior is None:
            self._start(policy.new_belief() if belief is None else Belief.checked(policy, belief).copy())
        elif belief is None:
            self._start(policy.new_belief(prior=prior))
        else:
            raise InvalidInput("prior must be left out with a belief, which has its own")

    def _start(self, belief: Belief) -> None:
        """Start from a belief; outcomes already in it cannot be retracted."""
        self._hold(belief)
        self.log = OutcomeLog(self.policy, self.rounds if belief.tried else 0)

    def _hold(self, belief: Belief) -> None:
        self._belief = belief
        arrays = self.policy.arrays(belief)
        self._choose, self._tell = partial(self._kernels[0], *arrays), partial(self._kernels[1], *arrays)
        self._room = belief.room - self._duels  # a duel may need two new slots

    @property
    def belief(self) -> Belief:
        """The knowledge about the person: plain arrays, which can be packed and stored.

        They change with the agent; if other threads use it, pack those of a copy: `copy.copy(agent).belief.pack()`.
        """
        return self._belief

    def ask(self, allowed: Sequence[Label] | None = None) -> Label:
        """Return the next action, among `allowed` if given.

        Asking again without telling is a new decision on the same belief.
        """
        if self._duels:
            only_duels()
        index: int = self._choice(allowed)
        if self._locks_in and index in self._belief.actions:
            warn_of_lock_in(self.policy, self._labels[index])
        return self._labels[index]

    def decide(self, allowed: Sequence[Label] | None = None) -> Decision:
        """Return the next action as `ask` does (for duels: `ask_pair`), with its probability and an id.

        The agent keeps the decision until its outcome arrives, and after: `tell(reward=…, decision=…)`, `pending`.
        """
        with self._lock:
            return decided(self, allowed)

    @property
    def pending(self) -> list[Decision]:
        """The decisions without an outcome, in order."""
        with self._lock:
            return [decision for key, decision in self._decisions.items() if key not in self.log.ids]

    @property
    def decisions(self) -> list[DecisionRecord]:
        """All decisions in order: what was recommended, what was given, and its reward."""
        with self._lock:
            return records_of(self)

    def tell(
        self,
        action: Label | None = None,
        reward: float | None = None,
        *,
        id: Hashable = None,
        decision: Decision | str | None = None,
    ) -> None:
        """Report the reward of an action, whether it was asked for or not.

        An outcome with an `id` (text or a whole number) counts once, however often it is delivered; the same id with
        another action or reward is an error. With a `decision`, or the id of one, the action is by default the one
        that was recommended, and the id of the outcome is that of the decision.
        With a model of `lower_is_better`, low rewards are good, as in its log.

        Examples
        --------
        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=7)
        >>> agent.tell(0, 1.0, id="visit 12"); agent.tell(0, 1.0, id="visit 12"); agent.rounds
        1
        >>> agent.tell(reward=2.0, decision=agent.decide()); agent.rounds, agent.pending
        (2, [])
        """
        if self._duels:
            only_duels()
        if decision is not None:
            own = own_decision(self._decisions, decision, id)
            id, action = own.id, own.action if action is None else action  # type: ignore[assignment] # not a duel
        kind = type(action)
        try:
            index = self._index[action] if kind is str or kind is int else self.policy.index_of(action)  # type: ignore[index] # kind
        except KeyError:
            index = self.policy.index_of(action)
        if type(reward) is not float or not self._any_float or not self._low <= reward <= self._high:
            reward = told_reward(self.policy, reward, index)
        self._add(index, reward, id)

    def ask_pair(self, allowed: Sequence[Label] | None = None) -> tuple[Label, Label]:
        """Return the two actions of the next duel, among `allowed` if given; they may be the same.

        Examples
        --------
        >>> from lpbandits import LpbDuel
        >>> agent = Agent(LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=7)
        >>> agent.ask_pair()
        (2, 0)
        """
        if not self._duels:
            only_rewards()
        first, second = self._choice(allowed)
        return self._labels[first], self._labels[second]

    def _choice(self, allowed: Sequence[Label] | None) -> Any:
        """Return the next action or pair; with N allowed actions each is random with probability N · `explore`."""
        policy = self.policy
        offered = self._all_actions if allowed is None else policy.offer(allowed)
        if self._explores:
            indices = policy.indices(allowed)
            policy.check_floor(len(policy.allowed(indices)))
        self._lock.acquire()  # `with` takes 60 ns longer
        try:
            asked = self.asked
            play = self._choose(self._belief.tried, offered, self.seed, self._stream, asked)
            self.asked = asked + 1
        finally:
            self._lock.release()
        if self._explores:
            floor = apply_exploration_floor_to_pair if self._duels else apply_exploration_floor
            play = floor(play, policy.explore, policy.model.n_actions, indices, self.seed, self._stream, asked)
        return play

    def tell_duel(
        self, winner: Label, loser: Label, *, id: Hashable = None, decision: Decision | str | None = None
    ) -> None:
        """Report the winner of a duel, whether it was asked for or not; `id` and `decision` are as for `tell`."""
        if not self._duels:
            only_rewards()
        if decision is not None:
            id = own_decision(self._decisions, decision, id).id
        self._add(self.policy.index_of(winner), self.policy.index_of(loser), id)

    def _add(self, action: int, outcome: float, id_: Hashable = None) -> None:
        """Add a validated outcome (the reward, or the index of a duel's loser), unless one has this id."""
        self._lock.acquire()
        try:
            if id_ is not None and self.log.is_repeat(id_, action, outcome):
                return
            belief = self._belief
            if belief.tried >= self._room:
                belief._grow()
                self._hold(belief)
            belief.tried = self._tell(belief.tried, action, outcome)
            self.log.add(action, outcome, id_)
        finally:
            self._lock.release()

    def retract(self, action: Label | None = None, reward: float | None = None, *, id: Hashable = None) -> None:
        """Remove a reported outcome; the belief is then, to the last bit, as if it had not been reported.

        An `id`, of an outcome or of its decision, is enough. An outcome that was not reported, or not with this `id`,
        is an error. A decision whose outcome is removed is pending again. The other outcomes are added again in order,
        so the cost grows with their number (about half a second for a million).

        Examples
        --------
        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=7)
        >>> agent.tell(0, 1.0); agent.tell(1, 1e16); agent.tell(0, 3.0, id="visit 2")
        >>> agent.retract(1, 1e16); agent.retract(id="visit 2")
        >>> agent.posterior.tolist(), agent.rounds
        ([0.5, 0.5], 1)
        """
        if self._duels:
            only_duels()
        self._remove(action, reward, id)

    def retract_duel(self, winner: Label | None = None, loser: Label | None = None, *, id: Hashable = None) -> None:
        """Remove a reported duel, as `retract` does for a reward."""
        if not self._duels:
            only_rewards()
        self._remove(winner, loser, id)

    def _remove(self, label: Label | None, outcome: Any, id_: Hashable) -> None:
        with self._lock:
            by_id = label is None and outcome is None and id_ is not None
            row = self.log.row_of(id_) if by_id else self.log.checked(label, outcome)
            rows, ids = self.log.without(row, id_)
            self._start(self.policy.new_belief(self._belief.room, self._belief.prior))
            for other in rows:
                self._add(*other)
            self.log.ids = ids

    @property
    def outcomes(self) -> list[tuple[Label, Any]]:
        """The outcomes in order: (action, reward), or (winner, loser) of duels."""
        with self._lock:
            rows = self.log.rows()
        return [self.log.named(row) for row in rows]

    @property
    def posterior(self) -> FloatArray:
        """Probability of each state (a copy), by the policy's evidence.

        `LpbTS` uses the likelihood at the best fit, an upper bound; with `likelihood="marginal"` the posterior is exact
        for means with a flat prior. mUCB gives the states still possible equal values. For calibrated ones see `best`.
        """
        if not self.policy.evidence.latent:
            raise NotSupported(f"{type(self.policy).__name__} has no latent states, so it has no posterior")
        with self._lock:
            posterior: FloatArray = self._belief.states[layout.POSTERIOR].copy()
        return posterior

    @property
    def prior(self) -> FloatArray:
        """Probability of each state before the first outcome (a copy): this person's prior, or the model's."""
        with self._lock:
            prior = self._belief.prior
        return (self.policy.model.prior if prior is None else prior).copy()

    @property
    def rounds(self) -> int:
        """Number of rewards, or duels, in the belief."""
        with self._lock:
            return self._belief.outcomes // (2 if self._duels else 1)

    def probabilities(self, allowed: Sequence[Label] | None = None) -> FloatArray:
        """Return the exact probability of each action, in the model's order, to be *played* at the next `ask(allowed)`.

        It is not the probability that the action is the best for the person, which `best` returns.
        """
        if self._duels:
            only_duels()
        indices = self.policy.indices(allowed)
        with self._lock:
            return self.policy._probabilities(self._belief, indices)

    def best(self, allowed: Sequence[Label] | None = None) -> Best:
        """Return the action that is most probably the best for the person, among `allowed` if given, and how sure.

        Its probability, P(best), follows from the rewards and the model's orderings, whatever the policy: it is neither
        the policy's `posterior` nor the chance to be *played* next (`probabilities`). To stop when an action is sure,
        test `agent.best().confidence >= 0.95`, of which 95 % of the stops are right.
        """
        indices = self.policy.indices(allowed)
        with self._lock:
            return best_of(self.policy, self._belief, indices)

    def explain(self) -> Explanation:
        """Return the probability of each state and the expected reward of each action in it."""
        with self._lock:
            return explain(self.policy, self._belief)

    def with_model(self, model: PreferenceModel, *, prior: Any = None) -> tuple["Agent", dict[Label, int]]:
        """Return an agent over another model with the same outcomes, and the number of dropped outcomes by action.

        Outcomes of actions that the new model lacks (by label) are dropped. Covariates give the prior by the new model.
        A prior of this person is kept if both models have the same states; otherwise give another `prior`.

        Examples
        --------
        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]], actions=["tea", "jam"])), seed=7)
        >>> agent.tell("tea", 4.0); agent.tell("jam", 1.0)
        >>> newer, dropped = agent.with_model(PreferenceModel([[0, 1]], actions=["tea", "milk"]))
        >>> newer.rounds, dropped
        (1, {'jam': 1})
        """
        with self._lock:
            return over_model(self, model, prior)

    def to_json(self, *, with_model: bool = True, outcomes: bool = True) -> str:
        """Return the agent as JSON; `Agent.from_json` then gives the same next actions.

        Without the model the text stays small, and `from_json` needs the model. Without the outcomes its size does not
        grow with their number (except for ids), and a restored agent cannot retract any.
        """
        with_model, outcomes = validate.as_flag(with_model, "with_model"), validate.as_flag(outcomes, "outcomes")
        with self._lock:
            return agent_to_json(self, with_model=with_model, outcomes=outcomes)

    @classmethod
    def from_json(cls, text: str, *, model: PreferenceModel | None = None) -> "Agent":
        """Return the agent that `to_json` wrote."""
        return agent_from_json(cls, text, None if model is None else as_model(model))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle without the compiled functions."""
        with self._lock:
            belief = self._belief.copy()
            build = partial(Agent, seed=self.seed, person=self.person, asked=self.asked, belief=belief)
            return build, (self.policy,), (self.log.copy(), dict(self._decisions), self.covariates)

    def __setstate__(self, state: tuple[OutcomeLog, dict[str, Decision], Json | None]) -> None:
        self.log, self._decisions, self.covariates = state

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, seed={self.seed}, person={self.person!r}, rounds={self.rounds})"
