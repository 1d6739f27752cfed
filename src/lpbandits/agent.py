"""`Agent`: one person's decisions. Ask for an action, tell its reward."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Never

import numpy as np

from lpbandits import validate
from lpbandits.duels import any_policy_from_dict, hands_of
from lpbandits.errors import FileFormatError, InvalidInput, NotSupported
from lpbandits.explain import Explanation, explain
from lpbandits.kernels import layout
from lpbandits.kernels.tally import find, insert
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief, Policy
from lpbandits.typing import FloatArray, IntArray, Json, Label
from lpbandits.validate import LARGEST

FORMAT = "lpbandits-agent"
VERSION = 1


class Agent:
    """A policy at work for one person.

    Parameters
    ----------
    policy
        Any policy, such as `LpbTS(model)`.
    seed
        Every decision is a function of (seed, person, number of the ask): the same inputs give the same actions.
    person
        A number for the person, so that people who share a seed do not share their luck.

    >>> from lpbandits import LpbTS
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7)
    >>> action = agent.ask()
    >>> agent.tell(action, 3.2)
    >>> float(agent.posterior.sum())
    1.0
    >>> agent.tell("drug C", 1.0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: unknown action 'drug C'; the 3 actions are 'rest', 'drug A', 'drug B'
    """

    def __init__(self, policy: Policy, *, seed: int, person: int = 0) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {policy!r}; give a policy such as LpbTS(model)")
        self.policy = policy
        self.seed = validate.as_seed(seed)
        self.person = validate.as_count(person, "person", low=0, high=2**32 - 1)
        self.asked = 0
        self._index = policy.model.index
        self._labels = policy.model.actions
        self._rewards = policy.evidence.rewards
        self._any_number = self._rewards.family == "gaussian"
        self._hands = hands_of(policy)
        self._choose: Callable[..., int] = policy.rule.choose if self._hands is None else _only_duels
        self._tell: Callable[..., int] = policy.evidence.tell if self._hands is None else _only_duels
        self._all: IntArray = policy.offer(None)
        self._hold(self._new_belief())

    def _new_belief(self, tried: int = 0) -> Belief:
        return self.policy.new_belief(max(8, tried, 0 if self._hands is None else self._hands.room))

    def _hold(self, belief: Belief) -> None:
        """Hold a belief, and its arrays in the order that every kernel takes them."""
        policy = self.policy
        self._belief = belief
        self._room = belief.room
        self._arrays = (policy.ranks, policy.table, belief.numbers, belief.order)

    def ask(self, allowed: Sequence[Label] | None = None) -> Label:
        """Return the next action, among the `allowed` ones if given.

        Asking again without telling is a new decision on the same belief.
        """
        offered = self._all if allowed is None else self.policy.offer(allowed)
        index = self._choose(*self._arrays, self._belief.tried, offered, self.seed, self.person, self.asked)
        self.asked += 1
        return self._labels[index]

    def tell(self, action: Label, reward: float) -> None:
        """Take in the reward of an action, whether asked for or not."""
        try:
            index = self._index[action]
        except (KeyError, TypeError):
            index = self.policy.index_of(action)
        if not (self._any_number and type(reward) is float and -LARGEST <= reward <= LARGEST):
            reward = self._rewards.check(reward)
        belief = self._belief
        if belief.tried == self._room:
            self._hold(belief.grown())
            belief = self._belief
        belief.tried = self._tell(*self._arrays, belief.tried, index, reward)

    def ask_pair(self, allowed: Sequence[Label] | None = None) -> tuple[Label, Label]:
        """Return the two actions that meet next, among the `allowed` ones if given; they may be one and the same.

        >>> from lpbandits import LpbDuel
        >>> agent = Agent(LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=7)
        >>> agent.ask_pair()
        (2, 0)
        """
        if self._hands is None:
            raise NotSupported(_no_duels(self.policy))
        offered = self._all if allowed is None else self.policy.offer(allowed)
        ranks, _, numbers, order = self._arrays
        address = (self.seed, self.person, self.asked)
        one, other = self._hands.choose(ranks, self._hands.wins, numbers, order, self._belief.tried, offered, *address)
        self.asked += 1
        return self._labels[one], self._labels[other]

    def tell_duel(self, winner: Label, loser: Label) -> None:
        """Take in who won a duel, whether asked for or not; an action that met itself shows nothing.

        >>> from lpbandits import LpbDuel
        >>> agent = Agent(LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=7)
        >>> agent.tell_duel(0, 2); agent.posterior.round(3).tolist()
        [0.667, 0.333]
        """
        if self._hands is None:
            raise NotSupported(_no_duels(self.policy))
        one, other = self.policy.index_of(winner), self.policy.index_of(loser)
        if self._belief.tried + 2 > self._room:
            self._hold(self._belief.grown())
        ranks, _, numbers, order = self._arrays
        self._belief.tried = self._hands.tell(ranks, self._hands.wins, numbers, order, self._belief.tried, one, other)

    def retract(self, action: Label, reward: float) -> None:
        """Take back an outcome that was told wrongly.

        >>> from lpbandits import LpbTS
        >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]])), seed=7)
        >>> agent.tell(0, 1.0); agent.tell(1, 5.0); agent.retract(1, 5.0)
        >>> agent.posterior.tolist()
        [0.5, 0.5]
        """
        evidence = self.policy.evidence
        if evidence.retract is None:
            raise NotSupported(f"the '{evidence.kind}' evidence cannot take an outcome back: {evidence.why_no_retract}")
        index = self.policy.index_of(action)
        value = self._rewards.check(reward)
        self._check_told(action, index, value)
        self._belief.tried = evidence.retract(*self._arrays, self._belief.tried, index, value)

    def _check_told(self, action: Label, index: int, value: float) -> None:
        """Refuse to take back what cannot have been told."""
        belief = self._belief
        slot = find(belief.order, belief.tried, index)
        if slot < 0:
            raise InvalidInput(f"no reward was told for action {action!r}, so {value:g} cannot be taken back")
        count, total, spread = (float(x) for x in belief.numbers[: layout.SPREAD + 1, slot])
        mean = total / count
        # one reward lies at most √(spread (n-1)/n) from the mean of all n
        reach = np.sqrt(spread * (count - 1) / count)
        if abs(value - mean) > reach + 1e-9 * (abs(mean) + reach + 1.0):
            told = f"its {int(count)} rewards have mean {mean:g}" if count > 1 else f"its one reward was {mean:g}"
            raise InvalidInput(
                f"{value:g} was not told for action {action!r}: {told}; take back the value that was told"
            )

    @property
    def posterior(self) -> FloatArray:
        """The probability of each state (an independent copy); mUCB only marks the states still possible, all alike."""
        if not self.policy.evidence.latent:
            raise NotSupported(f"{type(self.policy).__name__} has no latent states, so there is no posterior over them")
        return self._belief.numbers[layout.POSTERIOR, : self.policy.model.n_states].copy()

    @property
    def rounds(self) -> int:
        """How many rewards, or duels, it was told and still holds."""
        return self._belief.rounds if self._hands is None else self._belief.rounds // 2

    def probabilities(self, allowed: Sequence[Label] | None = None) -> FloatArray:
        """Return the exact chance of each action, in the model's order, at the next `ask(allowed)`."""
        return self.policy.rule.probabilities(self.policy, self._belief, self.policy.offer(allowed))

    def explain(self) -> Explanation:
        """Return what the belief says: per state its probability and the fit of the rewards under its ordering."""
        evidence = self.policy.evidence
        if evidence.latent and not evidence.ordered and not self.policy.table.size:
            raise NotSupported(f"'{evidence.kind}' fits no rewards, so there is no fit to explain; see the posterior")
        out = explain(self.policy, self._belief)
        return out if self._hands is None else replace(out, tried=self._duels(self._hands.wins))

    def _duels(self, wins: FloatArray) -> dict[Label, tuple[int, float]]:
        """Return per action how many duels it took part in and the share it won; one with itself is won by half."""
        out = {}
        for slot in range(self._belief.tried):
            action = int(self._belief.order[0, slot])
            others = wins[action].sum() + wins[:, action].sum()
            alone = (self._belief.numbers[layout.COUNT, slot] - others) / 2  # it was recorded as winner and as loser
            count = others + alone
            out[self._labels[action]] = (int(count), float((wins[action].sum() + 0.5 * alone) / count))
        return out

    def to_json(self, *, with_model: bool = True) -> str:
        """Return everything the agent knows as JSON; `Agent.from_json` then gives the same next actions.

        Without the model the text stays small; hand the same model to `from_json` then.
        """
        belief = self._belief
        model = self.policy.model
        tried = [
            {
                "action": self._labels[belief.order[0, slot]],
                **dict(zip(_STATS, belief.numbers[:3, slot].tolist(), strict=True)),
            }
            for slot in range(belief.tried)
        ]
        content: Json = {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.to_dict(),
            "model_sha256": model.sha256,
            "seed": self.seed,
            "person": self.person,
            "asked": self.asked,
            "tried": tried,
            "states": {
                name: _plain(belief.numbers[row, : self.policy.start.shape[1]]) for name, row in _STATES.items()
            },
        }
        if self._hands is not None:
            at = np.argwhere(self._hands.wins)
            content["wins"] = [[self._labels[a], self._labels[b], float(self._hands.wins[a, b])] for a, b in at]
        if with_model:
            content["model"] = model.to_dict()
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, model: PreferenceModel | None = None) -> "Agent":
        """Return the agent that `to_json` wrote."""
        try:
            content = json.loads(text)
        except (json.JSONDecodeError, TypeError) as error:
            raise FileFormatError(f"the saved agent is not whole JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileFormatError(f"this is not a saved agent: its 'format' is not '{FORMAT}'")
        if content.get("version") != VERSION:
            raise FileFormatError(f"the agent has version {content.get('version')!r}; this lpbandits reads {VERSION}")
        model = _model_of(content, model)
        try:
            agent = cls(any_policy_from_dict(content["policy"], model), seed=content["seed"], person=content["person"])
            agent.asked = validate.as_count(content["asked"], "asked", low=0, high=2**32 - 1)
            agent._restore(content["tried"], content["states"])
            if agent._hands is not None:
                agent._restore_wins(content["wins"])
        except FileFormatError:
            raise
        except InvalidInput as error:
            raise FileFormatError(f"the saved agent is not usable: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the saved agent is not whole: {error!r}") from None
        return agent

    def _restore_wins(self, rows: list[tuple[Label, Label, float]]) -> None:
        wins = self._hands.wins if self._hands is not None else np.zeros((0, 0))
        for winner, loser, count in rows:
            pair = (self.policy.index_of(winner), self.policy.index_of(loser))
            if not wins.size:
                raise InvalidInput(
                    f"it counts wins of pairs, which the '{self.policy.evidence.kind}' evidence does not"
                )
            wins[pair] = validate.as_number(count, "wins", low=0, high=LARGEST)

    def _restore(self, tried: list[Json], states: dict[str, list[float | None]]) -> None:
        belief = self._new_belief(len(tried))
        if len({row["action"] for row in tried}) < len(tried):
            raise InvalidInput("an action is tried twice over")
        for slot, row in enumerate(tried):
            insert(self.policy.ranks, belief.numbers, belief.order, slot, self.policy.index_of(row["action"]))
            belief.numbers[:3, slot] = validate.as_floats([row[name] for name in _STATS], "tried", shape=(3,))
            if row["count"] < 1 or row["count"] != int(row["count"]) or row["spread"] < 0:
                raise InvalidInput(f"action {row['action']!r} has count {row['count']} and spread {row['spread']}")
        belief.tried = len(tried)
        m = self.policy.start.shape[1]
        for name, at in _STATES.items():
            column = np.array([-np.inf if x is None else x for x in states[name]], dtype=np.float64)
            if len(column) != m:
                raise InvalidInput(f"states['{name}'] has {len(column)} numbers for {m} states")
            belief.numbers[at, :m] = column
        if m:
            validate.as_prior(belief.numbers[layout.POSTERIOR, :m], m)  # finite, at least 0, and one in sum
        self._hold(belief)

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, seed={self.seed}, person={self.person}, rounds={self.rounds})"


_STATS = ("count", "sum", "spread")
_STATES = {
    "score": layout.SCORE,
    "posterior": layout.POSTERIOR,
    "extra": layout.EXTRA,
    "extra_too": layout.EXTRA_TOO,
}


def _only_duels(*_: object) -> Never:
    raise NotSupported(
        "this policy plays pairs of actions and learns from who wins; use ask_pair() and tell_duel(winner, loser)"
    )


def _no_duels(policy: Policy) -> str:
    return (
        f"{type(policy).__name__} plays one action at a time and learns from its reward; use ask() and "
        "tell(action, reward), or a policy for duels such as LpbDuel(model)"
    )


def _plain(values: FloatArray) -> list[float | None]:
    """Return numbers for JSON, which has no word for −∞: the score of a state that is ruled out."""
    return [None if x == -np.inf else x for x in values.tolist()]


def _model_of(content: dict[str, Any], model: PreferenceModel | None) -> PreferenceModel:
    if model is None:
        if "model" not in content:
            raise FileFormatError("the agent was saved without its model; give it: Agent.from_json(text, model=model)")
        return PreferenceModel.from_dict(content["model"], source="the agent's model")
    if content.get("model_sha256") != model.sha256:
        raise FileFormatError("the agent was saved with another model; give the one it was made with")
    return model
